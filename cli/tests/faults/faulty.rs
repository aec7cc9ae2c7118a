//! Tests that go wrong in every way that a driver or a kernel can.
//!
//! They are registered in this executable and run by it as a child. Their order in this file is
//! the order in which a worker gets them.

mod alone;
mod contexts;
mod crashes;
pub mod delayed;
pub mod flakes;
mod hangs;
mod leaks;
mod leftovers;
mod order;
mod own_worker;
mod repeat;
mod sick;
mod stacks;
pub mod unreliable;
mod visible;

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Device, Platform, Program};
use clmatrix_harness::{CtxFactory, skip};

/// Names the folder in which tests meet, whose extension says how many.
pub const MEETING: &str = "CLMATRIX_FAULTS_MEETING";

/// Makes the driver real: a fault strikes in a process that has a context.
fn use_the_device(ctx_factory: CtxFactory) {
    let context = ctx_factory().expect("a context");
    std::mem::forget(context);
}

/// Starts a thread without a frame of this executable, as drivers do, which aborts the process.
fn abort_on_a_foreign_thread() {
    let mut thread = 0;
    // SAFETY: a start routine may leave its argument alone, and `abort` returns nothing since it does not
    // return.
    unsafe {
        let abort = std::mem::transmute::<
            unsafe extern "C" fn() -> !,
            extern "C" fn(*mut libc::c_void) -> *mut libc::c_void,
        >(libc::abort);
        libc::pthread_create(&raw mut thread, std::ptr::null(), abort, std::ptr::null_mut());
    }
}

fn write_to_null() {
    // SAFETY: none, on purpose: this is the crash. A `raise(SIGSEGV)` can be swallowed.
    unsafe { std::ptr::null_mut::<u8>().wrapping_add(8).write_volatile(1) }
}

fn overflow_the_stack() {
    #[expect(unconditional_recursion, reason = "that is the fault")]
    fn deeper(depth: u64) -> u64 {
        let ballast = std::hint::black_box([depth; 512]);
        deeper(depth + 1) + ballast[0]
    }
    println!("{}", deeper(0));
}

/// Waits until a process is called `name`.
fn wait_for_name(pid: &str, name: &str) {
    while std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("it runs").trim() != name {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a process in a session of its own whose parent ends.
fn start_a_daemon() {
    let script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!";
    let output = Command::new("sh").args(["-c", script]).output().expect("a shell");
    let pid = String::from_utf8(output.stdout).expect("a number");
    wait_for_name(pid.trim(), "sleep");
    println!("{}", pid.trim());
}

#[clmatrix_harness::test]
fn passes(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    println!("said on standard output");
    eprintln!("said on standard error");
}

/// Would start itself without end, if it starts its own executable.
#[clmatrix_harness::test]
fn is_not_debugged_by_its_children() {
    assert_eq!(std::env::var_os("CLMATRIX_DEBUGGED_TEST"), None);
}

#[clmatrix_harness::test]
fn writes_to_null(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    println!("last words before the crash");
    write_to_null();
}

#[clmatrix_harness::test]
fn aborts(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    std::process::abort();
}

#[clmatrix_harness::test]
fn leaves_with_status_0(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    std::process::exit(0);
}

#[clmatrix_harness::test]
fn overflows_its_stack(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    overflow_the_stack();
}

#[clmatrix_harness::test(timeout = "2s")]
#[expect(clippy::zombie_processes, reason = "leaving it behind is the fault")]
fn hangs_and_leaves_a_child(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    let child = Command::new("sleep").arg("1000").spawn().expect("sleep starts");
    println!("child {}", child.id());
    loop {
        thread::park();
    }
}

/// A gigabyte, half on each stream.
#[clmatrix_harness::test(timeout = "100s")]
fn floods(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    let block = vec![b'x'; 1 << 20];
    for _ in 0..512 {
        std::io::stdout().write_all(&block).expect("standard output takes all");
        std::io::stderr().write_all(&block).expect("standard error takes all");
    }
    println!("the end of the flood");
}

#[clmatrix_harness::test]
fn speaks_no_utf8(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    std::io::stdout().write_all(b"bad \xff\xfe bytes, \x1b[31mred\x1b[0m, \0, ]]>\n").unwrap();
}

#[clmatrix_harness::test]
fn reads_standard_input() {
    let mut line = String::new();
    assert_eq!(std::io::stdin().read_line(&mut line).unwrap(), 0, "standard input is at its end");
}

#[clmatrix_harness::test]
fn fails_an_assertion(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    let found = 41;
    assert_eq!(found, 42, "the answer");
}

#[clmatrix_harness::test]
fn returns_an_error() -> Result<(), String> {
    Err("the device is on fire".to_owned())
}

/// Runs a kernel that only a simulator survives for certain, and notices.
fn run_on_oclgrind(
    ctx_factory: CtxFactory,
    platform: Platform,
    source: &str,
) -> clmatrix::Result<()> {
    if platform.name() != "Oclgrind" {
        skip!("only Oclgrind says what is wrong with this kernel");
    }
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let program = Program::build(&context, source)?;
    let mut kernel = program.kernel("k")?;
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 64)?;
    let mut launch = kernel.launch();
    launch.arg(&buffer).global(16).local(16);
    // SAFETY: the simulator checks each access and lets none through that is out of bounds.
    unsafe { launch.enqueue(&queue)? };
    queue.finish()
}

#[clmatrix_harness::test]
fn writes_past_a_buffer(ctx_factory: CtxFactory, platform: Platform) -> clmatrix::Result<()> {
    let source = "kernel void k(global uint *x) { x[get_global_id(0) + 1] = 1; }";
    run_on_oclgrind(ctx_factory, platform, source)
}

#[clmatrix_harness::test]
fn diverges_at_a_barrier(ctx_factory: CtxFactory, platform: Platform) -> clmatrix::Result<()> {
    let source = "kernel void k(global uint *x) {
        if (get_global_id(0) < 8) barrier(CLK_GLOBAL_MEM_FENCE);
        x[get_global_id(0)] = 1;
    }";
    run_on_oclgrind(ctx_factory, platform, source)
}

#[clmatrix_harness::test]
#[should_panic(expected = "on purpose")]
fn panics_as_announced() {
    panic!("on purpose");
}

#[clmatrix_harness::test]
#[should_panic(expected = "on purpose")]
fn panics_otherwise() {
    panic!("by mistake");
}

#[clmatrix_harness::test]
#[should_panic]
fn does_not_panic() {}

#[clmatrix_harness::test]
fn skips_itself() {
    skip!("found {} wanting", "something");
}

/// Calls `skip!` on another thread.
fn skip_elsewhere() -> thread::Result<()> {
    thread::spawn(|| skip!("found by a thread")).join()
}

#[clmatrix_harness::test]
fn skips_on_another_thread() {
    skip_elsewhere().unwrap();
}

#[clmatrix_harness::test]
fn throws_the_skip_of_a_thread() {
    std::panic::panic_any(skip_elsewhere().expect_err("it skips"));
}

#[clmatrix_harness::test]
fn returns_the_skip_of_a_thread() -> thread::Result<()> {
    skip_elsewhere()
}

#[clmatrix_harness::test(requires(opencl = "9.9"))]
fn requires_too_much() {
    unreachable!("no device has it");
}

#[clmatrix_harness::test]
#[ignore = "takes long"]
fn is_ignored() {}

#[clmatrix_harness::test]
#[ignore = "is not for all runs"]
fn speaks_to_github() {
    println!("::stop-commands::x\n said ##[error]bad\r::warning::bad");
    eprintln!(" \t::add-mask::a");
    panic!("::error::bad\n\n  ::group::bad\n##[endgroup]");
}

#[clmatrix_harness::test(once)]
fn needs_no_device() {
    println!("on the host");
}

/// Returns whether the test records before it fails or not.
#[clmatrix_harness::test]
fn records_and_passes(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    clmatrix_harness::record_property("speed", 1.5);
    std::thread::spawn(|| clmatrix_harness::record_property("a < b", "<&>"))
        .join()
        .expect("it records");
}

#[clmatrix_harness::test]
fn records_and_fails(ctx_factory: CtxFactory) {
    clmatrix_harness::record_property("before it failed", true);
    use_the_device(ctx_factory);
    panic!("as it should");
}

/// A test may be called what the macro might call something of its own.
#[clmatrix_harness::test]
fn run() {}

#[clmatrix_harness::test]
fn closes_standard_output(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    // SAFETY: the descriptor is this test's to close; what is written to it later goes nowhere.
    unsafe { libc::close(1) };
}

#[clmatrix_harness::test]
fn prints_after_the_one_that_closed_it() {
    println!("said on standard output");
}

#[clmatrix_harness::test]
fn forks_and_both_return(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    // SAFETY: the child does no more than return from this test.
    unsafe { libc::fork() };
}

#[clmatrix_harness::test]
fn fails_after_the_fork() {
    thread::sleep(Duration::from_millis(300));
    panic!("not what the fork's child answered");
}

#[clmatrix_harness::test]
fn aborts_while_a_forked_child_lives(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    // SAFETY: the child does no more than wait to be killed with its group.
    if unsafe { libc::fork() } == 0 {
        loop {
            // SAFETY: it has no arguments.
            unsafe { libc::pause() };
        }
    }
    std::process::abort();
}

#[clmatrix_harness::test]
fn writes_to_the_runners_connection() {
    let sockets = std::fs::read_dir("/proc/self/fd").expect("/proc is there").filter_map(|entry| {
        let entry = entry.ok()?;
        let target = std::fs::read_link(entry.path()).ok()?;
        target.to_str()?.starts_with("socket:").then(|| entry.file_name())
    });
    for fd in sockets.collect::<Vec<_>>() {
        let fd: i32 = fd.to_str().and_then(|fd| fd.parse().ok()).expect("a descriptor");
        // SAFETY: the bytes are readable; what they do to whoever reads them is the test.
        unsafe { libc::write(fd, b"garbage\n{}\n".as_ptr().cast(), 11) };
    }
}

#[clmatrix_harness::test]
fn changes_the_folder_and_the_panic_hook() {
    std::env::set_current_dir("/").expect("there is a root");
    std::panic::set_hook(Box::new(|_| {}));
}

#[clmatrix_harness::test]
fn fails_where_it_began() {
    let folder = std::env::current_dir().expect("a folder");
    assert_eq!(folder, Path::new("/"), "the folder of the run");
}

#[clmatrix_harness::test]
fn panics_with_a_hundred_megabytes() {
    panic!("{}", "x".repeat(100 << 20));
}

/// Passes, and takes the process down while the next test runs.
#[clmatrix_harness::test]
fn leaves_a_time_bomb(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    thread::spawn(|| {
        thread::sleep(Duration::from_millis(300));
        abort_on_a_foreign_thread();
    });
}

#[clmatrix_harness::test]
fn is_the_victim_of_the_bomb(ctx_factory: CtxFactory) {
    println!("said before the crash");
    use_the_device(ctx_factory);
    thread::sleep(Duration::from_secs(1));
}

/// For what is done to a whole run: it ends only by force, and has a daemon beside it.
#[clmatrix_harness::test(timeout = "1000s")]
#[ignore = "hangs until the run is stopped"]
fn waits_for_ever(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_daemon();
    loop {
        thread::park();
    }
}

/// Passes when as many of these have begun as the folder's name says.
fn meet_the_others(test: &str, device: Device) {
    let Some(folder) = std::env::var_os(MEETING) else { skip!("no other test to meet") };
    let folder = Path::new(&folder);
    let expected: usize =
        folder.extension().and_then(|n| n.to_str()?.parse().ok()).expect("a number");
    let name = format!("{test} {:?} {}", device.as_raw(), std::process::id());
    std::fs::write(folder.join(name), "").expect("the folder can be written to");
    while std::fs::read_dir(folder).expect("the folder can be read").count() < expected {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Crashes when the test after it waits.
#[clmatrix_harness::test(timeout = "100s")]
fn crashes_beside_another(device: Device) {
    meet_the_others("crashes", device);
    write_to_null();
}

/// Fails once, when the test before it crashes.
#[clmatrix_harness::test(timeout = "100s")]
fn fails_beside_a_crash(device: Device) {
    let Some(folder) = std::env::var_os(MEETING) else { skip!("no other test to meet") };
    if std::fs::File::create_new(Path::new(&folder).with_extension("failed")).is_ok() {
        meet_the_others("fails", device);
        panic!("the other test may have disturbed this one");
    }
}

#[clmatrix_harness::test(timeout = "100s")]
fn meets_one(device: Device) {
    meet_the_others("one", device);
}

#[clmatrix_harness::test(timeout = "100s")]
fn meets_another(device: Device) {
    meet_the_others("another", device);
}
