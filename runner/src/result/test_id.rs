//! The id of a result.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::worker_end::WorkerEnd;
use crate::devices::run_device::HOST;

/// The id of a result: `suite::test::case@device`, or of the workers of a device, `worker::crash@device`. The device
/// begins after the last `@`; a text without one is the path of a test that needs none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline, with = "String"))]
pub struct TestId(Box<str>);

impl TestId {
    /// Creates the id of a test on a device.
    pub fn new(path: &str, device: &str) -> Self {
        Self([path, "@", device].concat().into())
    }

    /// Creates an id from its text.
    pub fn parse(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the id with this text behind that of the device.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self::new(self.path(), &[self.device(), suffix].concat())
    }

    fn parts(&self) -> (&str, &str) {
        self.0.rsplit_once('@').unwrap_or((&*self.0, HOST))
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the device: `suite::test::case`.
    pub fn path(&self) -> &str {
        self.parts().0
    }

    /// Returns the id of the device.
    pub fn device(&self) -> &str {
        self.parts().1
    }

    /// Returns the result of workers, unless this is the id of a test.
    pub fn of_worker(&self) -> Option<WorkerEnd> {
        WorkerEnd::of_path(self.path())
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
        &self.0
    }
}

impl Borrow<str> for TestId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for TestId {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for TestId {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
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
        assert_eq!(TestId::new(WorkerEnd::Leave.path(), "d"), "worker::leave@d");
    }
}
