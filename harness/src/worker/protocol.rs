//! The messages between runner and worker: one JSON object per line, over a socket.
//!
//! Both ends are the same executable, so there is no version.

use std::borrow::Cow;
use std::path::PathBuf;

use clmatrix::select::PlatformInfo;
use serde::{Deserialize, Serialize};

use super::job_call::JobCall;
use super::process_state::ProcessState;
use crate::config::Contexts;
use crate::devices::device_address::DeviceAddress;
use crate::devices::failure::DriverFailure;
use crate::os::Crash;
use crate::result::ended::Ended;

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

/// A message of the runner. There is none to end a worker, which is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The answer has the same number: a test may fork, and then more than one process answers.
    pub number: u64,
    /// The task.
    pub task: Task,
}

/// A task for a worker.
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
    /// Use the device and the heap once more, and be idle for a moment: an effect of an earlier test may
    /// end the process.
    Leave,
    /// End the process by `exit`, which runs the exit handlers of the driver.
    Exit,
    /// Run a job.
    Job(JobCall),
}

/// A message of the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The platforms that a [`Role::Enumerate`] worker found, or the reason why there are none.
    Platforms(Result<Vec<Enumerated>, DriverFailure>),
    /// The worker is bound to its device and waits for requests.
    Ready,
    /// The device was not found at its position; the process ends.
    NoDevice(String),
    /// A signal is about to end the process. The thread waits until the runner lets it go on.
    Crashing(Crash),
    /// The process has called `exit`.
    Exiting {
        /// True if the thread is that of the running test.
        in_test: bool,
    },
    /// The worker has its baseline.
    Prepared {
        /// The number of the request.
        number: u64,
    },
    /// The test ended.
    Done {
        /// The number of the request.
        number: u64,
        /// Its end.
        ended: Box<Ended>,
        /// Its process afterwards.
        process: ProcessState,
    },
    /// The device works, or the reason why not.
    Probed {
        /// The number of the request.
        number: u64,
        /// The first failure.
        result: Result<(), String>,
    },
    /// The worker can go.
    Left {
        /// The number of the request.
        number: u64,
    },
    /// Comes before a step in which some drivers end the process; the answer follows.
    Trying {
        /// The number of the request.
        number: u64,
        /// The step.
        step: String,
    },
    /// The job ended.
    JobDone {
        /// The number of the request.
        number: u64,
        /// Its output in JSON, or the reason why there is none.
        output: Result<String, String>,
    },
}

impl Answer {
    /// Returns the number of the request that this answers, if any.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Platforms(_)
            | Self::Ready
            | Self::NoDevice(_)
            | Self::Crashing(_)
            | Self::Exiting { .. } => None,
            Self::Prepared { number }
            | Self::Done { number, .. }
            | Self::Probed { number, .. }
            | Self::Left { number }
            | Self::Trying { number, .. }
            | Self::JobDone { number, .. } => Some(*number),
        }
    }
}

/// A platform as a process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// Its name, vendor, version and devices.
    pub info: PlatformInfo,
    /// The library whose code it runs, as a path without links; `None` where that is not known.
    pub library: Option<PathBuf>,
}
