//! The page that a person reads after a run: suites down, devices across, then the failures and the commands to
//! reproduce them.

use std::path::Path;

use anstream::AutoStream;
use clap::builder::styling::AnsiColor as Color;
use clmatrix_runner::devices::failure::FailedDriver;
use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{
    SUSPECT, headline, junit_path, outcome_line, place, rerun, when_lost, without_message,
};
use clmatrix_runner::result::test_result::{TestResult, left_behind_text};
use clmatrix_runner::text::{clean, counted, first_line, human, one_line, shell_quoted};
use clmatrix_runner::verdict::{Location, Outcome, Verdict};
use indexmap::{IndexMap, IndexSet};

use super::excerpt;
use super::other_versions::{assumed, mended};
use super::table::{self, Column, Group, MIN_WIDTH, cut, painted, wrap};
use super::tally::{Conclusion, Counts, Kind, NotRun, ORDER, Tally, count_by_loss};
use super::{has_output, verdict_word, without_numbers};

/// The headings that do not explain themselves.
const EXPLAINED: [Verdict; 3] =
    [Verdict::UnexpectedPass, Verdict::ExpectedFail, Verdict::AssumedFail];

/// The appearance of a page.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Columns of the page; 40 at least.
    pub width: usize,
    /// True to use colours.
    pub color: bool,
    /// The folder of the reports, if they are written.
    pub reports: Option<&'a Path>,
    /// The tests whose output is shown.
    pub output: ShownOutput,
    /// True to leave out the table.
    pub quiet: bool,
    /// True to show all unexpected results of a device, not only the first.
    pub all: bool,
}

impl<'a> Layout<'a> {
    /// Returns the layout for standard output.
    pub(crate) fn of_terminal(
        reports: Option<&'a Path>,
        output: ShownOutput,
        quiet: bool,
        all: bool,
    ) -> Self {
        let color = AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        Self { width: 80, color, reports, output, quiet, all }
    }
}

/// The tests whose captured output a page shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShownOutput {
    /// No test.
    Hidden,
    /// The unexpected results, if there are at most ten.
    FewUnexpected,
    /// All tests.
    All,
}

/// The most expectations that are listed as no longer needed.
const MOST_FIXED: usize = 10;

/// More unexpected results than these are shown without their output.
const FEW: usize = 10;

/// The most unexpected results of a device, unless all are shown.
const MOST_UNEXPECTED: usize = 20;

/// The most lines of a message, and of the output of a stream.
const LINES: usize = 20;

/// Returns the results of a run as a page for a terminal.
///
/// Only text for copying may be wider than the page: a test's id, a place in a source file, a file's path, a command.
pub fn matrix(log: &RunLog, layout: Layout<'_>) -> String {
    let mut page = Page { log, layout: Layout { width: layout.width.max(MIN_WIDTH), ..layout } };
    let notable = log.results.iter().filter(|result| is_notable(result)).count();
    if layout.output == ShownOutput::FewUnexpected && notable > FEW {
        page.layout.output = ShownOutput::Hidden;
    }
    let loud = |part: String| if layout.quiet { String::new() } else { part };
    let parts = [
        loud(page.table()),
        page.absent(),
        page.results(),
        loud(page.other_versions()),
        loud(page.left_behind()),
        page.lost_devices(),
        page.failed_drivers(),
        page.summary(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

struct Page<'a> {
    log: &'a RunLog,
    layout: Layout<'a>,
}

impl Page<'_> {
    fn table(&self) -> String {
        if self.log.results.is_empty() {
            return String::new();
        }
        let Counts { rows, devices } = Counts::new(self.log);
        let rows = rows.into_iter().map(one_line).collect();
        let groups = devices.into_iter().map(|(device, tallies, time)| Group {
            label: one_line(device),
            columns: self.columns(&tallies),
            foot: time.map(human).unwrap_or_default(),
        });
        table::layout(rows, groups.collect(), self.layout.width) + &self.legend()
    }

    /// Returns the columns of the verdicts that occur on a device; a column for passes in any case.
    fn columns(&self, rows: &[Tally]) -> Vec<Column> {
        let column = |verdict: Verdict| {
            let Kind { head, color, .. } = Kind::of(verdict);
            let counts: Vec<usize> = rows.iter().map(|tally| tally.of(verdict)).collect();
            let is_shown = verdict == Verdict::Pass || counts.iter().any(|count| *count > 0);
            is_shown.then(|| Column::new(head, &counts, color.filter(|_| self.layout.color)))
        };
        ORDER.into_iter().filter_map(column).collect()
    }

    fn legend(&self) -> String {
        let total = Tally::of_run(self.log);
        let kinds = EXPLAINED.into_iter().filter(|verdict| total.of(*verdict) > 0).map(Kind::of);
        let meanings = kinds.map(|Kind { head, meaning, .. }| format!("{head} = {meaning}"));
        wrap(meanings, "  ", self.layout.width)
    }

    fn absent(&self) -> String {
        let absent = self.log.absent.iter();
        let absent = absent.map(|expected| one_line(expected) + ": expected, but not found");
        absent.map(|sentence| self.titled("ABSENT", &sentence)).collect()
    }

    /// Returns the devices that were lost, with the reason, the last test, and the number of tests that
    /// were not run because of it.
    fn lost_devices(&self) -> String {
        let describe = |lost @ DeviceLost { device, reason, .. }: &DeviceLost| {
            let not_run = counted(count_by_loss(self.log, device), "test");
            let title = format!("{}, {not_run} not run", one_line(device));
            let (title, reason) = (self.titled("DEVICE LOST", &title), self.wrapped(reason));
            format!("{title}{reason}  {}\n", when_lost(lost, one_line))
        };
        self.log.lost.iter().map(describe).collect()
    }

    /// Returns the drivers that failed, at the end, where long runs do not scroll them away.
    fn failed_drivers(&self) -> String {
        let describe = |FailedDriver { driver, failure, .. }: &FailedDriver| {
            self.titled("DRIVER FAILED", &one_line(driver)) + &self.wrapped(&failure.reason)
        };
        self.log.failed_drivers.iter().map(describe).collect()
    }

    /// Returns the unexpected results, and all results with output if that is shown.
    fn results(&self) -> String {
        let ran = self.log.results.iter().filter(|result| result.verdict != Verdict::NotRun);
        let is_shown = |result: &&TestResult| {
            is_notable(result) || self.layout.output == ShownOutput::All && has_output(result)
        };
        let mut shown: IndexMap<&str, usize> = IndexMap::new();
        let mut left_out: IndexMap<&str, Vec<&TestResult>> = IndexMap::new();
        let mut with_suspect: IndexSet<&str> = IndexSet::new();
        let mut blocks = Vec::new();
        for alike in self.alike(ran.filter(is_shown)) {
            let result = alike[0];
            let device = result.test.device();
            let count = shown.entry(device).or_default();
            *count += usize::from(is_notable(result));
            if !self.layout.all && is_notable(result) && *count > MOST_UNEXPECTED {
                left_out.entry(device).or_default().extend(alike);
                continue;
            }
            let is_further = self.is_brief(result) && !with_suspect.insert(device);
            let mut block = if is_further { self.brief(result) } else { self.result(result) };
            if let more @ 1.. = alike.len() - 1 {
                block += &self.indented(&format!("and {} like it", counted(more, "case")));
            }
            blocks.push(block);
        }
        blocks.extend(self.left_out(left_out));
        blocks.extend(self.not_run());
        blocks.join("\n")
    }

    /// Returns results with crashes first, then hangs, then failures. The cases of a test that ended in the same way
    /// are adjacent, unless all results are shown.
    fn alike<'r>(&self, results: impl Iterator<Item = &'r TestResult>) -> Vec<Vec<&'r TestResult>> {
        let mut results: Vec<_> = results.collect();
        results.sort_by_key(|result| match result.verdict {
            Verdict::Crash => 0,
            Verdict::Timeout => 1,
            Verdict::Fail => 2,
            Verdict::Pass
            | Verdict::Skip
            | Verdict::Ignored
            | Verdict::ExpectedFail
            | Verdict::AssumedFail
            | Verdict::UnexpectedPass
            | Verdict::Flaky
            | Verdict::NotRun => 3,
        });
        let mut groups: IndexMap<_, Vec<_>> = IndexMap::new();
        for (number, result) in results.into_iter().enumerate() {
            let function = self.log.source(result).filter(|_| !self.layout.all).ok_or(number);
            let message = without_numbers(&headline(result));
            let key = (function, result.test.device(), result.verdict, message);
            groups.entry(key).or_default().push(result);
        }
        groups.into_values().collect()
    }

    /// Returns the number of unexpected results that are not shown, their suites, and the command that shows them.
    fn left_out(&self, left_out: IndexMap<&str, Vec<&TestResult>>) -> Vec<String> {
        let file = self.log.files.last().filter(|_| self.log.header.is_of_clmatrix());
        let command = file.map_or_else(String::new, |file| {
            let file = file.display().to_string();
            format!("  all:   clmatrix report --all {}\n", shell_quoted(&file))
        });
        let describe = |(device, results): (&str, Vec<&TestResult>)| {
            let more = counted(results.len(), "more unexpected result");
            let title = self.titled("NOT SHOWN:", &format!("{more} on {}", one_line(device)));
            let mut suites: IndexMap<(&str, Verdict), usize> = IndexMap::new();
            for result in results {
                *suites.entry((self.log.suite(result), result.verdict)).or_default() += 1;
            }
            let suites = suites.into_iter().map(|((suite, verdict), count)| {
                format!("{} {}: {count}", one_line(suite), verdict.name())
            });
            let suites: Vec<_> = suites.collect();
            title + &self.wrapped(&suites.join(", ")) + &command
        };
        left_out.into_iter().map(describe).collect()
    }

    /// Returns whether a result is shown briefly: the suspects of a device all report that the device does not work.
    fn is_brief(&self, result: &TestResult) -> bool {
        self.log.is_suspect(result) && self.layout.output != ShownOutput::All
    }

    /// Returns the verdict and the message of a result.
    fn brief(&self, result: &TestResult) -> String {
        let color = match result.is_as_expected() || result.verdict == Verdict::Flaky {
            false => Color::Red,
            true if is_notable(result) => Color::Yellow,
            true => Color::Green,
        };
        let verdict = self.paint(color, &verdict_word(result));
        let mut text = format!("{verdict} {}\n", one_line(&result.test));
        if is_explained(result) {
            text += &self.message(result);
        }
        text
    }

    fn result(&self, result: &TestResult) -> String {
        let (as_expected, decisive) = (result.is_as_expected(), result.decisive());
        let mut text = self.brief(result);
        let place = place(self.log, decisive).filter(|_| is_explained(result));
        text.extend(
            place.map(|Location { file, line }| format!("  at {}:{line}\n", one_line(&file))),
        );
        if !as_expected {
            text += &self.left_behind_by(result);
        }
        if self.layout.output != ShownOutput::Hidden && !self.is_brief(result) {
            if !as_expected {
                text += &self.stack(decisive);
            }
            text += &self.output(&self.log.with_output(decisive));
        }
        if !as_expected {
            let report = self.layout.reports.map(|folder| junit_path(folder, result.test.device()));
            text.extend(report.map(|report| format!("  more:  {}\n", report.display())));
            text.extend(rerun(self.log, result).map(|command| format!("  rerun: {command}\n")));
        }
        text
    }

    fn message(&self, result: &TestResult) -> String {
        let counts = result.counts.as_ref().map(ToString::to_string);
        let attempts = result.attempts();
        let result = result.decisive();
        let outcome = &result.attempt.outcome;
        let went_wrong = !result.verdict.is_as_expected();
        let message = if let Outcome::Failed { message, .. } = outcome
            && went_wrong
        {
            clean(message)
        } else {
            outcome_line(result)
        };
        // The line of the other results holds the expectation.
        let is_other = went_wrong && *outcome != Outcome::Passed;
        let expected = result.expected().filter(|_| is_other);
        let wrapped = [counts, attempts, Some(message), expected.map(|text| first_line(&text))];
        let host = result.host.as_ref().map(|host| format!("host: {}", one_line(host)));
        let suspect = self.log.is_suspect(result).then(|| SUSPECT.to_owned());
        let wrapped = wrapped.into_iter().flatten().map(|text| self.wrapped(&text));
        wrapped.chain(host.into_iter().chain(suspect).map(|text| self.indented(&text))).collect()
    }

    /// Returns the changes that a test left behind in its process, if they are not its failure, which is shown already.
    fn left_behind_by(&self, result: &TestResult) -> String {
        let notes = left_behind_text(&result.attempt.left_behind);
        if let Outcome::Failed { message, .. } = &result.attempt.outcome
            && *message == notes
        {
            return String::new();
        }
        notes.lines().map(|note| self.indented(&one_line(note))).collect()
    }

    /// Returns the innermost frames of the thread that crashed or ran the test.
    fn stack(&self, result: &TestResult) -> String {
        let Some(stacks) = &result.attempt.stacks else { return String::new() };
        let shorten = |function: &str| cut(function, self.layout.width - 8);
        stacks.top(shorten).iter().map(|line| format!("  {}\n", clean(line))).collect()
    }

    /// Returns the end of a test's output, without the message that is shown already.
    fn output(&self, result: &TestResult) -> String {
        let stderr = without_message(&result.attempt.stderr, &result.attempt.outcome);
        let mut text = String::new();
        for (name, output) in [("stdout", result.attempt.stdout.as_str()), ("stderr", &stderr)] {
            let (lines, is_whole) = excerpt::end(&clean(output), LINES, self.layout.width - 4);
            let cut = (!is_whole).then(|| format!(", the last {LINES} lines"));
            let head = format!("  {name}{}:\n", cut.unwrap_or_default());
            text.extend(lines.first().map(|_| head));
            text += &excerpt::indented(&lines, "    ");
        }
        text
    }

    /// Returns the failures as on other versions of a driver, and the expectations that are no longer needed.
    fn other_versions(&self) -> String {
        let most = if self.layout.all { usize::MAX } else { MOST_FIXED };
        let part = |title: &str, lines: Vec<String>| -> String {
            let title = lines.first().map(|_| self.paint(Color::Yellow, title) + "\n");
            let lines = lines.iter().map(|line| self.wrapped(line));
            title.into_iter().chain(lines).collect()
        };
        part("AS ON OTHER VERSIONS", assumed(self.log)) + &part("FIXED", mended(self.log, most))
    }

    /// Returns the changes that tests left behind in their processes. The notes of an unexpected result are in its
    /// own block.
    fn left_behind(&self) -> String {
        let results = self.log.results.iter().filter(|result| result.is_as_expected());
        let results = results.filter(|result| !result.attempt.left_behind.is_empty());
        let title = self.paint(Color::Yellow, "LEFT BEHIND");
        let with_notes = |result: &TestResult| {
            let notes = result.attempt.left_behind.iter();
            let notes: String = notes.map(|note| self.indented(&one_line(note))).collect();
            format!("{title} by {}\n{notes}", one_line(&result.test))
        };
        match results.clone().count() {
            _ if self.layout.all => results.map(with_notes).collect(),
            0 => String::new(),
            tests => {
                format!("{title} by {}: see report.html, or --all\n", counted(tests, "test"))
            }
        }
    }

    /// Returns the tests that were not run, a line for each device and reason: after Ctrl-C there are
    /// thousands. The tests of lost devices are counted there.
    fn not_run(&self) -> Vec<String> {
        let describe = |NotRun { device, reason, tests }: NotRun<'_>| {
            let title = format!("{} on {}", counted(tests, "test"), one_line(device));
            self.titled("NOT RUN", &title) + &self.wrapped(&reason)
        };
        NotRun::of_run(self.log).into_iter().map(describe).collect()
    }

    fn summary(&self) -> String {
        let conclusion = Conclusion::new(self.log);
        let color = if conclusion.has_passed { Color::Green } else { Color::Red };
        let sentence = format!("{}: {}", conclusion.word, conclusion.sentence());
        let sentence = wrap(sentence.split(' '), " ", self.layout.width);
        // The word is at the beginning, where no line is broken within it.
        let word = self.paint(color, conclusion.word);
        let sentence = sentence.replacen(conclusion.word, &word, 1);
        let reports = self.layout.reports.filter(|_| !self.layout.quiet);
        let reports = reports.map(|reports| format!("Reports: {}\n", reports.display()));
        sentence + &reports.unwrap_or_default()
    }

    /// Returns a line that begins with the failure.
    fn titled(&self, wrong: &str, text: &str) -> String {
        let text = cut(text, self.layout.width - wrong.len() - 1);
        format!("{} {text}\n", self.paint(Color::Red, wrong))
    }

    fn indented(&self, text: &str) -> String {
        format!("  {}\n", cut(text, self.layout.width - 2))
    }

    /// Returns the beginning of a text on indented lines.
    fn wrapped(&self, text: &str) -> String {
        excerpt::indented(&excerpt::beginning(text, LINES, self.layout.width - 2), "  ")
    }

    fn paint(&self, color: Color, text: &str) -> String {
        if self.layout.color { painted(color, text) } else { text.to_owned() }
    }
}

/// Returns whether a result is unexpected, tolerated, or decided by several attempts.
fn is_notable(result: &TestResult) -> bool {
    result.verdict != Verdict::NotRun
        && (!result.is_as_expected() || result.tolerated || result.attempts().is_some())
}

/// Returns whether a result has more than its verdict to show.
fn is_explained(result: &TestResult) -> bool {
    result.verdict != Verdict::Pass || result.attempts().is_some()
}

#[cfg(test)]
mod tests;
