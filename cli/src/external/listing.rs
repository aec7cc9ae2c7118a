//! The programs of `[[external]]` and their tests.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use clmatrix_runner::case::Case;
use clmatrix_runner::config::{Config, ExternalKind, ExternalSuite};
use clmatrix_runner::os::{self, ExitCause, Source, StopSignal};
use clmatrix_runner::outside::OutsideTest as _;
use clmatrix_runner::terminal::{AnyError, status_line};
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Location;
use parking_lot::Mutex;

use super::external_test::ExternalTest;
use super::process::{ProgramProcess, ProgramWaitEnd};
use super::program::Program;
use super::{libtest, opencl_cts};

/// The time that a program has to list its tests.
const LIST_LIMIT: Duration = Duration::from_secs(60);

/// The time after which a program that lists its tests is named.
const SLOW_LIST: Duration = Duration::from_secs(3);

/// The most bytes of a list.
const LONGEST_LIST: usize = 64 << 20;

/// The lines of output that the message of a failed list has.
const LAST_LINES: usize = 20;

/// A test in the list of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub name: String,
    pub is_ignored: bool,
}

/// Returns the registered tests, and those of other programs.
///
/// # Errors
///
/// Two tests have one path, or a glob for programs is wrong.
pub fn all_cases(config: &Config, home: &str) -> Result<Vec<Case>, AnyError> {
    let mut cases = Case::registered()?;
    if config.external.is_empty() {
        return Ok(cases);
    }
    let mut paths: HashMap<String, String> =
        cases.iter().map(|case| (case.path(home), "this executable".to_owned())).collect();
    for test in outside_tests(&config.external)? {
        let file = test.program.file.display().to_string();
        let path = test.path();
        if let Some(other) = paths.insert(path.clone(), file.clone()) {
            let how = "set another `name` in one of their [[external]] tables";
            return Err(format!("{other} and {file} both have a test {path}: {how}").into());
        }
        cases.push(Case::Outside(Arc::new(test)));
    }
    Ok(cases)
}

/// Returns the tests of all suites, in their order. A program of several suites lists its tests once. The test `list`
/// of a suite has the reasons why tests are missing.
fn outside_tests(suites: &[Arc<ExternalSuite>]) -> Result<Vec<ExternalTest>, AnyError> {
    let (mut groups, mut troubles) = (Vec::new(), Vec::new());
    for suite in suites {
        let (programs, missing) = programs(suite)?;
        groups.extend(grouped(programs, |program| program.name.clone()));
        troubles.extend(missing.into_iter().map(|reason| (suite, reason)));
    }
    // Nothing stops a list before its limit.
    let never = StopSignal::new()?;
    let key =
        |program: &Program| (program.file.clone(), program.folder().to_owned(), program.suite.kind);
    let asked: HashMap<_, OnceLock<_>> =
        groups.iter().flatten().map(|program| (key(program), OnceLock::new())).collect();
    let listed = in_parallel(&groups, |group| match &group[..] {
        [program] => asked[&key(program)].get_or_init(|| list(program, &never)).clone(),
        programs => {
            let files = programs.iter().map(|program| program.file.display().to_string());
            let files = files.collect::<Vec<_>>().join(" and ");
            let name = programs[0].name.as_deref().unwrap_or_default();
            let how = "add an [[external]] table with a `name` of its own for each";
            Err(format!("{files} have one name, {name}; {how}"))
        }
    });
    let mut tests = Vec::new();
    for (mut group, listed) in groups.into_iter().zip(listed) {
        let program = Arc::new(group.swap_remove(0));
        let test = |name, is_ignored| ExternalTest { program: program.clone(), name, is_ignored };
        match (listed, program.suite.named_tests()) {
            (Err(reason), Some(names)) => {
                status_line(&format!("note: the tests are those of `tests`, since {reason}"));
                tests.extend(names.map(|name| test(Ok(name.to_owned()), false)));
            }
            (Err(reason), None) => tests.push(test(Err(reason), false)),
            (Ok(listed), _) => {
                let selected = listed.into_iter().filter(|listed| program.suite.has(&listed.name));
                tests.extend(selected.map(|listed| test(Ok(listed.name), listed.is_ignored)));
            }
        }
    }
    for suite in suites {
        let has_test = tests.iter().any(|test| Arc::ptr_eq(&test.program.suite, suite));
        let has_trouble = troubles.iter().any(|(other, _)| Arc::ptr_eq(other, suite));
        if !has_test && !has_trouble {
            troubles.push((suite, "its programs have no test that matches `tests`".to_owned()));
        }
    }
    // Several suites may have one name.
    for named in grouped(troubles, |(suite, _)| suite.name.clone()) {
        let program = Arc::new(Program::none(named[0].0));
        let (_, reasons): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        tests.push(ExternalTest { program, name: Err(reasons.join("\n")), is_ignored: false });
    }
    Ok(tests)
}

/// Returns items, those with one key together.
fn grouped<T, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for item in items {
        groups.entry(key(&item)).or_default().push(item);
    }
    groups.into_values()
}

/// Calls `make` for each item, on as many threads as there are processors. The results are in the order of the items.
fn in_parallel<I: Sync, O: Send>(items: &[I], make: impl Fn(&I) -> O + Sync) -> Vec<O> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let left = Mutex::new(items.iter().enumerate());
    let next = || left.lock().next();
    let made = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, item)) = next() {
                    let result = make(item);
                    made.lock().insert(at, result);
                }
            });
        }
    });
    made.into_inner().into_values().collect()
}

/// Finds the programs of a suite, and the reasons why globs match none. Cargo keeps old builds of a Rust target in
/// its folder; the newest of them counts, and a note names the others.
fn programs(suite: &Arc<ExternalSuite>) -> Result<(Vec<Program>, Vec<String>), AnyError> {
    let (mut files, mut missing) = (BTreeSet::new(), Vec::new());
    for pattern in &suite.programs {
        let text = pattern.to_str().ok_or("a path of [[external]] is not UTF-8")?;
        let found = glob::glob(text)
            .map_err(|error| format!("`programs` of [[external]]: {text}: {error}"))?;
        let (own, others): (Vec<_>, Vec<_>) =
            found.flatten().partition(|file| os::is_program(file));
        if own.is_empty() {
            let reason = match others.first() {
                None => "no such file; build it, or correct `programs`".to_owned(),
                Some(folder) if folder.is_dir() => {
                    format!("no program; `{}/*` are the files of the folder", folder.display())
                }
                Some(file) => format!("no program; {} is not executable", file.display()),
            };
            missing.push(format!("{text}: {reason}"));
        }
        files.extend(own);
    }
    let programs = files.into_iter().map(|file| Program::new(suite, file));
    if suite.kind != ExternalKind::Libtest {
        return Ok((programs.collect(), missing));
    }
    let builds = grouped(programs, |program| program.file.with_file_name(program.path()));
    let newest = |mut builds: Vec<Program>| {
        let modified = |file: &Path| fs::metadata(file)?.modified();
        builds.sort_by_key(|build| modified(&build.file).ok());
        let newest = builds.pop().expect("a program has a build");
        for older in builds {
            let (older, newest) = (older.file.display(), newest.file.display());
            status_line(&format!(
                "note: {older} is not run, as {newest} has its name and is newer"
            ));
        }
        newest
    };
    Ok((builds.map(newest).collect(), missing))
}

/// Returns the tests of a program, which may depend on other files than the program.
fn list(program: &Program, never: &StopSignal) -> Result<Vec<Listed>, String> {
    let output = |arguments: &[&str]| list_output(program, arguments, never);
    let tests = match program.suite.kind {
        ExternalKind::OpenclCts => opencl_cts::list(output)?,
        ExternalKind::Libtest => libtest::list(output)?,
    };
    let file = program.file.display();
    let mut names = HashSet::new();
    match tests.iter().find(|test| !names.insert(&test.name)) {
        _ if tests.is_empty() => Err(format!("{file} lists no test")),
        Some(twice) => Err(format!("{file} lists two tests with the name {}", twice.name)),
        None => Ok(tests),
    }
}

/// Returns the standard output of a program that succeeds.
fn list_output(program: &Program, arguments: &[&str], stop: &StopSignal) -> Result<String, String> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut process = ProgramProcess::start(program, arguments, &[], None)?;
    let is_too_long = Cell::new(false);
    let mut collect = |from, bytes: &[u8]| {
        let stream = if from == Source::Stderr { &mut stderr } else { &mut stdout };
        let room = LONGEST_LIST.saturating_sub(stream.len());
        stream.extend_from_slice(&bytes[..bytes.len().min(room)]);
        is_too_long.set(is_too_long.get() || from == Source::Stdout && bytes.len() > room);
        // The process ends at once.
        !is_too_long.get()
    };
    let limit = humantime::format_duration(LIST_LIMIT);
    let mut end = process.wait(SLOW_LIST, stop, &mut collect);
    if matches!(end, Ok(ProgramWaitEnd::TimedOut)) && !is_too_long.get() {
        status_line(&format!("waiting up to {limit} for the tests of {}", program.file.display()));
        end = process.wait(LIST_LIMIT - SLOW_LIST, stop, &mut collect);
    }
    let stderr = String::from_utf8_lossy(&stderr);
    let trouble = match end {
        _ if is_too_long.get() => format!("writes more than {} MiB", LONGEST_LIST >> 20),
        Ok(ProgramWaitEnd::Died(ExitCause::Exited(0))) => {
            return String::from_utf8(stdout).map_err(|_| "its list is not UTF-8".to_owned());
        }
        // A backtrace may hide the message from the last lines.
        Ok(ProgramWaitEnd::Died(cause)) => match libtest::last_panic(&stderr) {
            Some((message, location)) => {
                let place = location.map(|Location { file, line }| format!(" ({file}:{line})"));
                format!("{cause}: {}{}", first_line(&message), place.unwrap_or_default())
            }
            None => cause.to_string(),
        },
        Ok(ProgramWaitEnd::TimedOut) => format!("did not end within {limit}"),
        Ok(ProgramWaitEnd::HasTooMuchMemory(cause)) => cause.to_string(),
        Ok(ProgramWaitEnd::Stopped) => "was stopped".to_owned(),
        Err(reason) => reason,
    };
    let command = [&[&*program.file.to_string_lossy()], arguments].concat().join(" ");
    let stdout = String::from_utf8_lossy(&stdout);
    let streams = [("standard error", stderr.trim_end()), ("standard output", stdout.trim_end())];
    let last = streams.into_iter().find(|(_, text)| !text.is_empty()).map(|(stream, text)| {
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        format!("; its {stream} ends with:\n  {}", last.join("\n  "))
    });
    let last = last.unwrap_or_default();
    Err(format!("`{command}` does not list its tests: {trouble}{last}"))
}
