//! The tools of measurements: a device, a context, a queue of their own, and a budget.

use std::cell::Cell;

use clmatrix::{CommandQueue, Context, Device, Event, Profile, Program, QueueProperties};

use super::clock::{Budget, nanoseconds};
use super::finding::{Confidence, MeasureResult, NotMeasurable};
use super::settings::Settings;
use super::spin::device_tells_time;
use crate::Facts;
use crate::facts::unanswered;
use clmatrix::launch::Kernel;
use clmatrix::memory::{Buffer, MemFlags};

/// The tools of a topic.
pub(super) struct Workbench<'a> {
    pub device: Device,
    pub facts: Facts,
    pub context: Context,
    /// An in-order queue that takes times.
    pub queue: CommandQueue,
    /// The bytes of the device's memory that may be used at a time.
    pub memory: u64,
    pub budget: Budget<'a>,
    /// The function that is called before each step in which some drivers end the process.
    pub trying: &'a dyn Fn(&str),
    /// True if the device's times are right; `None` before the check.
    device_tells_time: Cell<Option<bool>>,
}

impl<'a> Workbench<'a> {
    pub fn new(context: &Context, settings: &Settings<'a>) -> MeasureResult<Self> {
        let device = context.default_device();
        let budget = Budget::new(settings.clock, settings.budget);
        let facts = Facts::query(device)?;
        let queue = CommandQueue::with_properties(context, QueueProperties::PROFILING)?;
        let Settings { memory, trying, .. } = *settings;
        Ok(Self {
            device: device.clone(),
            facts,
            context: context.clone(),
            queue,
            memory,
            budget,
            trying,
            device_tells_time: Cell::new(None),
        })
    }

    /// Builds the kernels of a program. The error has the build's log.
    pub fn program(&self, source: &str, options: &str) -> MeasureResult<Program> {
        Program::builder(&self.context)
            .source(source)
            .options(options)
            .build()
            .map_err(|error| NotMeasurable::new(format!("its kernel does not build: {error}")))
    }

    /// Builds a kernel of a program of its own.
    pub fn kernel(&self, source: &str, options: &str, name: &str) -> MeasureResult<Kernel> {
        Ok(self.program(source, options)?.kernel(name)?)
    }

    /// Creates a buffer of `size` bytes, with undefined contents.
    pub fn buffer(&self, size: usize) -> MeasureResult<Buffer> {
        Ok(Buffer::new(&self.context, MemFlags::READ_WRITE, size)?)
    }

    /// Returns CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes.
    pub fn max_alloc(&self) -> MeasureResult<u64> {
        Ok(self.device.opencl3().max_mem_alloc_size().map_err(unanswered)?)
    }

    /// Returns the highest confidence of an answer on global memory that rests on this number of bytes: caches that
    /// the driver reports, or that were found, may hold a good part of them.
    pub fn most_confidence(&self, bytes: f64, found: f64) -> MeasureResult<Confidence> {
        /// The assumed caches of a device that reports none, in bytes.
        const CACHES: f64 = (4 << 20) as f64;
        let told = self.device.opencl3().global_mem_cache_size().map_err(unanswered)? as f64;
        let may_be_cached = bytes < 2.0 * told.max(found).max(CACHES);
        Ok(if may_be_cached { Confidence::Low } else { Confidence::High })
    }

    /// Fails unless all of the first `count` numbers, the steps that work items took, are `expected`. Some
    /// compilers end long loops early.
    pub fn check_steps(&self, steps: &Buffer, count: usize, expected: u32) -> MeasureResult<()> {
        let mut taken = vec![0_u32; count];
        steps.read(&self.queue, &mut taken)?;
        match taken.iter().find(|taken| **taken != expected) {
            None => Ok(()),
            Some(taken) => Err(NotMeasurable::new(format!(
                "the device took {taken} of {expected} steps of a loop"
            ))),
        }
    }

    /// Waits for a command, and returns the nanoseconds that it took by the device
    /// (CL_PROFILING_COMMAND_START to CL_PROFILING_COMMAND_END).
    pub fn device_time(&self, event: &Event) -> MeasureResult<f64> {
        event.wait()?;
        let Profile { started: begin, ended: end, .. } = event.profile()?;
        match end.checked_sub(begin) {
            Some(time) => Ok(time as f64),
            None => {
                Err(NotMeasurable::new("the device reports that a command ended before it started"))
            }
        }
    }

    /// Returns the nanoseconds of a command, always by the same clock: by the device's, or by the host's if
    /// the device's times do not belong to its commands.
    pub fn command_time(&self, start: impl FnOnce() -> MeasureResult<Event>) -> MeasureResult<f64> {
        let device_tells = self.device_tells_time()?;
        self.queue.finish()?;
        let (host, event) = nanoseconds(self.budget.clock(), || {
            let event = start()?;
            event.wait()?;
            Ok::<_, NotMeasurable>(event)
        });
        let event = event?;
        if device_tells { self.device_time(&event) } else { Ok(host) }
    }

    fn device_tells_time(&self) -> MeasureResult<bool> {
        if let Some(tells) = self.device_tells_time.get() {
            return Ok(tells);
        }
        let tells = device_tells_time(self)?;
        self.device_tells_time.set(Some(tells));
        Ok(tells)
    }
}
