//! The id of a result.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::worker_end::WorkerEnd;
use crate::devices::run_device::HOST;

/// The id of a result: `suite::test::case@device`, or of the workers of a device, `worker::crash@device`. Serialized
/// as its text.
#[derive(Clone, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline, with = "String"))]
pub struct TestId {
    text: Box<str>,
    /// The length of the path, in bytes.
    path: u32,
    /// `None`: a test.
    of_worker: Option<WorkerEnd>,
}

impl TestId {
    /// Creates the id of a test on a device.
    pub fn new(path: &str, device: &str) -> Self {
        Self::of_text([path, "@", device].concat().into(), path.len())
    }

    /// Creates the id of a result of the workers of a device.
    pub fn of_workers(end: WorkerEnd, device: &str) -> Self {
        Self::new(end.path(), device)
    }

    /// Parses an id. The device begins after the last `@`; a text without one is the path of a test that needs none.
    pub fn parse(text: &str) -> Self {
        let at = text.rfind('@').unwrap_or(text.len());
        Self::of_text(text.into(), at)
    }

    /// Returns the id with this text behind that of the device.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self::new(self.path(), &[self.device(), suffix].concat())
    }

    fn of_text(text: Box<str>, path: usize) -> Self {
        let of_worker = WorkerEnd::of_path(&text[..path]);
        Self { text, path: path as u32, of_worker }
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the part before the device: `suite::test::case`.
    pub fn path(&self) -> &str {
        &self.text[..self.path as usize]
    }

    /// Returns the id of the device.
    pub fn device(&self) -> &str {
        self.text.get(self.path as usize + 1..).unwrap_or(HOST)
    }

    /// Returns the result of workers, unless this is the id of a test.
    pub fn of_worker(&self) -> Option<WorkerEnd> {
        self.of_worker
    }
}

/// Returns the suite that the path of a test names: the part before the first `::`.
pub fn suite(path: &str) -> Option<&str> {
    path.split_once("::").map(|(suite, _)| suite)
}

impl From<&str> for TestId {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl Deref for TestId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for TestId {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl Hash for TestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialEq for TestId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl PartialEq<str> for TestId {
    fn eq(&self, other: &str) -> bool {
        &*self.text == other
    }
}

impl PartialEq<&str> for TestId {
    fn eq(&self, other: &&str) -> bool {
        &*self.text == *other
    }
}

impl Ord for TestId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl PartialOrd for TestId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl Serialize for TestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for TestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = TestId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a test")
            }

            fn visit_str<E>(self, text: &str) -> Result<TestId, E> {
                Ok(TestId::parse(text))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_a_path_and_a_device() {
        let cases = [
            ("s::t::case@d", ("s::t::case", "d", None)),
            ("s::a@b@d", ("s::a@b", "d", None)),
            ("s::t", ("s::t", HOST, None)),
            ("worker::exit@d", ("worker::exit", "d", Some(WorkerEnd::Exit))),
            ("worker::other@d", ("worker::other", "d", None)),
        ];
        for (text, expected) in cases {
            let id: TestId = serde_json::from_value(text.into()).unwrap();
            assert_eq!((id.path(), id.device(), id.of_worker()), expected, "{text}");
            assert_eq!(serde_json::to_value(&id).unwrap(), text);
        }
        assert_eq!(TestId::new("s::a@b", "d"), TestId::parse("s::a@b@d"));
        assert_eq!(TestId::of_workers(WorkerEnd::Leave, "d"), "worker::leave@d");
    }
}
