//! The state of this process before its first test, to which it returns after each test.

mod children;
mod signals;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::ptr;

use libc::{c_int, cpu_set_t, itimerval, sched_attr};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::stat::{self, Mode};
use nix::unistd::{Gid, ResGid, ResUid, Uid, getgroups, getresgid, getresuid};

use super::filled;
use crate::os::LeftBehind;
use children::Children;
pub(super) use signals::disposition;
use signals::signals;

/// A function that undoes the changes of a kind.
type Restore = Box<dyn Fn(&mut LeftBehind)>;

/// The state that a test can change for the tests after it: resource limits, interval timers, signal mask and
/// dispositions, scheduling, umask, working folder, environment variables, ids, children.
///
/// A comparison that finds no change takes about 100 system calls: 62 dispositions, 16 limits,
/// and one to four of each other kind.
pub struct Baseline {
    restore: Vec<Restore>,
    children: Children,
}

impl Baseline {
    /// Returns the present state. The signal mask is that of the calling thread.
    pub fn now() -> Self {
        Self {
            restore: vec![
                // First, since the other steps need memory and descriptors.
                Box::new(limits()),
                // Before the handlers of their signals.
                Box::new(timers()),
                Box::new(signals()),
                Box::new(scheduling()),
                Box::new(umask()),
                Box::new(folder()),
                Box::new(environment()),
                Box::new(identity()),
            ],
            children: Children::now(),
        }
    }

    /// Adds the children of this process to the baseline.
    pub fn keep_children(&mut self) {
        self.children.keep();
    }

    /// Undoes what a test has changed, on the thread that the baseline was taken on.
    pub fn restore(&mut self) -> LeftBehind {
        let mut left = LeftBehind::default();
        self.restore.iter().for_each(|restore| restore(&mut left));
        self.children.end_others(&mut left);
        left
    }
}

const RESOURCES: [Resource; 16] = [
    Resource::RLIMIT_AS,
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_LOCKS,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_MSGQUEUE,
    Resource::RLIMIT_NICE,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_RSS,
    Resource::RLIMIT_RTPRIO,
    Resource::RLIMIT_RTTIME,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_STACK,
];

/// Restores the soft and the hard limit of each resource.
fn limits() -> impl Fn(&mut LeftBehind) {
    let present = |resource| getrlimit(resource).expect("the kernel knows the resource");
    let kept = RESOURCES.map(|resource| (resource, present(resource)));
    move |left: &mut LeftBehind| {
        for (resource, before) in kept {
            let now = present(resource);
            if before == now {
                continue;
            }
            // A hard limit can be raised by a privileged process only.
            let is_undone = setrlimit(resource, before.0, before.1).is_ok();
            let changes = [("", before.0, now.0), (" hard limit", before.1, now.1)];
            for (which, before, now) in changes.into_iter().filter(|(_, b, n)| b != n) {
                let [before, now] = [before, now].map(describe_limit);
                left.add(format!("{resource:?}{which} {before} -> {now}"), is_undone);
            }
        }
    }
}

fn describe_limit(limit: rlim_t) -> String {
    if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() }
}

/// The interval timers, and their names. `alarm` sets the first. A profiler may have started one.
const TIMERS: [(c_int, &str); 3] = [
    (libc::ITIMER_REAL, "ITIMER_REAL"),
    (libc::ITIMER_VIRTUAL, "ITIMER_VIRTUAL"),
    (libc::ITIMER_PROF, "ITIMER_PROF"),
];

/// Gives the interval timers that a test has started or changed their earlier values. A single shot that ran before may
/// have come.
fn timers() -> impl Fn(&mut LeftBehind) {
    let kept = TIMERS.map(|(timer, name)| (timer, name, timer_value(timer)));
    move |left: &mut LeftBehind| {
        for (timer, name, before) in kept {
            let now = timer_value(timer);
            let is_started = !is_running(before) && is_running(now);
            if is_started || interval(before) != interval(now) {
                // SAFETY: the value is valid, and the old one is not asked for.
                let result = unsafe { libc::setitimer(timer, &before, ptr::null_mut()) };
                let change = if is_started { "started" } else { "changed" };
                left.add(format!("{name} {change}"), result == 0);
            }
        }
    }
}

/// Returns the value of a timer; that of a stopped one where the kernel has none.
fn timer_value(timer: c_int) -> itimerval {
    // SAFETY: all zeros is a valid value, to which the present one is written.
    unsafe { filled(|value| libc::getitimer(timer, value) == 0).unwrap_or(mem::zeroed()) }
}

fn is_running(timer: itimerval) -> bool {
    (timer.it_value.tv_sec, timer.it_value.tv_usec) != (0, 0)
}

/// Returns the seconds and microseconds after which a timer comes again.
fn interval(timer: itimerval) -> (libc::time_t, libc::suseconds_t) {
    (timer.it_interval.tv_sec, timer.it_interval.tv_usec)
}

/// Restores the policy, priority, nice value and processors of the calling thread, where the kernel tells them.
fn scheduling() -> impl Fn(&mut LeftBehind) {
    let kept = (attributes(), processors());
    move |left: &mut LeftBehind| {
        if let (Some(before), Some(now)) = (&kept.0, &attributes()) {
            restore_attributes(before, now, left);
        }
        if let (Some(before), Some(now)) = (&kept.1, &processors())
            && before != now
        {
            // SAFETY: the set is initialized.
            unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), before) };
            // A set that others than the test have restricted stays as it is, and is no fault of the test.
            if processors().as_ref() == Some(before) {
                // SAFETY: the sets are initialized.
                let [before, now] = [before, now].map(|set| unsafe { libc::CPU_COUNT(set) });
                left.add(format!("affinity changed: {before} -> {now} processors"), true);
            }
        }
    }
}

fn attributes() -> Option<sched_attr> {
    let size = size_of::<sched_attr>();
    // SAFETY: all zeros is a valid value, to which the kernel writes at most the given size.
    unsafe {
        filled::<sched_attr>(|to| libc::syscall(libc::SYS_sched_getattr, 0, to, size, 0) == 0)
    }
}

fn processors() -> Option<cpu_set_t> {
    // SAFETY: all zeros is a valid value, to which the kernel writes at most the given size.
    unsafe { filled(|to| libc::sched_getaffinity(0, size_of::<cpu_set_t>(), to) == 0) }
}

fn restore_attributes(before: &sched_attr, now: &sched_attr, left: &mut LeftBehind) {
    let policy = |of: &sched_attr| (of.sched_policy, of.sched_priority, of.sched_flags);
    let (is_other_policy, is_other_nice) =
        (policy(before) != policy(now), before.sched_nice != now.sched_nice);
    if !is_other_policy && !is_other_nice {
        return;
    }
    // SAFETY: the kernel has filled the attributes, and writes at most their size.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, before, 0) };
    if is_other_policy {
        let [before, now] = [before, now].map(describe_policy);
        left.add(format!("scheduling policy {before} -> {now}"), result == 0);
    }
    if is_other_nice {
        left.add(format!("nice {} -> {}", before.sched_nice, now.sched_nice), result == 0);
    }
}

/// The policy, and the priority of policies that have one.
fn describe_policy(attributes: &sched_attr) -> String {
    match attributes.sched_policy.cast_signed() {
        libc::SCHED_OTHER => "other".to_owned(),
        libc::SCHED_BATCH => "batch".to_owned(),
        libc::SCHED_IDLE => "idle".to_owned(),
        libc::SCHED_FIFO => format!("fifo {}", attributes.sched_priority),
        libc::SCHED_RR => format!("rr {}", attributes.sched_priority),
        policy => policy.to_string(),
    }
}

/// Restores the permissions that new files do not get.
fn umask() -> impl Fn(&mut LeftBehind) {
    // The mask cannot be read without a change. Files that another thread creates meanwhile
    // are private to the user.
    let before = stat::umask(Mode::S_IRWXG | Mode::S_IRWXO);
    stat::umask(before);
    move |left: &mut LeftBehind| {
        let now = stat::umask(before);
        if now != before {
            left.add(format!("umask {:03o} -> {:03o}", before.bits(), now.bits()), true);
        }
    }
}

/// Restores the working folder, unless it had been removed.
fn folder() -> impl Fn(&mut LeftBehind) {
    let before = env::current_dir().ok();
    move |left: &mut LeftBehind| {
        let now = env::current_dir().ok();
        if now == before {
            return;
        }
        let is_undone = before.as_ref().is_some_and(|folder| env::set_current_dir(folder).is_ok());
        let [before, now] = [&before, &now].map(|folder| match folder {
            Some(folder) => folder.display().to_string(),
            None => "(removed)".to_owned(),
        });
        left.add(format!("working folder {before} -> {now}"), is_undone);
    }
}

/// The most characters of a name or a value that are shown.
const LONGEST: usize = 100;

/// Restores the environment variables.
fn environment() -> impl Fn(&mut LeftBehind) {
    // The order is that of the C library, which changes with the variables only.
    let present = || env::vars_os().collect::<Vec<_>>();
    let before = present();
    move |left: &mut LeftBehind| {
        let now = present();
        if now == before {
            return;
        }
        let (before, now) = (by_name(&before), by_name(&now));
        let names: BTreeSet<&OsStr> = before.keys().chain(now.keys()).copied().collect();
        for name in names {
            let (before, now) = (before.get(name).copied(), now.get(name).copied());
            if before == now {
                continue;
            }
            let is_undone = put(name, before);
            let change = match (before, now) {
                (_, None) => "removed".to_owned(),
                (None, Some(now)) => format!("set to {}", quoted(now)),
                (Some(before), Some(now)) => format!("{} -> {}", quoted(before), quoted(now)),
            };
            left.add(format!("environment variable {} {change}", shown(name)), is_undone);
        }
    }
}

/// Returns the last value of each name.
fn by_name(variables: &[(OsString, OsString)]) -> BTreeMap<&OsStr, &OsStr> {
    variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect()
}

/// Returns false for a name that the C library can neither set nor remove. `putenv("=a=1")` makes the
/// name `=a`.
fn put(name: &OsStr, value: Option<&OsStr>) -> bool {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return false;
    }
    // SAFETY: a test has changed this variable while the same threads ran, those of the driver. A thread that reads
    // the environment now was at the same risk then.
    unsafe {
        match value {
            Some(value) => env::set_var(name, value),
            None => env::remove_var(name),
        }
    }
    true
}

fn shown(text: &OsStr) -> String {
    text.to_string_lossy().chars().take(LONGEST).collect()
}

fn quoted(text: &OsStr) -> String {
    format!("{:?}", shown(text))
}

/// Notes changes of the ids of this process and of the root of its file system. A process that gives up a right does
/// not get it back, and nothing undoes a change.
fn identity() -> impl Fn(&mut LeftBehind) {
    let present = || {
        let ResUid { real, effective, saved } = getresuid().expect("the kernel has the ids");
        let users = [real, effective, saved].map(Uid::as_raw);
        let ResGid { real, effective, saved } = getresgid().expect("the kernel has the ids");
        let groups = [real, effective, saved].map(Gid::as_raw);
        let root = fs::metadata("/").ok().map(|root| (root.dev(), root.ino()));
        (users, groups, getgroups().unwrap_or_default(), root)
    };
    let kept = present();
    move |left: &mut LeftBehind| {
        let now = present();
        for (which, before, now) in [("user", kept.0, now.0), ("group", kept.1, now.1)] {
            if before != now {
                left.add(format!("{which} ids {before:?} -> {now:?}"), false);
            }
        }
        if kept.2 != now.2 {
            left.add("supplementary groups changed".to_owned(), false);
        }
        if kept.3 != now.3 {
            left.add("root folder changed".to_owned(), false);
        }
    }
}
