//! A program of the suite, without clmatrix.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::{Environment, vendors};
use serde_json::Value;

use super::device::Device;
use super::group::Group;
use crate::files::cannot;
use crate::process;

/// The word for a process that exits without results. clmatrix says `crash` or `none` for it, by the output.
pub const EXIT: &str = "exit";

/// The time between two looks at a process.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs programs on one device.
pub struct Alone<'a> {
    build: &'a Path,
    environment: &'a Environment,
    /// The folder of the driver's `.icd` file, of outputs and results.
    folder: PathBuf,
}

impl<'a> Alone<'a> {
    /// Prepares a folder in which the loader finds the device's driver only.
    pub fn new(
        build: &'a Path,
        folder: &Path,
        environment: &'a Environment,
        device: &Device,
    ) -> Result<Self> {
        let folder = folder.join(&device.id);
        let vendors = folder.join("vendors");
        vendors::write(&vendors, &[("driver", device.library.clone())])
            .with_context(|| cannot("write", &vendors))?;
        Ok(Self { build, environment, folder })
    }

    /// The tests of a program.
    pub fn list(&self, group: &Group) -> Result<Vec<String>> {
        let mut list = self.command(group);
        let output = process::output(list.arg("--list"))?;
        ensure!(output.status.success(), "`{}` failed", process::line(&list));
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect())
    }

    /// Runs tests in one process, or if it ends without results, each in its own. Returns their words.
    pub fn run(&self, group: &Group, tests: &[String]) -> Result<BTreeMap<String, String>> {
        let mut words = BTreeMap::new();
        match (tests, self.process(group, tests)?) {
            (_, Ok(results)) => words = results,
            ([test], Err(end)) => {
                words.insert(test.clone(), end.to_owned());
            }
            (tests, Err(_)) => {
                for test in tests {
                    words.extend(self.run(group, std::slice::from_ref(test))?);
                }
            }
        }
        Ok(words)
    }

    /// Runs tests in one process. Returns the words of its file; without a file the word for this
    /// end, if there is one test.
    fn process(
        &self,
        group: &Group,
        tests: &[String],
    ) -> Result<Result<BTreeMap<String, String>, &'static str>> {
        let Some(first) = tests.first() else { return Ok(Ok(BTreeMap::new())) };
        let name = format!("{}-{first}-{}", group.target(), tests.len());
        let results = self.folder.join(format!("{name}.json"));
        let path = self.folder.join(format!("{name}.txt"));
        let output = File::create(&path).with_context(|| cannot("create", &path))?;
        let mut command = self.command(group);
        command.args(tests).args(&group.args).env("CL_CONFORMANCE_RESULTS_FILENAME", &results);
        command.stdin(Stdio::null()).stderr(output.try_clone()?).stdout(output);
        let mut child = command.spawn()?;
        let count = u32::try_from(tests.len()).unwrap_or(u32::MAX);
        let last_end = Instant::now() + group.timeout * count;
        // Each test writes a line at its start.
        let (mut written, mut end) = (0, Instant::now() + group.timeout);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            let length = fs::metadata(&path).with_context(|| cannot("read", &path))?.len();
            if length > written {
                written = length;
                end = last_end.min(Instant::now() + group.timeout);
            }
            if Instant::now() >= end {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(PAUSE);
        };
        let text = fs::read_to_string(&results).unwrap_or_default();
        let Ok(json) = serde_json::from_str::<Value>(&text) else {
            return Ok(Err(end_word(status)));
        };
        let words = json["results"].as_object().into_iter().flatten();
        let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        Ok(Ok(words.map(|(test, value)| (test.clone(), word(value))).collect()))
    }

    /// The program, which sees only the device's driver. The device is the first one.
    fn command(&self, group: &Group) -> Command {
        let program = self.build.join(&group.program);
        let mut command = Command::new(&program);
        command.current_dir(program.parent().unwrap_or(self.build));
        self.environment.apply(&mut command);
        // The path ends with a slash.
        // quirk: LOADER-1
        command.env("OCL_ICD_VENDORS", self.folder.join("vendors").join(""));
        command.env("CL_DEVICE_TYPE", "all").env("CL_PLATFORM_INDEX", "0");
        command.env("CL_DEVICE_INDEX", "0").env_remove("BAZEL_TEST");
        command
    }
}

/// The word for the end of a process without results: `None` means a process that was killed at its limit.
fn end_word(status: Option<ExitStatus>) -> &'static str {
    match status.map(|status| status.code()) {
        None => "timeout",
        Some(None) => "crash",
        Some(Some(_)) => EXIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_has_a_word() {
        let word = |script: &str| {
            end_word(Some(Command::new("sh").args(["-c", script]).status().unwrap()))
        };
        assert_eq!(word("exit 0"), EXIT);
        assert_eq!(word("exit 1"), EXIT);
        assert_eq!(word("kill -SEGV $$"), "crash");
        assert_eq!(end_word(None), "timeout");
    }
}
