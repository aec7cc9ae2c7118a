//! The speed at which kernels and the driver move large amounts of a device's own memory.

use clmatrix::Event;

use super::clock::Budget;
use super::contents::Contents;
use super::estimate::{Floor, Summary, repeatable};
use super::finding::{Finding, MeasureResult, NotMeasurable, Unit};
use super::measured::Sampled;
use super::sampling::{ROUNDS, sample, steps_for};
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use clmatrix::memory::{Buffer, Linear, enqueue_copy};

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "bandwidth",
    measurements: &[
        "global_copy_bandwidth",
        "driver_copy_bandwidth",
        "global_read_bandwidth",
        "global_write_bandwidth",
    ],
    weight: 3.0,
    take: |bench| Moves::new(bench)?.measure(&bench.budget),
};

/// The numbers of elements of 16 bytes for a work item. The best one differs between devices.
const PER_ITEM: [usize; 3] = [1, 4, 16];
/// The most bytes that are moved at a time.
const LARGEST: u64 = 1 << 30;
/// The number of samples of a copy that would take all of the time.
const SAMPLES: f64 = 150.0;

/// The measured accesses.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Copy,
    DriverCopy,
    Read,
    Write,
}

impl Way {
    const ALL: [Self; 4] = [Self::Copy, Self::DriverCopy, Self::Read, Self::Write];

    /// Returns the number of bytes that are read and written for each moved byte.
    fn factor(self) -> f64 {
        match self {
            Self::Copy | Self::DriverCopy => 2.0,
            Self::Read | Self::Write => 1.0,
        }
    }
}

/// The seeds of contents.
const CONTENT: u32 = 0x0C0F_FEE0;
const ANOTHER: u32 = 0x0BAD_CAFE;

struct Moves<'b> {
    bench: &'b Workbench<'b>,
    from: Buffer,
    to: Buffer,
    /// The kernels, for growing numbers of elements of a work item.
    shapes: Vec<Contents<'b>>,
    /// The number of bytes that are moved.
    bytes: usize,
}

impl<'b> Moves<'b> {
    fn new(bench: &'b Workbench<'b>) -> MeasureResult<Self> {
        let shapes: MeasureResult<Vec<_>> =
            PER_ITEM.into_iter().map(|per_item| Contents::new(bench, per_item)).collect();
        let shapes = shapes?;
        let group = shapes.last().map_or(1, Contents::group);
        let most = bench.memory.min(bench.max_alloc()?) / 4;
        let bytes = most.min(LARGEST) as usize / group * group;
        if bytes == 0 {
            return Err(NotMeasurable::new(format!(
                "{most} bytes of memory are too few; increase `--memory`"
            )));
        }
        Ok(Self { bench, from: bench.buffer(bytes)?, to: bench.buffer(bytes)?, shapes, bytes })
    }

    fn measure(mut self, budget: &Budget) -> MeasureResult<Vec<Sampled>> {
        self.calibrate(budget)?;
        let jobs: Vec<(Way, usize)> = Way::ALL
            .into_iter()
            .flat_map(|way| (0..self.shapes_of(way)).map(move |shape| (way, shape)))
            .collect();
        let mut checked: Vec<(Way, usize, MeasureResult<()>)> = Vec::new();
        for (way, shape) in jobs {
            if budget.is_spent() {
                let reason = "the budget ended before all contents were checked; increase it";
                return Err(NotMeasurable::new(reason));
            }
            checked.push((way, shape, self.check(way, shape)));
        }
        let sound: Vec<(Way, usize)> = checked
            .iter()
            .filter(|(.., works)| works.is_ok())
            .map(|(way, shape, _)| (*way, *shape))
            .collect();
        let numbers: Vec<u32> = (0..sound.len() as u32).collect();
        let points = sample(budget, ROUNDS, &numbers, |number| {
            let (way, shape) = sound[number as usize];
            let time = self.bench.command_time(|| self.start(way, shape))?;
            Ok(self.rate(way, time))
        })?;
        let mut all = Vec::new();
        for way in Way::ALL {
            let own = sound.iter().zip(&points).filter(|((of, _), _)| *of == way);
            let points = own.map(|(&(way, shape), point)| Point {
                x: self.bytes_per_item(way, shape) as f64,
                samples: point.samples.clone(),
            });
            let unsound = checked.iter().find_map(|(of, _, works)| match works {
                Err(reason) if *of == way => Some(reason.clone()),
                _ => None,
            });
            let answer = self.answer(points.collect());
            all.push(answer.unwrap_or_else(|reason| unsound.unwrap_or(reason).into()));
        }
        Ok(all)
    }

    /// Finds the number of bytes that can be moved in a sample's time, and drops the shapes that move more.
    fn calibrate(&mut self, budget: &Budget) -> MeasureResult<()> {
        let Self { bench, from, to, shapes, bytes } = self;
        let group = shapes[0].group();
        let target = budget.left().as_secs_f64() * 1e9 / SAMPLES;
        let most = *bytes / group;
        let groups = steps_for(budget, target, most as u32, |groups| {
            let bytes = groups as usize * group;
            // A system may provide the memory only at the first use.
            shapes[0].copy(from, to, bytes)?.wait()?;
            bench.command_time(|| shapes[0].copy(from, to, bytes))
        })?;
        let fits = groups as usize * group;
        shapes.retain(|shape| shape.group() <= fits);
        let whole = shapes.last().map_or(group, Contents::group);
        *bytes = fits / whole * whole;
        Ok(())
    }

    /// Returns the number of shapes for this access.
    fn shapes_of(&self, way: Way) -> usize {
        if way == Way::DriverCopy { 1 } else { self.shapes.len() }
    }

    fn bytes_per_item(&self, way: Way, shape: usize) -> usize {
        match way {
            Way::DriverCopy => self.bytes,
            _ => self.shapes[shape].per_item * super::contents::ELEMENT,
        }
    }

    fn start(&mut self, way: Way, shape: usize) -> MeasureResult<Event> {
        let Self { bench, from, to, shapes, bytes } = self;
        match way {
            Way::Copy => shapes[shape].copy(from, to, *bytes),
            Way::DriverCopy => {
                Ok(enqueue_copy(&bench.queue, &*to, &*from, Linear::default().byte_count(*bytes))?)
            }
            Way::Read => shapes[shape].read(from, CONTENT, *bytes),
            Way::Write => shapes[shape].write(to, CONTENT, *bytes),
        }
    }

    /// Fails unless all bytes move.
    fn check(&mut self, way: Way, shape: usize) -> MeasureResult<()> {
        let bytes = self.bytes;
        let (first, reader) = (0, if way == Way::Read { shape } else { 0 });
        self.shapes[first].write(&self.from, CONTENT, bytes)?;
        self.shapes[first].write(&self.to, ANOTHER, bytes)?;
        self.start(way, shape)?;
        match way {
            Way::Read => {
                self.shapes[reader].check(&self.from, CONTENT, bytes, "what was read")?;
                self.shapes[reader].check_check(&self.from, ANOTHER, bytes)
            }
            _ => self.shapes[reader].check(&self.to, CONTENT, bytes, "what was written"),
        }
    }

    /// Returns bytes per second.
    fn rate(&self, way: Way, time: f64) -> f64 {
        self.bytes as f64 * way.factor() * 1e9 / time.max(1.0)
    }

    /// Returns the bandwidth of the fastest shape.
    fn answer(&self, points: Vec<Point>) -> MeasureResult<Sampled> {
        let median = |point: &Point| Summary::from_samples(&point.samples).median;
        let best = points.iter().max_by(|a, b| median(a).total_cmp(&median(b)));
        let best = best.ok_or_else(|| NotMeasurable::new("nothing moved"))?;
        let found = repeatable(&best.samples, Unit::BytesPerSecond, Floor::DEVICE);
        let answer = found.and_then(|found| self.judged(found));
        let x = ("bytes per work item", Unit::Bytes);
        let series = Series::new(x, ("bytes per second", Unit::BytesPerSecond), points);
        Ok(Sampled::new(answer, [series]))
    }

    /// Lowers the confidence if caches had room for the bytes that were moved.
    fn judged(&self, finding: Finding) -> MeasureResult<Finding> {
        Ok(finding.at_most(self.bench.most_confidence(self.bytes as f64, 0.0)?))
    }
}
