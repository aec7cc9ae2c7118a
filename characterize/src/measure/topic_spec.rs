//! The entry of a topic: its measurements, and the function that takes them.

use clmatrix::Context;

use super::clock::Budget;
use super::finding::{MeasureResult, NotMeasurable};
use super::measured::{Measured, Sampled};
use super::settings::Settings;
use super::workbench::Workbench;

/// The entry of a topic.
pub(super) struct TopicSpec {
    pub name: &'static str,
    /// Its measurements' names.
    pub measurements: &'static [&'static str],
    /// Its share of the time of all topics.
    pub weight: f64,
    /// The function that returns an answer for each of its measurements, in their order, or one reason why there is
    /// none.
    pub take: fn(&Workbench) -> MeasureResult<Vec<Sampled>>,
}

impl TopicSpec {
    /// Takes the measurements of the context's first device.
    pub fn measure(&self, context: &Context, settings: &Settings) -> Vec<Measured> {
        let clock = settings.clock;
        let begin = clock.now();
        let taken = Workbench::new(context, settings).and_then(|bench| (self.take)(&bench));
        let none = |reason: NotMeasurable| {
            self.measurements.iter().map(|_| Sampled::from(reason.clone())).collect()
        };
        let taken = taken.unwrap_or_else(none);
        debug_assert_eq!(taken.len(), self.measurements.len());
        let took = clock.now() - begin;
        let named = self.measurements.iter().zip(taken);
        named.map(|(name, taken)| taken.named(name, took)).collect()
    }
}

/// A function that takes one of a topic's measurements, which has its own time.
pub(super) type Take = fn(&Workbench, &Budget) -> MeasureResult<Sampled>;

/// Takes measurements that share nothing: each has an equal share of the time that is left.
pub(super) fn run_each<const N: usize>(bench: &Workbench, takes: [Take; N]) -> Vec<Sampled> {
    let left = Budget::new(bench.budget.clock(), bench.budget.left());
    let take = |take: Take| {
        let budget = left.share(1.0 / N as f64);
        take(bench, &budget).unwrap_or_else(Sampled::from)
    };
    takes.map(take).into()
}
