//! Reports of a run, all of them functions of its log: [`junit`] files for other programs, the page
//! `report.html`, the [`matrix`] for the terminal, and the `summary` in Markdown.

mod conclusion;
mod excerpt;
mod explanation;
pub(crate) mod github;
mod html;
pub mod junit;
pub mod matrix;
mod not_run;
pub(crate) mod page;
pub(crate) mod summary;
mod table;
mod tally;
mod text;
pub(crate) mod trace;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clmatrix_characterize::Devices;
use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::log::events::TestResult;
use crate::log::read::RunLog;
use crate::log::store::{self, PAGE, SUMMARY};
use crate::verdict::{Location, Outcome, Verdict};

pub(crate) use table::cut;
pub(crate) use tally::counts;
pub(crate) use text::{first_line, shell_quoted};

/// Writes the page, and `junit/DEVICE.xml` below `folder` for each device that has results (`host` for tests
/// that need none), `junit/absent-devices.xml` where expected devices are absent,
/// `junit/failed-drivers.xml` where drivers have failed, and `summary.md`. `reports` is the report folder of
/// the run.
///
/// # Errors
///
/// The first error, after all files have been tried.
pub fn write_all(log: &RunLog, folder: &Path, reports: Option<&Path>) -> io::Result<()> {
    let mut written = write_page(&[log], reports, &folder.join(PAGE));
    let junit = folder.join("junit");
    fs::create_dir_all(&junit)?;
    for (name, xml) in junit_files(log) {
        let path = junit.join(format!("{name}.xml"));
        written = written.and(xml.and_then(|xml| store::replace_file(&path, &xml)));
    }
    let summary = summary::summary(log, None, summary::MOST_BYTES);
    written.and(store::replace_file(&folder.join(SUMMARY), summary.as_bytes()))
}

/// Writes the page of these runs, the newest first, to a file. `reports` may have a characterization of the
/// same devices.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_page(runs: &[&RunLog], reports: Option<&Path>, file: &Path) -> io::Result<()> {
    let characterized = reports.and_then(characterization).unwrap_or_default();
    store::replace_file_with(file, |file| html::write(runs, &characterized, file))
}

/// Reads `characterize.json`, if the report folder has one that this version reads.
fn characterization(reports: &Path) -> Option<Devices> {
    let file = fs::File::open(reports.join("characterize.json")).ok()?;
    serde_json::from_reader(io::BufReader::new(file)).ok()
}

/// Writes the contents of all JUnit files to one file.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn write_in_one(log: &RunLog, file: &Path) -> io::Result<()> {
    let files = junit_files(log).map(|(_, xml)| xml).collect::<io::Result<Vec<_>>>()?;
    store::replace_file(file, &junit::in_one(&files)?)
}

/// Makes the JUnit files one after the other, each with its name without `.xml`.
fn junit_files(log: &RunLog) -> impl Iterator<Item = (String, io::Result<Vec<u8>>)> {
    let devices = by_device(log).into_iter().filter(|(_, results)| !results.is_empty());
    let devices =
        devices.map(|(device, results)| (file_name(device), junit::junit(log, device, &results)));
    let absent =
        (!log.absent.is_empty()).then(|| ("absent-devices".to_owned(), junit::absent_devices(log)));
    let failed = (!log.failed_drivers.is_empty())
        .then(|| ("failed-drivers".to_owned(), junit::failed_drivers(log)));
    devices.chain(absent).chain(failed)
}

/// The results of each device: the devices in the order of the run, then others that results name (the
/// host).
fn by_device(log: &RunLog) -> IndexMap<&str, Vec<&TestResult>, RandomState> {
    let devices = log.header.devices.iter().map(|device| (device.id.as_str(), Vec::new()));
    let mut results: IndexMap<&str, Vec<&TestResult>, RandomState> = devices.collect();
    for result in &log.results {
        results.entry(result.test_and_device().1).or_default().push(result);
    }
    results
}

/// Returns the path of a device's JUnit file in a report folder.
pub(crate) fn junit_path(folder: &Path, device: &str) -> PathBuf {
    folder.join("junit").join(format!("{}.xml", file_name(device)))
}

/// `device` as a file's name: other characters than those of a slug as `%` and hexadecimal digits,
/// so that different devices never share a file.
pub(crate) fn file_name(device: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    device.bytes().map(encode).collect()
}

/// The outcome of a result on one line, with the findings of several attempts, or the expectation where
/// that decided the verdict.
fn headline(result: &TestResult) -> String {
    let outcome = outcome_line(result.decisive());
    result.attempts().map_or(outcome.clone(), |attempts| format!("{attempts}: {outcome}"))
}

/// The outcome of an attempt on one line, or the expectation where that decided the verdict.
fn outcome_line(result: &TestResult) -> String {
    let expected = || text::first_line(&result.expected().unwrap_or_default());
    match result.verdict {
        Verdict::UnexpectedPass => format!("passed; {}", expected()),
        Verdict::ExpectedFail => expected(),
        _ => outcome_text(&result.outcome),
    }
}

/// The outcome on one line.
pub(crate) fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        // The whole message: the compared values stand below its first line.
        Outcome::Failed { message, .. } => text::one_line(message),
        outcome => text::first_line(&outcome.to_string()),
    }
}

/// The number of rounds of each device with several: the fewest and the most.
fn rounds(results: &[TestResult]) -> Option<(usize, usize)> {
    let mut devices: IndexMap<&str, usize> = IndexMap::new();
    for result in results {
        if let Some(counts) = &result.rounds {
            let rounds = devices.entry(result.test_and_device().1).or_default();
            *rounds = counts.ran.max(*rounds);
        }
    }
    let several = devices.into_values().filter(|rounds| *rounds > 1);
    several.fold(None, |range, rounds| {
        let (fewest, most) = range.unwrap_or((rounds, rounds));
        Some((rounds.min(fewest), rounds.max(most)))
    })
}

/// Returns the number of tests with another verdict in a reused context.
pub(crate) fn differing_in_reused_context(results: &[TestResult]) -> usize {
    results.iter().filter(|result| result.differing_in_reused_context().is_some()).count()
}

/// Returns a result on one line: the verdict, the test, its time, and the reason.
pub(crate) fn result_line(result: &TestResult) -> String {
    let verdict = result.verdict.name().to_uppercase().replace('-', " ");
    let mut line = format!("{verdict} {} ({:.2} s", result.test, result.duration.as_secs_f64());
    if result.round > 1 {
        line += &format!(", round {}", result.round);
    }
    line += ")";
    let reason = match result.verdict {
        _ if result.attempts().is_some() => headline(result),
        Verdict::Pass => return line,
        Verdict::ExpectedFail | Verdict::UnexpectedPass => result.expected().unwrap_or_default(),
        _ => result.outcome.to_string(),
    };
    format!("{line}: {}", text::first_line(&reason))
}

/// Returns `2 tests`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns a duration as `1.5 s`, `2 min 03 s` or `1 h 05 min`.
pub(crate) fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the place of the failure, else that of the test.
fn place(result: &TestResult) -> Option<&Location> {
    let failed_at = match &result.outcome {
        Outcome::Failed { location, .. } => location.as_ref(),
        _ => None,
    };
    failed_at.or(result.source.as_ref())
}

/// The note on a result that the device may have caused.
const SUSPECT: &str = "suspect: the device was lost afterwards";

/// The command that runs this test alone, or after the test that breaks it.
fn rerun(log: &RunLog, result: &TestResult) -> String {
    let mut command = log.header.rerun_command.clone();
    for test in result.broken_by.iter().chain([&result.test]) {
        // A test of another program may have any name. Without these characters, an id is no glob.
        let pattern = match test.contains(['*', '?', '[']) {
            true => globset::escape(test),
            false => test.clone(),
        };
        command += &format!(" {}", shell_quoted(&pattern));
    }
    command
}

/// Returns the standard error of a test without the message of its outcome, which a panic and a
/// returned error write there as well.
fn without_message<'a>(stderr: &'a str, outcome: &Outcome) -> Cow<'a, str> {
    let Outcome::Failed { message, .. } = outcome else { return stderr.into() };
    let Some(start) = stderr.find(message.as_str()).filter(|_| !message.is_empty()) else {
        return stderr.into();
    };
    let (before, after) = (&stderr[..start], &stderr[start + message.len()..]);
    let (head, last_line) = before.trim_end().rsplit_once('\n').unwrap_or(("", before));
    let before = if last_line.contains(" panicked at ") { head } else { before };
    let after = after.trim_start();
    let note =
        after.lines().next().filter(|line| line.starts_with("note: run with `RUST_BACKTRACE"));
    let after = &after[note.map_or(0, str::len)..];
    format!("{}\n{}", before.trim_end(), after.trim_start()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::round_results::RoundCounts;
    use crate::log::sample::{
        differing, expectation, flaky, judged, order_dependent, result, run_log,
    };
    use crate::verdict::ExpectedStatus;

    #[test]
    fn a_rerun_command_selects_one_test_whatever_its_name() {
        let mut log = run_log(Vec::new(), Vec::new(), Duration::ZERO);
        log.header.rerun_command = "clmatrix run".to_owned();
        for (id, expected) in [
            ("s::t@d", "s::t@d"),
            ("s::a{b}@d", "'s::a{b}@d'"),
            ("s::files/case[1].cl@d", "'s::files/case[[]1[]].cl@d'"),
            ("s::[@d", "'s::[[]@d'"),
            ("s::a*{b}?@d", "'s::a[*][{]b[}][?]@d'"),
        ] {
            let command = rerun(&log, &result(id, Outcome::Passed));
            assert_eq!(command, format!("clmatrix run {expected}"));
            let pattern = expected.trim_matches('\'').to_owned();
            let glob = globset::Glob::new(&pattern).expect("a pattern").compile_matcher();
            assert!(glob.is_match(id) || pattern == id, "{id}");
            assert!(!glob.is_match("s::files/case1.cl@d"), "{id}");
        }
    }

    #[test]
    fn a_result_on_one_line() {
        let failed = Outcome::Failed { message: "\nleft: 1\nright: 2".to_owned(), location: None };
        let known = expectation(ExpectedStatus::Fail, "bug 7\nmore");
        let cases = [
            (result("s::t@d", Outcome::Passed), "PASS s::t@d (0.25 s)"),
            (result("s::t@d", failed.clone()), "FAIL s::t@d (0.25 s): left: 1"),
            (
                flaky("s::t@d", failed.clone()),
                "FLAKY s::t@d (0.25 s): fail at attempt 1 of 2: left: 1 right: 2",
            ),
            (
                differing("s::t@d", failed.clone()),
                "PASS s::t@d (0.25 s): reused-context: failed: left: 1 right: 2",
            ),
            (
                order_dependent("s::t@d", failed.clone()),
                "ORDER DEPENDENT s::t@d (0.25 s): passes alone, goes wrong after `s::breaks@d`: \
                 left: 1 right: 2",
            ),
            (
                judged("s::t@d", failed, Some(known.clone())),
                "EXPECTED FAIL s::t@d (0.25 s): expected: fail: bug 7",
            ),
            (
                judged("s::t@d", Outcome::Passed, Some(known)),
                "UNEXPECTED PASS s::t@d (0.25 s): expected: fail: bug 7",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result_line(&result), expected);
        }
    }

    #[test]
    fn devices_with_several_rounds_count() {
        let ran = |device: &str, ran: usize| {
            let result = result(&format!("s::t_{ran}@{device}"), Outcome::Passed);
            let (passed, start, end) = (ran, result.started, result.end());
            let counts = (ran > 1).then(|| Box::new(RoundCounts { passed, ran, start, end }));
            TestResult { rounds: counts, ..result }
        };
        let results = [ran("a", 3), ran("a", 1), ran("b", 4), ran("b", 5), ran("c", 1)];
        assert_eq!(rounds(&results), Some((3, 5)));
        assert_eq!(rounds(&results[..2]), Some((3, 3)));
        assert_eq!(rounds(&results[4..]), None);
    }

    #[test]
    fn a_message_is_not_shown_twice() {
        let failed = Outcome::Failed { message: "left: 1\nright: 2".to_owned(), location: None };
        let hint = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let panic = "thread 'main' (7) panicked at a.rs:1:2:\nleft: 1\nright: 2\n";
        let cases = [
            (String::new(), ""),
            (format!("\n{panic}{hint}\n"), "\n"),
            (format!("said\n\n{panic}{hint}\nand more\n"), "said\nand more\n"),
            (format!("{panic}stack backtrace:\n  0: f\n"), "\nstack backtrace:\n  0: f\n"),
            ("said\nleft: 1\nright: 2\n".to_owned(), "said\n"),
            ("left: 3\n".to_owned(), "left: 3\n"),
        ];
        for (stderr, expected) in cases {
            assert_eq!(without_message(&stderr, &failed), expected, "{stderr:?}");
        }
        assert_eq!(without_message("left: 1", &Outcome::Passed), "left: 1");
    }
}
