//! A check that the device's times belong to its commands.

use clmatrix::Event;

use super::clock::nanoseconds;
use super::finding::{MeasureResult, NotMeasurable};
use super::sampling::steps_for;
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::Buffer;

/// Takes the given number of steps, each of which waits for the one before.
const SOURCE: &str = "
#define FOUR(step) step step step step
kernel void spin(uint steps, global uint *kept) {
    uint x = steps;
    for (uint step = 0; step < steps; step++) { FOUR(FOUR(FOUR(x = (x ^ (x >> 13)) * 0x85ebca6bu;))) }
    *kept = x;
}";

/// Iterations of the kernel's loop at most; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
const MOST_STEPS: u32 = 60_000;
/// The nanoseconds of a long command: far above the time that the host needs for a start and a wait.
const LONG: f64 = 8e6;

/// Returns whether a long command is longer than a short one by the same amount on the device's clock and
/// on the host's. A constant offset of either clock makes no difference.
pub(super) fn device_tells_time(bench: &Workbench) -> MeasureResult<bool> {
    /// The largest difference of both growths, as a share of the host's: other programs use the host, too.
    const NEAR: f64 = 0.3;
    const TRIES: usize = 3;
    let mut spin = Spin::new(bench)?;
    let most = steps_for(&bench.budget, LONG, MOST_STEPS, |steps| Ok(spin.times(steps)?.host))?;
    let [mut short, mut long] = [Times::LONGEST; 2];
    for _ in 0..TRIES {
        short = short.least(spin.times(1)?);
        long = long.least(spin.times(most)?);
    }
    let (device, host) = (long.device - short.device, long.host - short.host);
    Ok(host > 0.0 && (device - host).abs() <= NEAR * host)
}

/// The times of a command, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    host: f64,
    device: f64,
}

impl Times {
    const LONGEST: Self = Self { host: f64::INFINITY, device: f64::INFINITY };

    fn least(self, other: Self) -> Self {
        Self { host: self.host.min(other.host), device: self.device.min(other.device) }
    }
}

struct Spin<'b> {
    bench: &'b Workbench<'b>,
    kernel: Kernel,
    kept: Buffer,
}

impl<'b> Spin<'b> {
    fn new(bench: &'b Workbench<'b>) -> MeasureResult<Self> {
        let kept = bench.buffer(size_of::<u32>())?;
        Ok(Self { bench, kernel: bench.kernel(SOURCE, "", "spin")?, kept })
    }

    fn times(&mut self, steps: u32) -> MeasureResult<Times> {
        let bench = self.bench;
        bench.queue.finish()?;
        let (host, event) = nanoseconds(bench.budget.clock(), || {
            let event = self.launch(steps)?;
            event.wait()?;
            Ok::<_, NotMeasurable>(event)
        });
        Ok(Times { host, device: bench.device_time(&event?)? })
    }

    fn launch(&mut self, steps: u32) -> MeasureResult<Event> {
        let mut launch = self.kernel.launch();
        launch.arg(steps).arg(&self.kept).global(1).local(1);
        // SAFETY: the arguments are those that the kernel declares, and there is room for a number.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }
}
