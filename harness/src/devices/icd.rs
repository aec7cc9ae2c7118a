//! The OpenCL drivers of this machine, as its loader would find them, and how to show a process
//! just one of them.
//!
//! A loader reads folders of `.icd` files, each of which holds the name of one library. ocl-icd
//! and the Khronos loader differ in what their variables may name; a folder with a single `.icd`
//! file in OCL_ICD_VENDORS means the same to both.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where loaders look when no variable says otherwise.
const SYSTEM_VENDORS: &str = "/etc/OpenCL/vendors";

/// A driver and where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Driver {
    /// A library that a loader opens.
    Icd {
        /// The library's path, or its bare name for the system's linker.
        library: String,
        /// The file that names it; the library itself where it was named directly.
        origin: PathBuf,
    },
    /// Whatever this process would see itself, where the drivers cannot be told apart: a driver
    /// that stands in the loader's place, or a loader that finds drivers in ways of its own.
    AsIs,
}

impl Driver {
    /// A short name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Icd { origin, .. } => origin.display().to_string(),
            Self::AsIs => "the OpenCL library itself".to_owned(),
        }
    }

    /// The variables by which a process sees this driver and no other. `state` is the folder for the
    /// drivers' caches: PoCL shows no device without a cache folder that it can write to.
    // quirk: POCL-8
    pub fn environment(&self, state: &Path) -> io::Result<Vec<(OsString, Option<OsString>)>> {
        let mut environment = match self {
            Self::Icd { library, .. } => alone(library, state)?,
            Self::AsIs => Vec::new(),
        };
        // OCLGRIND_LOG would redirect Oclgrind's diagnostics from standard error to a file.
        // quirk: OCLGRIND-3
        environment.push(("OCLGRIND_LOG".into(), None));
        for (variable, folder) in
            [("POCL_CACHE_DIR", "pocl-cache"), ("MESA_SHADER_CACHE_DIR", "mesa-cache")]
        {
            if std::env::var_os(variable).is_none() {
                environment.push((variable.into(), Some(state.join(folder).into())));
            }
        }
        Ok(environment)
    }
}

/// The variables that show a process this library, through a private vendors folder: the only form
/// that all loaders read in the same way.
// quirk: LOADER-3
fn alone(library: &str, state: &Path) -> io::Result<Vec<(OsString, Option<OsString>)>> {
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let folder = state.join("vendors").join(format!("{:016x}", hasher.finish()));
    write_if_different(&folder.join("driver.icd"), library)?;
    // The path ends with a slash.
    // quirk: LOADER-1
    let folder = folder.join("");
    Ok(vec![
        ("OCL_ICD_VENDORS".into(), Some(folder.into())),
        ("OCL_ICD_FILENAMES".into(), None),
        ("OPENCL_VENDOR_PATH".into(), None),
    ])
}

/// Writes a file that other processes may be reading or writing with the same content.
fn write_if_different(file: &Path, content: &str) -> io::Result<()> {
    if fs::read(file).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&temporary, content)?;
    fs::rename(&temporary, file)
}

/// The variables of the environment that decide which drivers there are.
#[derive(Clone, Debug, Default)]
pub struct LoaderVariables {
    /// OCL_ICD_VENDORS or OPENCL_VENDOR_PATH.
    pub vendors: Option<PathBuf>,
    /// OCL_ICD_FILENAMES, in the order given.
    pub filenames: Vec<PathBuf>,
    /// OPENCL_DYLIB_PATH: the library to open in place of the system's loader.
    pub loader: Option<PathBuf>,
}

impl LoaderVariables {
    /// Those of this process.
    pub fn from_environment() -> Self {
        let path = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Self {
            vendors: path("OCL_ICD_VENDORS").or_else(|| path("OPENCL_VENDOR_PATH")),
            filenames: std::env::var_os("OCL_ICD_FILENAMES")
                .map(|list| std::env::split_paths(&list).collect())
                .unwrap_or_default(),
            loader: path("OPENCL_DYLIB_PATH"),
        }
    }

    /// Whether a driver stands in the loader's place, so that vendors folders mean nothing.
    pub fn bypass_the_loader(&self) -> bool {
        let Some(name) = self.loader.as_deref().and_then(Path::file_name) else { return false };
        !name.to_string_lossy().to_lowercase().starts_with("libopencl")
    }
}

/// The drivers that the loader would load, and `added` ones, in the order of their files' names.
pub fn drivers(variables: &LoaderVariables, added: &[PathBuf]) -> Vec<Driver> {
    let mut drivers = Vec::new();
    if !variables.bypass_the_loader() {
        let vendors = variables.vendors.as_deref().unwrap_or(Path::new(SYSTEM_VENDORS));
        // A loader passes over a folder that is not there.
        let vendors = Some(vendors).filter(|path| path.exists() || is_bare_name(path));
        drivers.extend(vendors.into_iter().flat_map(in_vendors));
        drivers.extend(variables.filenames.iter().flat_map(|file| in_vendors(file)));
    }
    drivers.extend(added.iter().flat_map(|file| in_vendors(file)));
    let mut seen = std::collections::HashSet::new();
    drivers.retain(|driver| match driver {
        Driver::Icd { library, .. } => seen.insert(library.clone()),
        Driver::AsIs => true,
    });
    drivers
}

/// The drivers that a path stands for: a folder of `.icd` files, one such file, or a library.
fn in_vendors(path: &Path) -> Vec<Driver> {
    if path.is_dir() {
        let mut files: Vec<PathBuf> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| is_icd(file))
            .collect();
        files.sort();
        files.iter().filter_map(|file| from_icd_file(file)).collect()
    } else if is_icd(path) {
        from_icd_file(path).into_iter().collect()
    } else {
        let library = absolute(path).display().to_string();
        vec![Driver::Icd { library, origin: path.to_path_buf() }]
    }
}

fn is_icd(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "icd")
}

/// What both loaders do with an unreadable or empty file: nothing.
fn from_icd_file(file: &Path) -> Option<Driver> {
    let content = fs::read_to_string(file).ok()?;
    let library = content.lines().next()?.trim();
    (!library.is_empty())
        .then(|| Driver::Icd { library: library.to_owned(), origin: file.to_path_buf() })
}

/// A name that the system's linker looks up.
fn is_bare_name(library: &Path) -> bool {
    library.components().count() == 1 && !library.has_root()
}

fn absolute(library: &Path) -> PathBuf {
    if !is_bare_name(library) || library.exists() {
        std::path::absolute(library).unwrap_or_else(|_| library.to_path_buf())
    } else {
        library.to_path_buf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libraries(drivers: &[Driver]) -> Vec<String> {
        drivers
            .iter()
            .map(|driver| match driver {
                Driver::Icd { library, .. } => library.clone(),
                Driver::AsIs => "as is".to_owned(),
            })
            .collect()
    }

    #[test]
    fn drivers_come_from_folders_files_and_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("b.icd"), "libb.so.1").unwrap();
        fs::write(at("a.icd"), "  /opt/liba.so \nrest is ignored").unwrap();
        fs::write(at("empty.icd"), "").unwrap();
        fs::write(at("garbage.icd"), [0xff, 0xfe]).unwrap();
        fs::write(at("readme.txt"), "libnot.so").unwrap();
        let vendors =
            LoaderVariables { vendors: Some(folder.path().into()), ..LoaderVariables::default() };
        assert_eq!(libraries(&drivers(&vendors, &[])), ["/opt/liba.so", "libb.so.1"]);

        let one = LoaderVariables { vendors: Some(at("b.icd")), ..LoaderVariables::default() };
        assert_eq!(libraries(&drivers(&one, &[])), ["libb.so.1"]);
        assert_eq!(
            libraries(&drivers(&one, &["/x/libnew.so".into(), at("b.icd")])),
            ["libb.so.1", "/x/libnew.so"],
            "an added library comes last, one that is there already not again"
        );
        let nothing = LoaderVariables { vendors: Some(at("absent")), ..LoaderVariables::default() };
        assert_eq!(libraries(&drivers(&nothing, &[])), [""; 0], "no loader minds");
        let added = [at("libabsent.so")];
        assert_eq!(libraries(&drivers(&nothing, &added)), [added[0].display().to_string()]);
    }

    #[test]
    fn a_driver_in_the_loaders_place_hides_the_vendors() {
        let direct = LoaderVariables {
            loader: Some("/opt/libintelocl.so".into()),
            vendors: Some("/etc/OpenCL/vendors".into()),
            ..LoaderVariables::default()
        };
        assert!(direct.bypass_the_loader());
        assert!(drivers(&direct, &[]).is_empty());
        let loader = LoaderVariables {
            loader: Some("/opt/libOpenCL-5519dec5.so.1.0.0".into()),
            ..LoaderVariables::default()
        };
        assert!(!loader.bypass_the_loader());
    }

    #[test]
    fn a_driver_can_write_its_cache_and_its_diagnostics() {
        let state = tempfile::tempdir().unwrap();
        let environment = Driver::AsIs.environment(state.path()).unwrap();
        let value = |name: &str| environment.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        assert_eq!(value("OCLGRIND_LOG"), Some(&None));
        if std::env::var_os("POCL_CACHE_DIR").is_none() {
            let folder = value("POCL_CACHE_DIR").unwrap().clone().unwrap();
            assert!(PathBuf::from(folder).starts_with(state.path()));
        }
    }

    #[test]
    fn one_driver_is_shown_through_a_private_folder() {
        let state = tempfile::tempdir().unwrap();
        let driver = Driver::Icd { library: "libx.so".to_owned(), origin: "x.icd".into() };
        let environment = driver.environment(state.path()).unwrap();
        let folder = PathBuf::from(environment[0].1.clone().unwrap());
        assert_eq!(environment[0].0, "OCL_ICD_VENDORS");
        assert!(folder.as_os_str().as_encoded_bytes().ends_with(b"/"));
        assert_eq!(fs::read_to_string(folder.join("driver.icd")).unwrap(), "libx.so");
        assert_eq!(driver.environment(state.path()).unwrap(), environment, "it is stable");
    }
}
