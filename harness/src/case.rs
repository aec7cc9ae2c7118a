//! A test of a plan, whatever runs it.

use std::time::Duration;

use crate::registry::{self, Ignore, ShouldPanic, Test};
use crate::requirement::Requirement;
use crate::verdict::Location;

/// A test, and the way in which it runs.
#[derive(Clone)]
pub enum Case {
    /// A function of this executable, which runs in a worker.
    Registered(&'static Test),
}

impl Case {
    /// Returns the registered tests, in the order of the sources.
    ///
    /// # Errors
    ///
    /// Two tests have one name.
    pub fn registered() -> Result<Vec<Self>, String> {
        Ok(registry::tests()?.into_iter().map(Self::Registered).collect())
    }

    /// Returns the id without its device: `suite::test::case`. `home` is the crate whose name is left out.
    pub fn path(&self, home: &str) -> String {
        match self {
            Self::Registered(test) => test.path(home),
        }
    }

    /// Returns the place of the test in the source.
    pub fn location(&self) -> Location {
        match self {
            Self::Registered(test) => test.location(),
        }
    }

    /// Returns the state of `#[ignore]`.
    pub fn ignore(&self) -> Ignore {
        match self {
            Self::Registered(test) => test.ignore,
        }
    }

    /// Returns the state of `#[should_panic]`.
    pub fn should_panic(&self) -> ShouldPanic {
        match self {
            Self::Registered(test) => test.should_panic,
        }
    }

    /// Returns whether the test needs no device and runs once.
    pub fn once(&self) -> bool {
        match self {
            Self::Registered(test) => test.once,
        }
    }

    /// Returns whether no other test runs on the device meanwhile.
    pub fn alone(&self) -> bool {
        match self {
            Self::Registered(test) => test.alone,
        }
    }

    /// Returns the requirements on the device.
    pub fn requires(&self) -> &[Requirement] {
        match self {
            Self::Registered(test) => test.requires,
        }
    }

    /// Returns the limit of the test itself.
    pub fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Registered(test) => test.timeout,
        }
    }

    /// Returns whether the two are the same test.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered(test), Self::Registered(other)) => std::ptr::eq(*test, *other),
        }
    }
}
