//! The state of this process before its first test, to which it returns after each test.

mod children;
mod environment;
mod scheduling;
mod signals;

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::ptr;

use libc::{c_int, itimerval};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::stat::{self, Mode};
use nix::unistd::{Gid, ResGid, ResUid, Uid, getgroups, getresgid, getresuid};

use super::filled;
use crate::os::LeftBehind;
use children::Children;
use environment::environment;
use scheduling::scheduling;
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

fn timer_value(timer: c_int) -> itimerval {
    // SAFETY: all zeros is a valid value, to which the present one is written.
    let value = unsafe { filled(|value| libc::getitimer(timer, value) == 0) };
    value.expect("the kernel has the timer")
}

fn is_running(timer: itimerval) -> bool {
    (timer.it_value.tv_sec, timer.it_value.tv_usec) != (0, 0)
}

/// Returns the seconds and microseconds after which a timer comes again.
fn interval(timer: itimerval) -> (libc::time_t, libc::suseconds_t) {
    (timer.it_interval.tv_sec, timer.it_interval.tv_usec)
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
