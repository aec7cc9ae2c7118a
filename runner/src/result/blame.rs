//! The cause of an unexpected outcome.

use serde::{Deserialize, Serialize};

/// The cause of an unexpected outcome, as known to the runner: the test, or a reason for doubt.
// Its text is the place of the outcome, which follows a verb: `failed in a used context`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The test.
    #[error("by itself")]
    #[default]
    Test,
    /// The process was killed from outside or at its memory limit, which tests and processes beside it may have caused.
    #[error("beside other processes")]
    Killed,
    /// The crash was not on the thread of the test, nor on one that the test has started.
    #[error("on a thread of the driver")]
    ForeignThread,
    /// Another test had the context before.
    #[error("in a used context")]
    UsedContext,
    /// Another test had failed in the worker before.
    #[error("in a worker in which a test had failed")]
    SurvivedFailure,
    /// The worker crashed after it had run other tests.
    #[error("after other tests in its worker")]
    OtherTests,
    /// Another slot of the device had lost its worker.
    #[error("after another slot had lost its worker")]
    OtherSlot,
}

impl Blame {
    /// Returns whether the test may not be the cause.
    pub fn is_doubtful(self) -> bool {
        self != Self::Test
    }
}
