//! The health of a device while its tests run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::log::events::DeviceLost;
use crate::result::test_id::TestId;
use crate::verdict::Outcome;

/// The number of unexpected results without a pass between them before a probe.
const FEW: usize = 3;

/// The further unexpected results before the next probe, and before each later one.
const FURTHER: [usize; 2] = [10, 100];

/// The health of a device. A device is lost when the probe before its first test has failed, or later two probes
/// in a row.
#[derive(Default)]
pub struct Health {
    /// The loss of the device.
    pub lost: OnceLock<DeviceLost>,
    row: Mutex<Row>,
    good_probes: AtomicUsize,
    probing: Mutex<()>,
}

/// The unexpected results since the last pass.
#[derive(Default)]
struct Row {
    /// The number of results.
    length: usize,
    /// The length at which the next probe is due; `None` before the first one.
    probe_at: Option<usize>,
    /// The number of good probes in the row.
    good_probes: usize,
    /// The tests since the last pass or good probe.
    suspects: Vec<TestId>,
}

impl Health {
    /// Records the outcome of a test. Returns true if a probe is due.
    pub fn note(&self, test: &TestId, outcome: &Outcome, is_expected: bool) -> bool {
        let mut row = self.row.lock();
        match outcome {
            Outcome::Passed => *row = Row::default(),
            Outcome::Failed { .. } | Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                row.length += usize::from(!is_expected);
                if row.suspects.last().is_none_or(|last| last != test) {
                    row.suspects.push(test.clone());
                }
            }
            Outcome::Skipped { .. } | Outcome::Ignored { .. } | Outcome::NotRun { .. } => {
                return false;
            }
        }
        !is_expected && row.length == row.probe_at.unwrap_or(FEW)
    }

    /// Waits for the probe of another thread. Returns `None` if no probe is needed any more: that probe
    /// passed, or the device is lost.
    pub fn begin_probe(&self) -> Option<MutexGuard<'_, ()>> {
        let good_probes = self.good_probes.load(Ordering::Relaxed);
        let turn = self.probing.lock();
        let is_needed =
            self.lost.get().is_none() && self.good_probes.load(Ordering::Relaxed) == good_probes;
        is_needed.then_some(turn)
    }

    /// Records a good probe.
    pub fn probe_passed(&self) {
        self.good_probes.fetch_add(1, Ordering::Relaxed);
        let mut row = self.row.lock();
        row.suspects.clear();
        row.probe_at = Some(row.length + FURTHER[row.good_probes.min(FURTHER.len() - 1)]);
        row.good_probes += 1;
    }

    /// Makes the device lost after a test, or before the first one. Returns the loss, unless the device was lost
    /// already.
    pub fn lose(&self, device: &str, reason: String, after: Option<TestId>) -> Option<&DeviceLost> {
        let suspects = std::mem::take(&mut self.row.lock().suspects);
        let device = device.to_owned();
        self.lost.set(DeviceLost { device, reason, after, suspects }).ok()?;
        self.lost.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    /// The results, of 300 that fail, after which a probe is due if each probe passes.
    #[test]
    fn probes_become_rarer_while_they_pass() {
        let health = Health::default();
        let mut probes = Vec::new();
        for number in 1..=300 {
            if health.note(&"s::t@d".into(), &failed(), false) {
                probes.push(number);
                health.probe_passed();
            }
        }
        assert_eq!(probes, [3, 13, 113, 213]);
    }

    #[test]
    fn expected_failures_need_no_probe() {
        let health = Health::default();
        assert!((0..20).all(|_| !health.note(&"s::t@d".into(), &failed(), true)));
        let unexpected = [1, 2, 3].map(|_| health.note(&"s::t@d".into(), &failed(), false));
        assert_eq!(unexpected, [false, false, true]);
    }

    #[test]
    fn a_pass_ends_the_row_and_a_skip_does_not() {
        let skipped = Outcome::Skipped { reason: "none".to_owned() };
        let health = Health::default();
        for outcome in [failed(), failed(), Outcome::Passed, failed(), skipped, failed()] {
            assert!(!health.note(&"s::t@d".into(), &outcome, false));
        }
        assert!(health.note(&"s::last@d".into(), &failed(), false));
        let last = || Some("s::last@d".into());
        let lost = health.lose("d", "no answer".to_owned(), last()).expect("the first loss");
        assert_eq!(lost.suspects, ["s::t@d", "s::last@d"]);
        assert!(health.lose("d", "no answer".to_owned(), last()).is_none());
    }
}
