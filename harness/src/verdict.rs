//! Outcomes, and the verdicts on them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The description of a crash that is not the process's own: no test crashes so.
pub const KILLED_FROM_OUTSIDE: &str = "SIGKILL: killed from outside (out of memory?)";

/// The outcome of one execution of a test on a device, without regard to expectations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It ran to its end.
    Passed,
    /// It panicked, returned an error, or the driver complained while it ran.
    Failed {
        /// The assertion's message, or the error's.
        message: String,
        /// The place of the failure in the source, if known.
        location: Option<Location>,
    },
    /// The process died, by a signal or by leaving in the middle of the test.
    Crashed {
        /// "SIGSEGV", "exited with status 0", ...
        how: String,
    },
    /// It did not end in time.
    TimedOut {
        /// The limit that it was given.
        #[serde(rename = "limit_ns", with = "crate::serde_time::Nanoseconds")]
        limit: Duration,
    },
    /// It did not run, since the device lacks something or the configuration says so.
    Skipped {
        /// The missing property, or the reason of the configuration.
        reason: String,
    },
    /// Marked `#[ignore]` and not asked for.
    Ignored {
        /// The text of the attribute, if any.
        reason: Option<String>,
    },
    /// It could not be run, or the run ended before its turn came.
    NotRun {
        /// The reason.
        reason: String,
    },
}

impl Outcome {
    /// The status by which the outcome of a test that has run can be expected.
    pub fn status(&self) -> Option<ExpectedStatus> {
        match self {
            Self::Passed => Some(ExpectedStatus::Pass),
            Self::Failed { .. } => Some(ExpectedStatus::Fail),
            Self::Crashed { .. } => Some(ExpectedStatus::Crash),
            Self::TimedOut { .. } => Some(ExpectedStatus::Timeout),
            Self::Skipped { .. } | Self::Ignored { .. } | Self::NotRun { .. } => None,
        }
    }

    /// Returns whether the process crashed by itself. The kernel kills processes that use too much
    /// memory.
    pub fn is_own_crash(&self) -> bool {
        matches!(self, Self::Crashed { how } if how != KILLED_FROM_OUTSIDE)
    }
}

impl fmt::Display for Outcome {
    /// The verdict's reason: the assertion with its place, the signal, what the device lacks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed { message, location: None } => f.write_str(message),
            Self::Failed { message, location: Some(Location { file, line }) } => {
                write!(f, "{message}\n  at {file}:{line}")
            }
            Self::Crashed { how } => f.write_str(how),
            Self::TimedOut { limit } => {
                write!(f, "did not end within {}", humantime::format_duration(*limit))
            }
            Self::Ignored { reason: None } => f.write_str("ignored"),
            Self::Skipped { reason }
            | Self::Ignored { reason: Some(reason) }
            | Self::NotRun { reason } => f.write_str(reason),
        }
    }
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    /// Path as the compiler saw it, shared by the results of a test.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
}

/// The verdict on a result: its outcome compared with the expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Ran and passed.
    Pass,
    /// A failed assertion, a returned error, or a driver's diagnostic.
    Fail,
    /// The process died.
    Crash,
    /// The time limit was reached.
    Timeout,
    /// The device lacks something that the test requires.
    Skip,
    /// `#[ignore]`.
    Ignored,
    /// Went wrong in the way that the configuration expects on this device.
    ExpectedFail,
    /// Went wrong as it was seen at another version of the driver.
    AssumedFail,
    /// Expected to go wrong or to be skipped, but passed: the expectation is out of date.
    UnexpectedPass,
    /// Went wrong, and then passed alone.
    Flaky,
    /// The run ended before its turn came.
    NotRun,
}

impl Verdict {
    /// Returns whether the run may still succeed with this verdict among its results, unless the
    /// configuration tolerates the result.
    pub fn is_as_expected(self) -> bool {
        match self {
            Self::Pass | Self::Skip | Self::Ignored | Self::ExpectedFail | Self::AssumedFail => {
                true
            }
            Self::Fail
            | Self::Crash
            | Self::Timeout
            | Self::UnexpectedPass
            | Self::Flaky
            | Self::NotRun => false,
        }
    }

    /// Returns whether a test went wrong in a way that nothing explains yet.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Crash | Self::Timeout)
    }

    /// Returns whether a test went wrong in a way that an expectation explains.
    pub fn is_explained_failure(self) -> bool {
        matches!(self, Self::ExpectedFail | Self::AssumedFail)
    }

    /// Returns whether this one counts of two verdicts on a test, in several runs, rounds or attempts: the worse one.
    /// `NotRun` is the least: it tells nothing about the test.
    pub fn is_worse_than(self, other: Self) -> bool {
        let severity = |verdict: Self| match verdict {
            Self::NotRun => 0,
            Self::Pass => 1,
            Self::Skip | Self::Ignored => 2,
            Self::ExpectedFail => 3,
            Self::AssumedFail => 4,
            Self::Flaky => 5,
            Self::UnexpectedPass => 6,
            Self::Fail => 7,
            Self::Timeout => 8,
            Self::Crash => 9,
        };
        severity(self) > severity(other)
    }

    /// The name in reports: `pass`, `expected-fail`, ...
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Skip => "skip",
            Self::Ignored => "ignored",
            Self::ExpectedFail => "expected-fail",
            Self::AssumedFail => "assumed-fail",
            Self::UnexpectedPass => "unexpected-pass",
            Self::Flaky => "flaky",
            Self::NotRun => "not-run",
        }
    }
}

/// The ways in which a test can be expected to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedStatus {
    /// It passes.
    Pass,
    /// A failed assertion, a returned error, or a driver's diagnostic.
    Fail,
    /// The process dies.
    Crash,
    /// It does not end in time.
    Timeout,
    /// It must not be run at all (it would harm the machine).
    Skip,
}

impl ExpectedStatus {
    pub(crate) const ALL: [Self; 5] =
        [Self::Pass, Self::Fail, Self::Crash, Self::Timeout, Self::Skip];

    /// The name in configuration files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Skip => "skip",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_succeeds_with_what_was_expected_alone() {
        use Verdict::{
            AssumedFail, Crash, ExpectedFail, Fail, Flaky, Ignored, NotRun, Pass, Skip, Timeout,
            UnexpectedPass,
        };
        for verdict in [Pass, Skip, Ignored, ExpectedFail, AssumedFail] {
            assert!(verdict.is_as_expected(), "{verdict:?}");
        }
        for verdict in [Fail, Crash, Timeout, UnexpectedPass, Flaky, NotRun] {
            assert!(!verdict.is_as_expected(), "{verdict:?}");
        }
    }

    #[test]
    fn a_test_that_was_not_run_in_one_run_has_its_verdict_from_another() {
        for verdict in [Verdict::Pass, Verdict::Skip, Verdict::ExpectedFail, Verdict::Crash] {
            assert!(verdict.is_worse_than(Verdict::NotRun), "{verdict:?}");
            assert!(!Verdict::NotRun.is_worse_than(verdict), "{verdict:?}");
        }
        assert!(Verdict::Crash.is_worse_than(Verdict::Flaky));
        assert!(!Verdict::Pass.is_worse_than(Verdict::Pass));
    }
}
