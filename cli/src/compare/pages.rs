//! A comparison as tables.

use std::time::Duration;

use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::text::{counted, human};

use super::difference::{Change, Difference, FactChange, Kind, ResultChange, TimeSum};
use super::speed::{FEWEST_TIMES, SpeedChange};
use crate::report::cut;
use crate::report::page::Page;

/// The most rows of a table, unless all are shown.
const ROWS: usize = 20;

/// The widest text of a result.
const WIDEST: usize = 100;

impl Difference {
    /// Returns the comparison as tables: the differences of the machines come first. Tables are cut, unless `all`.
    pub(crate) fn pages(&self, all: bool) -> Vec<Page> {
        let mut pages = vec![self.head()];
        pages.extend(self.changes_pages(all));
        for (device, speeds) in &self.speeds {
            for (word, changes) in [("Slower", &speeds.slower), ("Faster", &speeds.faster)] {
                pages.extend(speed_page(&format!("{word} on {device}"), changes, all));
            }
        }
        pages.extend(self.rule_page());
        pages.extend(self.sums_page());
        pages
    }

    /// Returns the results that differ as tables, which are cut unless `all`.
    pub(crate) fn news(&self, all: bool) -> Vec<Page> {
        let is_same = self.changes.values().all(Vec::is_empty);
        let notes = is_same.then(|| "No result differs.".to_owned()).into_iter().collect();
        let titles = self.a.iter().map(|run| format!("Compared with {run}")).collect();
        let head = Page { titles, notes, ..Page::default() };
        [head].into_iter().chain(self.changes_pages(all)).collect()
    }

    fn changes_pages(&self, all: bool) -> impl Iterator<Item = Page> {
        let text = |text: &Option<String>| cut(text.as_deref().unwrap_or("-"), WIDEST);
        let row = move |Change { test, a, b }: &ResultChange| vec![test.clone(), text(a), text(b)];
        Kind::ALL.into_iter().filter_map(move |(kind, title)| {
            page(title, &["TEST", "A", "B"], &self.changes[&kind], all, row)
        })
    }

    fn head(&self) -> Page {
        let (mut titles, mut notes) = (Vec::new(), Vec::new());
        let sides = [("A", &self.a, &self.only_in_a), ("B", &self.b, &self.only_in_b)];
        for (name, runs, only) in sides {
            titles.extend(runs.iter().map(|run| format!("{name} = {run}")));
            notes
                .extend((!only.is_empty()).then(|| format!("Only in {name}: {}", only.join(", "))));
        }
        notes.extend(self.is_empty().then(|| "No differences.".to_owned()));
        Page { titles, notes, table: self.facts_table(), ..Page::default() }
    }

    fn facts_table(&self) -> Option<TextTable> {
        let mut table = TextTable::new(&["DEVICE", "FACT", "A", "B"]);
        let text = |value: &Option<String>| value.as_deref().unwrap_or("-").to_owned();
        for FactChange { device, fact, a, b } in &self.facts {
            let [a, b] = [a, b].map(|value| table.or_note(text(value)));
            table.push(vec![text(device), fact.clone(), a, b]);
        }
        (!self.facts.is_empty()).then_some(table)
    }

    fn rule_page(&self) -> Option<Page> {
        let speeds = self.speeds.values();
        let tests = speeds.clone().map(|speeds| speeds.tests).sum();
        let by_chance: f64 = speeds.map(|speeds| speeds.by_chance).sum();
        let rule = format!(
            "Slower and faster: at least {FEWEST_TIMES} times on each side; every time of one side is above \
             every time of the other; the medians differ by 25 % and 20 ms; all after division by the median \
             ratio of the run. Of {} that can differ so, the rule names {by_chance:.1} by chance, at most.",
            counted(tests, "test"),
        );
        let ratios =
            self.speeds.iter().map(|(device, speeds)| format!("{device} {:.2}", speeds.ratio));
        let ratios = format!("B / A of the devices: {}", ratios.collect::<Vec<_>>().join(", "));
        let (titles, notes) = (vec!["Times".to_owned()], vec![rule, ratios]);
        (!self.speeds.is_empty()).then(|| Page { titles, notes, ..Page::default() })
    }

    fn sums_page(&self) -> Option<Page> {
        let mut table = TextTable::new(&["DEVICE", "SUITE", "TESTS", "A", "B", "B / A"]);
        for TimeSum { device, suite, tests, a, b } in &self.sums {
            let time = |seconds: &f64| human(Duration::from_secs_f64(*seconds));
            let (tests, ratio) = (tests.to_string(), format!("{:.2}", b / a));
            table.push(vec![device.clone(), suite.clone(), tests, time(a), time(b), ratio]);
        }
        let note = format!(
            "Sums of the tests that passed in A and B. A verdict on tests needs {FEWEST_TIMES} runs on each side."
        );
        (!self.sums.is_empty()).then(|| Page::of_table("Times".to_owned(), vec![note], table))
    }
}

fn speed_page(title: &str, changes: &[SpeedChange], all: bool) -> Option<Page> {
    let ms = |seconds: &f64| format!("{:.0} ms", 1000.0 * seconds);
    page(title, &["TEST", "A", "B", "B / A"], changes, all, |Change { test, a, b }| {
        vec![test.clone(), ms(a), ms(b), format!("{:.2}", b / a)]
    })
}

/// Returns a table with a row for each change, or for the first ones, unless `all`.
fn page<T>(
    title: &str,
    columns: &[&str],
    changes: &[Change<T>],
    all: bool,
    row: impl Fn(&Change<T>) -> Vec<String>,
) -> Option<Page> {
    let most = if all { usize::MAX } else { ROWS };
    let mut table = TextTable::new(columns);
    changes.iter().take(most).for_each(|change| table.push(row(change)));
    let hidden = changes.len().checked_sub(most).filter(|hidden| *hidden > 0);
    let note = hidden.map(|hidden| format!("The first {most}; --all shows {hidden} more."));
    let title = format!("{title} ({})", changes.len());
    (!changes.is_empty()).then(|| Page::of_table(title, note.into_iter().collect(), table))
}
