//! The speed of transfers between the host's memory and the device's.

use super::clock::{Budget, nanoseconds};
use super::contents::{Contents, ELEMENT, content};
use super::estimate::{Floor, repeatable};
use super::finding::{MeasureResult, NotMeasurable, Unit};
use super::measured::Sampled;
use super::sampling::{ROUNDS, sample, steps_for};
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use clmatrix::memory::{Buffer, BufferMap, MemFlags};
use clmatrix::select::DeviceType;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "host-transfer",
    measurements: &[
        "host_to_device_pageable",
        "device_to_host_pageable",
        "host_to_device_pinned",
        "device_to_host_pinned",
    ],
    weight: 2.0,
    take,
};

/// The most bytes that are moved at a time.
const LARGEST: u64 = 128 << 20;
/// The number of samples that would take all of the time.
const SAMPLES: f64 = 100.0;

fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    let pageable = Transfers::new(bench).and_then(|transfers| {
        let mut host = vec![0_u32; transfers.size / WORD];
        transfers.measure(&bench.budget.share(0.5), &mut host)
    });
    let pinned = pinned(bench, &bench.budget.share(0.5));
    let each = |taken: MeasureResult<[Sampled; 2]>| {
        taken.unwrap_or_else(|reason| [reason.clone().into(), reason.into()])
    };
    Ok(each(pageable).into_iter().chain(each(pinned)).collect())
}

/// Measures transfers from and to memory that the driver allocates, which stays mapped.
fn pinned(bench: &Workbench, budget: &Budget) -> MeasureResult<[Sampled; 2]> {
    if bench.facts.device_type.contains(DeviceType::CPU) {
        let reason = "the device is a CPU, which uses the memory of the host";
        return Err(NotMeasurable::new(reason));
    }
    let transfers = Transfers::new(bench)?;
    let flags = MemFlags::READ_WRITE | MemFlags::ALLOC_HOST_PTR;
    let buffer = Buffer::new(&bench.context, flags, transfers.size)?;
    let mut map: BufferMap<u32, _> = buffer.map_read_write(&bench.queue, ..)?;
    let taken = transfers.measure(budget, &mut map)?;
    map.unmap()?.wait()?;
    Ok(taken)
}

/// The size of a number, in bytes.
const WORD: usize = size_of::<u32>();
/// The seed of the contents.
const SEED: u32 = 0x0DDB_A115;

/// Transfers between a buffer of the device and memory of the host.
struct Transfers<'b> {
    bench: &'b Workbench<'b>,
    device: Buffer,
    contents: Contents<'b>,
    /// The size of the buffer, in bytes.
    size: usize,
}

impl<'b> Transfers<'b> {
    fn new(bench: &'b Workbench<'b>) -> MeasureResult<Self> {
        let contents = Contents::new(bench, 1)?;
        let most = bench.memory.min(bench.max_alloc()?) / 4;
        let size = most.min(LARGEST) as usize / contents.group() * contents.group();
        if size == 0 {
            return Err(NotMeasurable::new(format!(
                "{most} bytes of memory are too few; increase `--memory`"
            )));
        }
        Ok(Self { bench, device: bench.buffer(size)?, contents, size })
    }

    /// Measures transfers to the device and back.
    fn measure(mut self, budget: &Budget, host: &mut [u32]) -> MeasureResult<[Sampled; 2]> {
        let group = self.contents.group();
        let most = (self.size / group) as u32;
        let target = budget.left().as_secs_f64() * 1e9 / SAMPLES;
        let groups = steps_for(budget, target, most, |groups| {
            self.write(&host[..groups as usize * group / WORD])
        })?;
        let host = &mut host[..groups as usize * group / WORD];
        fill(host);
        self.check(host)?;
        let bytes = size_of_val(host) as f64;
        let points = sample(budget, ROUNDS, &[THERE, BACK], |way| {
            let time = if way == THERE { self.write(host) } else { self.read(host) }?;
            Ok(bytes * 1e9 / time.max(1.0))
        })?;
        let points: Result<[Point; 2], _> = points.try_into();
        let points = points.map_err(|_| NotMeasurable::new("the two methods disagree"))?;
        Ok(points.map(|point| {
            let finding = repeatable(&point.samples, Unit::BytesPerSecond, Floor::HOST);
            let point = Point { x: bytes, ..point };
            let x = ("size", Unit::Bytes);
            let series = Series::new(x, ("bytes per second", Unit::BytesPerSecond), vec![point]);
            Sampled::new(finding, [series])
        }))
    }

    /// Writes, and returns the nanoseconds by the host's clock until the data is on the device.
    fn write(&self, host: &[u32]) -> MeasureResult<f64> {
        let queue = &self.bench.queue;
        queue.finish()?;
        let (time, written) = nanoseconds(self.bench.budget.clock(), || {
            self.device.write(queue, host)?;
            // A write returns when the host's memory has been read; the data may reach the device later.
            Ok::<_, NotMeasurable>(queue.finish()?)
        });
        written.map(|()| time)
    }

    /// Reads, and returns the nanoseconds by the host's clock until the data is in the host's memory.
    fn read(&self, host: &mut [u32]) -> MeasureResult<f64> {
        let queue = &self.bench.queue;
        queue.finish()?;
        let (time, read) = nanoseconds(self.bench.budget.clock(), || self.device.read(queue, host));
        read?;
        Ok(time)
    }

    /// Fails unless kernels find the host's contents, and the host reads them back unchanged.
    fn check(&mut self, host: &mut [u32]) -> MeasureResult<()> {
        /// The most bytes that a kernel checks.
        const LOOK: usize = 64 << 10;
        self.write(host)?;
        let bytes = size_of_val(host).min(LOOK) / self.contents.group() * self.contents.group();
        self.contents.check(&self.device, SEED, bytes, "what came from the host")?;
        host.fill(0);
        self.read(host)?;
        if host.chunks(NUMBERS).enumerate().all(|(place, numbers)| is_content(place, numbers)) {
            Ok(())
        } else {
            Err(NotMeasurable::new(
                "the bytes that the host read back differ from those that it wrote",
            ))
        }
    }
}

/// The sampled direction.
const THERE: u32 = 0;
const BACK: u32 = 1;

/// The numbers of an element.
const NUMBERS: usize = ELEMENT / WORD;

fn fill(host: &mut [u32]) {
    for (place, numbers) in host.chunks_mut(NUMBERS).enumerate() {
        numbers.fill(content(place, SEED));
    }
}

fn is_content(place: usize, numbers: &[u32]) -> bool {
    numbers.iter().all(|number| *number == content(place, SEED))
}
