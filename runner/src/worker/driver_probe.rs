//! Queries each driver for its platforms, in a process of its own and with a time limit, so that a driver that
//! crashes or hangs loses only its own platforms.

use std::path::{Path, PathBuf};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use clmatrix::select::PlatformInfo;

use super::parent::{Reply, Worker, WorkerCommand};
use super::protocol::{Answer, Enumerated, Role};
use crate::config::time_limit;
use crate::devices::failure::{DriverFailure, FailedDriver, FailureKind};
use crate::devices::icd::{Candidate, Candidates, Driver, LoaderVariables, drivers};
use crate::devices::{FoundPlatform, Machine, ids};
use crate::os::{ExitCause, StopSignal};
use crate::variable::{VariableError, text_variable};

/// The time limit of one driver, unless the variable sets another one ("5s").
const LIMIT: Duration = Duration::from_secs(30);

/// The variable with another time limit.
const LIMIT_VARIABLE: &str = "CLMATRIX_ENUMERATION_TIMEOUT";

/// Returns the time limit of one driver.
///
/// # Errors
///
/// CLMATRIX_ENUMERATION_TIMEOUT is no time limit.
pub fn limit() -> Result<Duration, VariableError> {
    let name = LIMIT_VARIABLE;
    let Some(value) = text_variable(name)? else { return Ok(LIMIT) };
    time_limit(&value).map_err(|expected| VariableError { name, value, expected })
}

/// The settings of the queries.
pub struct Probe<'a> {
    /// Libraries, `.icd` files or folders of them that the user named.
    pub added: &'a [PathBuf],
    /// Arguments that lead this executable to its worker's entry.
    pub arguments: &'a [std::ffi::OsString],
    /// Folder for private vendors folders.
    pub state: &'a Path,
    /// The time limit of one driver.
    pub limit: Duration,
}

/// The platforms that a driver shows, or the reason why it shows none.
type Probed = Result<Vec<Enumerated>, DriverFailure>;

impl Probe<'_> {
    /// Queries all drivers in parallel.
    pub fn machine(&self) -> Machine {
        let variables = LoaderVariables::from_environment();
        let mut candidates = drivers(&variables, self.added);
        let (loader, answers) = std::thread::scope(|scope| {
            let ask = |driver| scope.spawn(move || self.ask(driver));
            let loader = ask(&Driver::Loader);
            let each = candidates.drivers.iter().map(|candidate| ask(&candidate.driver));
            let each: Vec<_> = each.collect();
            (join(loader), each.into_iter().map(join).collect::<Vec<_>>())
        });
        // The variable names a loader, too. A loader is at fault only if it cannot be loaded: a driver
        // that it loads may end or hang the process.
        if let (Some(_), Err(failure)) = (&variables.loader, &loader)
            && (variables.bypass_the_loader() || failure.is_of_loading())
        {
            candidates.failed.push(FailedDriver {
                driver: "OPENCL_DYLIB_PATH".to_owned(),
                named: true,
                failure: failure.clone(),
            });
        }
        assemble(candidates, answers, loader)
    }

    fn ask(&self, driver: &Driver) -> Probed {
        let not_probed = |reason: String| DriverFailure::new(FailureKind::NotProbed, reason);
        let environment = driver.environment(self.state).map_err(|error| {
            not_probed(format!("cannot create a private vendors folder: {error}"))
        })?;
        let library = match driver {
            Driver::Icd { library, .. } => Some(library.clone()),
            Driver::Loader => None,
        };
        let role = Role::Enumerate { library };
        let command = WorkerCommand { role, arguments: self.arguments.to_vec(), environment };
        let never = StopSignal::new().map_err(|error| not_probed(error.to_string()))?;
        let mut child = Worker::spawn(&command, &never).map_err(not_probed)?;
        let limit = self.limit;
        let failure = match child.answer(Instant::now() + limit) {
            Reply::Answered(Answer::Platforms(platforms)) => return platforms,
            Reply::Answered(other) => not_probed(format!("unexpected answer {other:?}")),
            Reply::Died(ending) => ended(&ending),
            Reply::TimedOut => {
                let limit = humantime::format_duration(limit);
                let reason =
                    format!("hung: no answer within {limit} ({LIMIT_VARIABLE} sets the limit)");
                DriverFailure::new(FailureKind::Hung, reason)
            }
            Reply::Stopped => not_probed("stopped".to_owned()),
        };
        Err(DriverFailure { reason: child.with_last_stderr_line(&failure.reason), ..failure })
    }
}

fn join(thread: ScopedJoinHandle<'_, Probed>) -> Probed {
    let panicked = "internal error: the probe thread panicked";
    thread.join().unwrap_or_else(|_| Err(DriverFailure::new(FailureKind::NotProbed, panicked)))
}

/// Returns the failure of a driver that ended the process that loaded it.
fn ended(ending: &ExitCause) -> DriverFailure {
    let (kind, how) = match ending {
        ExitCause::Signalled(signal) => (FailureKind::Crashed, format!("crashed with {signal}")),
        ExitCause::Exited(_) | ExitCause::Killed => (FailureKind::Exited, ending.to_string()),
    };
    DriverFailure::new(kind, format!("{how} while it was loaded and queried for its platforms"))
}

/// Combines the drivers' answers, in the loader's own order.
///
/// `loader` has the platforms of one process that loads all drivers; platforms that only it has come from drivers
/// that cannot be shown one by one. If it failed, the order of the files is used.
fn assemble(candidates: Candidates, answers: Vec<Probed>, loader: Probed) -> Machine {
    let mut machine = Machine { platforms: Vec::new(), failed: candidates.failed };
    for (Candidate { driver, named }, answer) in candidates.drivers.into_iter().zip(answers) {
        match answer {
            Ok(platforms) => machine.add(&driver, &platforms),
            Err(failure) => {
                machine.failed.push(FailedDriver { driver: driver.name(), named, failure });
            }
        }
    }
    match loader {
        Ok(platforms) => {
            machine.add(&Driver::Loader, &platforms);
            machine.platforms.sort_by_key(|found| {
                platforms.iter().position(|platform| found.is(platform)).unwrap_or(usize::MAX)
            });
        }
        // Each driver was queried alone, so this failure counts only if there is no driver.
        Err(failure) if machine.platforms.is_empty() && machine.failed.is_empty() => {
            let driver = Driver::Loader.name();
            machine.failed.push(FailedDriver { driver, named: false, failure });
        }
        Err(_) => {}
    }
    let ids = ids::ids(machine.platforms.iter().map(|found| &found.info));
    for (found, ids) in machine.platforms.iter_mut().zip(ids) {
        found.ids = ids;
    }
    machine
}

impl Machine {
    /// Adds the platforms of a driver, except those of a library that is known by another name.
    fn add(&mut self, driver: &Driver, platforms: &[Enumerated]) {
        let known = self.platforms.len();
        for (position, platform) in platforms.iter().enumerate() {
            if !self.platforms[..known].iter().any(|found| found.is(platform)) {
                self.platforms.push(FoundPlatform {
                    info: platform.info.clone(),
                    ids: Vec::new(),
                    driver: driver.clone(),
                    position,
                    library: platform.library.clone(),
                });
            }
        }
    }
}

impl FoundPlatform {
    /// Returns whether `other`, from another process, is this platform.
    fn is(&self, other: &Enumerated) -> bool {
        let name =
            |info: &PlatformInfo| [&info.name, &info.vendor, &info.version].map(String::clone);
        name(&self.info) == name(&other.info)
            && (self.library == other.library || self.library.is_none() || other.library.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(name: &str) -> Driver {
        Driver::Icd { library: format!("lib{name}.so"), origin: format!("{name}.icd").into() }
    }

    fn platform(name: &str) -> Enumerated {
        of_library(name, name)
    }

    fn of_library(name: &str, library: &str) -> Enumerated {
        Enumerated {
            info: {
                let mut info = PlatformInfo::default();
                info.name = name.to_owned();
                info
            },
            library: Some(format!("/lib/{library}").into()),
        }
    }

    fn candidates(names: &[&str]) -> Candidates {
        let candidate = |name: &&str| Candidate { driver: driver(name), named: false };
        Candidates { drivers: names.iter().map(candidate).collect(), failed: Vec::new() }
    }

    fn crash() -> Probed {
        Err(ended(&ExitCause::Signalled("SIGSEGV".to_owned())))
    }

    fn names(machine: &Machine) -> Vec<&str> {
        machine.platforms.iter().map(|found| found.info.name.as_str()).collect()
    }

    #[test]
    fn platforms_stand_in_the_loaders_order() {
        let machine = assemble(
            candidates(&["a", "b"]),
            vec![Ok(vec![platform("A")]), Ok(vec![platform("B1"), platform("B2")])],
            Ok(vec![platform("B2"), platform("A"), platform("B1"), platform("Odd")]),
        );
        assert_eq!(names(&machine), ["B2", "A", "B1", "Odd"]);
        assert_eq!(machine.platforms[0].position, 1, "its place in its own driver");
        assert_eq!(machine.platforms[3].driver, Driver::Loader);
        assert!(machine.failed.is_empty());
    }

    #[test]
    fn a_library_with_two_names_is_one_driver() {
        let machine = assemble(
            candidates(&["a", "link-to-a", "other-build-of-a"]),
            vec![
                Ok(vec![of_library("A", "a")]),
                Ok(vec![of_library("A", "a")]),
                Ok(vec![of_library("A", "b")]),
            ],
            Ok(vec![of_library("A", "b"), of_library("A", "a")]),
        );
        assert_eq!(names(&machine), ["A", "A"]);
        assert_eq!(machine.platforms[0].driver, driver("other-build-of-a"));
        assert_eq!(machine.platforms[1].driver, driver("a"));
    }

    #[test]
    fn a_failing_driver_costs_its_own_platforms() {
        let machine = assemble(
            candidates(&["bad", "good"]),
            vec![crash(), Ok(vec![platform("Good")])],
            crash(),
        );
        assert_eq!(names(&machine), ["Good"]);
        assert_eq!(machine.failed.len(), 1);
        assert_eq!(machine.failed[0].driver, "bad.icd");
        assert_eq!(machine.failed[0].failure.kind, FailureKind::Crashed);
    }

    #[test]
    fn without_any_driver_the_loaders_own_words_are_kept() {
        let no_loader = DriverFailure::new(FailureKind::NoPlatform, "no loader");
        let machine = assemble(Candidates::default(), Vec::new(), Err(no_loader.clone()));
        assert_eq!(machine.failed[0].failure, no_loader);
    }
}
