//! The key `status` of an expectation: the ways in which its tests may end.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, Error, IntoDeserializer, SeqAccess, Visitor, value};
use serde::{Deserialize, Serialize};

use super::value::{Text, deserialize_from_text};
use crate::verdict::ExpectedStatus;

/// The short name of all ways in which a test that runs may end.
const FLAKY: &str = "flaky";

/// One status or several. Those beside `skip` are for a test that runs nevertheless.
///
/// A bit per status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Form"))]
#[serde(into = "Form")]
pub struct ExpectedStatuses(u8);

/// A status as it is written.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Form {
    /// `pass`, `fail`, `crash`, `timeout`, `skip`, or `flaky` for the first four.
    Name(String),
    /// Several of them.
    Names(BTreeSet<ExpectedStatus>),
}

impl ExpectedStatuses {
    /// Sets the bit of each of `statuses`.
    fn new(statuses: impl IntoIterator<Item = ExpectedStatus>) -> Self {
        Self(statuses.into_iter().fold(0, |bits, status| bits | bit(status)))
    }

    /// Returns all ways in which a test that runs may end.
    pub fn flaky() -> Self {
        use ExpectedStatus::{Crash, Fail, Pass, Timeout};
        Self::new([Pass, Fail, Crash, Timeout])
    }

    /// Returns the statuses in the order of [`ExpectedStatus::ALL`].
    fn iter(self) -> impl Iterator<Item = ExpectedStatus> {
        ExpectedStatus::ALL.into_iter().filter(move |status| self.contains(*status))
    }

    /// Returns whether a test may end with this status.
    pub fn contains(self, status: ExpectedStatus) -> bool {
        self.0 & bit(status) != 0
    }

    /// Returns whether a test may end with a message.
    pub fn may_have_message(self) -> bool {
        self.contains(ExpectedStatus::Fail) || self.contains(ExpectedStatus::Crash)
    }

    /// Returns these statuses and those of `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the test is not run.
    pub fn is_skip(self) -> bool {
        self.contains(ExpectedStatus::Skip)
    }

    /// Returns these statuses.
    ///
    /// # Errors
    ///
    /// The set is empty.
    pub fn from_several(statuses: BTreeSet<ExpectedStatus>) -> Result<Self, &'static str> {
        match statuses.is_empty() {
            true => Err("an empty list: name at least one status"),
            false => Ok(Self::new(statuses)),
        }
    }
}

impl From<ExpectedStatus> for ExpectedStatuses {
    fn from(status: ExpectedStatus) -> Self {
        Self(bit(status))
    }
}

/// The bit of a status.
fn bit(status: ExpectedStatus) -> u8 {
    1 << status as u8
}

impl From<ExpectedStatuses> for Form {
    fn from(statuses: ExpectedStatuses) -> Self {
        let has_name = statuses.0.count_ones() == 1 || statuses == ExpectedStatuses::flaky();
        if has_name {
            Self::Name(statuses.to_string())
        } else {
            Self::Names(statuses.iter().collect())
        }
    }
}

/// `fail`, `flaky`, or `pass or timeout`.
impl fmt::Display for ExpectedStatuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::flaky() {
            return f.write_str(FLAKY);
        }
        let names: Vec<_> = self.iter().map(|status| status.to_string()).collect();
        f.write_str(&names.join(" or "))
    }
}

impl<'de> Deserialize<'de> for ExpectedStatuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusesVisitor)
    }
}

struct StatusesVisitor;

impl<'de> Visitor<'de> for StatusesVisitor {
    type Value = ExpectedStatuses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status such as \"fail\", or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ExpectedStatuses, E> {
        if text == FLAKY {
            return Ok(ExpectedStatuses::flaky());
        }
        let known: Result<_, value::Error> = ExpectedStatus::deserialize(text.into_deserializer());
        known.map(ExpectedStatuses::from).map_err(|_| {
            E::unknown_variant(text, &["pass", "fail", "crash", "timeout", "skip", FLAKY])
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ExpectedStatuses, A::Error> {
        let mut statuses = BTreeSet::new();
        while let Some(Listed(status)) = list.next_element()? {
            statuses.insert(status);
        }
        ExpectedStatuses::from_several(statuses).map_err(A::Error::custom)
    }
}

/// A status in a list.
struct Listed(ExpectedStatus);

impl Text for Listed {
    const EXPECTED: &str = "a status such as \"fail\"";

    fn parse(text: &str) -> Result<Self, String> {
        if text == FLAKY {
            return Err(
                "`flaky` must be alone: it is short for pass, fail, crash and timeout".to_owned()
            );
        }
        let status: Result<_, value::Error> = ExpectedStatus::deserialize(text.into_deserializer());
        status.map(Self).map_err(|error| error.to_string())
    }
}

deserialize_from_text!(Listed);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_written_as_they_are_read() {
        for (json, text) in [
            ("\"fail\"", "fail"),
            ("\"skip\"", "skip"),
            ("\"flaky\"", "flaky"),
            ("[\"pass\",\"timeout\"]", "pass or timeout"),
            ("[\"crash\",\"skip\"]", "crash or skip"),
        ] {
            let statuses: ExpectedStatuses = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&statuses).unwrap(), json);
            assert_eq!(statuses.to_string(), text);
        }
        let all: ExpectedStatuses =
            serde_json::from_str("[\"timeout\",\"crash\",\"fail\",\"pass\"]").unwrap();
        assert_eq!(all, ExpectedStatuses::flaky());
    }
}
