//! `[[external]]`: a suite of the tests of other programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clmatrix::select::DeviceInfo;
use glob::Pattern;
use serde::Deserialize;

use super::value::{LazyGlob, Timeout};
use crate::devices::DeviceKind;
use crate::result::worker_end::OF_WORKER;

/// A suite of the tests of other programs.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ExternalKeys")]
pub struct ExternalSuite {
    /// The beginning of the paths of its tests.
    pub name: String,
    /// The way in which its programs list and run their tests.
    pub kind: ExternalKind,
    /// The paths of its programs, which may be globs. They are absolute once the configuration is read.
    pub programs: Vec<PathBuf>,
    /// Arguments of each program, after the names of tests.
    pub args: Vec<String>,
    /// The time limit of a test.
    pub timeout: Option<Duration>,
    /// The folder of the configuration.
    pub root: PathBuf,
    tests: Vec<LazyGlob>,
    device_kind: Option<DeviceKind>,
    device_env: BTreeMap<String, String>,
}

/// The way in which a program lists and runs its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExternalKind {
    /// Like the programs of the OpenCL conformance test suite.
    OpenclCts,
    /// Like a Rust test target.
    Libtest,
}

// Serde cannot both check the whole and refuse unknown keys.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct ExternalKeys {
    /// The beginning of the paths of its tests.
    name: String,
    /// The way in which its programs list and run their tests.
    kind: ExternalKind,
    /// Its programs, as paths or globs.
    programs: Programs,
    /// Arguments of each program.
    #[serde(default)]
    args: Vec<String>,
    /// Globs for the tests, or the names of all for programs that cannot list them.
    tests: Option<Vec<String>>,
    /// The kind of device.
    #[serde(rename = "type")]
    device_type: Option<DeviceKind>,
    /// The time limit of one test on one device.
    timeout: Option<Timeout>,
    /// Variables that name the device, with `{...}` for its facts.
    #[serde(default)]
    device_env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a path or an array of paths, which may be globs")]
pub(super) enum Programs {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl TryFrom<ExternalKeys> for ExternalSuite {
    type Error = String;

    fn try_from(keys: ExternalKeys) -> Result<Self, String> {
        let name = keys.name;
        check_suite_name(&name)?;
        let is_no_variable = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        if let Some(variable) = keys.device_env.keys().find(is_no_variable) {
            return Err(format!("{variable:?} in `device-env` is not the name of a variable"));
        }
        let programs = match keys.programs {
            Programs::One(program) => vec![program],
            Programs::Several(programs) => programs,
        };
        if programs.is_empty() {
            return Err(format!("`programs` of the [[external]] suite {name} is empty"));
        }
        let glob = |text: &String| {
            LazyGlob::case_sensitive(text).map_err(|reason| format!("{reason}: {text:?}"))
        };
        Ok(Self {
            name,
            kind: keys.kind,
            programs,
            args: keys.args,
            timeout: keys.timeout.map(|timeout| timeout.0),
            root: PathBuf::new(),
            tests: keys.tests.iter().flatten().map(glob).collect::<Result<_, _>>()?,
            device_kind: keys.device_type,
            device_env: keys.device_env,
        })
    }
}

/// Returns an error unless this can be the name of a suite.
fn check_suite_name(name: &str) -> Result<(), String> {
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !word.is_empty() && word.chars().all(is_part)
    };
    let reason = match name.split("::").all(is_word) {
        true if !format!("{name}::").starts_with(OF_WORKER) => return Ok(()),
        true => "is that of the results of workers",
        false => "must be words of letters, digits, `_` and `-`, separated by `::`",
    };
    Err(format!("the name {name:?} of [[external]] {reason}"))
}

impl ExternalSuite {
    /// Makes the paths absolute. Relative paths start from `root`, in which no character is a wildcard.
    pub(super) fn start_from(&mut self, root: &Path) {
        self.root = root.to_owned();
        let root =
            root.to_str().map_or_else(|| root.to_owned(), |root| Pattern::escape(root).into());
        self.programs.iter_mut().for_each(|program| *program = root.join(&*program));
    }

    /// Returns whether the suite has this test of a program.
    pub fn has(&self, test: &str) -> bool {
        self.tests.is_empty() || self.tests.iter().any(|glob| glob.matches(test))
    }

    /// Returns the tests of a program that does not list them: `tests`, if there are any, and none is a glob.
    pub fn named_tests(&self) -> Option<impl Iterator<Item = &str>> {
        let is_name = |glob: &LazyGlob| !glob.text.contains(['*', '?', '[', '{', '\\']);
        let are_names = !self.tests.is_empty() && self.tests.iter().all(is_name);
        are_names.then(|| self.tests.iter().map(|glob| glob.text.as_str()))
    }

    /// Returns why the suite does not run on this device.
    pub fn missing(&self, device: &DeviceInfo) -> Option<String> {
        let kind = self.device_kind.filter(|kind| !kind.is_among(device.device_type))?;
        Some(format!("the suite {} is for devices of the type {kind}", self.name))
    }

    /// Returns the variables for a process that sees the device at these positions.
    pub fn environment(&self, platform: usize, device: usize) -> Vec<(String, String)> {
        let [platform, device] = [platform, device].map(|position| position.to_string());
        let filled =
            |value: &String| value.replace("{platform}", &platform).replace("{device}", &device);
        self.device_env.iter().map(|(name, value)| (name.clone(), filled(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use clmatrix::select::DeviceType;

    use super::*;

    fn suite(more: &str) -> Result<ExternalSuite, String> {
        let keys = format!("name = \"a::b-1\"\nkind = \"opencl-cts\"\nprograms = \"x/*\"\n{more}");
        toml::from_str(&keys).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_suite_has_its_defaults() {
        let mut suite = suite("").unwrap();
        suite.start_from(Path::new("/root"));
        assert_eq!(suite.programs, [Path::new("/root/x/*")]);
        assert_eq!(suite.timeout, None);
        assert!(suite.has("any"));
        assert_eq!(suite.missing(&DeviceInfo::default()), None);
        assert!(suite.environment(0, 0).is_empty());
        let mut suite = self::suite("").unwrap();
        suite.start_from(Path::new("/a[b]"));
        assert_eq!(suite.root, Path::new("/a[b]"));
        assert!(suite.programs[0].starts_with("/a[[]b[]]"), "{:?}", suite.programs);
    }

    #[test]
    fn tests_devices_and_variables_are_those_of_the_keys() {
        let suite = suite(
            "tests = [\"full*\"]\ntype = \"cpu\"\ntimeout = \"1s\"\n\
             device-env = { A = \"{platform}:{device}\" }",
        )
        .unwrap();
        assert!(suite.has("full_1") && !suite.has("quick_full"));
        assert!(suite.named_tests().is_none() && self::suite("").unwrap().named_tests().is_none());
        let named = self::suite("tests = [\"b\", \"a\"]").unwrap();
        assert_eq!(named.named_tests().unwrap().collect::<Vec<_>>(), ["b", "a"]);
        let device = |bits| {
            let mut info = DeviceInfo::default();
            info.device_type = DeviceType::from_bits_retain(bits);
            info
        };
        let gpu = suite.missing(&device(4)).unwrap();
        assert_eq!(
            (&*gpu, suite.missing(&device(2))),
            ("the suite a::b-1 is for devices of the type cpu", None)
        );
        assert_eq!(suite.environment(1, 2), [("A".to_owned(), "1:2".to_owned())]);
    }

    #[test]
    fn mistakes_are_refused() {
        let names = ["", "a b", "a::", "a@b"].map(|name| {
            let keys = format!("name = {name:?}\nkind = \"libtest\"\nprograms = [\"x\"]");
            toml::from_str::<ExternalSuite>(&keys).unwrap_err().message().to_owned()
        });
        assert!(names.iter().all(|error| error.contains("must be words")), "{names:?}");
        for name in ["worker", "worker::x"] {
            let error = check_suite_name(name).unwrap_err();
            assert!(error.contains("results of workers"), "{error}");
        }
        assert_eq!(check_suite_name("workers::x"), Ok(()));
        assert!(suite("tests = [\"[\"]").is_err());
        for name in ["\"A=B\"", "\"\""] {
            assert!(suite(&format!("device-env = {{ {name} = \"0\" }}")).is_err(), "{name}");
        }
        let none = "name = \"a\"\nkind = \"libtest\"\nprograms = []\n";
        assert!(toml::from_str::<ExternalSuite>(none).is_err());
        assert!(suite("program = \"x\"").unwrap_err().contains("unknown field `program`"));
    }
}
