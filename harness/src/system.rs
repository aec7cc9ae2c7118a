//! The machine and the files that a run depends on.

use std::fs::{self, File};
use std::path::Path;

use object::read::{Object, ReadCache};

use crate::os;

/// The machine's name: that of the node, where Slurm gives one.
pub(crate) fn host() -> String {
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|node| !node.is_empty());
    node.unwrap_or_else(os::host_name)
}

/// The model of the first processor. The variable is of Windows.
pub(crate) fn cpu() -> Option<String> {
    value_of("/proc/cpuinfo", "model name").or_else(|| std::env::var("PROCESSOR_IDENTIFIER").ok())
}

/// The model of the first processor, with the numbers of its family and model: a virtual machine may hide the
/// name.
#[cfg(feature = "provision")]
pub(crate) fn processor() -> Option<String> {
    let number = |name| value_of("/proc/cpuinfo", name);
    Some(format!("{}, family {}, model {}", cpu()?, number("cpu family")?, number("model")?))
}

/// The number of processors that this process may use.
pub(crate) fn cpus() -> Option<u32> {
    std::thread::available_parallelism().ok()?.get().try_into().ok()
}

/// The memory of the machine, in bytes.
pub(crate) fn memory() -> Option<u64> {
    let text = value_of("/proc/meminfo", "MemTotal")?;
    let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kib)
}

/// The value of the first line `NAME: VALUE`.
fn value_of(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (its, value) = line.split_once(':')?;
        (its.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The build id of an executable or a library, in hexadecimal digits.
pub fn build_id(file: &Path) -> Option<String> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let id = object.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
