//! Follows a run while it is running.

use std::time::Duration;

use crate::log::events::DeviceLost;
use crate::os::Source;
use crate::result::test_result::TestResult;
use crate::run::entry::Entry;
use crate::terminal::status_line;

/// Follows a run. Threads that run tests call the methods, with positions in the plan.
pub trait Observer: std::marker::Sync {
    /// A worker starts a test.
    fn started(&self, _position: Entry) {}

    /// A running test has ended, and may run again when the other slots of the device have ended their tests.
    fn waits(&self, _position: Entry) {}

    /// A running test has written these bytes to standard output or error. Called where the run
    /// echoes output.
    fn wrote(&self, _position: Entry, _from: Source, _bytes: &[u8]) {}

    /// A test is run again.
    fn repeated(&self, _position: Entry) {}

    /// The tests of a device, or those without a device, begin, or the device is lost. Called once for each
    /// device, and once for the tests without one.
    fn device_begins(&self) {}

    /// A device is lost. Its other tests are not run.
    fn device_lost(&self, _lost: &DeviceLost) {}

    /// A device does not end commands behind user events: a test that waits for this time is ended.
    fn gates_hang(&self, device: &str, idle: Duration) {
        let idle = humantime::format_duration(idle);
        status_line(&format!(
            "note: {device} does not end commands behind user events: a test that waits for {idle} is ended"
        ));
    }

    /// All tests and all workers have ended.
    fn ended(&self) {}

    /// Workers of a device have a result, or a worse one. It belongs to no test of the plan.
    fn of_worker(&self, result: &TestResult);

    /// A test has ended. Called once for each entry of the plan, and after each repetition.
    fn finished(&self, position: Entry, result: &TestResult);
}

/// Ignores all events.
impl Observer for () {
    fn of_worker(&self, _result: &TestResult) {}

    fn finished(&self, _position: Entry, _result: &TestResult) {}
}
