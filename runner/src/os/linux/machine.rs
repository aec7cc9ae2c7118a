//! The processors and the memory of the machine, and the numbers of processes, from `/proc`.

use std::fs;

/// Returns the model of the first processor.
pub fn cpu() -> Option<String> {
    value_of("/proc/cpuinfo", "model name")
}

/// Returns the model of the first processor, with the numbers of its family and model: a virtual machine may hide the
/// name.
#[cfg(feature = "provision")]
pub fn processor() -> Option<String> {
    let number = |name| value_of("/proc/cpuinfo", name);
    Some(format!("{}, family {}, model {}", cpu()?, number("cpu family")?, number("model")?))
}

/// Returns the memory of the machine, in bytes.
pub fn memory() -> Option<u64> {
    bytes_of("/proc/meminfo", "MemTotal")
}

/// Returns the bytes of the first line `NAME: NUMBER kB`.
pub(super) fn bytes_of(file: &str, name: &str) -> Option<u64> {
    let kib: u64 = value_of(file, name)?.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kib)
}

/// Returns the value of the first line `NAME: VALUE`.
fn value_of(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (its, value) = line.split_once(':')?;
        (its.trim() == name).then(|| value.trim().to_owned())
    })
}
