//! Remembers what the drivers answered: which devices there are, for the many short processes of one
//! `cargo nextest run`, and what they are like, which takes longer to find out than many tests.
//!
//! An entry is found by all that decides the answer: the variables that loaders and drivers read,
//! and the `.icd` files and libraries with their times. It is used for ten minutes at most, so
//! that a change that shows in none of these is noticed soon. CLMATRIX_CACHE=0 turns it off.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::environment::driver_variables;
use super::icd::{Driver, LoaderVariables, drivers};
use crate::devices::run_device::RunDevice;

/// How long an entry is believed.
const MAX_AGE: Duration = Duration::from_secs(600);

/// What this process' drivers answered, by a name for each answer.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    key: u64,
}

/// One answer.
#[derive(Debug)]
pub struct Entry(PathBuf);

impl Cache {
    /// That for this process' environment, unless it is turned off.
    pub fn new(state: &Path, added: &[PathBuf]) -> Option<Self> {
        if std::env::var_os("CLMATRIX_CACHE").is_some_and(|value| value == "0") {
            return None;
        }
        Some(Self { folder: state.join("answers"), key: key(added) })
    }

    /// Which devices there are.
    pub fn machine(&self) -> Entry {
        Entry(self.folder.join(format!("{:016x}-machine.json", self.key)))
    }

    /// What a device is like, whose driver may be another one now in the same file.
    pub fn device(&self, device: &RunDevice) -> Entry {
        let mut hasher = DefaultHasher::new();
        (self.key, &device.platform.version, &device.info.driver_version).hash(&mut hasher);
        Entry(self.folder.join(format!("{:016x}-{}.json", hasher.finish(), device.id)))
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

/// Removes what is believed no more: each environment and driver has entries of its own, and many are
/// asked for only once.
fn remove_old(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for file in files.filter(|file| !is_young(file)) {
        let _ = fs::remove_file(file);
    }
}

impl Entry {
    /// The answer, if it is there, whole and young enough.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        if !is_young(&self.0) {
            return None;
        }
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Writes it; without it the drivers are asked again, which is all that can go wrong.
    pub fn write(&self, answer: &impl Serialize) {
        let temporary = self.0.with_extension(format!("{}.tmp", std::process::id()));
        let written = self
            .0
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&temporary, serde_json::to_vec(answer)?))
            .and_then(|()| fs::rename(&temporary, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        if let Some(folder) = self.0.parent() {
            remove_old(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use clmatrix::select::DeviceInfo;

    use super::*;
    use crate::devices::run_device::PlatformName;

    #[test]
    fn an_entry_is_read_back_until_it_is_old_or_broken() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), &[]).unwrap();
        let entry = cache.machine();
        let read = || entry.read::<Vec<String>>();
        assert_eq!(read(), None, "nothing there");
        let answer = vec!["PoCL".to_owned()];
        entry.write(&answer);
        assert_eq!(read(), Some(answer));
        let old = SystemTime::now() - MAX_AGE - Duration::from_secs(1);
        fs::File::open(&entry.0).unwrap().set_modified(old).unwrap();
        assert_eq!(read(), None, "too old");
        let another = cache.device(&device("1.0"));
        another.write(&"PoCL");
        assert!(another.0.exists() && !entry.0.exists(), "what is too old goes");
        fs::write(&entry.0, "[\"Po").unwrap();
        assert_eq!(read(), None, "cut off");
    }

    fn device(driver_version: &str) -> RunDevice {
        let none = String::new;
        RunDevice {
            id: "pocl-cpu".to_owned(),
            platform: PlatformName { name: none(), vendor: none(), version: none() },
            info: DeviceInfo { driver_version: driver_version.to_owned(), ..DeviceInfo::default() },
        }
    }

    #[test]
    fn what_a_device_is_like_is_that_of_a_driver() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), &[]).unwrap();
        cache.device(&device("1.0")).write(&1);
        assert_eq!(cache.device(&device("1.0")).read(), Some(1));
        assert_eq!(cache.device(&device("1.1")).read::<i32>(), None);
        assert_eq!(cache.machine().read::<i32>(), None);
    }
}
