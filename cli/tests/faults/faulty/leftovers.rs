//! Tests that pass, or fail, and leave their process changed.

use std::process::Command;
use std::thread;
use std::time::Duration;

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix_harness::{CtxFactory, skip};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::stat::{Mode, umask};

use super::{start_a_daemon, use_the_device};
use crate::support::children_of;

/// Prints all that one test can change for the next, as the kernel and the C library have it.
fn show_the_process() {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("/proc is there");
    let kept = [
        "Uid",
        "Gid",
        "Groups",
        "Cpus_allowed_list",
        "Umask",
        "SigPnd",
        "ShdPnd",
        "SigBlk",
        "SigIgn",
        "SigCgt",
    ];
    let is_kept = |line: &&str| kept.iter().any(|name| line.starts_with(name));
    status.lines().filter(is_kept).for_each(|line| println!("{line}"));
    println!("{}", std::fs::read_to_string("/proc/self/limits").expect("/proc is there"));
    println!("{:?}", std::env::current_dir());
    // SAFETY: the calls take numbers.
    let [nice, policy] =
        unsafe { [libc::getpriority(libc::PRIO_PROCESS, 0), libc::sched_getscheduler(0)] };
    println!("nice {nice}, policy {policy}");
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.sort();
    println!("{variables:?}");
    println!("children: {:?}", children_of(std::process::id()));
}

fn name_the_process() {
    println!("process {}", std::process::id());
}

#[clmatrix_harness::test]
fn shows_its_process_first(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    name_the_process();
    show_the_process();
}

#[clmatrix_harness::test]
fn changes_variables() {
    // SAFETY: no thread of this test reads the environment; the driver's threads are the risk that
    // such a test takes.
    unsafe {
        std::env::set_var("CLMATRIX_FAULTS_LEFT", "1");
        std::env::set_var("CLMATRIX_FAULTS", "changed");
        std::env::remove_var("CLMATRIX_CONFIG");
    }
}

#[clmatrix_harness::test]
fn changes_signals() {
    extern "C" fn handler(_: libc::c_int) {}
    // SAFETY: the handler does nothing.
    unsafe {
        libc::signal(libc::SIGURG, handler as *const () as libc::sighandler_t);
        libc::signal(libc::SIGWINCH, libc::SIG_IGN);
    }
    SigSet::from(Signal::SIGUSR1).thread_block().expect("it can be blocked");
    raise(Signal::SIGUSR1).expect("it can be raised");
}

#[clmatrix_harness::test]
fn lowers_a_limit() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).expect("a limit may be lowered");
}

/// The alarm comes while a later test runs.
#[clmatrix_harness::test]
fn starts_timers() {
    let time = libc::timeval { tv_sec: 0, tv_usec: 300_000 };
    let value = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: the calls take a number, and a value that lives as long as they do.
    unsafe {
        libc::alarm(1);
        libc::setitimer(libc::ITIMER_PROF, &raw const value, std::ptr::null_mut());
    }
}

#[clmatrix_harness::test]
fn changes_its_scheduling() {
    // SAFETY: all zeros is an empty set, and the priority of the policy.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
        let priority = std::mem::zeroed();
        assert_eq!(libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const priority), 0);
    }
}

#[clmatrix_harness::test]
fn changes_folder_and_umask() {
    std::env::set_current_dir("/").expect("there is a root");
    umask(Mode::from_bits_truncate(0o127));
}

#[clmatrix_harness::test]
fn leaves_a_daemon(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_daemon();
}

#[clmatrix_harness::test]
fn leaves_a_child() {
    println!("{}", Command::new("sleep").arg("1000").spawn().expect("sleep starts").id());
}

#[clmatrix_harness::test]
#[expect(clippy::zombie_processes, reason = "leaving it behind is the fault")]
fn does_not_wait_for_a_child_that_ends() {
    let child = Command::new("true").spawn().expect("true starts");
    while crate::support::is_running(child.id()) {
        thread::sleep(Duration::from_millis(1));
    }
}

#[clmatrix_harness::test]
fn changes_nothing() {}

#[clmatrix_harness::test]
fn shows_its_process_last() {
    name_the_process();
    show_the_process();
}

/// Takes the right to raise hard limits from this thread, if the user has it.
fn give_up_the_right_to_raise_limits() {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    /// Effective, permitted and inheritable capabilities, the lower 32 and the upper 32.
    type Sets = [[u32; 3]; 2];
    const CAP_SYS_RESOURCE: u32 = 24;
    let header = Header { version: 0x2008_0522, pid: 0 };
    let mut sets = Sets::default();
    // SAFETY: both calls take the header of version 3 and its two sets.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, &header, &mut sets), 0);
        sets[0].iter_mut().for_each(|set| *set &= !(1 << CAP_SYS_RESOURCE));
        assert_eq!(libc::syscall(libc::SYS_capset, &header, &sets), 0);
    }
}

#[clmatrix_harness::test]
fn lowers_a_hard_limit() {
    name_the_process();
    give_up_the_right_to_raise_limits();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard - 1), hard - 1)
        .expect("a limit may be lowered");
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_hard_limit() {
    name_the_process();
    show_the_process();
}

#[clmatrix_harness::test]
fn puts_a_variable_that_cannot_be_removed() {
    name_the_process();
    // SAFETY: the string lives as long as the process. No thread of this test reads the environment.
    unsafe { libc::putenv(c"=CLMATRIX=1".as_ptr().cast_mut()) };
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_variable() {
    name_the_process();
    show_the_process();
}

#[clmatrix_harness::test]
fn becomes_nice() {
    // SAFETY: the call takes a number.
    unsafe { libc::nice(1) };
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_nice_value() {
    name_the_process();
    show_the_process();
}

/// Skips a test that only the superuser passes.
fn require_root() {
    // SAFETY: the call takes nothing.
    if unsafe { libc::geteuid() } != 0 {
        skip!("the user may not do this");
    }
}

#[clmatrix_harness::test]
fn changes_its_ids() {
    require_root();
    // SAFETY: the calls take numbers, and an empty list.
    unsafe {
        assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
        assert_eq!(libc::setgid(65534), 0);
        assert_eq!(libc::setuid(65534), 0);
    }
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_ids() {
    name_the_process();
    show_the_process();
}

#[clmatrix_harness::test]
fn changes_its_root() {
    require_root();
    std::os::unix::fs::chroot("/tmp").expect("the superuser may");
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_root() {
    name_the_process();
    show_the_process();
}

#[clmatrix_harness::test(timeout = "2s")]
fn hangs_and_leaves_a_daemon(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_daemon();
    loop {
        thread::park();
    }
}

#[clmatrix_harness::test]
fn aborts_and_leaves_a_daemon(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_daemon();
    std::process::abort();
}

#[clmatrix_harness::test]
fn fails_and_leaves_a_daemon(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_daemon();
    panic!("as it should");
}

#[clmatrix_harness::test(fresh_context)]
fn makes_a_buffer(ctx_factory: CtxFactory) {
    let context = ctx_factory().expect("a context");
    Buffer::new(&context, MemFlags::READ_WRITE, 64).expect("a buffer");
}

#[clmatrix_harness::test]
fn shows_its_process_after_the_buffer() {
    show_the_process();
}
