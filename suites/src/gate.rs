//! Gates: events that commands wait for until the test says so.

use std::thread;
use std::time::Duration;

use clmatrix::cl3::event::{CL_COMPLETE, create_user_event, set_user_event_status};
use clmatrix::{Context, Event};

/// How long a command gets to run too early, or a test to begin waiting.
pub const A_MOMENT: Duration = Duration::from_millis(50);

/// An event that ends when the test says so.
pub fn gate(context: &Context) -> Event {
    Event::new(create_user_event(context.get()).expect("a user event"))
}

/// Ends it well.
pub fn open(gate: &Event) {
    set_user_event_status(gate.get(), CL_COMPLETE).expect("the gate opens");
}

/// Ends it with a failure.
pub fn fail(gate: &Event) {
    set_user_event_status(gate.get(), -5).expect("the gate fails");
}

/// Does `then` to the gate while `work` waits for it, which it must.
///
/// Work that waits never fails here, however slow the machine is. Work that does not wait is noticed
/// if it returns within a moment.
#[track_caller]
pub fn meanwhile<T>(gate: &Event, then: fn(&Event), work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            then(gate);
        });
        let done = work();
        let status = gate.command_execution_status().expect("the gate's status").0;
        assert!(status <= CL_COMPLETE, "it did not wait");
        done
    })
}

/// Does `work`, and opens the gate after a moment: Oclgrind's `clFlush` blocks until the gate is open.
// quirk: OCLGRIND-2
pub fn soon_open<T>(gate: &Event, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            open(gate);
        });
        work()
    })
}
