//! Outcomes, and the verdicts on them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::result::{CrashCause, NotRunReason};
use crate::text::first_line;

/// The outcome of one execution of a test on a device, without regard to expectations.
// Its text is the verdict's reason: the assertion with its place, the signal, the missing requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The test completed.
    #[error("passed")]
    Passed,
    /// The test panicked, returned an error, or the driver reported an error while it ran.
    #[error("{}", with_place(.message, .location.as_ref()))]
    Failed {
        /// The assertion's message, or the error's.
        message: String,
        /// The place of the failure in the source, if known.
        location: Option<Location>,
    },
    /// The process died, by a signal or an exit during the test.
    #[error("{cause}")]
    Crashed {
        /// The cause.
        cause: CrashCause,
    },
    /// It did not end in time.
    #[error("did not end within {}", humantime::format_duration(*.limit))]
    TimedOut {
        /// Its limit.
        #[serde(rename = "limit_ns", with = "crate::serde_time::Nanoseconds")]
        limit: Duration,
    },
    /// It did not run, since the device lacks a requirement or the configuration skips it.
    #[error("{reason}")]
    Skipped {
        /// The missing property, or the reason of the configuration.
        reason: String,
    },
    /// Marked `#[ignore]` and not requested.
    #[error("{}", .reason.as_deref().unwrap_or("ignored"))]
    Ignored {
        /// The text of the attribute, if any.
        reason: Option<String>,
    },
    /// It could not be run, or the run ended before its turn came.
    #[error("{reason}")]
    NotRun {
        /// The reason.
        reason: NotRunReason,
    },
}

impl Outcome {
    /// Returns the status by which the outcome of a test that has run can be expected.
    pub fn status(&self) -> Option<ExpectedStatus> {
        match self {
            Self::Passed => Some(ExpectedStatus::Pass),
            Self::Failed { .. } => Some(ExpectedStatus::Fail),
            Self::Crashed { .. } => Some(ExpectedStatus::Crash),
            Self::TimedOut { .. } => Some(ExpectedStatus::Timeout),
            Self::Skipped { .. } | Self::Ignored { .. } | Self::NotRun { .. } => None,
        }
    }

    /// Returns whether the process crashed by itself.
    pub fn is_own_crash(&self) -> bool {
        matches!(self, Self::Crashed { cause } if !cause.is_shared())
    }

    /// Returns the message of a failure without its place, or the cause.
    pub fn message(&self) -> Cow<'_, str> {
        match self {
            Self::Failed { message, .. } => message.into(),
            Self::Passed
            | Self::Crashed { .. }
            | Self::TimedOut { .. }
            | Self::Skipped { .. }
            | Self::Ignored { .. }
            | Self::NotRun { .. } => self.to_string().into(),
        }
    }

    /// Returns the place of a failure in the source, if known.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Failed { location, .. } => location.as_ref(),
            Self::Passed
            | Self::Crashed { .. }
            | Self::TimedOut { .. }
            | Self::Skipped { .. }
            | Self::Ignored { .. }
            | Self::NotRun { .. } => None,
        }
    }

    /// Returns the first line of the message or of the cause.
    pub fn first_line(&self) -> String {
        first_line(&self.message())
    }
}

/// Returns the message of a failure, and below it its place.
fn with_place(message: &str, location: Option<&Location>) -> String {
    match location {
        Some(Location { file, line }) => format!("{message}\n  at {file}:{line}"),
        None => message.to_owned(),
    }
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    /// The path from the compiler, shared by the results of a test.
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
    /// The device lacks a requirement of the test.
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
    /// Returns all properties of a verdict: the name in reports, the rank by which the worst of several counts, and
    /// the group.
    const fn row(self) -> (&'static str, u8, Group) {
        match self {
            // It does not depend on the test.
            Self::NotRun => ("not-run", 0, Group::Unexpected),
            Self::Pass => ("pass", 1, Group::Expected),
            Self::Skip => ("skip", 2, Group::Expected),
            Self::Ignored => ("ignored", 2, Group::Expected),
            Self::ExpectedFail => ("expected-fail", 3, Group::ExplainedFailure),
            Self::AssumedFail => ("assumed-fail", 4, Group::ExplainedFailure),
            Self::Flaky => ("flaky", 5, Group::Unexpected),
            Self::UnexpectedPass => ("unexpected-pass", 6, Group::Unexpected),
            Self::Fail => ("fail", 7, Group::Failure),
            Self::Timeout => ("timeout", 8, Group::Failure),
            Self::Crash => ("crash", 9, Group::Failure),
        }
    }

    /// Returns whether the run may still succeed with this verdict among its results, unless the
    /// configuration tolerates the result.
    pub fn is_as_expected(self) -> bool {
        matches!(self.row().2, Group::Expected | Group::ExplainedFailure)
    }

    /// Returns whether a test went wrong in a way that nothing explains yet.
    pub fn is_failure(self) -> bool {
        self.row().2 == Group::Failure
    }

    /// Returns whether a test went wrong in a way that an expectation explains.
    pub fn is_explained_failure(self) -> bool {
        self.row().2 == Group::ExplainedFailure
    }

    /// Returns whether this verdict on a test counts before the other one, of another run or attempt: the worse one
    /// counts.
    pub fn is_worse_than(self, other: Self) -> bool {
        self.row().1 > other.row().1
    }

    /// Returns the name in reports: `pass`, `expected-fail`, ...
    pub fn name(self) -> &'static str {
        self.row().0
    }
}

/// A group of verdicts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// The run may succeed with it.
    Expected,
    /// A test failed as an expectation says.
    ExplainedFailure,
    /// A test went wrong, and nothing explains it yet.
    Failure,
    /// The run fails with it.
    Unexpected,
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
}

/// The name in configuration files and reports.
impl fmt::Display for ExpectedStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
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
