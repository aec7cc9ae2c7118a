//! The machine and the files that a run depends on.

use std::path::Path;

use object::read::{Object, ReadCache};

use crate::{files, os, variable};

pub use os::canonical;

/// Returns the machine's name: that of the node under Slurm.
pub(crate) fn host() -> String {
    let node = variable::text("SLURMD_NODENAME");
    node.unwrap_or_else(os::host_name)
}

/// Returns the id of this start of the machine. Only Linux has one.
pub(crate) fn boot_id() -> Option<String> {
    let id = files::read_found(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(String::from_utf8(id).ok()?.trim().to_owned())
}

/// Returns the number of processors that this process may use.
pub(crate) fn cpus() -> Option<u32> {
    std::thread::available_parallelism().ok()?.get().try_into().ok()
}

/// Returns the build id of an executable or a library, in hexadecimal digits.
pub fn build_id(file: &Path) -> Option<String> {
    let cache = ReadCache::new(files::open_found(file).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let id = object.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
