//! The number of operations in a second.

use clmatrix::Event;

use super::clock::Budget;
use super::estimate::{Floor, Summary, drift};
use super::finding::{MeasureResult, NotMeasurable, Unit};
use super::measured::Sampled;
use super::sampling::{Rounds, sample, steps_for};
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::Buffer;
use clmatrix::select::DeviceType;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "arithmetic",
    measurements: &["fp32_throughput", "fp64_throughput", "fp16_throughput", "int32_throughput"],
    weight: 3.0,
    take,
};

/// Eight chains, each of which waits only for itself. Their results are stored and their factors are arguments, so
/// the compiler cannot leave out a part.
const SOURCE: &str = "
#ifdef EXTENSION
#pragma OPENCL EXTENSION EXTENSION : enable
#endif
#define FOUR(step) step step step step
#define MAD(x) x = x * factor + term;
kernel void mads(uint steps, int a, int b, global uint *taken, global VECTOR *kept) {
    VECTOR factor = (VECTOR)((SCALAR)a / (SCALAR)2), term = (VECTOR)((SCALAR)b);
    size_t i = get_global_id(0);
    VECTOR x0 = (VECTOR)((SCALAR)(i & 15)), x1 = x0 + term, x2 = x1 + term, x3 = x2 + term,
           x4 = x3 + term, x5 = x4 + term, x6 = x5 + term, x7 = x6 + term;
    uint step = 0;
    for (; step < steps; step++) {
        FOUR(MAD(x0) MAD(x1) MAD(x2) MAD(x3) MAD(x4) MAD(x5) MAD(x6) MAD(x7))
    }
    taken[i] = step;
    kept[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}";

/// The operations of a work item's step for each element of a vector: a product and a sum are two.
const OPERATIONS: f64 = 64.0;
/// Iterations of the kernel's loop at most; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
const MOST_STEPS: u32 = 30_000;
/// The nanoseconds of a sample: long beside the time until the whole device has work.
const SAMPLE: f64 = 5e6;
const ROUNDS: Rounds = Rounds { least: 5, most: 21 };
/// The number of work items whose steps are checked.
const CHECKED: usize = 256;

/// A type of numbers.
struct Number {
    scalar: &'static str,
    /// CL_DEVICE_PREFERRED_VECTOR_WIDTH of this type.
    width: u32,
    /// The required extension.
    extension: Option<&'static str>,
}

const NUMBERS: [Number; 4] = [
    Number {
        scalar: "float",
        width: cl3::device::CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
        extension: None,
    },
    Number {
        scalar: "double",
        width: cl3::device::CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE,
        extension: Some("cl_khr_fp64"),
    },
    Number {
        scalar: "half",
        width: cl3::device::CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF,
        extension: Some("cl_khr_fp16"),
    },
    Number {
        scalar: "int",
        width: cl3::device::CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
        extension: None,
    },
];

fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    let budget = &bench.budget;
    let mut kernels = NUMBERS.map(|number| Mads::new(bench, budget, &number));
    let rates = sample_rates(budget, &mut kernels);
    let rates_of = |number: usize| -> MeasureResult<Vec<f64>> {
        if let Err(reason) = &kernels[number] {
            return Err(reason.clone());
        }
        let rates = rates.as_ref().map_err(Clone::clone)?;
        let rates = rates.iter().find(|rates| rates.x == number as f64);
        Ok(rates.map(|rates| rates.samples.clone()).unwrap_or_default())
    };
    let taken = |number| match number {
        0 => rates_of(number).map(throughput),
        _ => Ok(multiple(rates_of(number)?, &rates_of(0)?)),
    };
    Ok((0..NUMBERS.len()).map(|number| taken(number).unwrap_or_else(Sampled::from)).collect())
}

/// Samples the operations in a second of each available kernel, by its number.
fn sample_rates(budget: &Budget, kernels: &mut [MeasureResult<Mads>]) -> MeasureResult<Vec<Point>> {
    let numbers: Vec<u32> = (0..)
        .zip(&*kernels)
        .filter(|(_, kernel)| kernel.is_ok())
        .map(|(number, _)| number)
        .collect();
    sample(budget, ROUNDS, &numbers, |number| {
        kernels[number as usize].as_mut().map_err(|reason| reason.clone())?.rate()
    })
}

fn throughput(rates: Vec<f64>) -> Sampled {
    let upper = Summary::of_upper_half(&rates);
    let spread = upper.spread() + drift(&rates);
    Sampled::new(
        upper.finding_within(spread, Floor::DEVICE, Unit::OperationsPerSecond),
        [series(rates)],
    )
}

/// Returns the multiple of rates that were taken in the same rounds.
fn multiple(rates: Vec<f64>, base: &[f64]) -> Sampled {
    let multiple = Summary::of_upper_half(&rates).over(Summary::of_upper_half(base));
    Sampled::new(multiple.finding(Unit::Ratio), [series(rates)])
}

fn series(rates: Vec<f64>) -> Series {
    let points = vec![Point { x: 1.0, samples: rates }];
    Series::new(("rounds", Unit::Count), ("rate", Unit::OperationsPerSecond), points)
}

/// A kernel for one type, and the number of its steps.
struct Mads<'a> {
    bench: &'a Workbench<'a>,
    kernel: Kernel,
    /// Elements of a vector.
    width: u32,
    steps: u32,
    group: usize,
    work_items: usize,
    taken: Buffer,
    kept: Buffer,
}

impl<'a> Mads<'a> {
    fn new(bench: &'a Workbench<'a>, budget: &Budget, number: &Number) -> MeasureResult<Self> {
        let missing = |extension: &&str| !bench.facts.has_extension(extension);
        if let Some(extension) = number.extension.filter(missing) {
            return Err(NotMeasurable::new(format!("the device has no {extension}")));
        }
        let width: Option<u32> = bench.device.query().value(number.width);
        // The driver may report a width of 0 for a type that the device has.
        // quirk: DRIVER-11
        let width = width.unwrap_or(1).max(1);
        let kernel = bench.kernel(SOURCE, &number.options(width), "mads")?;
        let (group, groups) = shape(bench, &kernel)?;
        let work_items = group * groups;
        let mut mads = Self {
            bench,
            kernel,
            width,
            steps: 1,
            group,
            work_items,
            taken: bench.buffer(work_items * size_of::<u32>())?,
            kept: bench.buffer(work_items * width as usize * size_of::<f64>())?,
        };
        mads.steps = steps_for(budget, SAMPLE, MOST_STEPS, |steps| mads.time(steps))?;
        Ok(mads)
    }

    fn rate(&mut self) -> MeasureResult<f64> {
        let operations = OPERATIONS * f64::from(self.width) * f64::from(self.steps);
        let time = self.time(self.steps)?;
        if time > 0.0 {
            Ok(operations * self.work_items as f64 / time * 1e9)
        } else {
            Err(NotMeasurable::new("the device reports that a kernel took no time"))
        }
    }

    fn time(&mut self, steps: u32) -> MeasureResult<f64> {
        let bench = self.bench;
        let time = bench.command_time(|| self.launch(steps))?;
        bench.check_steps(&self.taken, self.work_items.min(CHECKED), steps)?;
        Ok(time)
    }

    fn launch(&mut self, steps: u32) -> MeasureResult<Event> {
        let mut launch = self.kernel.launch();
        launch.arg(steps).arg(1_i32).arg(1_i32).arg(&self.taken).arg(&self.kept);
        launch.global(self.work_items).local(self.group);
        // SAFETY: the arguments are those that the kernel declares, and each work item has its
        // number in one buffer and its vector in the other.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }
}

impl Number {
    fn options(&self, width: u32) -> String {
        let scalar = self.scalar;
        let vector = if width == 1 { scalar.to_owned() } else { format!("{scalar}{width}") };
        let extension = self.extension.map(|name| format!(" -DEXTENSION={name}"));
        let extension = extension.unwrap_or_default();
        format!("-cl-mad-enable -DSCALAR={scalar} -DVECTOR={vector}{extension}")
    }
}

/// Returns the work items of a group, and the groups that keep the device busy. On a CPU a group is no wider than
/// its vectors, and a thread of PoCL takes 32 groups at a time.
// quirk: POCL-12
fn shape(bench: &Workbench, kernel: &Kernel) -> MeasureResult<(usize, usize)> {
    const OF_CPU: (usize, usize) = (16, 64);
    const OF_OTHERS: (usize, usize) = (256, 8);
    let is_cpu = bench.facts.device_type.contains(DeviceType::CPU);
    let (group, per_unit) = if is_cpu { OF_CPU } else { OF_OTHERS };
    let most = kernel.work_group_info(&bench.device)?.max_size;
    Ok((group.min(most), per_unit * bench.facts.max_compute_units as usize))
}
