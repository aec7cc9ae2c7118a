//! The selection of the devices under test: the first of `--devices`, CLMATRIX_TEST, PYOPENCL_TEST
//! and the profile's `devices` that is set, else all devices.

use clmatrix::select::Selection;

use super::icd::LoaderVariables;
use super::ids::platform_slug;
use super::{Machine, TestDevice};
use crate::os;
use crate::variable::{self, VariableError, text_variable};

/// The source whose selection has PyOpenCL's grammar.
const PYOPENCL_TEST: &str = "PYOPENCL_TEST";

/// The selection that counts.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its source, for messages.
    origin: &'static str,
    /// The way to run without a selection, if an empty one is refused.
    advice: Option<&'static str>,
    /// `None` for all devices.
    text: Option<String>,
}

impl Choice {
    /// Returns the first of `--devices`, the two variables of this process' environment and the profile's `devices`
    /// that is set. An empty variable counts as unset, as in PyOpenCL.
    ///
    /// # Errors
    ///
    /// A variable is no text.
    pub fn find(option: Option<String>, profile: Option<String>) -> Result<Self, VariableError> {
        let clmatrix = text_variable("CLMATRIX_TEST")?;
        Ok(Self::first([option, clmatrix, text_variable(PYOPENCL_TEST)?, profile]))
    }

    fn first(given: [Option<String>; 4]) -> Self {
        let sources = [
            ("--devices", Some("leave the option out")),
            ("CLMATRIX_TEST", Some("unset the variable")),
            (PYOPENCL_TEST, None),
            ("the profile's `devices`", Some("leave the key out, or set it to \"*\",")),
        ];
        let first = sources.into_iter().zip(given).find(|(_, text)| text.is_some());
        let ((origin, advice), text) = first.unwrap_or((("the default selection", None), None));
        Self { origin, advice, text }
    }

    /// Refuses an empty selection, and one with an entry without a platform, before any driver is
    /// loaded.
    ///
    /// In PyOpenCL's grammar an empty text is part of every name: the first platform. A script whose shell variable
    /// is empty would silently test other devices than its author intended.
    ///
    /// # Errors
    ///
    /// [`NoDevices::Selection`].
    pub fn refuse_empty_entries(&self) -> Result<(), NoDevices> {
        let Self { origin, advice: Some(advice), text: Some(text) } = self else { return Ok(()) };
        let lacks_platform =
            |entry: &str| matches!(entry.trim().chars().next(), None | Some(':' | '='));
        let Some(index) = text.split(';').position(lacks_platform) else { return Ok(()) };
        Err(NoDevices::Selection(match text.split(';').all(|entry| entry.trim().is_empty()) {
            true => format!("{origin}: an empty selection; {advice} for all devices"),
            false => format!(
                "{origin}: entry {} of {text:?} names no platform (`*` names all); entries are separated by `;`",
                index + 1
            ),
        }))
    }
}

/// The reason why there is no device to test.
#[derive(Debug, thiserror::Error)]
pub enum NoDevices {
    /// The selection is empty or at fault, with its origin.
    #[error("{0}")]
    Selection(String),
    /// The machine has none.
    #[error("{0}")]
    None(String),
}

/// Returns the devices under test, in the order in which they were chosen.
///
/// # Errors
///
/// See [`NoDevices`].
pub fn select(machine: &Machine, choice: &Choice) -> Result<Vec<TestDevice>, NoDevices> {
    if machine.positions().next().is_none() {
        return Err(NoDevices::None(no_device_message(machine)));
    }
    let infos: Vec<_> = machine.platforms.iter().map(|platform| platform.info.clone()).collect();
    let resolve = |selection: Selection| selection.resolve(&infos);
    let Choice { origin, text, .. } = choice;
    let positions = match text {
        None => Ok(machine.positions().collect()),
        Some(text) if *origin == PYOPENCL_TEST => Selection::parse_pyopencl(text).and_then(resolve),
        Some(text) => Selection::parse_clmatrix(text).and_then(resolve),
    };
    let positions =
        positions.map_err(|error| NoDevices::Selection(format!("{origin}: {error}")))?;
    Ok(positions.into_iter().map(|(p, d)| machine.device(p, d)).collect())
}

/// The reason why a test that needs a device is not run.
pub const NO_DEVICE_FOUND: &str = "no OpenCL device was found";

/// Returns the variables that are set, and select the devices of a platform's driver, which reads them itself.
fn selecting_variables(
    platform: &str,
    value: impl Fn(&str) -> Option<String>,
) -> impl Iterator<Item = (&'static str, String)> {
    let names: &[&str] = match &*platform_slug(platform) {
        "pocl" => &["POCL_DEVICES"],
        "rusticl" => &["RUSTICL_ENABLE", "RUSTICL_DEVICE_TYPE"],
        "nvidia" => &["CUDA_VISIBLE_DEVICES"],
        "amd" => &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"],
        "intel" => &["ZE_AFFINITY_MASK", "CL_CONFIG_DEVICES"],
        _ => &[],
    };
    names.iter().filter_map(move |name| Some((*name, value(name)?)))
}

fn no_device_message(machine: &Machine) -> String {
    let mut message = NO_DEVICE_FOUND.to_owned();
    for platform in &machine.platforms {
        let name = &platform.info.name;
        message += &format!("\n  platform {name:?} has no device");
        // quirk: RUSTICL-4
        if name == "rusticl" {
            message += ": it shows those of the Mesa drivers that the variable RUSTICL_ENABLE names, as in \
                        RUSTICL_ENABLE=llvmpipe";
        }
        for (name, value) in selecting_variables(name, variable::lossy) {
            message += &format!("; {name}={value} selects its devices");
        }
    }
    for failed in &machine.failed {
        message += &format!("\n  driver {failed}");
    }
    if let Some(nowhere) = LoaderVariables::from_environment().empty_vendors() {
        message += &format!("\n  {nowhere}");
    }
    if machine.failed.is_empty() {
        message += &format!("\n{}", os::DRIVER_ADVICE);
    }
    message + "\nadd a driver that the loader does not find with CLMATRIX_ICD=PATH"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_selection_and_an_entry_without_a_platform_are_refused() {
        let [option, clmatrix, pyopencl, profile] = [0, 1, 2, 3];
        let empty = "--devices: an empty selection; leave the option out for all devices";
        for (origin, text, expected) in [
            (option, "", empty),
            (option, ";;", empty),
            (option, " ; ", empty),
            (option, ":", "--devices: entry 1 of \":\" names no platform"),
            (option, "0;", "--devices: entry 2 of \"0;\" names no platform"),
            (option, ";0", "--devices: entry 1 of \";0\" names no platform"),
            (option, "0; :0", "--devices: entry 2 of \"0; :0\" names no platform"),
            (option, "=0;0", "--devices: entry 1 of \"=0;0\" names no platform"),
            (option, "0:0;*", ""),
            (clmatrix, ";;", "CLMATRIX_TEST: an empty selection; unset the variable"),
            (profile, "", "the profile's `devices`: an empty selection; leave the key out"),
            // As in PyOpenCL.
            (pyopencl, ":", ""),
        ] {
            let mut given: [Option<String>; 4] = Default::default();
            given[origin] = Some(text.to_owned());
            let choice = Choice::first(given);
            let refused = choice.refuse_empty_entries().map_err(|error| error.to_string());
            let error = refused.err().unwrap_or_default();
            assert!(error.starts_with(expected), "{error}");
            assert_eq!(error.is_empty(), expected.is_empty(), "{}: {text}", choice.origin);
        }
        let all = Choice::first(Default::default());
        assert!(all.text.is_none() && all.refuse_empty_entries().is_ok());
    }

    #[test]
    fn the_variable_that_selects_a_drivers_devices_is_named() {
        let set = |name: &str| (name != "ZE_AFFINITY_MASK").then(|| "none".to_owned());
        for (platform, expected) in [
            ("Portable Computing Language", &["POCL_DEVICES"][..]),
            ("NVIDIA CUDA", &["CUDA_VISIBLE_DEVICES"]),
            ("Intel(R) OpenCL", &["CL_CONFIG_DEVICES"]),
            ("Oclgrind", &[]),
        ] {
            let found: Vec<_> = selecting_variables(platform, set).map(|(name, _)| name).collect();
            assert_eq!(found, expected, "{platform}");
        }
    }
}
