//! Gates: events that commands wait for until the test says so.

use std::thread;
use std::time::Duration;

use clmatrix::{Context, Event, Result, UserEvent};

/// How long a command gets to run too early, or a test to begin waiting.
pub const A_MOMENT: Duration = Duration::from_millis(50);

/// The rule of commands that a test finds complete too early.
pub const EARLY: &str = "a command ran before the events of its wait list, or a blocking call returned before its \
                         command was complete (OpenCL 3.0, 5.11)";

/// An event that ends when the test says so.
pub fn gate(context: &Context) -> UserEvent {
    UserEvent::new(context).expect("a user event")
}

/// Completes it.
pub fn open(gate: &UserEvent) {
    gate.set_complete().expect("the gate opens");
}

/// Makes it fail.
pub fn fail(gate: &UserEvent) {
    // SAFETY: the commands behind the gates of these suites are such that the drivers survive their
    // failure; where one does not, config/expectations has the crash.
    unsafe { gate.set_failed(-5) }.expect("the gate fails");
}

/// Does `then` to the gate while `work` waits for it, which it must.
///
/// Work that waits never fails here, however slow the machine is. Work that does not wait is noticed
/// if it returns within a moment.
#[track_caller]
pub fn meanwhile<T>(gate: &UserEvent, then: fn(&UserEvent), work: impl FnOnce() -> T) -> T {
    waits(gate, then, EARLY, work)
}

/// The same for work that waits by another rule.
#[track_caller]
pub fn waits<T>(gate: &UserEvent, then: fn(&UserEvent), rule: &str, work: impl FnOnce() -> T) -> T {
    let (done, has_waited) = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            then(gate);
        });
        let done = work();
        (done, gate.status().expect("the gate's status").has_ended())
    });
    assert!(has_waited, "{rule}: the work ended while the user event of the test was not complete");
    done
}

/// Panics if the command of `call` is complete, which waits for a gate that is closed.
#[track_caller]
pub fn assert_waits(command: &Event, call: &str) -> Result<()> {
    let status = command.status()?;
    assert!(
        !status.has_ended(),
        "{call} while the user event of the test is not complete: {status:?}; {EARLY}"
    );
    Ok(())
}

/// Makes `fails` fail while `work` waits for commands behind `opens`, and then opens that.
pub fn fail_then_open<T>(fails: &UserEvent, opens: &UserEvent, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            fail(fails);
            thread::sleep(A_MOMENT);
            open(opens);
        });
        work()
    })
}

/// Does `work`, and opens the gate after a moment: Oclgrind's `clFlush` blocks until the gate is open.
// quirk: OCLGRIND-2
pub fn soon_open<T>(gate: &UserEvent, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            open(gate);
        });
        work()
    })
}
