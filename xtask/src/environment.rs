//! The variables that show OpenCL's loader its drivers, and the rules by which they are chosen.
//!
//! The first of these that applies wins:
//!
//! 1. `--from machine|ci|embedded` on the command line;
//! 2. the user's own `OCL_ICD_VENDORS`, `OCL_ICD_FILENAMES` or `OPENCL_DYLIB_PATH`: left alone.
//!    A value that `cargo xtask env` printed is not counted, so that an old shell does not hold on
//!    to an old choice;
//! 3. the CI matrix, if `CLMATRIX_PROFILE=ci` demands it: an error if it is not provisioned;
//! 4. the CI matrix, if it is provisioned (an error if it has lost a driver since);
//! 5. the machine's own devices, if it has any: nothing is changed;
//! 6. the embedded default.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use clmatrix_runner::provision::Environment;
use clmatrix_runner::provision::environment::LOADER_VARIABLES;
use clmatrix_runner::provision::runtime::LOADER_FOLDER;

/// Where devices can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Whatever this machine's loader finds, or what the user's own variables name.
    Machine,
    /// The four runtimes that CI tests on.
    Ci,
    /// The default that needs no root: one CPU device.
    Embedded,
}

/// Where devices shall come from, on the command line.
// The comments of the variants are what `--help` says of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Wish {
    /// Your own OCL_ICD_VENDORS or OPENCL_DYLIB_PATH, else the CI matrix if it is provisioned, else
    /// this machine's devices, else the embedded default
    #[default]
    Auto,
    /// The devices that this machine's OpenCL loader finds, and no others
    Machine,
    /// The CI matrix of `cargo xtask provision`
    Ci,
    /// The CPU device that needs no root
    Embedded,
}

/// The facts that choose a source, beside the devices of the machine.
pub struct Facts {
    /// The user's own variables name drivers.
    pub user_variables: bool,
    /// `CLMATRIX_PROFILE=ci` is set.
    pub ci_demanded: bool,
    /// The CI matrix is provisioned.
    pub ci_provisioned: bool,
}

impl Facts {
    /// Reads this process's environment. `runtimes` is the folder of the runtimes we fetched.
    pub fn gather(runtimes: &Path, ci_provisioned: bool) -> Self {
        let foreign = |name: &&str| is_foreign(env::var_os(name).as_deref(), runtimes);
        Self {
            user_variables: LOADER_VARIABLES.iter().any(foreign),
            ci_demanded: env::var_os("CLMATRIX_PROFILE").is_some_and(|profile| profile == "ci"),
            ci_provisioned,
        }
    }
}

/// Returns whether a loader variable holds a value that is not from `cargo xtask env`, which names
/// our vendors folders and the embedded default's loader. Empty counts as unset.
///
/// A single `.icd` file in one of our folders is the user's own choice.
fn is_foreign(value: Option<&OsStr>, runtimes: &Path) -> bool {
    let is_ours = |value: &Path| {
        value.parent() == Some(runtimes) || value.starts_with(runtimes.join(LOADER_FOLDER))
    };
    value.is_some_and(|value| !value.is_empty() && !is_ours(Path::new(value)))
}

/// Applies the rules at the top of this file.
///
/// `machine_has_device` is asked only if nothing else decides: the answer costs a build.
pub fn choose(
    wish: Wish,
    facts: &Facts,
    machine_has_device: impl FnOnce() -> Result<bool>,
) -> Result<Source> {
    let source = match wish {
        Wish::Machine => Source::Machine,
        Wish::Ci => Source::Ci,
        Wish::Embedded => Source::Embedded,
        Wish::Auto if facts.user_variables => Source::Machine,
        Wish::Auto if facts.ci_demanded || facts.ci_provisioned => Source::Ci,
        Wish::Auto if machine_has_device()? => Source::Machine,
        Wish::Auto => Source::Embedded,
    };
    Ok(source)
}

/// The environment of the machine: as it is, without the values of `cargo xtask env`.
pub fn machine(runtimes: &Path) -> Environment {
    let ours = |name: &&str| {
        let value = env::var_os(name);
        value.is_some() && !is_foreign(value.as_deref(), runtimes)
    };
    Environment::default().unset(LOADER_VARIABLES.into_iter().filter(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(user_variables: bool, ci_demanded: bool, ci_provisioned: bool) -> Facts {
        Facts { user_variables, ci_demanded, ci_provisioned }
    }

    #[test]
    fn the_first_rule_that_applies_chooses() {
        use Source::*;
        let cases = [
            // wish, (user's variables, CI demanded, CI ready), machine has a device, choice
            (Wish::Auto, (false, false, false), false, Embedded),
            (Wish::Auto, (false, false, false), true, Machine),
            (Wish::Auto, (false, false, true), true, Ci),
            (Wish::Auto, (false, true, false), true, Ci),
            (Wish::Auto, (true, true, true), false, Machine),
            (Wish::Machine, (false, true, true), false, Machine),
            (Wish::Ci, (true, false, false), true, Ci),
            (Wish::Embedded, (true, true, true), true, Embedded),
        ];
        for (wish, (user, demanded, ready), device, expected) in cases {
            let choice = choose(wish, &facts(user, demanded, ready), || Ok(device)).unwrap();
            assert_eq!(choice, expected, "{wish:?} {user} {demanded} {ready} {device}");
        }
    }

    #[test]
    fn the_machine_is_probed_only_if_nothing_else_decides() {
        let unasked = || panic!("probed");
        for facts in
            [facts(true, false, false), facts(false, true, false), facts(false, false, true)]
        {
            choose(Wish::Auto, &facts, unasked).unwrap();
        }
    }

    #[test]
    fn variables_of_our_own_are_not_the_users() {
        let runtimes = Path::new("/w/target/opencl");
        let foreign = |value: Option<&str>| is_foreign(value.map(OsStr::new), runtimes);
        assert!(foreign(Some("/etc/OpenCL/vendors")));
        assert!(foreign(Some("/w/target/opencl-of-mine")));
        assert!(foreign(Some("/w/target/opencl/ci-vendors/pocl.icd")));
        assert!(foreign(Some("/w/target/opencl/intel/lib/libintelocl.so")));
        assert!(!foreign(Some("/w/target/opencl/ci-vendors")));
        assert!(!foreign(Some("/w/target/opencl/ci-vendors/")));
        assert!(!foreign(Some("/w/target/opencl/loader/pyopencl/.libs/libOpenCL.so.1")));
        assert!(!foreign(Some("")));
        assert!(!foreign(None));
    }
}
