//! The time and the memory that measurements may use.

use std::fmt;
use std::time::Duration;

use clmatrix::select::DeviceType;
use clmatrix::{Device, Result};

use super::clock::{Clock, SystemClock};
use crate::Facts;
use crate::facts::unanswered;

/// The limits of measurements.
///
/// ```
/// use std::time::Duration;
///
/// use clmatrix_characterize::measure::{Settings, Topic, measure_all};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let usual = Settings::for_device(context.default_device())?;
/// let settings = Settings { budget: Duration::from_millis(500), memory: 64 << 20, ..usual };
/// let all = measure_all(&context, &[Topic::Timer, Topic::Launch], &settings, |topic| {
///     println!("{} ..", topic.name());
/// });
/// assert_eq!(all.len(), 1 + Topic::Launch.measurements().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The time that all topics together may take, beside one sample's time.
    pub budget: Duration,
    /// The bytes of the device's memory that may be used at a time.
    pub memory: u64,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The function that is called before each step in which some drivers end the process, for a caller in
    /// another process.
    pub trying: &'a dyn Fn(&str),
}

impl fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, memory, .. } = self;
        let mut fields = f.debug_struct("Settings");
        fields.field("budget", budget).field("memory", memory).finish_non_exhaustive()
    }
}

/// The budget for a device that is not a CPU.
const GPU_BUDGET: Duration = Duration::from_secs(16);
/// The budget for a CPU, where samples and builds take longer.
const CPU_BUDGET: Duration = Duration::from_secs(24);
/// The limit of memory, in bytes, where the device shares it with all programs.
const HOST_MEMORY: u64 = 256 << 20;

impl Settings<'static> {
    /// Returns the settings for a kind of device: 16 s, or 24 s for a CPU, and all of its memory, or 256 MiB
    /// where that is the host's.
    ///
    /// # Errors
    /// The driver's errors where it does not report a property that all devices have.
    pub fn for_device(device: &Device) -> Result<Self> {
        let facts = Facts::query(device)?;
        let memory = device.opencl3().global_mem_size().map_err(unanswered)?;
        Ok(Self::usual(facts.device_type, facts.host_unified_memory, memory))
    }

    /// Returns the settings for a type of device with this number of bytes of memory, which may be the
    /// host's.
    pub fn usual(device_type: DeviceType, host_unified_memory: bool, memory: u64) -> Self {
        let is_cpu = device_type.contains(DeviceType::CPU);
        let budget = if is_cpu { CPU_BUDGET } else { GPU_BUDGET };
        let uses_host_memory = is_cpu || host_unified_memory;
        let memory = if uses_host_memory { memory.min(HOST_MEMORY) } else { memory };
        Self { budget, memory, clock: &SystemClock, trying: &|_| () }
    }
}
