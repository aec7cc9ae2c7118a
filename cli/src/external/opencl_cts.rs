//! Programs with the command line of the OpenCL conformance test suite.
//!
//! A program writes the result of its test to a file at its end. Only that file has the result. The output shows
//! whether the test was running when the process ended without a file.

use std::collections::HashMap;
use std::path::Path;

use clmatrix_runner::files::read_found;
use clmatrix_runner::os::ExitCause;
use clmatrix_runner::outside::Watch;
use clmatrix_runner::result::attempt::Attempt;
use clmatrix_runner::result::crash_cause::ExitTime;
use clmatrix_runner::result::not_run_reason::NotRunReason;
use clmatrix_runner::verdict::Outcome;
use clmatrix_runner::worker::process_attempt::ProcessAttempt;
use serde::Deserialize;

use super::external_test::ProgramRun;
use super::listing::Listed;
use super::process::ProgramWaitEnd;

/// The variable with the path of the file of results.
const RESULTS: &str = "CL_CONFORMANCE_RESULTS_FILENAME";

/// The words of the file of results, by the names of tests.
type Words = HashMap<String, String>;

/// The file of results.
#[derive(Deserialize)]
struct Results {
    results: Words,
}

/// Returns the tests of a program. `output` is its standard output with these arguments.
///
/// # Errors
///
/// The program does not list its tests.
pub fn list(output: impl Fn(&[&str]) -> Result<String, String>) -> Result<Vec<Listed>, String> {
    // Versions before August 2025 do not support `--list`. Their usage comes before the tests.
    let list = output(&["-list"])?;
    let list = list.rsplit_once("Test names:\n").map_or(&*list, |(_, names)| names);
    let names = list.lines().filter_map(|line| line.strip_prefix('\t')).map(str::trim_end);
    let is_no_part = |c: char| c.is_whitespace() || c == '@';
    let listed = |name: &str| {
        let is_name = !name.is_empty() && !name.starts_with('-') && !name.contains(is_no_part);
        let test = is_name.then(|| Listed { name: name.to_owned(), is_ignored: false });
        test.ok_or_else(|| format!("`-list` prints {name:?}, which is not a test"))
    };
    names.map(listed).collect()
}

/// Runs a test.
///
/// # Errors
///
/// The program is not started.
pub(super) fn run(run: &ProgramRun<'_>, watch: &mut dyn Watch) -> Result<ProcessAttempt, String> {
    let no_folder = |error| format!("no folder for the results: {error}");
    let folder = tempfile::tempdir().map_err(no_folder)?;
    let file = folder.path().join("results.json");
    let address = run.address();
    // The index counts the devices of the type. Versions before August 2025 do not support the type `all`.
    let of_type = address.of_type.map(|(kind, device)| (kind.to_string(), device));
    let (kind, device) = of_type.unwrap_or_else(|| ("all".to_owned(), address.device));
    let variables = [
        ("CL_PLATFORM_INDEX", Some(address.platform.to_string().into())),
        ("CL_DEVICE_INDEX", Some(device.to_string().into())),
        ("CL_DEVICE_TYPE", Some(kind.into())),
        (RESULTS, Some(file.clone().into())),
        // With it, the path of the file differs.
        ("BAZEL_TEST", None),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value));
    let mut running = run.start(&[run.name()], &[], &variables, watch)?;
    let end = running.wait(run.limit)?;
    let results = read(&file);
    let hangs = matches!((&end, &results), (ProgramWaitEnd::TimedOut, Err(_)));
    let stacks = hangs.then(|| running.process.stacks());
    let duration = running.time(results.is_ok());
    let (stdout, stderr) = (running.stdout.take_text(), running.stderr.take_text());
    let name = run.name();
    let not_run = |error| Outcome::NotRun { reason: NotRunReason::Program { error } };
    let (outcome, exit) = match results {
        Ok(words) => {
            let outcome = match words.get(name).map(String::as_str) {
                Some("pass") => Outcome::Passed,
                Some("fail") => {
                    Outcome::Failed { message: message(name, &stdout, &stderr), location: None }
                }
                Some("skip") => Outcome::Skipped { reason: skip_reason(name, &stdout) },
                Some(word) => not_run(format!("the unknown result {word:?}")),
                None => not_run("the program wrote no result of this test".to_owned()),
            };
            (outcome, exit(run, end, &words))
        }
        Err(reason) => match end {
            ProgramWaitEnd::Died(ExitCause::Exited(status)) if !is_running(name, &stdout) => {
                (not_run(format!("the program exited with status {status}, and {reason}")), None)
            }
            _ => (run.outcome_of(end, ExitTime::InTest), None),
        },
    };
    let attempt = Attempt { stdout, stderr, stacks, duration, ..Attempt::new(outcome) };
    Ok(ProcessAttempt { exit, ..attempt.into() })
}

/// Returns the crash or the hang after the result.
fn exit(run: &ProgramRun<'_>, end: ProgramWaitEnd, words: &Words) -> Option<Outcome> {
    // A program whose tests fail exits with their number.
    let is_result = |status: i32| status == 0 || words.values().any(|word| word == "fail");
    match end {
        ProgramWaitEnd::Died(ExitCause::Exited(status)) if is_result(status) => None,
        ProgramWaitEnd::Died(_) | ProgramWaitEnd::TimedOut => {
            Some(run.outcome_of(end, ExitTime::AfterTests))
        }
        ProgramWaitEnd::HasTooMuchMemory(_) | ProgramWaitEnd::Stopped => None,
    }
}

/// Returns whether a test has begun and has not printed its end.
fn is_running(name: &str, stdout: &str) -> bool {
    let mut lines = stdout.lines();
    let has_begun = lines.by_ref().any(|line| line == format!("{name}..."));
    // Text of the test may precede its end in the last line.
    let ends = lines.map(|line| split_end(name, line).map(|(before, _)| before.is_empty()));
    let ends: Vec<_> = ends.collect();
    has_begun && !ends.contains(&Some(true)) && ends.last().copied().flatten().is_none()
}

/// Reads the file of results; the error is a part of the message.
fn read(file: &Path) -> Result<Words, String> {
    let text = read_found(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("wrote no file of results ({RESULTS})"),
        _ => format!("its file of results cannot be read: {error}"),
    })?;
    let Results { results } = serde_json::from_slice(&text)
        .map_err(|error| format!("its file of results is cut off or not JSON: {error}"))?;
    Ok(results)
}

/// Returns the first error that a failed test has printed, or its last line.
fn message(name: &str, stdout: &str, stderr: &str) -> String {
    let lines = [lines_of(name, stdout), stderr.lines().collect()].concat();
    let error = lines.iter().copied().find(|line| line.trim_start().starts_with("ERROR"));
    error.or(last_line(&lines)).unwrap_or("the test failed").trim().to_owned()
}

fn skip_reason(name: &str, stdout: &str) -> String {
    let reason = last_line(&lines_of(name, stdout));
    reason.unwrap_or("the program skipped the test").trim().to_owned()
}

/// Returns the last line that is not blank.
fn last_line<'a>(lines: &[&'a str]) -> Option<&'a str> {
    lines.iter().copied().rfind(|line| !line.trim().is_empty())
}

/// Returns the lines of a test on standard output between those with which the harness marks it, with the text before
/// the mark in the last line. The line at the end of a skipped test has the reason.
fn lines_of<'a>(name: &str, stdout: &'a str) -> Vec<&'a str> {
    let begin = format!("{name}...");
    let own = stdout.lines().skip_while(|line| *line != begin).skip(1);
    let mut lines: Vec<&str> = own.collect();
    // A line of the test may look like its end; the program's own lines follow the last test.
    let mut from_last = lines.iter().enumerate().rev();
    let end = from_last.find_map(|(at, &line)| Some((at, split_end(name, line)?)));
    if let Some((at, (before, end))) = end {
        lines.truncate(at + 1);
        if !end.starts_with(" skipped (") {
            lines[at] = before;
        }
    }
    lines
}

/// Divides the line that the suite's harness prints at the end of a test. Returns the text before the test's
/// name, which is that of a test whose output ends without a newline, and the text after the name.
fn split_end<'a>(name: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let line = line.trim_end();
    let at_end = [" passed", " FAILED", " test not supported"].into_iter().find_map(|end| {
        let before = line.strip_suffix(end)?.strip_suffix(name)?;
        Some((before, &line[line.len() - end.len()..]))
    });
    // The reason follows.
    let skipped = || {
        let at = line.find(&format!("{name} skipped ("))?;
        Some((&line[..at], &line[at + name.len()..]))
    };
    at_end.or_else(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_only_names() {
        let names = |text: &str| {
            let tests = list(|_| Ok(text.to_owned()))?;
            Ok::<_, String>(tests.into_iter().map(|test| test.name).collect::<Vec<_>>())
        };
        let expected = Ok(vec!["buffer_copy".to_owned(), "2Dto3D".to_owned()]);
        assert_eq!(names("Seed 0\n\tbuffer_copy\n\t2Dto3D\n"), expected);
        let old = "Usage: a [<test name>*]\n\tpid<num>\tIndicates platform\n\nTest names:\n";
        assert_eq!(names(&format!("{old}\tbuffer_copy\n\t2Dto3D\n")), expected);
        for other in ["CL_DEVICE_NAME = x", "-fast"] {
            assert!(names(&format!("\t{other}\n")).unwrap_err().contains("which is not a test"));
        }
    }

    #[test]
    fn a_pipe_is_no_file_of_results() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read(&pipe).is_err_and(|reason| reason.contains("not a regular file")));
    }

    #[test]
    fn a_test_that_has_printed_its_end_does_not_run() {
        for (text, expected) in [
            ("", false),
            ("device\n", false),
            ("device\na...\n", true),
            ("a...\nb...\n", true),
            ("a...\na passed\n", false),
            ("a...\na FAILED\n", false),
            ("a...\na test not supported\n", false),
            ("a...\na skipped (requires at least OpenCL version 3.0)\n", false),
            ("a...\nab passed\n", true),
            ("a...\na passed\ntext of the program\n", false),
            // The line may be one of the test.
            ("a...\nba passed\n", false),
            ("a...\nba passed\ntext of the test\n", true),
            ("a...\nba passed\na passed\ntext of the program\n", false),
            ("a...\nno newlinea skipped (no images)\n", false),
            ("a...\na passed 3 of 4\n", true),
            ("a...\npassed\n", true),
        ] {
            assert_eq!(is_running("a", text), expected, "{text:?}");
        }
    }

    #[test]
    fn messages_are_the_tests_own_lines() {
        for (stdout, stderr, expected) in [
            ("ERROR: head\na...\n x\nERROR: bad\nlast\na FAILED\n", "", "ERROR: bad"),
            ("a...\nlast\na FAILED\n", "", "last"),
            ("a...\nlast of a FAILED\n", "", "last of"),
            ("a...\nschema passed\nlast\na FAILED\n", "", "last"),
            ("a...\nlast\na FAILED\nFAILED test.\nSaving results: success!\n", "", "last"),
            ("a...\na FAILED\n", "ERROR: there\n", "ERROR: there"),
            ("a...\na FAILED\n", "", "the test failed"),
        ] {
            assert_eq!(message("a", stdout, stderr), expected, "{stdout:?}");
        }
        for (stdout, expected) in [
            ("a...\na skipped (requires 3.0)\nPASSED test.\n", "a skipped (requires 3.0)"),
            ("a...\nno images\na test not supported\nPASSED test.\n", "no images"),
            ("", "the program skipped the test"),
        ] {
            assert_eq!(skip_reason("a", stdout), expected, "{stdout:?}");
        }
    }
}
