//! A comparison as tables.

use std::time::Duration;

use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::text::{counted, human};

use super::difference::{Change, Difference, Kind};
use super::speed::{FEWEST_TIMES, SpeedChange};
use crate::report::cut;
use crate::report::page::Page;

/// The most rows of a table, unless all are shown.
const ROWS: usize = 20;

/// The widest text of a result.
const WIDEST: usize = 100;

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Self::Regression => "Regressions",
            Self::OtherWay => "Other ways of going wrong",
            Self::Expected => "Now wrong as expected",
            Self::Fix => "Fixes",
            Self::New => "New results",
            Self::Gone => "Results that are gone",
        }
    }
}

impl Difference {
    /// Returns the comparison as tables: the differences of the machines come first. Tables are cut, unless `all`.
    pub(crate) fn pages(&self, all: bool) -> Vec<Page> {
        let most = most_rows(all);
        let mut pages = vec![self.head()];
        pages.extend(self.changes_pages(most));
        for (device, speeds) in &self.speeds {
            for (word, changes) in [("Slower", &speeds.slower), ("Faster", &speeds.faster)] {
                if !changes.is_empty() {
                    pages.push(speed_page(&format!("{word} on {device}"), changes, most));
                }
            }
        }
        pages.extend(self.rule_page());
        pages.extend(self.sums_page());
        pages
    }

    /// Returns the results that differ as tables, which are cut unless `all`.
    pub(crate) fn news(&self, all: bool) -> Vec<Page> {
        let mut notes = Vec::new();
        if self.changes.values().all(Vec::is_empty) {
            notes.push("No result differs.".to_owned());
        }
        let titles = self.a.iter().map(|run| format!("Compared with {run}")).collect();
        let head = Page { titles, notes, ..Page::default() };
        [head].into_iter().chain(self.changes_pages(most_rows(all))).collect()
    }

    fn changes_pages(&self, most: usize) -> impl Iterator<Item = Page> {
        let changes = self.changes.iter().filter(|(_, changes)| !changes.is_empty());
        changes.map(move |(kind, changes)| changes_page(kind.title(), changes, most))
    }

    fn head(&self) -> Page {
        let (mut titles, mut notes) = (Vec::new(), Vec::new());
        for (name, runs, devices) in
            [("A", &self.a, &self.only_in_a), ("B", &self.b, &self.only_in_b)]
        {
            titles.extend(runs.iter().map(|run| format!("{name} = {run}")));
            if !devices.is_empty() {
                notes.push(format!("Only in {name}: {}", devices.join(", ")));
            }
        }
        if self.is_empty() {
            notes.push("No differences.".to_owned());
        }
        Page { titles, notes, table: self.facts_table(), ..Page::default() }
    }

    fn facts_table(&self) -> Option<TextTable> {
        let mut table = TextTable::new(&["DEVICE", "FACT", "A", "B"]);
        for change in &self.facts {
            let value = |table: &mut TextTable, value: &Option<String>| {
                table.or_note(value.clone().unwrap_or_else(|| "-".to_owned()))
            };
            let (a, b) = (value(&mut table, &change.a), value(&mut table, &change.b));
            let device = change.device.clone().unwrap_or_else(|| "-".to_owned());
            table.push(vec![device, change.fact.clone(), a, b]);
        }
        (!self.facts.is_empty()).then_some(table)
    }

    fn rule_page(&self) -> Option<Page> {
        if self.speeds.is_empty() {
            return None;
        }
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
        Some(Page {
            titles: vec!["Times".to_owned()],
            notes: vec![rule, ratios],
            ..Page::default()
        })
    }

    fn sums_page(&self) -> Option<Page> {
        let mut table = TextTable::new(&["DEVICE", "SUITE", "TESTS", "A", "B", "B / A"]);
        for sum in &self.sums {
            let seconds = |seconds: f64| human(Duration::from_secs_f64(seconds));
            table.push(vec![
                sum.device.clone(),
                sum.suite.clone(),
                sum.tests.to_string(),
                seconds(sum.a),
                seconds(sum.b),
                format!("{:.2}", sum.b / sum.a),
            ]);
        }
        let note = format!(
            "Sums of the tests that passed in A and B. A verdict on tests needs {FEWEST_TIMES} runs on each side."
        );
        (!self.sums.is_empty()).then(|| Page::of_table("Times".to_owned(), vec![note], table))
    }
}

fn most_rows(all: bool) -> usize {
    if all { usize::MAX } else { ROWS }
}

fn changes_page(title: &str, changes: &[Change], most: usize) -> Page {
    let mut table = TextTable::new(&["TEST", "A", "B"]);
    for change in changes.iter().take(most) {
        let text = |text: &Option<String>| cut(text.as_deref().unwrap_or("-"), WIDEST);
        table.push(vec![change.test.clone(), text(&change.a), text(&change.b)]);
    }
    page(title, changes.len(), most, table)
}

fn speed_page(title: &str, changes: &[SpeedChange], most: usize) -> Page {
    let mut table = TextTable::new(&["TEST", "A", "B", "B / A"]);
    for change in changes.iter().take(most) {
        let ms = |seconds: f64| format!("{:.0} ms", 1000.0 * seconds);
        let ratio = format!("{:.2}", change.b / change.a);
        table.push(vec![change.test.clone(), ms(change.a), ms(change.b), ratio]);
    }
    page(title, changes.len(), most, table)
}

fn page(title: &str, count: usize, most: usize, table: TextTable) -> Page {
    let hidden = count.saturating_sub(most);
    let notes = match hidden {
        0 => Vec::new(),
        _ => vec![format!("The first {most}; --all shows {hidden} more.")],
    };
    Page::of_table(format!("{title} ({count})"), notes, table)
}
