//! The division of a budget among several topics.

use std::fmt;

use super::Topic;
use super::clock::Budget;
use super::settings::Settings;

/// Hands each of several topics its share of a budget, by its weight.
///
/// For callers that measure each topic in a process of its own;
/// [`measure_all`](super::measure_all) does it in this one.
///
/// ```
/// use std::time::Duration;
///
/// use clmatrix_characterize::measure::{Settings, Shares, Topic};
/// use clmatrix::select::DeviceType;
///
/// let usual = Settings::usual(DeviceType::default(), false, 1 << 20);
/// let settings = Settings { budget: Duration::from_secs(10), ..usual };
/// let shares = Shares::new(&Topic::ALL, &settings);
/// for topic in Topic::ALL {
///     let share = shares.of(topic).budget;
///     println!("{} has {share:?}", topic.name());
///     // In the last one's share is what the others have left.
///     assert!(share < settings.budget);
/// }
/// ```
pub struct Shares<'a> {
    settings: Settings<'a>,
    budget: Budget<'a>,
    weights: f64,
}

impl fmt::Debug for Shares<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl<'a> Shares<'a> {
    /// Creates shares of the whole budget, which begins now.
    pub fn new(topics: &[Topic], settings: &Settings<'a>) -> Self {
        Self {
            settings: *settings,
            budget: Budget::new(settings.clock, settings.budget),
            weights: topics.iter().map(|topic| topic.spec().weight).sum(),
        }
    }

    /// Returns the share of a topic that begins now. Called once for each topic, in their order.
    pub fn of(&self, topic: Topic) -> Settings<'a> {
        let share = self.budget.share(topic.spec().weight / self.weights);
        Settings { budget: share.whole(), ..self.settings }
    }
}
