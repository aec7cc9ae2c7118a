//! Measurements of a device, with the samples behind the answers.
//!
//! A [`Topic`] is a group of measurements that share a context and a part of the time. [`measure`]
//! takes one topic's; [`measure_all`] takes several within a budget. An answer has a value, a unit,
//! a spread and a confidence; where a device, its driver or the budget does not allow for one, it is
//! [`NotMeasurable`], with the reason.

// The file of a topic holds its kernels and takes samples with a `Workbench`. `estimate` evaluates the samples,
// without a device.

mod allocation;
mod arithmetic;
mod bandwidth;
mod build;
mod chase;
mod clock;
mod contents;
mod estimate;
mod exhaustion;
mod finding;
mod host_transfer;
mod latency;
mod launch;
mod local_memory;
mod measured;
mod sampling;
mod series;
mod settings;
mod shares;
mod simd;
mod spin;
mod timer;
mod topic_spec;
mod touch;
mod workbench;

use std::time::Duration;

use clmatrix::Context;

pub use clock::{Clock, SystemClock};
pub use finding::{Confidence, Finding, NotMeasurable, Unit, Value};
pub use measured::Measured;
pub use series::{Axis, Point, Series};
pub use settings::Settings;
pub use shares::Shares;

use measured::Sampled;
use topic_spec::TopicSpec;

/// A group of measurements.
///
/// ```
/// use clmatrix_characterize::measure::Topic;
///
/// assert_eq!(Topic::LocalMemory.name(), "local-memory");
/// assert!(Topic::Latency.measurements().contains(&"cache_sizes"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// The resolution of the times of commands, on the device and on the host.
    Timer,
    /// Launches, waits, and the creation of the objects for them.
    Launch,
    /// Builds of programs.
    Build,
    /// The number of work items that run in lockstep.
    Simd,
    /// The shape and the size of local memory.
    LocalMemory,
    /// The number of operations in a second.
    Arithmetic,
    /// The speed at which the device's own memory is read and written.
    Bandwidth,
    /// The time of an access to global memory, and the caches that it shows.
    Latency,
    /// The speed of transfers between the host's memory and the device's.
    HostTransfer,
    /// The largest buffer, and the places where regions may begin.
    Allocation,
    /// The amount of memory that really exists, and the step that shows its end. A driver may end the process then:
    /// measure it in a process of its own, or leave it out. The settings of [`Settings::for_device`] avoid this where
    /// the memory is the host's.
    Exhaustion,
}

impl Topic {
    /// All topics, in the order in which they are taken.
    pub const ALL: [Self; 11] = [
        Self::Timer,
        Self::Launch,
        Self::Build,
        Self::Simd,
        Self::LocalMemory,
        Self::Arithmetic,
        Self::Bandwidth,
        Self::Latency,
        Self::HostTransfer,
        Self::Allocation,
        Self::Exhaustion,
    ];

    fn spec(self) -> &'static TopicSpec {
        match self {
            Self::Timer => &timer::SPEC,
            Self::Launch => &launch::SPEC,
            Self::Build => &build::SPEC,
            Self::Simd => &simd::SPEC,
            Self::LocalMemory => &local_memory::SPEC,
            Self::Arithmetic => &arithmetic::SPEC,
            Self::Bandwidth => &bandwidth::SPEC,
            Self::Latency => &latency::SPEC,
            Self::HostTransfer => &host_transfer::SPEC,
            Self::Allocation => &allocation::SPEC,
            Self::Exhaustion => &exhaustion::SPEC,
        }
    }

    /// Returns its name, such as `local-memory`.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns the topic of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }

    /// Returns its measurements without a value, for this reason.
    pub fn unmeasured(self, reason: &str, took: Duration) -> Vec<Measured> {
        let without_value = |name: &&str| {
            Sampled::from(NotMeasurable { reason: reason.to_owned() }).named(name, took)
        };
        self.measurements().iter().map(without_value).collect()
    }

    /// Returns the names of its measurements, in the order of their answers.
    pub fn measurements(self) -> &'static [&'static str] {
        self.spec().measurements
    }
}

/// Takes one topic's measurements of the context's device, which should be the only one.
pub fn measure(context: &Context, topic: Topic, settings: &Settings) -> Vec<Measured> {
    topic.spec().measure(context, settings)
}

/// Takes the measurements of several topics as [`measure`] does, which share the budget. Calls `begins` before each
/// topic.
pub fn measure_all(
    context: &Context,
    topics: &[Topic],
    settings: &Settings,
    mut begins: impl FnMut(Topic),
) -> Vec<Measured> {
    let shares = Shares::new(topics, settings);
    let mut all = Vec::new();
    for topic in topics {
        begins(*topic);
        all.extend(measure(context, *topic, &shares.of(*topic)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_found_by_its_name_and_has_all_its_measurements() {
        for topic in Topic::ALL {
            assert_eq!(Topic::from_name(topic.name()), Some(topic));
            let measured = topic.unmeasured("no memory", Duration::from_secs(1));
            let names: Vec<&str> = measured.iter().map(|measured| &*measured.name).collect();
            assert_eq!(names, topic.measurements());
            for measured in &measured {
                assert_eq!(measured.answer.as_ref().unwrap_err().reason, "no memory");
            }
        }
        assert_eq!(Topic::from_name("no-topic"), None);
    }
}
