//! The messages between runner and worker, with a number each: a line of JSON, over a socket.
//!
//! Both ends are the same executable, so there is no version.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use clmatrix::select::PlatformInfo;
use serde::{Deserialize, Serialize};

use super::{JobCall, WorkerAfter};
use crate::config::Contexts;
use crate::devices::DeviceAddress;
use crate::devices::failure::DriverFailure;
use crate::os::LastWord;
use crate::result::ContextUse;
use crate::serde_time::{Nanoseconds, is_default};
use crate::verdict::Outcome;

/// The environment variable that makes a process of this executable a worker. Its value is a
/// [`Role`] in JSON.
pub const ROLE_VARIABLE: &str = "CLMATRIX_WORKER";

/// The purpose of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Lists its platforms, and ends.
    Enumerate {
        /// The one driver that it sees; it is diagnosed if there is no platform.
        library: Option<String>,
    },
    /// Probes the first device that it sees with kernels of each kind, and ends.
    Probe,
    /// Runs tests that need no device.
    Host,
    /// Runs tests on one device.
    Device(DeviceAddress),
    /// Becomes another program, which the arguments name.
    Program,
}

/// A message of the runner: a task for a worker. A number precedes it, which the answer has as well: a test may fork,
/// and then more than one process answers. There is no message that ends a worker: it is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Create a context, and take the baseline of the process.
    Prepare {
        /// True if leaks are searched for after each test.
        finds_leaks: bool,
        /// The contexts of tests.
        contexts: Contexts,
    },
    /// Run this test.
    Test {
        /// `Test::module`.
        module: Cow<'static, str>,
        /// `Test::name`.
        name: Cow<'static, str>,
        /// True if the test gets new contexts only.
        is_fresh: bool,
    },
    /// Check that the device works.
    Probe,
    /// Check that a command behind a user event ends.
    ProbeGate,
    /// Use the device and the heap once more, and be idle for a moment: an effect of an earlier test may
    /// end the process.
    Leave,
    /// End the process by `exit`, which runs the exit handlers of the driver.
    Exit,
    /// Run a job.
    Job(JobCall),
}

/// A message of the worker. The number of the answered request precedes it; 0 if there was none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The platforms that a [`Role::Enumerate`] worker found, or the reason why there are none.
    Platforms(Result<Vec<Enumerated>, DriverFailure>),
    /// The worker is bound to its device and waits for requests.
    Ready,
    /// The device was not found at its position; the process ends.
    NoDevice(String),
    /// The process is about to end. A thread that crashes waits until the runner resumes it. A signal handler sends
    /// this as numbers.
    #[serde(skip)]
    LastWord(LastWord),
    /// The test ended.
    Done(Box<TestEnd>),
    /// Announces a step in which some drivers end the process; the answer follows.
    Trying(String),
    /// Another task ended: with the output of a job in JSON, or with the first failure of a job or a probe.
    Ended(Result<String, String>),
}

/// The end of a test, as its worker knows it. The names are those of [`Attempt`](crate::result::Attempt) and
/// [`ProcessAttempt`](super::ProcessAttempt).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs)]
pub struct TestEnd {
    pub outcome: Outcome,
    #[serde(with = "Nanoseconds")]
    pub duration: Duration,
    pub context: ContextUse,
    #[serde(default, skip_serializing_if = "is_default")]
    pub properties: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_behind: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub leaks: Vec<String>,
    pub resident: Option<u64>,
    pub after: WorkerAfter,
}

/// A platform as a process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// Its name, vendor, version and devices.
    pub info: PlatformInfo,
    /// The library whose code it runs, as a path without links; `None` if it is unknown.
    pub library: Option<PathBuf>,
}
