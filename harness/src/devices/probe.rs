//! Asks each driver for its platforms, in a process of its own and with a time limit, so that one
//! that crashes or hangs costs its own platforms and nothing else.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clmatrix::select::PlatformInfo;

use super::icd::{Driver, LoaderVariables, drivers};
use super::{FailedDriver, FoundPlatform, Machine, ids};
use crate::os;
use crate::worker::parent::{Exchange, Launch, Worker};
use crate::worker::protocol::{Answer, Enumerated, Role};

/// How long a driver may take to say what it has, unless CLMATRIX_ENUMERATION_TIMEOUT says
/// otherwise ("5s").
const LIMIT: Duration = Duration::from_secs(30);

fn limit() -> Duration {
    std::env::var("CLMATRIX_ENUMERATION_TIMEOUT")
        .ok()
        .and_then(|text| humantime::parse_duration(&text).ok())
        .unwrap_or(LIMIT)
}

/// How to ask.
pub struct Probe<'a> {
    /// ICD libraries or files beside those that the loader knows.
    pub added: &'a [PathBuf],
    /// Arguments that lead this executable to its worker's entry.
    pub arguments: &'a [std::ffi::OsString],
    /// Folder for private vendors folders.
    pub state: &'a Path,
}

impl Probe<'_> {
    /// Asks all drivers, side by side.
    pub fn machine(&self) -> Machine {
        let variables = LoaderVariables::from_environment();
        let drivers = drivers(&variables, self.added);
        let (as_is, answers) = std::thread::scope(|scope| {
            let as_is = scope.spawn(|| self.ask(&Driver::AsIs));
            let each: Vec<_> =
                drivers.iter().map(|driver| scope.spawn(|| self.ask(driver))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("the question itself failed".to_owned()))
            };
            (join(as_is), each.into_iter().map(join).collect::<Vec<_>>())
        });
        assemble(drivers, answers, as_is)
    }

    fn ask(&self, driver: &Driver) -> Result<Vec<Enumerated>, String> {
        if let Driver::Icd { library, .. } = driver
            && Path::new(library).is_absolute()
            && !Path::new(library).exists()
        {
            return Err(format!("there is no file {library}"));
        }
        let environment = driver
            .environment(self.state)
            .map_err(|error| format!("no private vendors folder can be made: {error}"))?;
        let launch =
            Launch { role: Role::Enumerate, arguments: self.arguments.to_vec(), environment };
        let mut child = Worker::spawn(&launch, false)?;
        let (never, _switch) = os::stop_signal().map_err(|error| error.to_string())?;
        let limit = limit();
        let trouble = match child.answer(Instant::now() + limit, &never) {
            Exchange::Answered(Answer::Platforms(Ok(none)))
                if none.is_empty() && *driver != Driver::AsIs =>
            {
                "not a driver, or one that finds no platform".to_owned()
            }
            Exchange::Answered(Answer::Platforms(platforms)) => return platforms,
            Exchange::Answered(other) => format!("unexpected answer {other:?}"),
            Exchange::Died(ending) => {
                format!("crashed while it was asked for its platforms: {ending}")
            }
            Exchange::TimedOut => {
                format!("hung: no answer within {}", humantime::format_duration(limit))
            }
            Exchange::Stopped => "stopped".to_owned(),
        };
        Err(child.explain(&trouble))
    }
}

/// Puts the drivers' answers together, in the loader's own order.
///
/// `as_is` is what one process sees that loads them all; platforms that only it knows come from
/// drivers that cannot be shown one by one. Where it failed, the order of the files stands.
fn assemble(
    drivers: Vec<Driver>,
    answers: Vec<Result<Vec<Enumerated>, String>>,
    as_is: Result<Vec<Enumerated>, String>,
) -> Machine {
    let mut machine = Machine::default();
    for (driver, answer) in drivers.into_iter().zip(answers) {
        match answer {
            Ok(platforms) => machine.add(&driver, &platforms),
            Err(reason) => machine.failed.push(FailedDriver { driver, reason }),
        }
    }
    match as_is {
        Ok(platforms) => {
            machine.add(&Driver::AsIs, &platforms);
            machine.platforms.sort_by_key(|found| {
                platforms.iter().position(|platform| found.is(platform)).unwrap_or(usize::MAX)
            });
        }
        // Each driver answered for itself, so only where there is none is this the trouble.
        Err(reason) if machine.platforms.is_empty() && machine.failed.is_empty() => {
            machine.failed.push(FailedDriver { driver: Driver::AsIs, reason });
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
    /// Adds what a driver has, less what is there already under another name of the same library.
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
    /// Whether another process saw this same platform.
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
            info: PlatformInfo { name: name.to_owned(), ..PlatformInfo::default() },
            library: Some(format!("/lib/{library}").into()),
        }
    }

    fn names(machine: &Machine) -> Vec<&str> {
        machine.platforms.iter().map(|found| found.info.name.as_str()).collect()
    }

    #[test]
    fn platforms_stand_in_the_loaders_order() {
        let machine = assemble(
            vec![driver("a"), driver("b")],
            vec![Ok(vec![platform("A")]), Ok(vec![platform("B1"), platform("B2")])],
            Ok(vec![platform("B2"), platform("A"), platform("B1"), platform("Odd")]),
        );
        assert_eq!(names(&machine), ["B2", "A", "B1", "Odd"]);
        assert_eq!(machine.platforms[0].position, 1, "its place in its own driver");
        assert_eq!(machine.platforms[3].driver, Driver::AsIs);
        assert!(machine.failed.is_empty());
    }

    #[test]
    fn a_library_with_two_names_is_one_driver() {
        let machine = assemble(
            vec![driver("a"), driver("link-to-a"), driver("other-build-of-a")],
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
            vec![driver("bad"), driver("good")],
            vec![Err("crashed: SIGSEGV".to_owned()), Ok(vec![platform("Good")])],
            Err("crashed: SIGSEGV".to_owned()),
        );
        assert_eq!(names(&machine), ["Good"]);
        assert_eq!(machine.failed.len(), 1);
        assert_eq!(machine.failed[0].driver, driver("bad"));
    }

    #[test]
    fn without_any_driver_the_loaders_own_words_are_kept() {
        let machine = assemble(Vec::new(), Vec::new(), Err("no loader".to_owned()));
        assert_eq!(machine.failed[0].reason, "no loader");
    }
}
