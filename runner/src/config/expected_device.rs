//! An entry of the key `expected-devices`.

use std::fmt;
use std::num::NonZeroUsize;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::value::{IdPattern, Text};

/// A glob for ids, and the number of devices that must match it at least.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Written"))]
pub(super) struct ExpectedDevice {
    id: IdPattern,
    count: usize,
}

/// An entry with a number.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Keys {
    /// A glob for the id of the device.
    id: IdPattern,
    /// The number of devices.
    count: NonZeroUsize,
}

impl ExpectedDevice {
    /// Returns a text that names the missing devices, if too few of `present` match, which are ids with their known
    /// PCI addresses.
    pub(super) fn absent(&self, present: &[(&str, Option<&str>)]) -> Option<String> {
        let matching = present.iter().filter(|(id, _)| self.id.0.matches(id));
        let found: Vec<&str> = matching.map(|(id, address)| address.unwrap_or(id)).collect();
        let (glob, count) = (&self.id.0.text, self.count);
        match found.len() {
            number if number >= count => None,
            0 if count == 1 => Some(glob.clone()),
            0 => Some(format!("{count} x {glob} (none is there)")),
            number => Some(format!("{count} x {glob} ({number} there: {})", found.join(", "))),
        }
    }
}

impl<'de> Deserialize<'de> for ExpectedDevice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// The forms of an entry.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what the visitor takes")]
enum Written {
    /// A glob for the id.
    Id(IdPattern),
    /// A glob and the number of devices that it matches.
    Count(Keys),
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = ExpectedDevice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a glob such as \"nvidia-*\", or a table with `id` and `count`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ExpectedDevice, E> {
        let id = IdPattern::parse(text).map_err(E::custom)?;
        Ok(ExpectedDevice { id, count: 1 })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ExpectedDevice, A::Error> {
        let Keys { id, count } = Keys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ExpectedDevice { id, count: count.get() })
    }
}
