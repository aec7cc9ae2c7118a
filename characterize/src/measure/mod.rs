//! Measurements of a device, with the samples behind the answers.
//!
//! A [`Topic`] is a group of measurements that share a context and a part of the time. [`measure`]
//! takes one topic's; [`measure_all`] takes several within a budget. An answer has a value, a unit,
//! a spread and a confidence; where a device, its driver or the budget does not allow for one, it is
//! [`NotMeasurable`], with the reason.
//!
//! From the folder's files: a topic's file holds its kernels and takes samples with a `Workbench`;
//! what samples mean is decided in `estimate`, without any device.

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
mod sampling;
mod series;
mod shares;
mod simd;
mod spin;
mod timer;
mod touch;
mod workbench;

use std::time::Duration;

use opencl3::device::Device;

pub use clock::{Clock, SystemClock};
pub use finding::{Confidence, Finding, Measured, NotMeasurable, Unit, Value};
pub use series::{Axis, Point, Series};
pub use shares::Shares;

use crate::Facts;
use clmatrix::error::Result;
use clmatrix::select::DeviceType;
use clock::Budget;
use finding::{MeasureResult, Sampled};
use workbench::Workbench;

/// A group of measurements.
///
/// ```
/// use clmatrix_characterize::measure::Topic;
///
/// assert_eq!(Topic::LocalMemory.name(), "local-memory");
/// assert!(Topic::Latency.measurements().contains(&"cache_sizes"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// How finely the device and the host tell the time of commands.
    Timer,
    /// Launching, waiting, and making what that takes.
    Launch,
    /// Building programs.
    Build,
    /// How many work items go in step.
    Simd,
    /// The shape and the size of local memory.
    LocalMemory,
    /// How many operations in a second.
    Arithmetic,
    /// How fast the device's own memory is read and written.
    Bandwidth,
    /// How long an access to global memory takes, and what that tells of caches.
    Latency,
    /// How fast data moves between the host's memory and the device's.
    HostTransfer,
    /// How large buffers may be, and where regions of them may begin.
    Allocation,
    /// How much memory there is, and where it shows that there is no more. A driver may end the
    /// process then: measure it in a process of its own, or leave it out. With the settings of
    /// [`Settings::for_device`] this does not come up where the memory is the host's.
    Exhaustion,
}

/// The entry of a topic.
struct TopicSpec {
    name: &'static str,
    /// Its measurements' names.
    measurements: &'static [&'static str],
    /// Its part of the time of all topics.
    weight: f64,
    /// An answer for each of its measurements, in their order, or why there is none for any.
    take: fn(&Workbench) -> MeasureResult<Vec<Sampled>>,
}

impl Topic {
    /// In the order in which they are taken.
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

    /// Its name, such as `local-memory`.
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

    /// The names of its measurements, in the order of their answers.
    pub fn measurements(self) -> &'static [&'static str] {
        self.spec().measurements
    }
}

/// How much may be spent.
///
/// ```
/// use std::time::Duration;
///
/// use clmatrix::Device;
/// use clmatrix_characterize::measure::{Settings, Topic, measure_all};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = Device::new(context.default_device());
/// let usual = Settings::for_device(&device)?;
/// let settings = Settings { budget: Duration::from_millis(500), memory: 64 << 20, ..usual };
/// let all = measure_all(&device, &[Topic::Timer, Topic::Launch], &settings, |topic| {
///     println!("{} ..", topic.name());
/// });
/// assert_eq!(all.len(), 1 + Topic::Launch.measurements().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// How long all topics together may take, but for one sample's time.
    pub budget: Duration,
    /// How much of the device's memory may be used at a time, in bytes.
    pub memory: u64,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Told of each step that some drivers end the process over. For those who wait for another
    /// process.
    pub trying: &'a dyn Fn(&str),
}

/// The budget for a device that is not a CPU.
const GPU_BUDGET: Duration = Duration::from_secs(16);
/// On a CPU, where one sample takes longer, as do builds.
const CPU_BUDGET: Duration = Duration::from_secs(24);
/// The host's memory is that of all other programs, too.
const HOST_MEMORY: u64 = 256 << 20;

impl Settings<'static> {
    /// Returns the settings for a kind of device: 16 s, or 24 s for a CPU, and all of its memory, or 256 MiB
    /// where that is the host's.
    ///
    /// # Errors
    /// The driver's errors where it does not tell what all devices have.
    pub fn for_device(device: &Device) -> Result<Self> {
        let facts = Facts::of(device)?;
        let memory = device.global_mem_size()?;
        Ok(Self::usual(facts.device_type, facts.host_unified_memory, memory))
    }

    /// The same for a device of a type, with so many bytes of memory, which may be the host's.
    pub fn usual(device_type: DeviceType, host_unified_memory: bool, memory: u64) -> Self {
        let is_cpu = device_type.has_cpu();
        let budget = if is_cpu { CPU_BUDGET } else { GPU_BUDGET };
        let uses_host_memory = is_cpu || host_unified_memory;
        let memory = if uses_host_memory { memory.min(HOST_MEMORY) } else { memory };
        Self { budget, memory, clock: &SystemClock, trying: &|_| () }
    }
}

/// One topic's measurements, on a context of their own.
pub fn measure(device: &Device, topic: Topic, settings: &Settings) -> Vec<Measured> {
    topic.spec().measure(device, settings)
}

/// The measurements of several topics, which share the budget. `begins` is told of each topic
/// before it begins.
pub fn measure_all(
    device: &Device,
    topics: &[Topic],
    settings: &Settings,
    mut begins: impl FnMut(Topic),
) -> Vec<Measured> {
    let shares = Shares::new(topics, settings);
    let mut all = Vec::new();
    for topic in topics {
        begins(*topic);
        all.extend(measure(device, *topic, &shares.of(*topic)));
    }
    all
}

impl TopicSpec {
    fn measure(&self, device: &Device, settings: &Settings) -> Vec<Measured> {
        let clock = settings.clock;
        let begin = clock.now();
        let taken = Workbench::new(device, settings).and_then(|bench| (self.take)(&bench));
        let none = |why: NotMeasurable| {
            self.measurements.iter().map(|_| Sampled::from(why.clone())).collect()
        };
        let taken = taken.unwrap_or_else(none);
        debug_assert_eq!(taken.len(), self.measurements.len());
        let took = clock.now() - begin;
        let named = self.measurements.iter().zip(taken);
        named.map(|(name, taken)| taken.named(name, took)).collect()
    }
}

impl Sampled {
    fn named(self, name: &str, took: Duration) -> Measured {
        Measured { name: name.to_owned(), answer: self.answer, series: self.series, took }
    }
}

/// One of a topic's measurements, which has its time for itself.
type Take = fn(&Workbench, &Budget) -> MeasureResult<Sampled>;

/// Measurements that share nothing: each has a like share of the time that is left.
fn run_each<const N: usize>(bench: &Workbench, takes: [Take; N]) -> Vec<Sampled> {
    let left = Budget::new(bench.budget.clock(), bench.budget.left());
    let take = |take: Take| {
        let budget = left.share(1.0 / N as f64);
        take(bench, &budget).unwrap_or_else(Sampled::from)
    };
    takes.map(take).into()
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
