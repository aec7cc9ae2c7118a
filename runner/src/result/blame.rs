//! The cause of an unexpected outcome.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The cause of an unexpected outcome, as known to the runner: the test, or a reason for doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The test.
    #[default]
    Test,
    /// The process was killed from outside or at its memory limit, which tests and processes beside it may have caused.
    Killed,
    /// The crash was not on the thread of the test, nor on one that the test has started.
    ForeignThread,
    /// Another test had the context before.
    UsedContext,
    /// Another test had failed in the worker before.
    SurvivedFailure,
    /// The worker crashed after it had run other tests.
    OtherTests,
    /// Another slot of the device had lost its worker.
    OtherSlot,
}

impl Blame {
    /// Returns whether the test may not be the cause.
    pub fn is_doubtful(self) -> bool {
        self != Self::Test
    }
}

impl fmt::Display for Blame {
    /// Writes the place of the outcome, which follows a verb: `failed in a used context`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "by itself",
            Self::Killed => "beside other processes",
            Self::ForeignThread => "on a thread of the driver",
            Self::UsedContext => "in a used context",
            Self::SurvivedFailure => "in a worker in which a test had failed",
            Self::OtherTests => "after other tests in its worker",
            Self::OtherSlot => "after another slot had lost its worker",
        })
    }
}
