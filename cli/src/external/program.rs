//! A program with tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clmatrix_runner::config::{ExternalKind, ExternalSuite};
use clmatrix_runner::log::program_record::THEN_TIME;
use clmatrix_runner::system;

/// The digits of the hash that cargo appends to the name of a target.
const HASH_DIGITS: usize = 16;

/// A program with tests.
pub(crate) struct Program {
    pub suite: Arc<ExternalSuite>,
    /// The name in ids; `None` for [`Program::none`].
    pub name: Option<String>,
    pub file: PathBuf,
    /// The build id, or else the size and the time of the last change.
    pub build: String,
}

impl Program {
    /// Describes the program in a file.
    pub fn new(suite: &Arc<ExternalSuite>, file: PathBuf) -> Self {
        let name = name(suite.kind, &file);
        let build = system::build_id(&file).unwrap_or_else(|| size_and_time(&file));
        Self { suite: suite.clone(), name: Some(name), file, build }
    }

    /// Returns a placeholder for the programs that a suite lacks.
    pub fn none(suite: &Arc<ExternalSuite>) -> Self {
        Self { suite: suite.clone(), name: None, file: suite.root.clone(), build: String::new() }
    }

    /// Returns the beginning of the ids of its tests: `SUITE::PROGRAM`, or that of the suite for [`Program::none`].
    pub fn path(&self) -> String {
        let program = self.name.as_ref().map(|name| format!("::{name}"));
        self.suite.name.clone() + &program.unwrap_or_default()
    }

    /// Returns the folder in which the program runs: its own for programs of the conformance test suite, which read
    /// files there, else that of the configuration.
    pub fn folder(&self) -> &Path {
        match self.suite.kind {
            ExternalKind::OpenclCts => self.file.parent().unwrap_or(&self.suite.root),
            ExternalKind::Libtest => &self.suite.root,
        }
    }
}

/// Returns the name of a program in ids: that of its file, without the common beginning or end of its kind.
fn name(kind: ExternalKind, file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(&name);
    let short = match kind {
        ExternalKind::OpenclCts => name.strip_prefix("test_"),
        ExternalKind::Libtest => name.rsplit_once('-').and_then(|(target, hash)| {
            let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|c| c.is_ascii_hexdigit());
            is_hash.then_some(target)
        }),
    };
    short.filter(|short| !short.is_empty()).unwrap_or(name).to_owned()
}

fn size_and_time(file: &Path) -> String {
    let described = fs::metadata(file).and_then(|file| {
        let time = file.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(format!("{}{THEN_TIME}{}.{:09}", file.len(), time.as_secs(), time.subsec_nanos()))
    });
    described.unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_without_what_all_have() {
        for (kind, file, expected) in [
            (ExternalKind::OpenclCts, "/cts/buffers/test_buffers", "buffers"),
            (ExternalKind::OpenclCts, "/cts/other", "other"),
            (ExternalKind::OpenclCts, "/cts/test_", "test_"),
            (ExternalKind::Libtest, "/target/debug/deps/gpu-0123456789abcdef", "gpu"),
            (ExternalKind::Libtest, "/target/debug/deps/my-gpu-0123456789abcdef", "my-gpu"),
            (ExternalKind::Libtest, "/target/debug/deps/gpu-tests", "gpu-tests"),
        ] {
            assert_eq!(name(kind, Path::new(file)), expected, "{file}");
        }
    }
}
