//! The speed of transfers between the host and a device, beside the same calls of cl3 and of PyOpenCL.
//!
//! The three take turns, so that other load disturbs them alike.

use std::ptr;

use clmatrix::CommandQueue;
use clmatrix::cl3::command_queue as cl;
use clmatrix::cl3::event::release_event;
use clmatrix::cl3::types::CL_BLOCKING;
use clmatrix::memory::{Buffer, BufferMap, MapReadWrite, MemFlags, enqueue_fill};

use crate::Subject;
use crate::pyopencl::PyOpenCl;
use crate::time::{nanoseconds, quantile};

const MIB: usize = 1 << 20;

/// Bytes of a transfer, and turns.
const SIZES: [(usize, usize); 3] = [(MIB, 101), (16 * MIB, 41), (LARGEST, 15)];
const LARGEST: usize = 256 * MIB;

/// Lower limit of the speed with the largest size, of cl3's.
const OF_CL3: f64 = 0.98;

/// Lower limit of the speed from and to pinned memory with the largest size, of PyOpenCL's.
const OF_PYOPENCL: f64 = 0.9;

/// Times as many turns are taken at most if a limit is missed: other load may have disturbed them.
const PATIENCE: usize = 4;

/// From the host to the device, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Write,
    Read,
}

/// The kind of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// From the heap.
    Pageable,
    /// A buffer with CL_MEM_ALLOC_HOST_PTR, mapped: pinned, where the driver pins anything.
    Mapped,
}

/// Prints the speeds of a device. Returns false if one is too low.
pub fn report(subject: &Subject) -> bool {
    let mut pyopencl = PyOpenCl::start(subject);
    println!(
        "\n{:<34} {:>7} {:>7} {:>7} {:>9} {:>7}",
        "GB/s", "cl3", "ours", "ratio", "PyOpenCL", "ratio"
    );
    let mut is_met = true;
    for (size, times) in SIZES {
        let mut place = Place::new(subject, size);
        for host in [Host::Pageable, Host::Mapped] {
            for direction in [Direction::Write, Direction::Read] {
                let row =
                    Row { host, direction, size, is_cpu: subject.info.device_type.is_cpu_only() };
                let mut times_taken = Times::default();
                for _ in 0..PATIENCE {
                    take_turns(&mut times_taken, &mut place, &mut pyopencl, &row, times);
                    if row.is_met(&times_taken) {
                        break;
                    }
                }
                is_met &= row.print(&times_taken);
            }
        }
    }
    is_met
}

/// One kind of transfer.
struct Row {
    host: Host,
    direction: Direction,
    size: usize,
    is_cpu: bool,
}

/// Nanoseconds, turn by turn.
#[derive(Default)]
struct Times {
    cl3: Vec<f64>,
    ours: Vec<f64>,
    pyopencl: Vec<f64>,
}

impl Times {
    /// Our speed divided by theirs.
    fn ratio_to(&self, theirs: &[f64]) -> Option<f64> {
        (!theirs.is_empty()).then(|| typical(theirs) / typical(&self.ours))
    }
}

/// The lower quartile: other load only adds to a time.
fn typical(times: &[f64]) -> f64 {
    quantile(times, 0.25)
}

impl Row {
    fn is_met(&self, times: &Times) -> bool {
        let reaches = |ratio: Option<f64>, limit| ratio.is_none_or(|ratio| ratio >= limit);
        // A CPU device has nothing to gain from pinned memory.
        let is_pinned = self.host == Host::Mapped && !self.is_cpu;
        self.size < LARGEST
            || reaches(times.ratio_to(&times.cl3), OF_CL3)
                && (!is_pinned || reaches(times.ratio_to(&times.pyopencl), OF_PYOPENCL))
    }

    fn print(&self, times: &Times) -> bool {
        let way = match self.direction {
            Direction::Write => "to",
            Direction::Read => "from",
        };
        let memory = match self.host {
            Host::Pageable => "",
            Host::Mapped => ", pinned",
        };
        let what = format!("{} MiB {way} the device{memory}", self.size / MIB);
        let speed = |times: &[f64]| self.size as f64 / typical(times);
        let (cl3, ours) = (speed(&times.cl3), speed(&times.ours));
        let ratio = times.ratio_to(&times.cl3).unwrap_or(f64::NAN);
        print!("{what:<34} {cl3:>7.2} {ours:>7.2} {ratio:>7.3}");
        match times.ratio_to(&times.pyopencl) {
            Some(ratio) => print!(" {:>9.2} {ratio:>7.3}", speed(&times.pyopencl)),
            None => print!(" {:>9} {:>7}", "-", "-"),
        }
        let is_met = self.is_met(times);
        println!("{}", if is_met { "" } else { "  MISSED" });
        is_met
    }
}

/// Memory between which data is moved.
struct Place {
    queue: CommandQueue,
    device: Buffer,
    pageable: Vec<u8>,
    mapped: BufferMap<u8, MapReadWrite>,
}

impl Place {
    fn new(subject: &Subject, size: usize) -> Self {
        let context = subject.context();
        let queue = CommandQueue::new(&context).expect("a queue");
        let buffer = |flags| Buffer::new(&context, flags, size).expect("a buffer");
        let device = buffer(MemFlags::READ_WRITE);
        // Drivers take memory at first use.
        enqueue_fill(&queue, &device, &1_u8, ..).expect("it is filled");
        let pinned = buffer(MemFlags::READ_WRITE | MemFlags::ALLOC_HOST_PTR);
        let mapped = pinned.map_read_write::<u8>(&queue, ..);
        let mut mapped = mapped.expect("it is mapped");
        mapped.fill(2);
        Self { queue, device, pageable: vec![3; size], mapped }
    }

    fn host(&mut self, host: Host) -> (&CommandQueue, &Buffer, &mut [u8]) {
        let memory = match host {
            Host::Pageable => &mut self.pageable[..],
            Host::Mapped => &mut self.mapped[..],
        };
        (&self.queue, &self.device, memory)
    }

    fn safe(&mut self, host: Host, direction: Direction) {
        let (queue, device, memory) = self.host(host);
        match direction {
            Direction::Write => device.write(queue, memory),
            Direction::Read => device.read(queue, memory),
        }
        .expect("it is copied");
    }

    fn raw(&mut self, host: Host, direction: Direction) {
        let (queue, device, memory) = self.host(host);
        let (queue, device) = (queue.as_raw(), device.as_raw());
        let (size, memory) = (memory.len(), memory.as_mut_ptr().cast());
        let none = ptr::null();
        // SAFETY: the handles are alive and of one context, and both sides have `size` bytes, which
        // nothing else touches until the call returns.
        let event = unsafe {
            match direction {
                Direction::Write => {
                    cl::enqueue_write_buffer(queue, device, CL_BLOCKING, 0, size, memory, 0, none)
                }
                Direction::Read => {
                    cl::enqueue_read_buffer(queue, device, CL_BLOCKING, 0, size, memory, 0, none)
                }
            }
        };
        // SAFETY: the driver has just created the event, with one reference.
        unsafe { release_event(event.expect("it is copied")) }.expect("the release");
    }
}

fn take_turns(
    taken: &mut Times,
    place: &mut Place,
    pyopencl: &mut Option<PyOpenCl>,
    row: &Row,
    times: usize,
) {
    let &Row { host, direction, size, .. } = row;
    for time in 0..=times {
        // The second finds caches and frequencies as the first has left them.
        let (ours, cl3);
        if time % 2 == 0 {
            ours = nanoseconds(|| place.safe(host, direction));
            cl3 = nanoseconds(|| place.raw(host, direction));
        } else {
            cl3 = nanoseconds(|| place.raw(host, direction));
            ours = nanoseconds(|| place.safe(host, direction));
        }
        let theirs = pyopencl.as_mut().map(|pyopencl| pyopencl.nanoseconds(host, direction, size));
        // The first turn is not counted.
        if time > 0 {
            taken.ours.push(ours);
            taken.cl3.push(cl3);
            taken.pyopencl.extend(theirs);
        }
    }
}
