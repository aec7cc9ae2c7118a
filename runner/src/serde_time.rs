//! Times and durations in the event log: types for `#[serde(with)]`; and fields that are left out.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Times as text, for people and other programs.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
pub enum Rfc3339 {}

impl Rfc3339 {
    /// Serializes the text.
    pub fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_rfc3339_micros(*time))
    }

    /// Parses the text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        humantime::parse_rfc3339(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Durations as whole nanoseconds.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "u64"))]
pub enum Nanoseconds {}

impl Nanoseconds {
    /// Writes the number, or the largest one instead of a larger one.
    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads the number.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// Returns whether a field has its default, and is left out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
