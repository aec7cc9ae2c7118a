//! A fleet as tables.

use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::text::{counted, human};

use super::Fleet;
use super::drift::{Drift, OtherValue};
use super::outliers::Outlier;
use crate::report::page::Page;

/// The most hosts that are named beside a value.
const NAMES: usize = 8;

impl Fleet {
    /// Returns the fleet as tables: a line for each host, then drift and outliers.
    pub(crate) fn pages(&self) -> Vec<Page> {
        let mut pages = vec![self.hosts_page()];
        if !self.drift.is_empty() {
            let mut table = TextTable::new(&["DEVICES", "FACT", "MOST HOSTS", "OTHERS", "HOSTS"]);
            self.drift.iter().for_each(|drift| add_drift(&mut table, drift));
            pages.push(Page::of_table("Drift".to_owned(), Vec::new(), table));
        }
        if !self.outliers.is_empty() {
            const HEAD: [&str; 6] =
                ["HOST", "DEVICE", "MEASUREMENT", "VALUE", "MEDIAN", "VALUE / MEDIAN"];
            let mut table = TextTable::new(&HEAD);
            self.outliers.iter().for_each(|outlier| add_outlier(&mut table, outlier));
            pages.push(Page::of_table("Outliers".to_owned(), Vec::new(), table));
        }
        pages
    }

    fn hosts_page(&self) -> Page {
        let mut table =
            TextTable::new(&["HOST", "RUN", "DEVICES", "ABSENT", "LOST", "TIME", "RESULTS"]);
        for host in &self.hosts {
            table.push(vec![
                host.host.clone(),
                if host.has_passed() { "passed" } else { "failed" }.to_owned(),
                host.devices.to_string(),
                or_dash(host.absent.join("; ")),
                or_dash(host.lost.join(", ")),
                human(host.duration),
                host.results.clone(),
            ]);
        }
        for name in &self.missing {
            let row = [name, "missing", "-", "-", "-", "-", "-"];
            table.push(row.map(str::to_owned).to_vec());
        }
        let (passed, failed) = (self.passed().count(), self.failed().count());
        let missing = self.missing.len();
        let title = format!(
            "{}: {passed} passed, {} failed, {missing} missing",
            counted(passed + failed, "host"),
            failed - missing,
        );
        Page::of_table(title, Vec::new(), table)
    }
}

fn add_drift(table: &mut TextTable, drift: &Drift) {
    for OtherValue { value, hosts } in &drift.others {
        let majority = table.or_note(text(drift.majority.as_ref()));
        let other = table.or_note(text(value.as_ref()));
        table.push(vec![
            or_dash(drift.model.clone().unwrap_or_default()),
            drift.fact.clone(),
            format!("{majority} ({})", counted(drift.hosts, "host")),
            other,
            names(hosts),
        ]);
    }
}

fn add_outlier(table: &mut TextTable, outlier: &Outlier) {
    let Outlier { host, device, name, value, median, unit } = outlier;
    table.push(vec![
        host.clone(),
        device.clone(),
        name.clone(),
        unit.write(*value),
        unit.write(*median),
        format!("{:.2}", value / median),
    ]);
}

fn text(value: Option<&String>) -> String {
    or_dash(value.cloned().unwrap_or_default())
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn names(hosts: &[String]) -> String {
    let shown = hosts[..hosts.len().min(NAMES)].join(", ");
    match hosts.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
