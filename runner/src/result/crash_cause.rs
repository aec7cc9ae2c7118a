//! The cause of the end of a process in which a test ran.

use serde::{Deserialize, Serialize};

use crate::os::ExitCause;
use crate::text::size;

/// The cause of the end of a process in which a test ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum CrashCause {
    /// A signal, on Windows an exception.
    #[error("{signal}")]
    Signal {
        /// Its name, such as `SIGSEGV`.
        signal: String,
    },
    /// The process exited.
    #[error("exited with status {status} {when}")]
    Exit {
        /// The exit status.
        status: i32,
        /// The time of the exit.
        when: ExitTime,
    },
    /// Another process killed it, such as the kernel when memory ran out: no test ends in this way.
    #[error("SIGKILL: killed from outside (out of memory?)")]
    Killed,
    /// The runner killed it, since its processes used too much memory.
    #[error(
        "its processes use {} of memory, and the limit is {} (`memory`)",
        size(*.used),
        size(*.limit)
    )]
    Memory {
        /// Their resident memory, in bytes.
        used: u64,
        /// The key `memory`, in bytes.
        limit: u64,
    },
    /// It closed its connection to the runner, and kept running.
    #[error("closed its connection to the runner")]
    Disconnect,
    /// The machine went down each time that the test ran.
    #[error("the machine stopped during the test")]
    Machine,
}

/// The time of an unexpected exit of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExitTime {
    /// While a test ran.
    #[error("in the middle of the test")]
    InTest,
    /// After the last test.
    #[error("after its last test")]
    AfterTests,
    /// After the request to exit.
    #[error("when it was asked to exit")]
    AtExit,
}

impl CrashCause {
    /// Returns the cause of the end of a process.
    pub fn new(exit: ExitCause, when: ExitTime) -> Self {
        match exit {
            ExitCause::Exited(status) => Self::Exit { status, when },
            // No driver sends it.
            ExitCause::Signalled(name) if name == "SIGKILL" => Self::Killed,
            ExitCause::Signalled(signal) => Self::Signal { signal },
            ExitCause::Killed => Self::Disconnect,
        }
    }

    /// Returns whether tests and processes beside this one may be the cause as well.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Killed | Self::Memory { .. } => true,
            Self::Signal { .. } | Self::Exit { .. } | Self::Disconnect | Self::Machine => false,
        }
    }
}
