//! The number of work items that run in lockstep.

use std::ffi::c_void;

use cl3::kernel::{CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, get_kernel_sub_group_info};
use clmatrix::Event;

use super::clock::Budget;
use super::estimate::{Fall, fall};
use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::sampling::{Rounds, sample, steps_for};
use super::series::Series;
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::Buffer;
use clmatrix::select::Version;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "simd",
    measurements: &["get_simd_group_size"],
    weight: 1.0,
    take: |bench| Ok(vec![Lanes::measure(bench, &bench.budget)?.taken()]),
};

/// The number of work items that run in lockstep, by the driver's answer and by the cost of divergence.
pub(super) struct Lanes {
    told: Option<u32>,
    /// The fall of the times.
    fall: MeasureResult<Fall>,
    series: Option<Series>,
}

impl Lanes {
    pub fn measure(bench: &Workbench, budget: &Budget) -> MeasureResult<Self> {
        let mut divergence = Divergence::new(bench)?;
        let told = divergence.sub_group_size();
        let series = divergence.sample(budget);
        let fall = series.as_ref().map_err(Clone::clone).and_then(|series| {
            fall(&series.points, LEAST_GAIN, MOST_GAIN).map_err(|missing| {
                let reason = missing.reason;
                NotMeasurable::new(format!(
                    "divergence of neighbouring work items has no clear effect on the time: {reason}"
                ))
            })
        });
        Ok(Self { told, fall, series: series.ok() })
    }

    /// Returns the number, and its confidence. The driver's answer comes first.
    pub fn found(&self) -> MeasureResult<(u32, Confidence)> {
        match (self.told, &self.fall) {
            (Some(told), Ok(fall)) if f64::from(told) != fall.at => Ok((told, Confidence::Medium)),
            (Some(told), _) => Ok((told, Confidence::High)),
            (None, Ok(fall)) => Ok((fall.at as u32, fall.confidence)),
            (None, Err(reason)) => Err(reason.clone()),
        }
    }

    fn taken(self) -> Sampled {
        let answer = self.found().map(|(count, confidence)| {
            Finding::exact(Value::Number(count.into()), Unit::Count, confidence)
        });
        Sampled::new(answer, self.series)
    }
}

/// The least gain: work items in lockstep that take different ways take both, one after the other. The time is not
/// exactly twice as long: the ways differ, and a launch has its own time.
const LEAST_GAIN: f64 = 1.4;
const MOST_GAIN: f64 = 2.6;

/// Two ways that take about the same time: loops of operations that wait for each other. Neighbours in a
/// run of `run` work items take the same way.
const SOURCE: &str = "
#define EIGHT(step) step step step step step step step step
kernel void diverge(uint steps, uint run, global uint *taken, global uint *kept) {
    uint i = get_local_id(0), x = i + run, step = 0;
    if (i / run % 2 == 0) {
        for (; step < steps; step++) { EIGHT(x = (x ^ (x >> 13)) * 0x85ebca6bu;) }
    } else {
        for (; step < steps; step++) { EIGHT(x = (x ^ (x << 7)) * 0xc2b2ae35u;) }
    }
    taken[i] = step;
    kept[i] = x;
}";

/// Iterations of both loops of the kernel together; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
const MOST_STEPS: u32 = 30_000;
/// The nanoseconds of a sample: long beside a launch.
const SAMPLE: f64 = 2e6;
const ROUNDS: Rounds = Rounds { least: 5, most: 11 };
const MOST_WORK_ITEMS: usize = 256;

/// A kernel whose work items take one of two ways.
struct Divergence<'a> {
    bench: &'a Workbench<'a>,
    kernel: Kernel,
    /// The work items of the one work group.
    work_items: usize,
    taken: Buffer,
    kept: Buffer,
}

impl<'a> Divergence<'a> {
    fn new(bench: &'a Workbench<'a>) -> MeasureResult<Self> {
        let kernel = bench.kernel(SOURCE, "", "diverge")?;
        let most = kernel.work_group_info(&bench.device)?.max_size;
        if most < 2 {
            return Err(NotMeasurable::new("a work group has one work item only"));
        }
        // A power of two, so that runs divide the group evenly.
        let work_items = 1 << most.min(MOST_WORK_ITEMS).ilog2();
        let size = work_items * size_of::<u32>();
        let (taken, kept) = (bench.buffer(size)?, bench.buffer(size)?);
        Ok(Self { bench, kernel, work_items, taken, kept })
    }

    /// Returns CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE; `None` if the driver does not report it, or if it
    /// varies with the size of the group.
    fn sub_group_size(&self) -> Option<u32> {
        const FIRST_WITH_SUB_GROUPS: Version = Version { major: 2, minor: 1 };
        // quirk: LOADER-2
        if self.bench.device.version() < FIRST_WITH_SUB_GROUPS {
            return None;
        }
        let of_group = |work_items: usize| {
            let info = get_kernel_sub_group_info(
                self.kernel.as_raw(),
                self.bench.device.as_raw(),
                CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                size_of::<usize>(),
                (&raw const work_items).cast::<c_void>(),
            );
            info.ok().map(|info| info.to_size()).filter(|size| *size > 0)
        };
        let size = of_group(self.work_items)?;
        // PoCL reports the whole work group as one sub-group.
        // quirk: POCL-9
        let is_group = of_group(self.work_items / 2) != Some(size) || size == self.work_items;
        if is_group { None } else { size.try_into().ok() }
    }

    /// Samples the time against the length of runs.
    fn sample(&mut self, budget: &Budget) -> MeasureResult<Series> {
        let runs: Vec<u32> = (0..=self.work_items.ilog2()).map(|power| 1 << power).collect();
        let steps = steps_for(budget, SAMPLE, MOST_STEPS, |steps| self.time(steps, 1))?;
        let points = sample(budget, ROUNDS, &runs, |run| self.time(steps, run))?;
        Ok(Series::new(
            ("neighbours on one branch", Unit::Count),
            ("time", Unit::Nanoseconds),
            points,
        ))
    }

    fn time(&mut self, steps: u32, run: u32) -> MeasureResult<f64> {
        let bench = self.bench;
        let time = bench.command_time(|| self.launch(steps, run))?;
        self.bench.check_steps(&self.taken, self.work_items, steps)?;
        Ok(time)
    }

    fn launch(&mut self, steps: u32, run: u32) -> MeasureResult<Event> {
        let mut launch = self.kernel.launch();
        launch.arg(steps).arg(run).arg(&self.taken).arg(&self.kept);
        launch.global(self.work_items).local(self.work_items);
        // SAFETY: the arguments are those that the kernel declares, and each work item has its
        // number in both buffers; runs are not 0.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }
}
