//! What runner and worker say to each other: one JSON object a line, over a socket.
//!
//! Both ends are the same executable, so there is no version.

use std::path::PathBuf;
use std::time::Duration;

use clmatrix::select::PlatformInfo;
use clmatrix_characterize::Characterization;
use clmatrix_characterize::measure::Measured;
use serde::{Deserialize, Serialize};

use crate::devices::failure::DriverFailure;
use crate::verdict::Outcome;

/// The environment variable that makes a process of this executable a worker. Its value is a
/// [`Role`] in JSON.
pub const ROLE_VARIABLE: &str = "CLMATRIX_WORKER";

/// What a worker is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Says which platforms it sees, and ends.
    Enumerate {
        /// The one driver that it sees, whose fault is named if there is no platform.
        library: Option<String>,
    },
    /// Runs tests that need no device.
    Host,
    /// Runs tests on one device.
    Device(DeviceAddress),
}

/// Where a device is found by a process that sees only its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceAddress {
    /// Position of the platform among those of the driver.
    pub platform: usize,
    /// Position of the device in its platform.
    pub device: usize,
    /// CL_DEVICE_NAME, to notice when another device has taken that place.
    pub name: String,
}

/// From the runner. A worker is not asked to leave; it is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Told again in the answer: a test may fork, and then more than one process answers.
    pub number: u64,
    /// What to do.
    pub task: Task,
}

/// What a worker is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Make and release a context, and take the baseline of the process.
    Prepare,
    /// Run this test.
    Test {
        /// `Test::module`.
        module: String,
        /// `Test::name`.
        name: String,
    },
    /// Query the properties of the device.
    Characterize {
        /// True if kernels are built for the answers that need that; else these are left out.
        with_builds: bool,
    },
    /// Measure one topic.
    Measure {
        /// `Topic::name`.
        topic: String,
        /// How long that may take.
        budget: Duration,
        /// How much of the device's memory it may use, in bytes.
        memory: u64,
        /// After how many bytes more than now the process's memory ends, if it does.
        room: Option<u64>,
    },
}

/// From the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// The platforms that a [`Role::Enumerate`] worker found, or the reason why there are none.
    Platforms(Result<Vec<Enumerated>, DriverFailure>),
    /// Bound to its device and waiting for requests.
    Ready,
    /// The device could not be found; the process ends.
    NoDevice(String),
    /// The worker has its baseline.
    Prepared {
        /// The number of the request.
        number: u64,
    },
    /// The test ended.
    Done {
        /// The number of the request.
        number: u64,
        /// How.
        ended: Box<Ended>,
    },
    /// The properties of the device.
    Characterized {
        /// The number of the request.
        number: u64,
        /// The properties, or the reason why there are none.
        result: Result<Box<Characterization>, String>,
    },
    /// Before a step that some drivers end the process over; the answer is still to come.
    Trying {
        /// The number of the request.
        number: u64,
        /// What it is.
        step: String,
    },
    /// A topic's measurements.
    Measured {
        /// The number of the request.
        number: u64,
        /// In their order.
        measured: Vec<Measured>,
    },
}

/// How a test ended, and in what state it left its process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The outcome of the test.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
    /// The properties that the test recorded.
    pub properties: Vec<(String, String)>,
    /// The changes that the test left behind in its process, a line each.
    pub left_behind: Vec<String>,
    /// True if each change is undone.
    pub is_as_before: bool,
}

impl Answer {
    /// The number of the request, if it answers one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Platforms(_) | Self::Ready | Self::NoDevice(_) => None,
            Self::Prepared { number }
            | Self::Done { number, .. }
            | Self::Characterized { number, .. }
            | Self::Trying { number, .. }
            | Self::Measured { number, .. } => Some(*number),
        }
    }
}

/// A platform as a process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// What it says of itself.
    pub info: PlatformInfo,
    /// The library whose code it runs, as a path without links; `None` where that is not known.
    pub library: Option<PathBuf>,
}
