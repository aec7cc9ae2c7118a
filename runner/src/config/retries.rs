//! The key `retries`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value::{MessagePattern, Text, time_limit};
use crate::verdict::{ExpectedStatus, Outcome};

/// The repeats of a test that goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Written"))]
#[serde(try_from = "Written", into = "Written")]
pub struct Retries(RetriesTable);

/// An end of a test after which it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RetryCause {
    /// An assertion failed, or the test returned an error.
    Fail,
    /// The process ended.
    Crash,
    /// The time limit was reached.
    Timeout,
}

/// The forms of the key: a number, or a table.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "a whole number, or a table with `count`, and `on`, `message` or `delay`, as in \
                 { count = 2, on = [\"crash\", \"timeout\"], delay = \"1s\" }"
)]
pub(super) enum Written {
    /// The number of repeats.
    Count(u32),
    /// The number, with conditions.
    Table(RetriesTable),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RetriesTable {
    /// The number of repeats.
    count: u32,
    /// The ends after which the test is repeated. Absent if it is any failure, crash or timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<Vec<RetryCause>>,
    /// A glob for a part of the first line of the message, or for the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The pause before the first repeat, which doubles before each other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
}

impl Retries {
    /// Returns whether tests are repeated.
    pub fn is_on(&self) -> bool {
        self.0.count > 0
    }

    /// Returns the pause before the next repeat, after this many; `None` if this outcome is not repeated.
    pub fn pause(&self, repeats: u32, outcome: &Outcome) -> Option<Duration> {
        let RetriesTable { count, on, message, delay } = &self.0;
        let is_cause = on.as_ref().is_none_or(|on| on.iter().any(|cause| cause.is_of(outcome)));
        let has_message = message.as_ref().is_none_or(|message| {
            MessagePattern::parse(message).is_ok_and(|glob| glob.matches(&outcome.first_line()))
        });
        let delay = delay.as_ref().and_then(|delay| time_limit(delay).ok()).unwrap_or_default();
        let is_repeated = repeats < *count && is_cause && has_message;
        is_repeated.then(|| delay.saturating_mul(1 << repeats.min(16)))
    }
}

impl RetryCause {
    /// Returns whether this outcome has this cause.
    fn is_of(self, outcome: &Outcome) -> bool {
        let status = match self {
            Self::Fail => ExpectedStatus::Fail,
            Self::Crash => ExpectedStatus::Crash,
            Self::Timeout => ExpectedStatus::Timeout,
        };
        outcome.status() == Some(status)
    }
}

impl From<u32> for Retries {
    fn from(count: u32) -> Self {
        Self(RetriesTable { count, ..RetriesTable::default() })
    }
}

impl TryFrom<Written> for Retries {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let mut table = match written {
            Written::Count(count) => return Ok(count.into()),
            Written::Table(table) => table,
        };
        table.message.as_deref().map(MessagePattern::parse).transpose()?;
        // Equal pauses have one text.
        let delay = table.delay.as_deref().map(time_limit).transpose()?;
        table.delay = delay.map(|delay| humantime::format_duration(delay).to_string());
        Ok(Self(table))
    }
}

impl From<Retries> for Written {
    fn from(retries: Retries) -> Self {
        let count = retries.0.count;
        if retries == Retries::from(count) { Self::Count(count) } else { Self::Table(retries.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Key {
        retries: Retries,
    }

    fn retries(text: &str) -> Result<Retries, String> {
        let key = toml::from_str(&format!("retries = {text}\n"));
        key.map(|Key { retries }| retries).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_repeat_has_conditions_and_a_pause() {
        let failed =
            |message: &str| Outcome::Failed { message: message.to_owned(), location: None };
        let crashed = Outcome::signal("SIGSEGV");
        let timed_out = Outcome::TimedOut { limit: Duration::from_secs(1) };
        let [no, now] = [None, Some(0)];
        for (text, outcome, expected) in [
            ("0", &crashed, [no, no]),
            ("1", &crashed, [now, no]),
            ("{ count = 2 }", &failed("x"), [now, now]),
            ("{ count = 2, on = ['crash', 'timeout'] }", &failed("x"), [no, no]),
            ("{ count = 2, on = ['crash', 'timeout'] }", &timed_out, [now, now]),
            ("{ count = 2, message = 'busy' }", &failed("CL: busy\nx"), [now, now]),
            ("{ count = 2, message = 'busy' }", &failed("x\nbusy"), [no, no]),
            ("{ count = 2, message = 'SIG*' }", &crashed, [now, now]),
            ("{ count = 2, delay = '3s' }", &crashed, [Some(3), Some(6)]),
        ] {
            let retries = retries(text).unwrap();
            let pauses = [0, 1].map(|number| retries.pause(number, outcome).map(|p| p.as_secs()));
            assert_eq!(pauses, expected, "{text}");
            assert_eq!(retries.pause(2, outcome), None, "{text}");
            let json = serde_json::to_string(&retries).unwrap();
            assert_eq!(serde_json::from_str::<Retries>(&json).unwrap(), retries, "{json}");
        }
    }

    #[test]
    fn mistakes_are_refused() {
        for (text, expected) in [
            ("-1", "a whole number, or a table"),
            ("{ on = ['crash'] }", "a whole number, or a table"),
            ("{ count = 1, on = ['skip'] }", "a whole number, or a table"),
            ("{ count = 1, delay = 'soon' }", "invalid duration"),
            ("{ count = 1, message = '[' }", "unclosed"),
        ] {
            let error = retries(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
