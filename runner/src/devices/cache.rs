//! Stores the devices of the machine, and which of them work, for the many short processes of one `cargo nextest
//! run`, and with CLMATRIX_CACHE=1 for all others.
//!
//! The key has the variables that loaders and drivers read, and the `.icd` files and libraries with their times. A
//! file is used for at most ten minutes, so that any other change is noticed soon. CLMATRIX_CACHE=0 turns the cache
//! off.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Machine;
use super::icd::{Driver, LoaderVariables, driver_variables, drivers};
use crate::files;
use crate::folders::entries;
use crate::variable::{VariableError, text_variable};

/// The longest time that a file is used.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The file with the devices that the drivers listed. Beside it, each device that works has an empty file.
#[derive(Clone, Debug)]
pub struct MachineCache(PathBuf);

impl MachineCache {
    /// Returns the file for the environment of this process.
    pub fn new(state: &Path, added: &[PathBuf]) -> Self {
        Self(state.join("answers").join(format!("{:016x}-machine.json", key(added))))
    }

    /// Returns the stored devices, if the file is complete and recent enough.
    pub fn read(&self) -> Option<Machine> {
        let file = Some(&self.0).filter(|file| is_young(file))?;
        serde_json::from_slice(&files::read_found(file).ok()?).ok()
    }

    /// Returns whether a device has recently passed a probe.
    pub fn works(&self, device: &str) -> bool {
        is_young(&self.of_device(device))
    }

    /// Stores that a device has passed a probe. Errors are ignored: the next process probes it again.
    pub fn note_works(&self, device: &str) {
        let _ = files::replace(&self.of_device(device), b"");
    }

    /// Forgets that a device has passed a probe.
    pub fn forget(&self, device: &str) {
        let _ = fs::remove_file(self.of_device(device));
    }

    /// Returns the file of a device. Ids have no character that a file name cannot have.
    fn of_device(&self, device: &str) -> PathBuf {
        self.0.with_extension(device)
    }

    /// Stores the devices. Errors are ignored: the next process queries the drivers again.
    pub fn write(&self, machine: &Machine) {
        let Some(folder) = self.0.parent() else { return };
        let json = serde_json::to_vec(machine).expect("plain data");
        let _ = fs::create_dir_all(folder).and_then(|()| files::replace(&self.0, &json));
        // Each environment has a file of its own, and many are used only once.
        for file in entries(folder).unwrap_or_default().iter().filter(|file| !is_young(file)) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Returns whether CLMATRIX_CACHE asks for the answers of a recent run, or forbids them.
///
/// # Errors
///
/// The variable has another value.
pub fn is_wanted() -> Result<Option<bool>, VariableError> {
    let name = "CLMATRIX_CACHE";
    match text_variable(name)?.as_deref() {
        None => Ok(None),
        Some("0") => Ok(Some(false)),
        Some("1") => Ok(Some(true)),
        Some(value) => {
            let expected = "0 or 1 is expected".to_owned();
            Err(VariableError { name, value: value.to_owned(), expected })
        }
    }
}

fn key(added: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    driver_variables().hash(&mut hasher);
    let found = drivers(&LoaderVariables::from_environment(), added);
    found.failed.iter().for_each(|failed| failed.driver.hash(&mut hasher));
    for candidate in found.drivers {
        candidate.driver.hash(&mut hasher);
        if let Driver::Icd { library, origin } = &candidate.driver {
            modified(origin).hash(&mut hasher);
            modified(Path::new(library)).hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

fn is_young(file: &Path) -> bool {
    let age = modified(file).and_then(|then| SystemTime::now().duration_since(then).ok());
    age.is_some_and(|age| age <= MAX_AGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_back_until_it_is_old_or_broken() {
        let folder = tempfile::tempdir().unwrap();
        let cache = MachineCache::new(folder.path(), &[]);
        assert_eq!(cache.read(), None, "nothing there");
        cache.write(&Machine::default());
        assert_eq!(cache.read(), Some(Machine::default()));
        let old = SystemTime::now() - MAX_AGE - Duration::from_secs(1);
        fs::File::open(&cache.0).unwrap().set_modified(old).unwrap();
        assert_eq!(cache.read(), None, "too old");
        MachineCache(cache.0.with_file_name("other-machine.json")).write(&Machine::default());
        assert!(!cache.0.exists(), "old files are removed");
        fs::write(&cache.0, "{\"platforms\": [").unwrap();
        assert_eq!(cache.read(), None, "cut off");
        cache.note_works("pocl-cpu");
        assert!(cache.works("pocl-cpu") && !cache.works("pocl-cpu-1"));
        cache.forget("pocl-cpu");
        assert!(!cache.works("pocl-cpu"), "forgotten");
        cache.note_works("pocl-cpu");
        fs::File::open(cache.of_device("pocl-cpu")).unwrap().set_modified(old).unwrap();
        assert!(!cache.works("pocl-cpu"), "too old");
    }
}
