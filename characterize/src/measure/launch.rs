//! The time to launch a kernel, to wait for it, and to create the objects for that.

use std::ptr;

use cl3::command_queue::enqueue_nd_range_kernel;
use cl3::event::{release_event, wait_for_events};
use clmatrix::launch::Kernel;
use clmatrix::{CommandQueue, Context, Error};

use super::clock::{Budget, nanoseconds};
use super::estimate::{Floor, repeatable};
use super::finding::{MeasureResult, NotMeasurable, Unit};
use super::measured::Sampled;
use super::sampling::{ROUNDS, sample};
use super::series::Series;
use super::topic_spec::{TopicSpec, run_each};
use super::workbench::Workbench;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "launch",
    measurements: &["launch_latency", "launch_and_wait", "queue_creation", "context_creation"],
    weight: 4.0,
    take,
};

fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    let launches = Launches::new(bench)?;
    let timed = |time: fn(&Launches, &Budget) -> MeasureResult<Sampled>| {
        time(&launches, &bench.budget.share(0.2)).unwrap_or_else(Sampled::from)
    };
    let mut taken = Vec::from([latency, launch_and_wait].map(timed));
    taken.extend(run_each(bench, [queue, context]));
    Ok(taken)
}

/// The number of launches that are timed together: a host's clock may not resolve a single one.
const BATCH: usize = 64;

/// Launches of a kernel without arguments, by the driver's call alone.
struct Launches {
    /// A queue that takes no times of commands, because these cost time.
    queue: CommandQueue,
    kernel: Kernel,
}

impl Launches {
    fn new(bench: &Workbench) -> MeasureResult<Self> {
        let program = bench.program("kernel void nothing(void) {}", "")?;
        let queue = CommandQueue::new(&bench.context)?;
        Ok(Self { queue, kernel: program.kernel("nothing")? })
    }

    /// Launches one work item.
    fn launch(&self) -> MeasureResult<Event> {
        // SAFETY: queue and kernel are alive and of one context, and the kernel has no arguments.
        let event = unsafe {
            enqueue_nd_range_kernel(
                self.queue.as_raw(),
                self.kernel.as_raw(),
                1,
                ptr::null(),
                &1,
                ptr::null(),
                0,
                ptr::null(),
            )
        };
        Ok(event.map(Event).map_err(|code| Error::from_call("clEnqueueNDRangeKernel", code))?)
    }

    fn finish(&self) -> MeasureResult<()> {
        Ok(self.queue.finish()?)
    }
}

/// An event that no command waits for.
struct Event(cl3::types::cl_event);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the reference is this handle's own.
        if let Err(code) = unsafe { release_event(self.0) } {
            log::error!("{}", clmatrix::Error::from_call("clReleaseEvent", code));
        }
    }
}

/// Measures a call of `clEnqueueNDRangeKernel` while the queue has room.
fn latency(launches: &Launches, budget: &Budget) -> MeasureResult<Sampled> {
    times(budget, "time per launch", || {
        let (time, launched) = nanoseconds(budget.clock(), || {
            (0..BATCH).try_for_each(|_| launches.launch().map(drop))
        });
        launched?;
        launches.finish()?;
        Ok(time / BATCH as f64)
    })
}

/// Samples the time from before a launch until the host knows that the kernel has run.
fn launch_and_wait(launches: &Launches, budget: &Budget) -> MeasureResult<Sampled> {
    times(budget, "time per launch and wait", || {
        let (time, launched) = nanoseconds(budget.clock(), || {
            (0..BATCH).try_for_each(|_| {
                let event = launches.launch()?;
                wait_for_events(&[event.0])
                    .map_err(|code| Error::from_call("clWaitForEvents", code))?;
                Ok::<_, NotMeasurable>(())
            })
        });
        launched?;
        Ok(time / BATCH as f64)
    })
}

fn queue(bench: &Workbench, budget: &Budget) -> MeasureResult<Sampled> {
    times(budget, "time per queue", || {
        let make = || CommandQueue::new(&bench.context);
        let (time, made) = nanoseconds(budget.clock(), make);
        made?;
        Ok(time)
    })
}

fn context(bench: &Workbench, budget: &Budget) -> MeasureResult<Sampled> {
    times(budget, "time per context", || {
        let (time, made) = nanoseconds(budget.clock(), || Context::new([&bench.device]));
        made?;
        Ok(time)
    })
}

/// Returns samples of nanoseconds, unchanged.
fn times(
    budget: &Budget,
    name: &str,
    mut take: impl FnMut() -> MeasureResult<f64>,
) -> MeasureResult<Sampled> {
    let points = sample(budget, ROUNDS, &[1_u32], |_| take())?;
    let finding = repeatable(&points[0].samples, Unit::Nanoseconds, Floor::HOST);
    let series = Series::new(("rounds", Unit::Count), (name, Unit::Nanoseconds), points);
    Ok(Sampled::new(finding, [series]))
}
