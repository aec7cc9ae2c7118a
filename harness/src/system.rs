//! The machine and the files that a run depends on.

use std::fs::File;
use std::path::Path;

use object::read::{Object, ReadCache};

use crate::os;

pub use os::canonical;

/// The machine's name: that of the node, where Slurm gives one.
pub(crate) fn host() -> String {
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|node| !node.is_empty());
    node.unwrap_or_else(os::host_name)
}

/// The number of processors that this process may use.
pub(crate) fn cpus() -> Option<u32> {
    std::thread::available_parallelism().ok()?.get().try_into().ok()
}

/// The build id of an executable or a library, in hexadecimal digits.
pub fn build_id(file: &Path) -> Option<String> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let id = object.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
