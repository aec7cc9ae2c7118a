//! The tests of this executable, which `#[clmatrix_harness::test]` registers, and their names.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;
use std::panic;
use std::sync::LazyLock;
use std::time::Duration;

use crate::requirement::Requirement;
use crate::verdict::Location;
use crate::worker::child::is_skip;

/// One registered test, a case of its own where rstest made several.
pub struct Test {
    /// `module_path!()` of the test, the crate's name first.
    pub module: &'static str,
    /// The function's name.
    pub name: &'static str,
    /// The source file.
    pub file: &'static str,
    /// The line in it, from 1.
    pub line: u32,
    /// Runs it against the device that this process is bound to.
    pub run: fn() -> TestReturn,
    /// `#[ignore]`.
    pub ignore: Ignore,
    /// `#[should_panic]`.
    pub should_panic: ShouldPanic,
    /// True if the test needs no device and runs once.
    pub once: bool,
    /// True if no other test runs on its device meanwhile.
    pub alone: bool,
    /// True if its contexts are new.
    pub fresh_context: bool,
    /// True if its worker runs no other test.
    pub own_worker: bool,
    /// The requirements on the device.
    pub requires: &'static [Requirement],
    /// The time limit of the test.
    pub timeout: Option<Duration>,
}

/// A test function, by its file and line.
pub type FunctionId = (&'static str, u32);

inventory::collect!(Test);

/// The return value of a test: an error's text is a failure.
pub type TestReturn = Result<(), String>;

/// The state of `#[ignore]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// Not marked.
    No,
    /// Marked.
    Yes,
    /// Marked, with a reason.
    Because(&'static str),
}

/// The state of `#[should_panic]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShouldPanic {
    /// Not marked.
    No,
    /// Any panic is accepted.
    Yes,
    /// The panic's message must contain this.
    With(&'static str),
}

/// The types that a test function may return.
#[diagnostic::on_unimplemented(
    message = "a test cannot return `{Self}`",
    label = "neither `()` nor a `Result`",
    note = "the error of the `Result` is `Debug`"
)]
pub trait IntoTestReturn {
    /// Turns an error into its text.
    fn into_test_return(self) -> TestReturn;
}

impl IntoTestReturn for () {
    fn into_test_return(self) -> TestReturn {
        Ok(())
    }
}

impl<T: IntoTestReturn, E: Debug + 'static> IntoTestReturn for Result<T, E> {
    fn into_test_return(self) -> TestReturn {
        let error = match self {
            Ok(value) => return value.into_test_return(),
            Err(error) => error,
        };
        let text = format!("Error: {error:?}");
        // The error of `JoinHandle::join` is the panic of a thread, which may be `skip!`.
        match (Box::new(error) as Box<dyn Any>).downcast::<Box<dyn Any + Send>>() {
            Ok(payload) if is_skip(&**payload) => panic::resume_unwind(*payload),
            _ => Err(text),
        }
    }
}

impl Test {
    /// Returns the id without its device: `suite::test::case`.
    ///
    /// Ids of tests of the crate `home` leave out the crate's name; those of other crates keep it.
    pub fn path(&self, home: &str) -> String {
        match self.module.strip_prefix(home) {
            Some("") => self.name.to_owned(),
            Some(rest) if rest.starts_with("::") => [&rest[2..], "::", self.name].concat(),
            _ => [self.module, "::", self.name].concat(),
        }
    }

    /// Returns the test function, which the cases of rstest share.
    pub fn function(&self) -> FunctionId {
        (self.file, self.line)
    }

    /// Returns the place of the test in the source.
    pub fn location(&self) -> Location {
        Location { file: self.file.into(), line: self.line }
    }

    /// Returns libtest's name of the test: its path within its own crate.
    pub fn libtest_name(&self) -> String {
        let inner = self.module.split_once("::").map(|(_, inner)| format!("{inner}::"));
        inner.unwrap_or_default() + self.name
    }
}

/// Returns all tests, ordered by module, file and line, as in the sources.
///
/// # Errors
/// Two tests have the same name, as functions in two functions can: only one of them could be run.
pub fn tests() -> Result<Vec<&'static Test>, String> {
    let mut tests: Vec<&'static Test> = inventory::iter::<Test>.into_iter().collect();
    tests.sort_by_cached_key(|test| {
        (test.module.split("::").next(), test.file, test.line, test.module, test.name)
    });
    let mut seen = HashMap::new();
    for test in &tests {
        if let Some(Test { file, line, .. }) = seen.insert((test.module, test.name), test) {
            return Err(format!(
                "two tests are called {}::{}: {file}:{line} and {}:{}",
                test.module, test.name, test.file, test.line
            ));
        }
    }
    Ok(tests)
}

/// Returns the test with exactly this module and name.
pub fn find(module: &str, name: &str) -> Option<&'static Test> {
    static TESTS: LazyLock<HashMap<(&str, &str), &Test>> = LazyLock::new(|| {
        inventory::iter::<Test>.into_iter().map(|test| ((test.module, test.name), test)).collect()
    });
    TESTS.get(&(module, name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(module: &'static str, name: &'static str) -> Test {
        Test {
            module,
            name,
            file: "src/lib.rs",
            line: 1,
            run: || Ok(()),
            ignore: Ignore::No,
            should_panic: ShouldPanic::No,
            once: false,
            alone: false,
            fresh_context: false,
            own_worker: false,
            requires: &[],
            timeout: None,
        }
    }

    #[test]
    fn paths_lose_the_home_crate_only() {
        for (module, home, path) in [
            ("mine::buffer", "mine", "buffer::t"),
            ("mine", "mine", "t"),
            ("mine_too::buffer", "mine", "mine_too::buffer::t"),
            ("other::buffer::fill", "mine", "other::buffer::fill::t"),
        ] {
            assert_eq!(test(module, "t").path(home), path, "{module} seen from {home}");
        }
    }

    #[test]
    fn libtest_never_sees_the_crate() {
        assert_eq!(test("mine::buffer", "t").libtest_name(), "buffer::t");
        assert_eq!(test("mine", "t").libtest_name(), "t");
    }

    #[test]
    fn errors_come_with_their_debug_text() {
        assert_eq!(().into_test_return(), Ok(()));
        assert_eq!(Ok::<(), i32>(()).into_test_return(), Ok(()));
        assert_eq!(Err::<(), _>("gone").into_test_return(), Err("Error: \"gone\"".to_owned()));
    }
}
