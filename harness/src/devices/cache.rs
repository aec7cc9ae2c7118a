//! Remembers what the drivers answered, for the many short processes of one `cargo nextest run`.
//!
//! An entry is found by all that decides the answer: the variables that loaders and drivers read,
//! and the `.icd` files and libraries with their times. It is used for ten minutes at most, so
//! that a change that shows in none of these is noticed soon. CLMATRIX_CACHE=0 turns it off.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Machine;
use super::icd::{Driver, LoaderVariables, drivers};

/// How long an entry is believed.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Prefixes of the variables that loaders and drivers read.
const PREFIXES: [&str; 16] = [
    "OCL_",
    "OPENCL_",
    "POCL_",
    "PYOPENCL_HOME",
    "RUSTICL_",
    "MESA_",
    "LP_",
    "CUDA_",
    "NVIDIA_",
    "GPU_",
    "ROCR_",
    "HIP_",
    "ZE_",
    "CL_",
    "OCLGRIND_",
    "LD_LIBRARY_PATH",
];

/// Where the entry for this process' environment stands.
pub fn file(state: &Path, added: &[PathBuf]) -> Option<PathBuf> {
    if std::env::var_os("CLMATRIX_CACHE").is_some_and(|value| value == "0") {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        })
        .collect();
    variables.sort();
    variables.hash(&mut hasher);
    for driver in drivers(&LoaderVariables::from_environment(), added) {
        driver.hash(&mut hasher);
        if let Driver::Icd { library, origin } = &driver {
            modified(origin).hash(&mut hasher);
            modified(Path::new(library)).hash(&mut hasher);
        }
    }
    Some(state.join("devices").join(format!("{:016x}.json", hasher.finish())))
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

/// The entry in `file`, if it is there, whole and young enough.
pub fn read(file: &Path) -> Option<Machine> {
    let age = SystemTime::now().duration_since(modified(file)?).ok()?;
    if age > MAX_AGE {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Writes the entry; without one the drivers are asked again, which is all that can go wrong.
pub fn write(file: &Path, machine: &Machine) {
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    let written = file
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&temporary, serde_json::to_vec(machine)?))
        .and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_until_it_is_old_or_broken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deeper").join("entry.json");
        let machine = Machine::default();
        assert_eq!(read(&file), None, "nothing there");
        write(&file, &machine);
        assert_eq!(read(&file), Some(machine.clone()));
        let old = SystemTime::now() - MAX_AGE - Duration::from_secs(1);
        fs::File::open(&file).unwrap().set_modified(old).unwrap();
        assert_eq!(read(&file), None, "too old");
        fs::write(&file, "{\"platforms\":[").unwrap();
        assert_eq!(read(&file), None, "cut off");
    }
}
