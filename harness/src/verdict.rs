//! Outcomes, expectations, and the verdict that follows from both.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use globset::GlobMatcher;
use serde::{Deserialize, Serialize};

use crate::config::WrittenExpectation;
use crate::text::first_line;

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
        #[serde(rename = "limit_ns", with = "crate::serde_time::nanoseconds")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
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
            Self::Pass | Self::Skip | Self::Ignored | Self::ExpectedFail => true,
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

    /// Returns whether this is the worse of two verdicts on one test.
    pub fn is_worse_than(self, other: Self) -> bool {
        let severity = |verdict: Self| match verdict {
            Self::Pass => 0,
            Self::Skip | Self::Ignored => 1,
            Self::ExpectedFail => 2,
            Self::NotRun => 3,
            Self::Flaky => 4,
            Self::UnexpectedPass => 5,
            Self::Fail => 6,
            Self::Timeout => 7,
            Self::Crash => 8,
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
            Self::UnexpectedPass => "unexpected-pass",
            Self::Flaky => "flaky",
            Self::NotRun => "not-run",
        }
    }
}

/// The expectation of the configuration for a test on a device, with its reason.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The expectation as it is written, with the ways in which the test may end there and the reason.
    pub written: Arc<WrittenExpectation>,
    /// Matches the first line of the message of an expected failure, or the signal of an expected crash.
    pub message: Option<GlobMatcher>,
    /// The time limit of the test there.
    pub timeout: Option<Duration>,
}

impl Expectation {
    /// Returns whether a test that was run may end so. A test that is to be skipped may go wrong in any way.
    pub fn allows(&self, outcome: &Outcome) -> bool {
        let Some(status) = outcome.status() else { return false };
        let message = match outcome {
            Outcome::Failed { message, .. } => Some(message),
            Outcome::Crashed { how } => Some(how),
            _ => None,
        };
        let is_known = |message: &String| {
            self.message.as_ref().is_none_or(|known| known.is_match(first_line(message)))
        };
        let statuses = self.written.status;
        match statuses.is_skip() {
            true => status != ExpectedStatus::Pass,
            false => statuses.contains(status) && message.is_none_or(is_known),
        }
    }
}

/// The ways in which a test can be expected to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// Judges an outcome in the light of what was expected.
///
/// Going wrong in another way than the expected one is not expected: a crash where a failed
/// assertion was announced stays a crash.
pub fn judge(outcome: &Outcome, expectation: Option<&Expectation>) -> Verdict {
    let is_allowed = expectation.is_some_and(|expectation| expectation.allows(outcome));
    match outcome {
        Outcome::Skipped { .. } => Verdict::Skip,
        Outcome::Ignored { .. } => Verdict::Ignored,
        Outcome::NotRun { .. } => Verdict::NotRun,
        Outcome::Passed if is_allowed || expectation.is_none() => Verdict::Pass,
        Outcome::Passed => Verdict::UnexpectedPass,
        _ if is_allowed => Verdict::ExpectedFail,
        Outcome::Failed { .. } => Verdict::Fail,
        Outcome::Crashed { .. } => Verdict::Crash,
        Outcome::TimedOut { .. } => Verdict::Timeout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::expectation;

    #[test]
    fn only_the_expected_way_of_going_wrong_is_expected() {
        use ExpectedStatus as Expected;
        let failed = Outcome::Failed { message: String::new(), location: None };
        let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let timed_out = Outcome::TimedOut { limit: Duration::from_secs(1) };
        let skipped = Outcome::Skipped { reason: String::new() };
        let ignored = Outcome::Ignored { reason: None };
        let not_run = Outcome::NotRun { reason: String::new() };
        let all = [None, Some(Expected::Fail), Some(Expected::Crash), Some(Expected::Timeout)];
        for (outcome, verdicts) in [
            (
                Outcome::Passed,
                [
                    Verdict::Pass,
                    Verdict::UnexpectedPass,
                    Verdict::UnexpectedPass,
                    Verdict::UnexpectedPass,
                ],
            ),
            (failed, [Verdict::Fail, Verdict::ExpectedFail, Verdict::Fail, Verdict::Fail]),
            (crashed, [Verdict::Crash, Verdict::Crash, Verdict::ExpectedFail, Verdict::Crash]),
            (
                timed_out,
                [Verdict::Timeout, Verdict::Timeout, Verdict::Timeout, Verdict::ExpectedFail],
            ),
            (skipped, [Verdict::Skip; 4]),
            (ignored, [Verdict::Ignored; 4]),
            (not_run, [Verdict::NotRun; 4]),
        ] {
            for (status, verdict) in all.into_iter().zip(verdicts) {
                let expectation = status.map(|status| expectation(status, "known"));
                let found = judge(&outcome, expectation.as_ref());
                assert_eq!(found, verdict, "{outcome:?}, expected {status:?}");
            }
        }
    }

    #[test]
    fn a_run_succeeds_with_what_was_expected_alone() {
        use Verdict::{
            Crash, ExpectedFail, Fail, Flaky, Ignored, NotRun, Pass, Skip, Timeout, UnexpectedPass,
        };
        for verdict in [Pass, Skip, Ignored, ExpectedFail] {
            assert!(verdict.is_as_expected(), "{verdict:?}");
        }
        for verdict in [Fail, Crash, Timeout, UnexpectedPass, Flaky, NotRun] {
            assert!(!verdict.is_as_expected(), "{verdict:?}");
        }
    }
}
