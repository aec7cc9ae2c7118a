//! GitHub Actions: the summary of a step, and the annotations of sources.

use std::fs::File;
use std::io::{self, Write};

use clmatrix_runner::files;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{headline, place};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::terminal::{AnyError, is_in_github_actions, print, status_line};
use clmatrix_runner::text::one_line;
use clmatrix_runner::variable;
use clmatrix_runner::verdict::Location;
use indexmap::IndexMap;

use super::summary::{self, FEWEST_BYTES, MOST_BYTES};
use super::table::cut;

/// The most errors that GitHub shows of a step.
const MOST_ANNOTATIONS: usize = 10;

/// The most bytes of the summary of a step. GitHub refuses a longer one as a whole.
const STEP: u64 = 1024 * 1024;

/// The longest title and the longest line of an annotation, in columns.
const WIDEST: usize = 250;

/// A step of a job.
pub(crate) struct Step {
    /// The file of its summary, if there is one.
    summary: Option<File>,
}

impl Step {
    /// Returns the step in which this process runs; `None` outside of one. Warns if its summary cannot be written: a
    /// container may have the variable and not the file.
    pub(crate) fn open() -> Option<Self> {
        if !is_in_github_actions() {
            return None;
        }
        let file = variable::given("GITHUB_STEP_SUMMARY");
        let summary = file.and_then(|file| {
            let opened = files::append_named(file.as_ref());
            let warn = |error: &io::Error| {
                let file = file.display();
                status_line(&format!("warning: GITHUB_STEP_SUMMARY, {file}: {error}"));
            };
            opened.inspect_err(warn).ok()
        });
        Some(Self { summary })
    }

    /// Adds the summary of a run to that of the step, and prints annotations if standard output is read by people.
    ///
    /// # Errors
    ///
    /// Standard output cannot be written.
    pub(crate) fn report(self, log: &RunLog, prints: bool) -> Result<(), AnyError> {
        if let Some(Err(error)) = self.summary.map(|file| append_summary(log, file)) {
            status_line(&format!("warning: GITHUB_STEP_SUMMARY: {error}"));
        }
        if prints { print(&annotations(log)) } else { Ok(()) }
    }
}

/// Appends the summary of a run to a file, which other commands of the step may have written to.
fn append_summary(log: &RunLog, mut file: File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let room = usize::try_from(STEP.saturating_sub(length)).unwrap_or(0).min(MOST_BYTES);
    if room <= FEWEST_BYTES {
        return Err(io::Error::other("the summary of this step has no room for another one"));
    }
    let gap = if length > 0 { "\n" } else { "" };
    let summary = summary::summary(log, None, room - gap.len());
    file.write_all(format!("{gap}{summary}").as_bytes())
}

/// Returns an annotation for each of the first tests with an unexpected result.
fn annotations(log: &RunLog) -> String {
    let mut tests: IndexMap<&str, Vec<&TestResult>> = IndexMap::new();
    for result in log.results.iter().filter(|result| result.is_unexpected()) {
        tests.entry(result.test.path()).or_default().push(result);
    }
    let first = tests.into_iter().take(MOST_ANNOTATIONS);
    first.map(|(test, results)| annotation(log, test, &results)).collect()
}

/// Returns the command that annotates the place of a test.
fn annotation(log: &RunLog, test: &str, results: &[&TestResult]) -> String {
    let devices: Vec<_> = results.iter().map(|result| one_line(result.test.device())).collect();
    let title = cut(&format!("{} on {}", one_line(test), devices.join(", ")), WIDEST);
    let place = place(log, results[0].decisive())
        .map(|Location { file, line }| format!("file={},line={line},", property(&one_line(&file))));
    let reason = |(result, device): (&&TestResult, &String)| {
        let headline = one_line(&headline(result));
        cut(&format!("{device}: {}: {headline}", result.verdict.name()), WIDEST)
    };
    let reasons: Vec<_> = results.iter().zip(&devices).map(reason).take(MOST_ANNOTATIONS).collect();
    let (place, reasons) = (place.unwrap_or_default(), data(&reasons.join("\n")));
    format!("::error {place}title={}::{reasons}\n", property(&title))
}

/// Returns a text as the message of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns a text as the value of a command's property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_runner::log::sample::{device, result, run_log};
    use clmatrix_runner::verdict::Outcome;

    fn failed(test: &str, message: &str, file: &str) -> TestResult {
        let location = Some(Location { file: file.into(), line: 7 });
        result(test, Outcome::Failed { message: message.to_owned(), location })
    }

    fn log(results: Vec<TestResult>) -> RunLog {
        let devices = vec![device("d", "PoCL"), device("e", "PoCL")];
        run_log(devices, results, std::time::Duration::from_secs(1))
    }

    #[test]
    fn a_test_has_an_annotation_for_all_its_devices() {
        let passed = result("s::t@f", Outcome::Passed);
        let results = vec![
            failed("s::t@d", "left: 1,\nright: 50%", "a,b:c.rs"),
            failed("s::t@e", "no\r::stop-commands::x", "a.rs"),
            passed,
            result("s::u@d", Outcome::signal("SIGSEGV")),
        ];
        insta::assert_snapshot!(annotations(&log(results)));
    }

    #[test]
    fn ten_tests_have_annotations_of_one_line() {
        let wide = "\n%".repeat(1 << 12);
        let results = (0..30).map(|n| failed(&format!("s::t_{n}@d"), &wide, &wide)).collect();
        let text = annotations(&log(results));
        assert_eq!(text.lines().count(), 10);
        assert!(text.lines().all(|line| line.starts_with("::error ")), "{text}");
        let not_run = result("s::t@d", Outcome::not_run("stopped"));
        assert_eq!(annotations(&log(vec![not_run])), "");
    }

    #[test]
    fn the_summary_of_a_step_is_never_too_long() {
        let results = (0..10_000).map(|n| failed(&format!("s::t_{n}@d"), "no", "a.rs"));
        let log = log(results.collect());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("summary");
        std::fs::write(&file, "before").unwrap();
        let append = || append_summary(&log, File::options().append(true).open(&file).unwrap());
        append().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("before\n# FAILED: 10000 tests"), "{}", &text[..100]);
        append().unwrap();
        let twice = std::fs::read_to_string(&file).unwrap();
        assert_eq!(twice.matches("\n# FAILED: ").count(), 2);
        assert!(twice.starts_with(&text) && twice.len() as u64 <= STEP, "{}", twice.len());
        assert!(append().is_err(), "no room");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), twice);
    }
}
