//! Follows a run while it goes on.

use crate::log::events::{DeviceLost, Round};
use crate::os::Source;
use crate::result::test_result::TestResult;

/// Follows a run. Threads that run tests call the methods, with positions in the plan.
pub trait Observer: std::marker::Sync {
    /// A worker starts a test.
    fn started(&self, _position: usize) {}

    /// A running test has ended, and may run again when the other slots of the device have ended their tests.
    fn waits(&self, _position: usize) {}

    /// A running test has written these bytes to standard output or error. Called where the run
    /// echoes output.
    fn wrote(&self, _position: usize, _from: Source, _bytes: &[u8]) {}

    /// A test is run again.
    fn repeated(&self, _position: usize) {}

    /// The tests of a device, or those without a device, begin, or the device is lost. Comes once for each
    /// device, and once for the tests without one.
    fn device_begins(&self) {}

    /// A device is lost. Its other tests are not run.
    fn device_lost(&self, _lost: &DeviceLost) {}

    /// All tests and all workers have ended.
    fn ended(&self) {}

    /// Workers of a device have a result, or a worse one. It is of no test of the plan.
    fn of_worker(&self, result: &TestResult);

    /// A device begins a round over so many tests. Called where there may be several rounds.
    fn round_begins(&self, _round: &Round, _tests: usize) {}

    /// A test has ended in one of several rounds. After the last round, `finished` has its worst result.
    fn finished_in_round(&self, _position: usize, _result: &TestResult) {}

    /// A test has ended. Called once for each entry of the plan.
    fn finished(&self, position: usize, result: &TestResult);
}
