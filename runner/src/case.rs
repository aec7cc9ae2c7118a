//! A test of a plan, of this executable or another program.

use std::sync::Arc;
use std::time::Duration;

use clmatrix::select::DeviceInfo;

use crate::outside::OutsideTest;
use crate::registry::{self, Ignore, ShouldPanic, Test};
use crate::requirement::{self, Requirement};
use crate::verdict::Location;

/// A test, and how it runs.
#[derive(Clone)]
pub enum Case {
    /// A function of this executable, which runs in a worker.
    Registered(&'static Test),
    /// A test of another program, which runs in a process of that program.
    Outside(Arc<dyn OutsideTest>),
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
            Self::Outside(test) => test.path(),
        }
    }

    /// Returns the source file and the line of the test, or the file of its program.
    pub fn source(&self) -> (String, Option<u32>) {
        match self {
            Self::Registered(test) => (test.file.to_owned(), Some(test.line)),
            Self::Outside(test) => (test.file().display().to_string(), None),
        }
    }

    /// Returns the place of the test in the source, if it is known.
    pub fn location(&self) -> Option<Location> {
        self.registered_test().map(Test::location)
    }

    /// Returns the state of `#[ignore]`.
    pub fn ignore(&self) -> Ignore {
        match self {
            Self::Registered(test) => test.ignore,
            Self::Outside(test) if test.is_ignored() => Ignore::Yes,
            Self::Outside(_) => Ignore::No,
        }
    }

    fn registered_test(&self) -> Option<&'static Test> {
        match self {
            Self::Registered(test) => Some(test),
            Self::Outside(_) => None,
        }
    }

    /// Returns the state of `#[should_panic]`.
    pub fn should_panic(&self) -> ShouldPanic {
        self.registered_test().map_or(ShouldPanic::No, |test| test.should_panic)
    }

    /// Returns whether the test needs no device and runs once.
    pub fn once(&self) -> bool {
        match self {
            Self::Registered(test) => test.once,
            Self::Outside(test) => test.list_error().is_some(),
        }
    }

    /// Returns whether no other test runs on the device meanwhile.
    pub fn alone(&self) -> bool {
        self.registered_test().is_some_and(|test| test.alone)
    }

    /// Returns the requirements on the device.
    pub fn requires(&self) -> &[Requirement] {
        self.registered_test().map(|test| test.requires).unwrap_or_default()
    }

    /// Returns why the test cannot run on a device, or `None` if it can.
    pub fn missing(&self, device: &DeviceInfo) -> Option<String> {
        match self {
            Self::Registered(test) => requirement::missing(test.requires, device),
            Self::Outside(test) => test.missing(device),
        }
    }

    /// Returns the limit of the test itself.
    pub fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Registered(test) => test.timeout,
            Self::Outside(test) => test.timeout(),
        }
    }

    /// Returns whether the two are the same test.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered(test), Self::Registered(other)) => std::ptr::eq(*test, *other),
            (Self::Outside(test), Self::Outside(other)) => Arc::ptr_eq(test, other),
            _ => false,
        }
    }
}
