//! Programs with the command line of the OpenCL conformance test suite.
//!
//! A program writes its results to a file when its last test has ended. Only that file tells results. The
//! output tells which test was running when the process ended without a file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::opencl_cts_output::{CtsOutput, PartText, split_end};
use super::outside_test::Listed;
use super::process::ProgramEnd;
use super::program_run::{Ended, Found, ProgramRun, Watch};
use crate::os::{ExitCause, StopSignal};
use crate::stacks::Stacks;
use crate::verdict::Outcome;
use crate::worker::parent::{Attempt, IN_THE_TEST, crash};

/// The variable with the path of the file of results.
const RESULTS: &str = "CL_CONFORMANCE_RESULTS_FILENAME";

/// The file of results.
#[derive(Deserialize)]
struct Results {
    results: HashMap<String, String>,
}

/// Returns the tests of a program. `output` is its standard output with these arguments.
///
/// # Errors
///
/// The program does not list its tests.
pub(super) fn list(
    output: impl Fn(&[&str]) -> Result<String, String>,
) -> Result<Vec<Listed>, String> {
    let list = output(&["--list"])?;
    let names = list.lines().filter_map(|line| line.strip_prefix('\t'));
    let tests: Vec<Listed> =
        names.map(|name| Listed { name: name.trim_end().to_owned(), is_ignored: false }).collect();
    let is_name = |test: &&Listed| {
        !test.name.is_empty() && !test.name.contains(|c: char| c.is_whitespace() || c == '@')
    };
    match tests.iter().find(|test| !is_name(test)) {
        None => Ok(tests),
        Some(other) => Err(format!("`--list` prints {:?}, which is no test", other.name)),
    }
}

/// Runs tests in one process.
pub(super) fn run(run: &ProgramRun<'_>, stop: &StopSignal, watch: &mut dyn Watch) -> Ended {
    let names: Vec<&str> = run.tests.iter().map(|(name, _)| *name).collect();
    let all = |reason: String| {
        let outcome = Some(Outcome::NotRun { reason });
        let attempt = Attempt { outcome, ..Attempt::default() };
        let found = names.iter().map(|_| Some(Found { attempt: attempt.clone() }));
        Ended { found: found.collect(), exit: None }
    };
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return all(format!("no folder for the results: {error}")),
    };
    let file = folder.path().join("results.json");
    let (platform, device) = run.position();
    let variables = [
        ("CL_PLATFORM_INDEX", Some(platform.to_string().into())),
        ("CL_DEVICE_INDEX", Some(device.to_string().into())),
        // Without it, the index counts the default devices only.
        ("CL_DEVICE_TYPE", Some("all".into())),
        (RESULTS, Some(file.clone().into())),
        // With it, the path of the file is another.
        ("BAZEL_TEST", None),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value));
    let mut process = match run.start(&names, &variables) {
        Ok(process) => process,
        Err(reason) => return all(reason),
    };
    let id = process.id();
    if let [_] = names[..] {
        watch.begins(0, id);
    }
    let mut output = CtsOutput::new(names.clone());
    let longest = current_limit(&output, &run.tests);
    let end = process.wait(longest, stop, &mut |from, bytes| {
        let was_limited = output.limited();
        let begun = output.push(from, bytes, &mut |test, bytes| watch.wrote(test, from, bytes));
        if names.len() > 1 {
            begun.iter().for_each(|test| watch.begins(*test, id));
        }
        let has_changed = !begun.is_empty() || output.limited() != was_limited;
        has_changed.then(|| current_limit(&output, &run.tests))
    });
    if let ProgramEnd::NotStarted(reason) = end {
        return all(reason);
    }
    let results = read(&file);
    output.end(results.is_ok());
    let mut stacks = None;
    if let (ProgramEnd::TimedOut, Err(_)) = (&end, &results) {
        watch.hangs();
        stacks = Some(process.stacks());
    }
    drop(process);
    let results = results.map(|Results { results }| results);
    let running = output.running();
    let mut ended = EndedProcess { run, end, results, running, stacks };
    let texts = output.take_texts().into_iter().enumerate();
    let found = texts.map(|(test, text)| ended.found(test, text)).collect();
    Ended { found, exit: ended.exit(longest) }
}

/// Returns the limit of the running test. Between two tests and after the last one, the process has the longest
/// limit to begin the next test or to write the file.
fn current_limit(output: &CtsOutput<'_>, tests: &[(&str, Duration)]) -> Duration {
    let longest = || tests.iter().map(|(_, limit)| *limit).max().unwrap_or_default();
    output.limited().map_or_else(longest, |test| tests[test].1)
}

/// A process that has ended, or was ended.
struct EndedProcess<'a> {
    run: &'a ProgramRun<'a>,
    end: ProgramEnd,
    /// The words of the file, or the reason why there are none.
    results: Result<HashMap<String, String>, String>,
    /// The test that was running.
    running: Option<usize>,
    /// The stacks of a process that was ended.
    stacks: Option<Box<Stacks>>,
}

impl EndedProcess<'_> {
    /// Returns the crash or the hang after the last result.
    fn exit(&self, limit: Duration) -> Option<Outcome> {
        match (&self.end, &self.results) {
            (ProgramEnd::Died(cause @ (ExitCause::Signalled(_) | ExitCause::Killed)), Ok(_)) => {
                Some(crash(cause.clone(), "after its last test"))
            }
            // A program whose tests fail exits with their number.
            (ProgramEnd::Died(cause @ ExitCause::Exited(status)), Ok(results))
                if *status != 0 && !results.values().any(|word| word == "fail") =>
            {
                Some(crash(cause.clone(), "after its last test"))
            }
            (ProgramEnd::TimedOut, Ok(_)) => Some(Outcome::TimedOut { limit }),
            _ => None,
        }
    }

    /// Returns the result of a test, or `None` if another process must tell it.
    fn found(&mut self, test: usize, text: PartText) -> Option<Found> {
        let outcome = self.outcome(test, &text)?;
        let stacks = match outcome {
            Some(Outcome::TimedOut { .. }) => self.stacks.take(),
            _ => None,
        };
        let attempt = Attempt {
            outcome,
            duration: text.duration,
            ended: text.ended,
            stdout: text.stdout,
            stderr: text.stderr,
            stacks,
            ..Attempt::default()
        };
        Some(Found { attempt })
    }

    /// Returns the outcome of a test: `None` if another process must tell it, and `Some(None)` if the run was
    /// stopped.
    fn outcome(&self, test: usize, text: &PartText) -> Option<Option<Outcome>> {
        let (name, limit) = self.run.tests[test];
        let is_only = self.run.tests.len() == 1;
        let results = match (&self.results, &self.end) {
            (Ok(results), _) => results,
            (Err(_), ProgramEnd::Stopped) => return Some(None),
            (Err(reason), end) => {
                let was_running = self.running == Some(test);
                if !was_running && !is_only {
                    return None;
                }
                return Some(Some(self.without_result(was_running, limit, end, reason)));
            }
        };
        Some(Some(match results.get(name).map(String::as_str) {
            Some("pass") => Outcome::Passed,
            Some("fail") => Outcome::Failed { message: message(name, text), location: None },
            Some("skip") => Outcome::Skipped { reason: skip_reason(name, text) },
            Some(word) => Outcome::NotRun { reason: format!("the unknown result {word:?}") },
            None if !is_only => return None,
            None => {
                Outcome::NotRun { reason: "the program wrote no result of this test".to_owned() }
            }
        }))
    }

    /// The outcome of a test without a result, which was running or was the only one.
    fn without_result(
        &self,
        was_running: bool,
        limit: Duration,
        end: &ProgramEnd,
        reason: &str,
    ) -> Outcome {
        match end {
            ProgramEnd::TimedOut => Outcome::TimedOut { limit },
            ProgramEnd::Died(ExitCause::Exited(status)) if !was_running => {
                let reason = format!("the program exited with status {status}, and {reason}");
                Outcome::NotRun { reason }
            }
            ProgramEnd::Died(cause) => crash(cause.clone(), IN_THE_TEST),
            ProgramEnd::Stopped | ProgramEnd::NotStarted(_) => {
                Outcome::NotRun { reason: reason.to_owned() }
            }
        }
    }
}

/// Reads the file of results; the error is a part of a sentence.
fn read(file: &Path) -> Result<Results, String> {
    // A pipe may have no end.
    if fs::metadata(file).is_ok_and(|file| !file.is_file()) {
        return Err("its file of results is no regular file".to_owned());
    }
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("wrote no file of results ({RESULTS})"));
        }
        Err(error) => return Err(format!("its file of results cannot be read: {error}")),
    };
    serde_json::from_slice(&text)
        .map_err(|error| format!("its file of results is cut off or no JSON: {error}"))
}

/// The first error that a failed test has printed, or its last line.
fn message(name: &str, text: &PartText) -> String {
    let lines = [lines_of(name, text), text.stderr.lines().collect()].concat();
    let error = lines.iter().find(|line| line.trim_start().starts_with("ERROR"));
    let line = error.or_else(|| lines.iter().rfind(|line| !line.trim().is_empty()));
    line.map_or_else(|| "the test failed".to_owned(), |line| line.trim().to_owned())
}

fn skip_reason(name: &str, text: &PartText) -> String {
    let lines = lines_of(name, text);
    let last = lines.iter().rfind(|line| !line.trim().is_empty());
    let reason = last.map(|line| line.trim().to_owned());
    reason.unwrap_or_else(|| "the program skipped the test".to_owned())
}

/// The lines of a test on standard output between those with which the harness marks it, with what comes before the
/// mark in the last line. The line at the end of a skipped test has the reason.
fn lines_of<'a>(name: &str, text: &'a PartText) -> Vec<&'a str> {
    let begin = format!("{name}...");
    let own = text.stdout.lines().skip_while(|line| *line != begin).skip(1);
    let mut lines: Vec<&str> = own.collect();
    // A line of the test may look like its end; the program's own lines follow the last test.
    let end = lines.iter().rposition(|line| split_end(name, line).is_some());
    if let Some(at) = end
        && let Some((before, end)) = split_end(name, lines[at])
    {
        lines.truncate(at + 1);
        if !end.starts_with(" skipped (") {
            lines[at] = before;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::Source;

    #[test]
    fn a_list_has_only_names() {
        let names = |text: &str| {
            let tests = list(|_| Ok(text.to_owned()))?;
            Ok::<_, String>(tests.into_iter().map(|test| test.name).collect::<Vec<_>>())
        };
        let expected = Ok(vec!["buffer_copy".to_owned(), "2Dto3D".to_owned()]);
        assert_eq!(names("Seed 0\n\tbuffer_copy\n\t2Dto3D\n"), expected);
        assert!(names("\tCL_DEVICE_NAME = x\n").unwrap_err().contains("which is no test"));
    }

    #[test]
    fn a_pipe_is_no_file_of_results() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read(&pipe).is_err_and(|reason| reason.contains("no regular file")));
    }

    #[test]
    fn the_limit_of_a_test_ends_with_it() {
        let seconds = Duration::from_secs;
        let tests = [("a", seconds(5)), ("b", seconds(9)), ("c", seconds(1))];
        let mut output = CtsOutput::new(tests.map(|(name, _)| name).to_vec());
        assert_eq!(current_limit(&output, &tests), seconds(9));
        for (text, expected) in
            [("a...\n", 5), ("a passed\n", 9), ("c...\n", 1), ("c FAILED\nb...\nb passed\n", 9)]
        {
            output.push(Source::Stdout, text.as_bytes(), &mut |_, _| {});
            assert_eq!(current_limit(&output, &tests), seconds(expected), "{text}");
        }
    }

    #[test]
    fn messages_are_the_tests_own_lines() {
        let text = |stdout: &str, stderr: &str| PartText {
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            duration: Duration::ZERO,
            ended: None,
        };
        for (stdout, stderr, expected) in [
            ("ERROR: head\na...\n x\nERROR: bad\nlast\na FAILED\n", "", "ERROR: bad"),
            ("a...\nlast\na FAILED\n", "", "last"),
            ("a...\nlast of a FAILED\n", "", "last of"),
            ("a...\nschema passed\nlast\na FAILED\n", "", "last"),
            ("a...\nlast\na FAILED\nFAILED test.\nSaving results: success!\n", "", "last"),
            ("a...\na FAILED\n", "ERROR: there\n", "ERROR: there"),
            ("a...\na FAILED\n", "", "the test failed"),
        ] {
            assert_eq!(message("a", &text(stdout, stderr)), expected, "{stdout:?}");
        }
        for (stdout, expected) in [
            ("a...\na skipped (requires 3.0)\nPASSED test.\n", "a skipped (requires 3.0)"),
            ("a...\nno images\na test not supported\nPASSED test.\n", "no images"),
            ("", "the program skipped the test"),
        ] {
            assert_eq!(skip_reason("a", &text(stdout, "")), expected, "{stdout:?}");
        }
    }
}
