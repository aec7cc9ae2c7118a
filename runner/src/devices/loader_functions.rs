//! The functions of later versions of OpenCL, which the loader may lack for any version of the device.

use std::ffi::CStr;
use std::sync::LazyLock;

use super::icd::LoaderVariables;
use crate::os::Library;
use crate::requirement::{Requirement, Version};

/// The name by which cl3 loads the loader.
const LOADER: &str = if cfg!(windows) {
    "OpenCL.dll"
} else if cfg!(target_os = "macos") {
    "/System/Library/Frameworks/OpenCL.framework/OpenCL"
} else {
    "libOpenCL.so.1"
};

const fn version(major: u32, minor: u32) -> Version {
    Version { major, minor }
}

/// A function of each version.
const FUNCTIONS: [(Version, &CStr); 3] = [
    (version(2, 0), c"clSVMAlloc"),
    (version(2, 1), c"clEnqueueSVMMigrateMem"),
    (version(3, 0), c"clCreateBufferWithProperties"),
];

/// The first function that the loader lacks, and its version. A loader that a variable names is not checked: it may
/// be one of a list.
static LACKING: LazyLock<Option<(Version, &CStr)>> = LazyLock::new(|| {
    if LoaderVariables::from_environment().loader.is_some() {
        return None;
    }
    let loader = Library::load(LOADER).ok()?;
    FUNCTIONS.into_iter().find(|(_, name)| !loader.has(name))
});

/// Returns the reason if the loader lacks a function of a version that these requirements need. The process has
/// loaded the loader.
// quirk: LOADER-5
pub fn missing(requires: &[Requirement]) -> Option<String> {
    let needed = requires.iter().filter_map(|requirement| match requirement {
        Requirement::OpenCl(version) => Some(*version),
        Requirement::Svm(_) | Requirement::Pipes => Some(version(2, 0)),
        _ => None,
    });
    let needed = needed.max().filter(|needed| *needed >= FUNCTIONS[0].0)?;
    reason(needed, *LACKING)
}

/// Returns the reason if the loader lacks a function of this version or an earlier one.
fn reason(needed: Version, lacking: Option<(Version, &CStr)>) -> Option<String> {
    let (version, name) = lacking.filter(|(version, _)| *version <= needed)?;
    Some(format!("the OpenCL loader has no {} (OpenCL {version})", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_the_loader_lacks_is_named_to_those_who_need_it() {
        let [_, since_2_1, since_3] = FUNCTIONS.map(Some);
        assert_eq!(reason(version(2, 0), since_2_1), None);
        let lacks = "the OpenCL loader has no clEnqueueSVMMigrateMem (OpenCL 2.1)";
        assert_eq!(reason(version(2, 1), since_2_1).as_deref(), Some(lacks));
        assert_eq!(reason(version(3, 0), since_2_1).as_deref(), Some(lacks));
        assert_eq!(reason(version(2, 2), since_3), None);
        assert_eq!(reason(version(3, 0), None), None);
    }
}
