//! The summary of a run in Markdown, for the pages of continuous integration.
//!
//! Names, messages and outputs of tests are shown as text, with any content. The parts have limits, and so does the
//! summary of any run.

use clmatrix_characterize::show::markdown::{block, code, escaped};
use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::devices::failure::FailedDriver;
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{explanation, when_lost, with_notes};
use clmatrix_runner::report::{headline, rerun, without_message};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::{clean, counted, first_line, human, one_line};

use super::other_versions::{assumed, mended};
use super::table::cut;
use super::tally::{Conclusion, Counts, NotRun, Tally, count_by_loss};
use super::verdict_word;

/// The most bytes of a summary. GitHub allows 1 MiB for each step of a job.
pub(crate) const MOST_BYTES: usize = 899 * 1024;

/// The fewest bytes of a summary: its conclusion and the notes on the parts left out.
pub(crate) const FEWEST_BYTES: usize = 4 * 1024;

/// The longest name of a test or a device, and the longest line of a message, in columns.
const WIDEST: usize = 300;

/// The most devices or drivers of a list.
const MOST_ITEMS: usize = 50;

/// The most bytes of a message.
const MESSAGE: usize = 4 * 1024;

/// The most bytes of an output.
const OUTPUT: usize = 8 * 1024;

/// The longest command that is shown, in bytes.
const COMMAND: usize = 2 * 1024;

/// The bytes that are kept for the number of results that are left out.
const LAST_NOTE: usize = 512;

/// Returns the summary of a run in at most `most` bytes, which are at least [`FEWEST_BYTES`]. `news` is the
/// section on differences from another run.
pub(crate) fn summary(log: &RunLog, news: Option<&str>, most: usize) -> String {
    let Conclusion { word, run, counts, .. } = Conclusion::new(log);
    let mut summary = Summary { log, text: format!("# {word}: {run}\n\n{counts}\n"), most };
    summary.add_part(&summary.devices(), "The list of devices");
    summary.add_part(&summary.table(), "The table");
    summary.add_part(&summary.incidents(), "The list of devices and drivers that failed");
    if let Some(news) = news {
        summary.add_part(news, "The comparison, which `clmatrix diff --all` shows whole,");
    }
    summary.add_results();
    summary.text
}

struct Summary<'a> {
    log: &'a RunLog,
    text: String,
    most: usize,
}

impl Summary<'_> {
    /// Adds a part of at most an eighth of the summary, or a note in its place.
    fn add_part(&mut self, part: &str, name: &str) {
        match part.len() {
            0 => {}
            length if length <= self.most / 8 => self.text += &format!("\n{part}"),
            _ => self.text += &format!("\n{name} is left out: it is too long.\n"),
        }
    }

    /// Returns the time of the run, and the devices with the versions of their drivers.
    fn devices(&self) -> String {
        let header = &self.log.header;
        let device = |RunDevice { id, platform, info }: &RunDevice| {
            let driver =
                format!("{} ({}), driver {}", info.name, platform.name, info.driver_version);
            format!("{}: {}", code(&name(id)), shown(&driver))
        };
        let time = humantime::format_rfc3339_seconds(header.time);
        format!("{time}\n\n{}", list(header.devices.iter().map(device).collect()))
    }

    /// Returns the counts of results: suites down, devices across.
    fn table(&self) -> String {
        let Counts { rows, devices } = Counts::new(self.log);
        let names: Vec<String> = devices.iter().map(|(device, ..)| name(device)).collect();
        let heads: Vec<&str> =
            ["suite"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let mut table = TextTable::new(&heads);
        for (row, suite) in rows.iter().enumerate() {
            let cells = devices.iter().map(|(_, tallies, _)| cell(&tallies[row]));
            table.push([name(suite)].into_iter().chain(cells).collect());
        }
        let times = devices.iter().map(|(.., time)| time.map_or_else(|| "-".to_owned(), human));
        table.push(["time".to_owned()].into_iter().chain(times).collect());
        if rows.is_empty() { String::new() } else { table.markdown() }
    }

    /// Returns the devices that are absent or lost, the drivers that failed, and the tests that were not run.
    fn incidents(&self) -> String {
        let log = self.log;
        let shown_name = |text: &str| code(&name(text));
        let absent = log.absent.iter().map(|expected| format!("**ABSENT** {}", shown(expected)));
        let lost = log.lost.iter().map(|lost @ DeviceLost { device, reason, .. }| {
            let not_run = counted(count_by_loss(log, device), "test");
            let (device, when) = (shown_name(device), when_lost(lost, shown_name));
            format!("**DEVICE LOST** {device}, {not_run} not run, {when}: {}", shown(reason))
        });
        let failed = log.failed_drivers.iter().map(|FailedDriver { driver, failure, .. }| {
            format!("**DRIVER FAILED** {}: {}", shown_name(driver), shown(&failure.reason))
        });
        let not_run = NotRun::of_run(log).into_iter().map(|NotRun { device, reason, tests }| {
            let (tests, device) = (counted(tests, "test"), shown_name(device));
            format!("**NOT RUN** {tests} on {device}: {}", shown(&reason))
        });
        let versions = assumed(log).into_iter().map(|line| ("AS ON OTHER VERSIONS", line));
        let mended = mended(log, MOST_ITEMS).into_iter().map(|line| ("FIXED", line));
        let lines =
            versions.chain(mended).map(|(what, line)| format!("**{what}** {}", shown(&line)));
        [absent.collect(), lost.collect(), failed.collect(), not_run.collect(), lines.collect()]
            .map(list)
            .concat()
    }

    /// Adds the unexpected results: with their outputs while there is room for these, then a line each.
    fn add_results(&mut self) {
        let results = self.log.results.iter();
        let unexpected: Vec<_> = results.filter(|result| result.is_unexpected()).collect();
        if unexpected.is_empty() {
            return;
        }
        let all = counted(unexpected.len(), "unexpected result");
        self.text += &format!("\n## {all}\n\n");
        let room = self.most.saturating_sub(LAST_NOTE);
        let log = self.log;
        let (mut added, mut with_outputs) = (0, true);
        for result in &unexpected {
            let mut text = String::new();
            if with_outputs {
                text = details(log, result);
                with_outputs = self.text.len() + text.len() <= room / 3 * 2;
                self.text += if with_outputs { "" } else { "\nWithout their outputs:\n\n" };
            }
            if !with_outputs {
                text = format!("- {}\n", line(result));
            }
            if self.text.len() + text.len() > room {
                break;
            }
            self.text += &text;
            added += 1;
        }
        if let left @ 1.. = unexpected.len() - added {
            let command = match log.header.is_of_clmatrix() {
                true => "`clmatrix report --all` and the",
                false => "The",
            };
            self.text += &format!(
                "\n{left} of {all} are left out. {command} JUnit files have all of them.\n"
            );
        }
    }
}

/// Returns the items of a list, or the first of them and the number of others.
fn list(items: Vec<String>) -> String {
    let more = items.len().saturating_sub(MOST_ITEMS);
    let more = (more > 0).then(|| format!("and {more} more"));
    items.into_iter().take(MOST_ITEMS).chain(more).map(|item| format!("- {item}\n")).collect()
}

/// Returns the counts of verdicts: `12 ok, 1 FAIL`.
fn cell(tally: &Tally) -> String {
    let counts: Vec<_> =
        tally.counts().map(|(kind, count)| format!("{count} {}", kind.head)).collect();
    if counts.is_empty() { "-".to_owned() } else { counts.join(", ") }
}

/// Returns the name of a test, a suite, a device or a driver on one line.
fn name(text: &str) -> String {
    cut(&one_line(beginning(text, MESSAGE)), WIDEST)
}

/// Returns the first line of a text, escaped.
fn shown(text: &str) -> String {
    escaped(&cut(&first_line(beginning(text, MESSAGE)), WIDEST))
}

/// Returns a result on one line.
fn line(result: &TestResult) -> String {
    let (test, headline) = (code(&name(&result.test)), code(&name(&headline(result))));
    format!("<b>{}</b> {test}: {headline}", verdict_word(result))
}

/// Returns a result with its message, its outputs and the command that runs the test again, folded.
fn details(log: &RunLog, result: &TestResult) -> String {
    let decisive = log.with_output(result.decisive());
    let stderr = without_message(&decisive.attempt.stderr, &decisive.attempt.outcome);
    let stderr = with_notes(&stderr, &decisive);
    let mut text = format!("<details>\n<summary>{}</summary>\n\n", line(result));
    let message = explanation(log, result);
    let shown = beginning(&message, MESSAGE);
    let dots = if shown.len() < message.len() { "…" } else { "" };
    text += &block("text", &format!("{}{dots}", clean(shown)));
    for (name, output) in [("stdout", &decisive.attempt.stdout), ("stderr", &stderr)] {
        let output = output.trim();
        if !output.is_empty() {
            let end = &output[output.ceil_char_boundary(output.len().saturating_sub(OUTPUT))..];
            let is_cut = end.len() < output.len();
            let note = || format!(", the last {} of {} bytes", end.len(), output.len());
            let note = is_cut.then(note).unwrap_or_default();
            text += &format!("\n{name}{note}:\n\n{}", block("text", &clean(end)));
        }
    }
    let command = rerun(log, result).filter(|command| command.len() <= COMMAND);
    text.extend(command.map(|command| format!("\nrerun:\n\n{}", block("sh", &command))));
    text + "\n</details>\n"
}

/// Returns the first bytes of a text, up to a limit.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests;
