//! A context on some device, for programs whose user chooses the device (`pyopencl.create_some_context`).

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;

use crate::context::Context;
use cl3::error_codes::{CL_DEVICE_NOT_FOUND, CL_INVALID_VALUE};

use super::catalog::PlatformInfo;
use super::enumerate::platforms;
use super::error::{Piece, SelectionError, listing};
use super::selection::{Selection, python_int};
use crate::error::{Error, Result};

/// The choice of a device in the environment.
#[derive(Default)]
struct Wishes {
    pyopencl_test: Option<String>,
    pyopencl_ctx: Option<String>,
}

impl Wishes {
    fn from_environment() -> Result<Self> {
        let wish = |name| text_of(name, env::var_os(name));
        Ok(Self { pyopencl_test: wish("PYOPENCL_TEST")?, pyopencl_ctx: wish("PYOPENCL_CTX")? })
    }

    /// Returns the chosen devices. PYOPENCL_TEST has precedence, with its first device only.
    fn choose(
        &self,
        platforms: &[PlatformInfo],
    ) -> std::result::Result<(usize, Vec<usize>), SelectionError> {
        if let Some(test) = &self.pyopencl_test {
            let (platform, device) = Selection::parse_pyopencl(test)?.resolve(platforms)?[0];
            return Ok((platform, vec![device]));
        }
        let answers: Vec<&str> =
            self.pyopencl_ctx.iter().flat_map(|answers| answers.split(':')).collect();
        choose_devices(platforms, &answers)
    }
}

/// Creates a context as `pyopencl.create_some_context` does when it cannot prompt: on the first device that
/// PYOPENCL_TEST names, else on those that PYOPENCL_CTX names (`PLATFORM:DEVICE,DEVICE`, see [`choose_devices`]),
/// else on the first device of the first platform.
///
/// Unlike PyOpenCL, it does not fall back to PYOPENCL_CTX where PYOPENCL_TEST chooses a platform without devices:
/// that is an error.
///
/// # Errors
/// An error of class [`NoRuntime`](crate::Class::NoRuntime) without a driver,
/// [`NoDevice`](crate::Class::NoDevice) where the platform has none,
/// [`InvalidArgument`](crate::Class::InvalidArgument) where no device matches a variable
/// or is not UTF-8.
pub fn create_some_context() -> Result<Context> {
    let found = platforms()?;
    let infos: Vec<PlatformInfo> = found.iter().map(|platform| platform.info.clone()).collect();
    let (platform, devices) = Wishes::from_environment()?.choose(&infos).map_err(no_context)?;
    Context::new(devices.into_iter().map(|device| &found[platform].devices[device]))
}

/// Returns the text of the variable `name`.
fn text_of(name: &str, value: Option<OsString>) -> Result<Option<String>> {
    value.map(OsString::into_string).transpose().map_err(|value| {
        let reason = format!("{name} is not UTF-8: {value:?}");
        Error::refused("clCreateContext", CL_INVALID_VALUE, reason)
    })
}

fn no_context(error: SelectionError) -> Error {
    let code = match error {
        SelectionError::NoDevices { .. } | SelectionError::WithoutDevices { .. } => {
            CL_DEVICE_NOT_FOUND
        }
        _ => CL_INVALID_VALUE,
    };
    Error::refused("clCreateContext", code, error.to_string())
}

/// Returns the index of the platform and those of the devices that PyOpenCL's non-interactive `choose_devices`
/// chooses for the fields of PYOPENCL_CTX.
///
/// The first answer names the platform, the second its devices, separated by `,`; either may be missing or empty, and
/// means the first one. An answer is an index from 0 if Python's `int` reads it and it is in range, else a part of
/// the name in any case: the last match for platforms, the first for devices. A device that is named twice counts
/// once.
///
/// # Errors
/// An error for an answer without a match or beyond the second, and for a platform without a device.
pub fn choose_devices(
    platforms: &[PlatformInfo],
    answers: &[&str],
) -> std::result::Result<(usize, Vec<usize>), SelectionError> {
    let found = || listing(platforms);
    if platforms.is_empty() {
        return Err(SelectionError::NoDevices { found: found() });
    }
    let platform_answer = answers.first().copied().filter(|answer| !answer.is_empty());
    let platform = match platform_answer {
        None => 0,
        // The last match.
        Some(answer) => {
            matching(answer, platforms, |platform| &platform.name).pop().ok_or_else(|| {
                SelectionError::NoSuchPlatform { piece: piece(1, answer), found: found() }
            })?
        }
    };
    let PlatformInfo { name, devices, .. } = &platforms[platform];
    if devices.is_empty() {
        return Err(SelectionError::WithoutDevices {
            piece: piece(1, platform_answer.unwrap_or("0")),
            platforms: format!("{name:?}"),
            found: found(),
        });
    }
    let devices_answer = answers.get(1).copied().filter(|answer| !answer.is_empty());
    let mut chosen = match devices_answer {
        None => vec![0],
        Some(answer) => answer
            .split(',')
            .map(|answer| {
                let matches = matching(answer, devices, |device| &device.name);
                matches.first().copied().ok_or_else(|| SelectionError::NoSuchDevice {
                    piece: piece(2, answer),
                    platforms: format!("{name:?}"),
                    found: found(),
                })
            })
            .collect::<std::result::Result<_, _>>()?,
    };
    if let Some(left_over) = answers.get(2..).filter(|rest| !rest.is_empty()) {
        return Err(SelectionError::LeftOver(piece(3, &left_over.join(":"))));
    }
    let mut seen = HashSet::new();
    chosen.retain(|device| seen.insert(*device));
    Ok((platform, chosen))
}

fn piece(entry: usize, text: &str) -> Piece {
    Piece { entry, text: text.to_owned() }
}

/// Returns the index of the candidate that the answer is the index of, or else those of all with it in their names.
fn matching<T>(answer: &str, candidates: &[T], name: impl Fn(&T) -> &String) -> Vec<usize> {
    let index = python_int(answer).and_then(|index| usize::try_from(index).ok());
    if let Some(index) = index.filter(|index| *index < candidates.len()) {
        return vec![index];
    }
    let answer = answer.to_lowercase();
    let matches = |index: &usize| name(&candidates[*index]).to_lowercase().contains(&answer);
    (0..candidates.len()).filter(matches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::sample;

    /// `platform:device,device`, or `none` where there is an error.
    fn text(choice: std::result::Result<(usize, Vec<usize>), SelectionError>) -> String {
        let Ok((platform, devices)) = choice else {
            return "none".to_owned();
        };
        let devices: Vec<String> = devices.iter().map(usize::to_string).collect();
        format!("{platform}:{}", devices.join(","))
    }

    /// The answers of PyOpenCL 2026.1.4 for these platforms, each device once.
    #[test]
    fn answers_select_devices_as_in_pyopencl() {
        let platforms = sample::platforms();
        let cases: &[(&[&str], &str)] = &[
            (&[], "0:0"),
            (&[""], "0:0"),
            (&["0"], "0:0"),
            (&["1"], "none"),
            (&["2"], "2:0"),
            (&["3"], "3:0"),
            (&["4"], "4:0"),
            (&["5"], "none"),
            (&["-1"], "none"),
            (&["-0"], "0:0"),
            (&[" 3 "], "3:0"),
            (&["0_3"], "3:0"),
            (&["3.0"], "none"),
            (&["intel"], "4:0"),
            (&["INTEL"], "4:0"),
            (&["intel(r) opencl"], "4:0"),
            (&["opencl"], "4:0"),
            (&["portable"], "2:0"),
            (&["pocl"], "none"),
            (&["nvidia"], "3:0"),
            (&["mesa"], "none"),
            (&["clover"], "none"),
            (&["zz"], "none"),
            (&["99999999999999999999"], "none"),
            (&[" intel"], "none"),
            (&["0", ""], "0:0"),
            (&["0", "0"], "0:0"),
            (&["0", "1"], "0:1"),
            (&["0", "2"], "0:2"),
            (&["0", "3"], "none"),
            (&["0", "-1"], "none"),
            (&["0", "0,1"], "0:0,1"),
            (&["0", "1,0"], "0:1,0"),
            (&["0", "1,1"], "0:1"),
            (&["0", ","], "0:0"),
            (&["0", "1,"], "0:1,0"),
            (&["0", " 1 , 2"], "0:1,2"),
            (&["0", "i7"], "0:1"),
            (&["0", "8"], "0:0"),
            (&["0", "2,epyc"], "0:2"),
            (&["0", "corporation"], "none"),
            (&["0", "amd epyc 2"], "0:2"),
            (&["0", "i5,i7"], "0:0,1"),
            (&["0", "zz"], "none"),
            (&["2", ""], "2:0"),
            (&["2", "0"], "2:0"),
            (&["2", "amd"], "2:0"),
            (&["2", "1"], "none"),
            (&["3", "h200"], "3:0"),
            (&["3", "1"], "3:1"),
            (&["3", "2"], "3:0"),
            (&["", "1"], "0:1"),
            (&["", ""], "0:0"),
            (&["", "", ""], "none"),
            (&["0", "0", "0"], "none"),
            (&["2", "", ""], "none"),
            (&["2", "0", ""], "none"),
            (&["0", "0", ""], "none"),
            (&["intel", "0"], "4:0"),
            (&["1", "0"], "none"),
            (&["4", "=a770"], "4:0"),
            (&["4", "5"], "none"),
            (&["0", "5"], "0:0"),
            (&["3", "0,1,0"], "3:0,1"),
        ];
        for (answers, expected) in cases {
            assert_eq!(text(choose_devices(&platforms, answers)), *expected, "{answers:?}");
        }
    }

    #[test]
    fn pyopencl_ctx_selects_devices_as_in_pyopencl() {
        let platforms = sample::platforms();
        for (pyopencl_test, pyopencl_ctx, expected) in [
            (None, None, "0:0"),
            (None, Some(""), "0:0"),
            (None, Some("3:1"), "3:1"),
            (None, Some("3:1:2"), "none"),
            (Some("2"), Some("3:1"), "2:0"),
            (Some(""), Some("3:1"), "0:0"),
            (Some("3:1,0"), None, "3:1"),
            (Some("3;zz"), None, "none"),
            // PyOpenCL falls back to PYOPENCL_CTX here.
            (Some("1"), Some("3:1"), "none"),
        ] {
            let wishes = Wishes {
                pyopencl_test: pyopencl_test.map(str::to_owned),
                pyopencl_ctx: pyopencl_ctx.map(str::to_owned),
            };
            let case = format!("PYOPENCL_TEST {pyopencl_test:?}, PYOPENCL_CTX {pyopencl_ctx:?}");
            assert_eq!(text(wishes.choose(&platforms)), expected, "{case}");
        }
    }

    #[test]
    fn errors_tell_what_kind_they_are() {
        use crate::Class::{InvalidArgument, NoDevice};
        let platforms = sample::platforms();
        for (answers, class) in [
            (&["1"][..], NoDevice),
            (&["zz"], InvalidArgument),
            (&["0", "0", "x"], InvalidArgument),
        ] {
            let error = no_context(choose_devices(&platforms, answers).unwrap_err());
            assert_eq!(error.class(), class, "{error}");
        }
        assert_eq!(no_context(choose_devices(&[], &[]).unwrap_err()).class(), NoDevice);
    }
    #[test]
    #[cfg(unix)]
    fn a_variable_must_be_text() {
        use std::os::unix::ffi::OsStringExt;
        assert_eq!(text_of("PYOPENCL_CTX", None).unwrap(), None);
        assert_eq!(text_of("PYOPENCL_CTX", Some("0".into())).unwrap().as_deref(), Some("0"));
        let error = text_of("PYOPENCL_CTX", Some(OsString::from_vec(vec![0xff]))).unwrap_err();
        assert!(error.detail().contains("PYOPENCL_CTX"), "{error}");
    }
}
