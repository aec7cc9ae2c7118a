//! A fleet as tables.

use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::text::{counted, human};

use super::Fleet;
use super::drift::Drift;
use super::host::HostMeasurement;
use super::outliers::Outlier;
use crate::report::page::Page;

/// The most hosts that are named beside a value.
const NAMES: usize = 8;

/// The columns of the outliers.
const OUTLIERS: [&str; 6] = ["HOST", "DEVICE", "MEASUREMENT", "VALUE", "MEDIAN", "VALUE / MEDIAN"];

impl Fleet {
    /// Returns the fleet as tables: a line for each host, then drift and outliers.
    pub(crate) fn pages(&self) -> Vec<Page> {
        let mut pages = vec![self.hosts_page()];
        let text_of = |value: &Option<String>| or_dash(value.as_deref().unwrap_or_default());
        let mut table = TextTable::new(&["DEVICES", "FACT", "MOST HOSTS", "OTHERS", "HOSTS"]);
        for Drift { model, fact, majority, hosts, others } in &self.drift {
            for other in others {
                let [most, value] =
                    [majority, &other.value].map(|text| table.or_note(text_of(text)));
                let most = format!("{most} ({})", counted(*hosts, "host"));
                let row = [text_of(model), fact.clone(), most, value, names(&other.hosts)];
                table.push(row.into());
            }
        }
        if !self.drift.is_empty() {
            pages.push(Page::of_table("Drift".to_owned(), Vec::new(), table));
        }
        let mut table = TextTable::new(&OUTLIERS);
        for Outlier { measured, median } in &self.outliers {
            let HostMeasurement { host, device, name, value, unit, .. } = measured;
            let [number, usual] = [value, median].map(|number| unit.write(*number));
            let ratio = format!("{:.2}", value / median);
            table.push(vec![host.clone(), device.clone(), name.clone(), number, usual, ratio]);
        }
        if !self.outliers.is_empty() {
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
                or_dash(&host.absent.join("; ")),
                or_dash(&host.lost.join(", ")),
                human(host.duration),
                host.results.clone(),
            ]);
        }
        for name in &self.missing {
            let row = [name, "missing", "-", "-", "-", "-", "-"];
            table.push(row.map(str::to_owned).to_vec());
        }
        let (passed, missing) = (self.passed().count(), self.missing.len());
        let failed = self.hosts.len() - passed;
        let hosts = counted(self.hosts.len() + missing, "host");
        let title = format!("{hosts}: {passed} passed, {failed} failed, {missing} missing");
        Page::of_table(title, Vec::new(), table)
    }
}

fn or_dash(text: &str) -> String {
    let text = if text.is_empty() { "-" } else { text };
    text.to_owned()
}

fn names(hosts: &[String]) -> String {
    let shown = hosts[..hosts.len().min(NAMES)].join(", ");
    match hosts.len().saturating_sub(NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
