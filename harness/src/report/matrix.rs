//! The page that a person reads after a run: suites down, devices across, then what went wrong and
//! how to see it again.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::table::{self, Cell, Color, MIN_WIDTH, cut, wrap};
use super::text::{first_line, one_line};
use super::{devices, headline, rerun};
use crate::events::TestResult;
use crate::run_log::RunLog;
use crate::verdict::{Location, Outcome, Verdict};

/// How the verdicts are counted in the cells and in the summary, in this order. Capitals are for
/// what makes a run fail.
const SYMBOLS: [Symbol; 9] = [
    Symbol::new(Verdict::Pass, " ok", "passed"),
    Symbol::new(Verdict::Fail, "F", "failed"),
    Symbol::new(Verdict::Crash, "C", "crashed"),
    Symbol::new(Verdict::Timeout, "T", "timed out"),
    Symbol::new(Verdict::UnexpectedPass, "U", "unexpectedly passed"),
    Symbol::new(Verdict::NotRun, "N", "not run"),
    Symbol::new(Verdict::ExpectedFail, "x", "failed as expected"),
    Symbol::new(Verdict::Skip, "s", "skipped"),
    Symbol::new(Verdict::Ignored, "i", "ignored"),
];

struct Symbol {
    verdict: Verdict,
    /// What follows a count in a cell.
    mark: &'static str,
    /// What follows a count in a sentence.
    meaning: &'static str,
}

/// The results of a run on a page of `width` columns (40 at least); `reports` is where the files
/// are.
///
/// Only what is there to be copied may be wider: a test's id, a place in a source file, a command.
pub fn matrix(log: &RunLog, width: usize, color: bool, reports: &Path) -> String {
    let page = Page { log, width: width.max(MIN_WIDTH), color };
    let parts = [page.table(), page.absent(), page.unexpected(), page.summary(reports)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

struct Page<'a> {
    log: &'a RunLog,
    width: usize,
    color: bool,
}

/// How many results there are of each verdict, in the order of [`SYMBOLS`].
#[derive(Clone, Copy, Default)]
struct Tally([usize; SYMBOLS.len()]);

impl Page<'_> {
    fn table(&self) -> String {
        if self.log.results.is_empty() {
            return String::new();
        }
        let devices = devices(self.log);
        let (mut suites, mut tallies) = self.tallies(&devices);
        if suites.len() > 1 {
            suites.push("all");
            tallies
                .push((0..devices.len()).map(|d| tallies.iter().map(|row| row[d]).sum()).collect());
        }
        let cells: Vec<Vec<Cell>> =
            tallies.iter().map(|row| row.iter().map(|tally| self.cell(tally)).collect()).collect();
        let labels = |names: &[&str]| names.iter().map(|name| one_line(name)).collect::<Vec<_>>();
        table::layout(&labels(&suites), &labels(&devices), &cells, self.width) + &self.legend()
    }

    /// The suites in the order of the run, and for each the tally of each device.
    fn tallies(&self, devices: &[&str]) -> (Vec<&str>, Vec<Vec<Tally>>) {
        let mut suites: Vec<&str> = Vec::new();
        let mut tallies: Vec<Vec<Tally>> = Vec::new();
        for result in &self.log.results {
            let (_, device) = result.test_and_device();
            let row =
                suites.iter().position(|suite| *suite == result.suite()).unwrap_or_else(|| {
                    suites.push(result.suite());
                    tallies.push(vec![Tally::default(); devices.len()]);
                    suites.len() - 1
                });
            if let Some(column) = devices.iter().position(|known| *known == device) {
                tallies[row][column].add(result.verdict);
            }
        }
        (suites, tallies)
    }

    fn cell(&self, tally: &Tally) -> Cell {
        let words =
            tally.counts().map(|(symbol, count)| format!("{count}{}", symbol.mark)).collect();
        let color = match tally {
            _ if !self.color || tally.total() == 0 => None,
            tally if !tally.as_expected() => Some(Color::Red),
            tally if tally.of(Verdict::Pass) > 0 => Some(Color::Green),
            _ => Some(Color::Yellow),
        };
        Cell { words, color }
    }

    /// What the symbols mean, as far as they were used; `ok` says it itself.
    fn legend(&self) -> String {
        let total = self.total();
        let meanings: Vec<_> = total
            .counts()
            .filter(|(symbol, _)| symbol.verdict != Verdict::Pass)
            .map(|(symbol, _)| format!("{} = {}", symbol.mark, symbol.meaning))
            .collect();
        wrap(meanings.iter().map(String::as_str), "  ", self.width)
    }

    fn absent(&self) -> String {
        let mut text = String::new();
        for expected in &self.log.absent {
            let sentence = format!("{}: expected, but no device matches", one_line(expected));
            text += &self.titled("ABSENT", &sentence);
        }
        text
    }

    fn unexpected(&self) -> String {
        let unexpected = self.log.results.iter().filter(|result| !result.verdict.is_as_expected());
        let (not_run, ran): (Vec<_>, Vec<_>) =
            unexpected.partition(|result| result.verdict == Verdict::NotRun);
        let mut blocks: Vec<_> =
            ran.into_iter().map(|result| self.unexpected_result(result)).collect();
        blocks.extend(self.not_run(&not_run));
        blocks.join("\n")
    }

    fn unexpected_result(&self, result: &TestResult) -> String {
        let verdict = result.verdict.name().to_uppercase().replace('-', " ");
        let mut text = format!("{} {}\n", self.paint(Color::Red, &verdict), one_line(&result.test));
        text += &self.indented(&headline(result));
        // The headline of an unexpected pass holds the expectation.
        if let Some(expected) = result.expected().filter(|_| result.outcome != Outcome::Passed) {
            text += &self.indented(&first_line(&expected));
        }
        if let Some(Location { file, line }) = place(result) {
            let _ = writeln!(text, "  {}:{line}", one_line(file));
        }
        let _ = writeln!(text, "  {}", one_line(&rerun(self.log, result)));
        text
    }

    /// Tests that were not run, a line for each device and reason: after Ctrl-C there are
    /// thousands, and each alone says nothing.
    fn not_run(&self, results: &[&TestResult]) -> Vec<String> {
        let mut groups: Vec<((&str, String), usize)> = Vec::new();
        for result in results {
            let key = (result.test_and_device().1, first_line(&result.outcome.to_string()));
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, count)) => *count += 1,
                None => groups.push((key, 1)),
            }
        }
        let describe = |((device, reason), count): ((&str, String), usize)| {
            let title = format!("{} on {}", counted(count, "test"), one_line(device));
            self.titled("NOT RUN", &title) + &self.indented(&reason)
        };
        groups.into_iter().map(describe).collect()
    }

    fn summary(&self, reports: &Path) -> String {
        let RunLog { header, absent, results, .. } = self.log;
        let (word, color) = match self.log {
            log if log.interrupted => ("CUT SHORT", Color::Red),
            log if !log.is_success() => ("FAILED", Color::Red),
            _ => ("PASSED", Color::Green),
        };
        let mut sentence = format!(
            "{word}: {} on {} in {}",
            counted(results.len(), "test"),
            counted(header.devices.len(), "device"),
            human(self.log.duration)
        );
        let mut parts: Vec<_> = self
            .total()
            .counts()
            .map(|(symbol, count)| format!("{count} {}", symbol.meaning))
            .collect();
        if !absent.is_empty() {
            parts.push(format!("{} absent", counted(absent.len(), "expected device")));
        }
        if !parts.is_empty() {
            sentence = format!("{sentence}: {}", parts.join(", "));
        }
        let sentence = wrap(sentence.split(' '), " ", self.width);
        let painted = self.paint(color, word);
        // The word stands at the beginning, where no line is broken within it.
        let sentence = sentence.replacen(word, &painted, 1);
        format!("{sentence}Reports: {}\n", reports.display())
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.log.results.iter().for_each(|result| total.add(result.verdict));
        total
    }

    /// A line that begins with what is wrong.
    fn titled(&self, wrong: &str, text: &str) -> String {
        let text = cut(text, self.width - wrong.len() - 1);
        format!("{} {text}\n", self.paint(Color::Red, wrong))
    }

    fn indented(&self, text: &str) -> String {
        format!("  {}\n", cut(text, self.width - 2))
    }

    fn paint(&self, color: Color, text: &str) -> String {
        if self.color { color.paint(text) } else { text.to_owned() }
    }
}

impl Symbol {
    const fn new(verdict: Verdict, mark: &'static str, meaning: &'static str) -> Self {
        Self { verdict, mark, meaning }
    }
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        self.0[Self::position(verdict)] += 1;
    }

    fn of(&self, verdict: Verdict) -> usize {
        self.0[Self::position(verdict)]
    }

    fn position(verdict: Verdict) -> usize {
        SYMBOLS
            .iter()
            .position(|symbol| symbol.verdict == verdict)
            .expect("all verdicts are listed")
    }

    fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// What there is at all.
    fn counts(&self) -> impl Iterator<Item = (&'static Symbol, usize)> {
        SYMBOLS.iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    fn as_expected(&self) -> bool {
        self.counts().all(|(symbol, _)| symbol.verdict.is_as_expected())
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.0.iter_mut().zip(tally.0).for_each(|(sum, count)| *sum += count);
        }
        sum
    }
}

/// Where the test failed, else where it stands.
fn place(result: &TestResult) -> Option<&Location> {
    let failed_at = match &result.outcome {
        Outcome::Failed { location, .. } => location.as_ref(),
        _ => None,
    };
    failed_at.or(result.source.as_ref())
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests;
