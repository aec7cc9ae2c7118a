//! The page that a person reads after a run: suites down, devices across, then the failures and the commands to
//! reproduce them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anstream::AutoStream;
use clmatrix_runner::devices::failure::FailedDriver;
use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::junit_path;
use clmatrix_runner::report::when_lost;
use clmatrix_runner::report::{SUSPECT, headline, outcome_line, place, rerun, without_message};
use clmatrix_runner::result::test_result::{TestResult, left_behind_text};
use clmatrix_runner::text::{clean, first_line, one_line};
use clmatrix_runner::text::{counted, human, shell_quoted};
use clmatrix_runner::verdict::{Location, Outcome, Verdict};
use indexmap::{IndexMap, IndexSet};

use super::conclusion::Conclusion;
use super::excerpt;
use super::not_run::{NotRun, count_by_loss};
use super::other_versions::{assumed, mended};
use super::table::{self, Color, Column, Group, MIN_WIDTH, cut, wrap};
use super::tally::{Counts, KINDS, Kind, Tally};
use super::without_numbers::without_numbers;
use super::{has_output, verdict_word};

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
    let page = Page { log, layout: Layout { width: layout.width.max(MIN_WIDTH), ..layout } };
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
        let rows: Vec<String> = rows.into_iter().map(one_line).collect();
        let groups = devices.into_iter().map(|(device, tallies, time)| Group {
            label: one_line(device),
            columns: self.columns(&tallies),
            foot: time.map(human).unwrap_or_default(),
        });
        table::layout(&rows, groups.collect(), "time", self.layout.width) + &self.legend()
    }

    /// Returns the columns of the verdicts that occur on a device; a column for passes in any case.
    fn columns(&self, rows: &[Tally]) -> Vec<Column> {
        let column = |kind: &Kind| Column {
            head: kind.head,
            counts: rows.iter().map(|tally| tally.of(kind.verdict)).collect(),
            color: kind.color.filter(|_| self.layout.color),
        };
        let occurs = |verdict| rows.iter().any(|tally| tally.of(verdict) > 0);
        let kinds = KINDS.iter();
        let shown = kinds.filter(|kind| kind.verdict == Verdict::Pass || occurs(kind.verdict));
        shown.map(column).collect()
    }

    fn legend(&self) -> String {
        let total = Tally::of_run(self.log);
        let meanings: Vec<_> = total
            .counts()
            .filter(|(kind, _)| EXPLAINED.contains(&kind.verdict))
            .map(|(kind, _)| format!("{} = {}", kind.head, kind.meaning))
            .collect();
        wrap(meanings.iter().map(String::as_str), "  ", self.layout.width)
    }

    fn absent(&self) -> String {
        let sentence =
            |expected: &String| format!("{}: expected, but not found", one_line(expected));
        self.log.absent.iter().map(|expected| self.titled("ABSENT", &sentence(expected))).collect()
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
        let is_notable = |result: &TestResult| {
            !result.is_as_expected() || result.tolerated || result.attempts().is_some()
        };
        let notable = ran.clone().filter(|result| is_notable(result)).count();
        let with_output = match self.layout.output {
            ShownOutput::Hidden => false,
            ShownOutput::FewUnexpected => notable <= FEW,
            ShownOutput::All => true,
        };
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
            let is_further_suspect = self.is_brief(result) && !with_suspect.insert(device);
            let mut block = match is_further_suspect {
                true => self.brief(result),
                false => self.result(result, with_output),
            };
            if let more @ 1.. = alike.len() - 1 {
                block += &self.indented(&format!("and {} like it", counted(more, "case")));
            }
            blocks.push(block);
        }
        blocks.extend(self.left_out(&left_out));
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
    fn left_out(&self, left_out: &IndexMap<&str, Vec<&TestResult>>) -> Vec<String> {
        let file = self
            .log
            .files
            .last()
            .filter(|_| self.log.header.is_of_clmatrix())
            .map(|file| shell_quoted(&file.display().to_string()).into_owned());
        let command = file
            .map_or_else(String::new, |file| format!("  all:   clmatrix report --all {file}\n"));
        let describe = |(device, results): (&&str, &Vec<&TestResult>)| {
            let more = counted(results.len(), "more unexpected result");
            let mut suites: IndexMap<(&str, Verdict), usize> = IndexMap::new();
            let title = self.titled("NOT SHOWN:", &format!("{more} on {}", one_line(device)));
            results.iter().for_each(|result| {
                *suites.entry((self.log.suite(result), result.verdict)).or_default() += 1;
            });
            let suites = suites.into_iter().map(|((suite, verdict), count)| {
                format!("{} {}: {count}", one_line(suite), verdict.name())
            });
            let suites: Vec<_> = suites.collect();
            title + &self.wrapped(&suites.join(", ")) + &command
        };
        left_out.iter().map(describe).collect()
    }

    /// Returns whether a result is shown briefly: the suspects of a device all report that the device does not work.
    fn is_brief(&self, result: &TestResult) -> bool {
        self.log.is_suspect(result) && self.layout.output != ShownOutput::All
    }

    /// Returns the verdict and the message of a result.
    fn brief(&self, result: &TestResult) -> String {
        let is_noted = result.tolerated || result.is_as_expected() && result.attempts().is_some();
        let color = if result.verdict == Verdict::Flaky || is_noted {
            Color::Yellow
        } else if result.is_as_expected() {
            Color::Green
        } else {
            Color::Red
        };
        let verdict = self.paint(color, &verdict_word(result));
        let mut text = format!("{verdict} {}\n", one_line(&result.test));
        if is_explained(result) {
            text += &self.message(result);
        }
        text
    }

    fn result(&self, result: &TestResult, with_output: bool) -> String {
        let as_expected = result.is_as_expected();
        let mut text = self.brief(result);
        let place = place(self.log, result.decisive()).filter(|_| is_explained(result));
        if let Some(Location { file, line }) = place {
            let _ = writeln!(text, "  at {}:{line}", one_line(&file));
        }
        if !as_expected {
            text += &self.left_behind_by(result);
        }
        if with_output && !self.is_brief(result) {
            if !as_expected {
                text += &self.stack(result.decisive());
            }
            text += &self.output(&self.log.with_output(result.decisive()));
        }
        if !as_expected {
            if let Some(reports) = self.layout.reports {
                let report = junit_path(reports, result.test.device());
                let _ = writeln!(text, "  more:  {}", report.display());
            }
            if let Some(command) = rerun(self.log, result) {
                let _ = writeln!(text, "  rerun: {command}");
            }
        }
        text
    }

    fn message(&self, result: &TestResult) -> String {
        let counts = result.counts.as_ref().map(ToString::to_string);
        let found = counts.into_iter().chain(result.attempts());
        let mut text: String = found.map(|found| self.wrapped(&found)).collect();
        let result = result.decisive();
        let message = match &result.attempt.outcome {
            Outcome::Failed { message, .. } if !result.verdict.is_as_expected() => clean(message),
            _ => outcome_line(result),
        };
        text += &self.wrapped(&message);
        // The line of the other results holds the expectation.
        let is_other =
            !result.verdict.is_as_expected() && result.attempt.outcome != Outcome::Passed;
        if let Some(expected) = result.expected().filter(|_| is_other) {
            text += &self.wrapped(&first_line(&expected));
        }
        if let Some(host) = &result.host {
            text += &self.indented(&format!("host: {}", one_line(host)));
        }
        if self.log.is_suspect(result) {
            text += &self.indented(SUSPECT);
        }
        text
    }

    /// Returns the changes that a test left behind in its process, if they are not its failure, which is shown already.
    fn left_behind_by(&self, result: &TestResult) -> String {
        let notes = left_behind_text(&result.attempt.left_behind);
        match &result.attempt.outcome {
            Outcome::Failed { message, .. } if *message == notes => String::new(),
            _ => notes.lines().map(|note| self.indented(&one_line(note))).collect(),
        }
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
            let output = clean(output);
            let excerpt = excerpt::end(&output, LINES, self.layout.width - 4);
            if excerpt.lines.is_empty() {
                continue;
            }
            let note = match excerpt.is_whole {
                true => String::new(),
                false => format!(", the last {LINES} lines"),
            };
            text += &format!("  {name}{note}:\n{}", excerpt.indented("    "));
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
        let has_notes = |result: &&TestResult| {
            !result.attempt.left_behind.is_empty() && result.is_as_expected()
        };
        let results: Vec<_> = self.log.results.iter().filter(has_notes).collect();
        let title = self.paint(Color::Yellow, "LEFT BEHIND");
        if !self.layout.all {
            let tests = counted(results.len(), "test");
            let line = || format!("{title} by {tests}: see report.html, or --all\n");
            return if results.is_empty() { String::new() } else { line() };
        }
        let mut text = String::new();
        for result in results {
            let _ = writeln!(text, "{title} by {}", one_line(&result.test));
            let notes = &result.attempt.left_behind;
            notes.iter().for_each(|note| text += &self.indented(&one_line(note)));
        }
        text
    }

    /// Returns the tests that were not run, a line for each device and reason: after Ctrl-C there are
    /// thousands. The tests of lost devices are counted there.
    fn not_run(&self) -> Vec<String> {
        let describe = |not_run: NotRun<'_>| {
            let NotRun { device, reason, tests } = not_run;
            let title = format!("{} on {}", counted(tests, "test"), one_line(device));
            self.titled("NOT RUN", &title) + &self.wrapped(&reason)
        };
        NotRun::of_run(self.log).into_iter().map(describe).collect()
    }

    fn summary(&self) -> String {
        let conclusion = Conclusion::new(self.log);
        let color = if conclusion.has_passed { Color::Green } else { Color::Red };
        let sentence = wrap(conclusion.to_string().split(' '), " ", self.layout.width);
        let painted = self.paint(color, conclusion.word);
        // The word is at the beginning, where no line is broken within it.
        let sentence = sentence.replacen(conclusion.word, &painted, 1);
        match self.layout.reports {
            Some(reports) if !self.layout.quiet => {
                format!("{sentence}Reports: {}\n", reports.display())
            }
            _ => sentence,
        }
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
        excerpt::beginning(text, LINES, self.layout.width - 2).indented("  ")
    }

    fn paint(&self, color: Color, text: &str) -> String {
        if self.layout.color { color.paint(text) } else { text.to_owned() }
    }
}

/// Returns the time from the first start of a test to the last end, without the pauses of a run that was
/// resumed: the longest one, if the run is merged from several hosts, whose clocks differ.
pub(crate) fn wall_time(log: &RunLog, results: &[&TestResult]) -> Option<Duration> {
    let mut hosts: BTreeMap<_, BTreeMap<usize, (SystemTime, SystemTime)>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.verdict != Verdict::NotRun) {
        let (next, last) = match &result.counts {
            Some(counts) => (counts.start, counts.end),
            None => (result.attempt.started, result.attempt.end()),
        };
        let part = log.resumed.partition_point(|time| *time <= next);
        let parts = hosts.entry(result.host.as_deref()).or_default();
        let (start, end) = parts.entry(part).or_insert((next, last));
        (*start, *end) = (next.min(*start), last.max(*end));
    }
    let time = |(start, end): &(SystemTime, SystemTime)| end.duration_since(*start);
    let longest = hosts.values().map(|parts| parts.values().flat_map(time).sum()).max()?;
    // One host may have run several parts of a merged run, at other times.
    Some(if log.header.merged.is_empty() { longest } else { log.duration.min(longest) })
}

/// Returns whether a result has more than its verdict to show.
fn is_explained(result: &TestResult) -> bool {
    result.verdict != Verdict::Pass || result.attempts().is_some()
}

#[cfg(test)]
mod tests;
