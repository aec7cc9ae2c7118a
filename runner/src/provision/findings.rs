//! The results of the checks of runtimes, by the model of the processor: several machines may share the folder of the
//! runtimes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Runtime;
use crate::{files, os};

/// For each runtime with its version, and each processor, the reason why the runtime does not work there;
/// `None` if it works.
type ByRuntime = BTreeMap<String, BTreeMap<String, Option<String>>>;

/// The file with the results.
pub(super) struct Findings {
    file: PathBuf,
    /// The processor of this machine.
    pub processor: String,
}

impl Findings {
    /// Returns the file in the folder of the runtimes, for the processor of this machine.
    pub fn new(runtimes: &Path) -> Self {
        let file = runtimes.join("checked.json");
        Self { file, processor: os::processor().unwrap_or_else(|| "unknown".to_owned()) }
    }

    /// Returns the result of this version of a runtime on this processor, if it was checked.
    pub fn of(&self, runtime: Runtime) -> Option<Result<(), String>> {
        let reason = self.read().remove(&runtime.to_string())?.remove(&self.processor)?;
        Some(reason.map_or(Ok(()), Err))
    }

    /// Stores a result. Errors are ignored: the runtime is checked again.
    pub fn keep(&self, runtime: Runtime, found: &Result<(), String>) {
        let mut all = self.read();
        let reason = found.as_ref().err().cloned();
        all.entry(runtime.to_string()).or_default().insert(self.processor.clone(), reason);
        let json = serde_json::to_vec_pretty(&all).expect("texts");
        // Another process reads the old file or the new one.
        let _ = files::replace(&self.file, &json);
    }

    /// Reads the file. A file that is missing or broken has no results, so runtimes are checked again.
    fn read(&self) -> ByRuntime {
        let text = files::read_found(&self.file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_kept_for_each_runtime_and_processor() {
        let folder = tempfile::tempdir().unwrap();
        let on = |processor: &str| Findings {
            processor: processor.to_owned(),
            ..Findings::new(folder.path())
        };
        assert_eq!(on("old").of(Runtime::Pocl), None);
        on("old").keep(Runtime::Pocl, &Ok(()));
        let unknown = Err("unknown target CPU".to_owned());
        on("new").keep(Runtime::Pocl, &unknown);
        on("new").keep(Runtime::Intel, &Ok(()));
        assert_eq!(on("old").of(Runtime::Pocl), Some(Ok(())));
        assert_eq!(on("new").of(Runtime::Pocl), Some(unknown));
        assert_eq!(on("new").of(Runtime::Intel), Some(Ok(())));
        assert_eq!(on("old").of(Runtime::Intel), None);
        let locked = Findings::new(Path::new("/proc"));
        locked.keep(Runtime::Pocl, &Ok(()));
        assert_eq!(locked.of(Runtime::Pocl), None, "a folder that cannot be written");
        std::fs::write(&on("old").file, "{").unwrap();
        assert_eq!(on("old").of(Runtime::Pocl), None, "cut off");
    }
}
