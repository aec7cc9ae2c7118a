//! The OpenCL drivers of this machine, as its loader would find them, and the variables that show a
//! process only one of them.
//!
//! A loader reads folders of `.icd` files, each of which holds the name of one library. ocl-icd
//! and the Khronos loader differ in what their variables may name; a folder with a single `.icd`
//! file in OCL_ICD_VENDORS means the same to both.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

use super::failure::{DriverFailure, FailedDriver, FailureKind};
use crate::folders::{path_variable, with_extension};
use crate::{files, variable};

/// The folders that loaders search by default.
const SYSTEM_VENDORS: &str = "/etc/OpenCL/vendors";

/// True if a process can be limited to one driver. The loader of Windows reads the registry and no folder, and its
/// variable adds drivers; the framework of macOS has one driver.
pub const SHOWS_ONE_DRIVER: bool = !cfg!(any(windows, target_os = "macos"));

/// The note on how a worker finds its device where a process cannot be limited to one driver.
pub const ALL_DRIVERS: &str = "the system's loader loads all drivers in each worker, which binds its device by name, UUID or \
     PCI address";

/// The variables that name such a folder.
const VENDORS_VARIABLES: &[&str] =
    if SHOWS_ONE_DRIVER { &["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"] } else { &[] };

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
    /// All drivers that this process sees itself, where drivers cannot be loaded one by one: a driver in place of the
    /// loader, or a loader that finds drivers in another way.
    Loader,
}

/// Environment variables of a process, each with the value to set, or `None` to unset.
pub type Variables = Vec<(OsString, Option<OsString>)>;

impl Driver {
    /// Returns a short name for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Icd { origin, .. } => origin.display().to_string(),
            Self::Loader => "the OpenCL library itself".to_owned(),
        }
    }

    /// Returns the variables by which a process sees only this driver. `state` is the folder for the drivers' caches:
    /// PoCL shows no device without a cache folder that it can write to.
    // quirk: POCL-8
    pub fn environment(&self, state: &Path) -> io::Result<Variables> {
        let mut environment = match self {
            Self::Icd { library, .. } if SHOWS_ONE_DRIVER => isolated_env(library, state)?,
            Self::Icd { library, .. } => vec![("OCL_ICD_FILENAMES".into(), Some(library.into()))],
            Self::Loader => Vec::new(),
        };
        // OCLGRIND_LOG would redirect Oclgrind's diagnostics from standard error to a file.
        // quirk: OCLGRIND-3
        environment.push(("OCLGRIND_LOG".into(), None));
        for (variable, folder) in
            [("POCL_CACHE_DIR", "pocl-cache"), ("MESA_SHADER_CACHE_DIR", "mesa-cache")]
        {
            if variable::value(variable).is_none() {
                environment.push((variable.into(), Some(state.join(folder).into())));
            }
        }
        Ok(environment)
    }
}

/// Returns the variables that show a process this library, through a private vendors folder: the only form that all
/// loaders read in the same way.
// quirk: LOADER-3
fn isolated_env(library: &str, state: &Path) -> io::Result<Variables> {
    let folder = state.join("vendors").join(format!("{:016x}", xxh64(library.as_bytes(), 0)));
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
pub(crate) fn write_if_different(file: &Path, content: &str) -> io::Result<()> {
    if files::read_found(file).is_ok_and(|old| old == content.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
        files::remove_leftovers(folder);
    }
    files::replace(file, content.as_bytes())
}

/// Prefixes of the variables that loaders and drivers read.
const PREFIXES: [&str; 16] = [
    "OCL_",
    "OPENCL_",
    "POCL_",
    "PYOPENCL_HOME",
    "RUSTICL_",
    "MESA_",
    "LP_",
    "CUDA_",
    "NVIDIA_",
    "GPU_",
    "ROCR_",
    "HIP_",
    "ZE_",
    "CL_",
    "OCLGRIND_",
    "LD_LIBRARY_PATH",
];

/// Returns the variables of this process that loaders and drivers read, with their values, sorted.
pub fn driver_variables() -> Vec<(OsString, OsString)> {
    let is_read = |name: &OsString| {
        name.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
    };
    let mut variables: Vec<_> = variable::all().filter(|(name, _)| is_read(name)).collect();
    variables.sort();
    variables
}

/// The environment variables that loaders read to find drivers.
#[derive(Clone, Debug, Default)]
pub struct LoaderVariables {
    /// OCL_ICD_VENDORS or OPENCL_VENDOR_PATH, by its name.
    pub vendors: Option<(&'static str, PathBuf)>,
    /// OCL_ICD_FILENAMES, in the order given.
    pub filenames: Vec<PathBuf>,
    /// OPENCL_DYLIB_PATH: the library to open in place of the system's loader.
    pub loader: Option<PathBuf>,
}

impl LoaderVariables {
    /// Returns the variables of this process.
    pub fn from_environment() -> Self {
        let filenames = variable::value("OCL_ICD_FILENAMES");
        Self {
            vendors: VENDORS_VARIABLES.iter().find_map(|name| Some((*name, path_variable(name)?))),
            filenames: filenames.iter().flat_map(std::env::split_paths).collect(),
            loader: path_variable("OPENCL_DYLIB_PATH"),
        }
    }

    /// Returns the reason why OCL_ICD_VENDORS leads to no driver, if it leads to none.
    pub fn empty_vendors(&self) -> Option<String> {
        let (variable, path) = self.vendors.as_ref().filter(|_| !self.bypass_the_loader())?;
        let is_list = || std::env::split_paths(path).nth(1).is_some();
        let fault = if !path.exists() && !is_bare_name(path) && is_list() {
            "which does not exist: the variable names one folder and no list; CLMATRIX_ICD adds others"
        } else if !path.exists() && !is_bare_name(path) {
            "which does not exist"
        } else if path.is_dir() && with_extension(path, "icd").is_ok_and(|files| files.is_empty()) {
            "which has no .icd file"
        } else {
            return None;
        };
        Some(format!("{variable} names {}, {fault}", path.display()))
    }

    /// Returns whether a driver replaces the loader, so that vendors folders have no effect.
    pub fn bypass_the_loader(&self) -> bool {
        let Some(name) = self.loader.as_deref().and_then(Path::file_name) else { return false };
        let name = name.to_string_lossy().to_lowercase();
        !(name.starts_with("libopencl") || cfg!(windows) && name.starts_with("opencl"))
    }
}

/// A driver to probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The driver.
    pub driver: Driver,
    /// True if the user named it (`--icd`, CLMATRIX_ICD).
    pub named: bool,
}

/// The drivers to probe, and the `.icd` files that name none.
#[derive(Debug, Default)]
pub struct Candidates {
    /// The drivers, each library once, in the order of their files' names.
    pub drivers: Vec<Candidate>,
    /// The files.
    pub failed: Vec<FailedDriver>,
}

/// Finds the drivers that the loader would load, and the ones that the user has `added`.
pub fn drivers(variables: &LoaderVariables, added: &[PathBuf]) -> Candidates {
    let mut found = Candidates::default();
    if variables.bypass_the_loader() {
        added.iter().for_each(|path| found.fail(path, true, FailureKind::CannotLoad, BYPASSED));
        return found;
    }
    let vendors = variables.vendors.as_ref().map_or(Path::new(SYSTEM_VENDORS), |(_, path)| path);
    // A loader skips a folder that does not exist.
    if SHOWS_ONE_DRIVER && (vendors.exists() || is_bare_name(vendors)) {
        found.add(vendors, false);
    }
    variables.filenames.iter().for_each(|path| found.add(path, false));
    added.iter().for_each(|path| found.add(path, true));
    found
}

const BYPASSED: &str = "cannot be loaded: OPENCL_DYLIB_PATH names a driver in place of the loader, \
                        and only a loader can load another driver; unset one of the two";

impl Candidates {
    /// Adds the drivers of a path: a folder of `.icd` files, one such file, or a library.
    fn add(&mut self, path: &Path, named: bool) {
        if path.is_dir() { self.add_folder(path, named) } else { self.add_file(path, named) }
    }

    fn add_folder(&mut self, folder: &Path, named: bool) {
        let reason = match with_extension(folder, "icd") {
            Ok(files) if named && files.is_empty() => "the folder has no .icd file".to_owned(),
            Ok(files) => return files.iter().for_each(|file| self.add_file(file, named)),
            Err(error) => format!("the folder cannot be read: {error}"),
        };
        self.fail(folder, named, FailureKind::IcdFile, &reason);
    }

    fn add_file(&mut self, file: &Path, named: bool) {
        let is_icd = file.extension().is_some_and(|extension| extension == "icd");
        let path = || absolute(file).display().to_string();
        let name = if is_icd { library_in(file) } else { Ok(path()) };
        let name = match name {
            Ok(name) => name,
            Err(reason) => return self.fail(file, named, FailureKind::IcdFile, &reason),
        };
        let is_same = |candidate: &&mut Candidate| matches!(&candidate.driver, Driver::Icd { library, .. } if *library == name);
        match self.drivers.iter_mut().find(is_same) {
            Some(known) => known.named |= named,
            None => {
                let driver = Driver::Icd { library: name, origin: file.to_path_buf() };
                self.drivers.push(Candidate { driver, named });
            }
        }
    }

    fn fail(&mut self, path: &Path, named: bool, kind: FailureKind, reason: &str) {
        let failure = DriverFailure::new(kind, reason);
        self.failed.push(FailedDriver { driver: path.display().to_string(), named, failure });
    }
}

/// The most bytes of an `.icd` file.
const MOST_ICD: u64 = 64 << 10;

/// The library that an `.icd` file names. Loaders pass over a file that names none without a word, and take blanks,
/// `\r` and a byte order mark for a part of the name.
fn library_in(file: &Path) -> Result<String, String> {
    let content = files::open_found(file)
        .and_then(|file| files::read_text(file, MOST_ICD))
        .map_err(|error| format!("the .icd file cannot be read: {error}"))?;
    let library = content.split('\n').next().unwrap_or_default();
    match library.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{feff}') {
        "" => Err("the .icd file is empty".to_owned()),
        trimmed if trimmed == library => Ok(library.to_owned()),
        trimmed => Err(format!(
            "the .icd file names {library:?}, and loaders look for it with its blanks: write {trimmed}, without \
             blanks and byte order mark, and with the line end \\n"
        )),
    }
}

/// Returns whether this is a name that the system's linker looks up.
fn is_bare_name(library: &Path) -> bool {
    library.components().count() == 1 && !library.has_root()
}

/// Returns the path of a library from the root, or its name if it is one that the system's linker looks up.
pub fn absolute(library: &Path) -> PathBuf {
    let is_file = !is_bare_name(library) || library.exists();
    let file = std::path::absolute(library).ok().filter(|_| is_file);
    file.unwrap_or_else(|| library.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn libraries(found: &Candidates) -> Vec<String> {
        found
            .drivers
            .iter()
            .map(|candidate| match &candidate.driver {
                Driver::Icd { library, .. } => library.clone(),
                Driver::Loader => "as is".to_owned(),
            })
            .collect()
    }

    fn vendors(path: PathBuf) -> LoaderVariables {
        LoaderVariables { vendors: Some(("OCL_ICD_VENDORS", path)), ..LoaderVariables::default() }
    }

    #[test]
    fn drivers_come_from_folders_files_and_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("b.icd"), "libb.so.1").unwrap();
        fs::write(at("a.icd"), "/opt/liba.so\nrest is ignored").unwrap();
        fs::write(at("blank.icd"), "libblank.so \n").unwrap();
        fs::write(at("dos.icd"), "libdos.so\r\n").unwrap();
        fs::write(at("empty.icd"), "").unwrap();
        fs::write(at("garbage.icd"), [0xff, 0xfe]).unwrap();
        fs::write(at("readme.txt"), "libnot.so").unwrap();
        let all = drivers(&vendors(folder.path().into()), &[]);
        assert_eq!(libraries(&all), ["/opt/liba.so", "libb.so.1"]);
        let failed: Vec<_> = all.failed.iter().map(ToString::to_string).collect();
        assert_eq!(failed.len(), 4, "{failed:?}");
        assert!(
            failed[0].contains("blank.icd: the .icd file names \"libblank.so \""),
            "{failed:?}"
        );
        assert!(failed[1].contains("names \"libdos.so\\r\", and loaders look"), "{failed:?}");
        assert_eq!(failed[2], format!("{}: the .icd file is empty", at("empty.icd").display()));
        assert!(failed[3].contains("garbage.icd: the .icd file cannot be read: "), "{failed:?}");

        let one = vendors(at("b.icd"));
        assert_eq!(libraries(&drivers(&one, &[])), ["libb.so.1"]);
        let added = drivers(&one, &["/x/libnew.so".into(), at("b.icd")]);
        assert_eq!(
            libraries(&added),
            ["libb.so.1", "/x/libnew.so"],
            "an added library comes last, one that is there already not again"
        );
        assert!(added.drivers.iter().all(|candidate| candidate.named));
        let nothing = vendors(at("absent"));
        assert_eq!(libraries(&drivers(&nothing, &[])), [""; 0], "no loader minds");
        let added = [at("libabsent.so")];
        assert_eq!(libraries(&drivers(&nothing, &added)), [added[0].display().to_string()]);
    }

    #[test]
    fn an_added_path_without_a_driver_fails() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().to_path_buf(), folder.path().join("absent.icd")] {
            let found = drivers(&LoaderVariables::default(), std::slice::from_ref(&path));
            let failed = found.failed.iter().find(|failed| failed.driver == path.to_string_lossy());
            assert!(failed.unwrap().named, "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_cannot_be_read_fails_with_the_reason() {
        let mut found = Candidates::default();
        // Permissions do not stop root from reading a folder, so it is a file.
        let file = tempfile::NamedTempFile::new().unwrap();
        found.add_folder(file.path(), false);
        let failed: Vec<_> = found.failed.iter().map(ToString::to_string).collect();
        assert_eq!(failed.len(), 1, "{failed:?}");
        let expected = format!("{}: the folder cannot be read: ", file.path().display());
        assert!(failed[0].starts_with(&expected), "{failed:?}");
    }

    #[test]
    fn a_vendors_variable_that_leads_nowhere_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = vendors(folder.path().into()).empty_vendors().unwrap();
        assert!(empty.ends_with("which has no .icd file"), "{empty}");
        let absent = vendors("/nowhere".into()).empty_vendors().unwrap();
        assert_eq!(absent, "OCL_ICD_VENDORS names /nowhere, which does not exist");
        let both = std::env::join_paths(["/etc", "/nowhere"]).unwrap();
        let list = vendors(both.into()).empty_vendors().unwrap();
        assert!(list.contains("/nowhere, which does not exist: the variable names one"), "{list}");
        fs::write(folder.path().join("a.icd"), "liba.so").unwrap();
        assert_eq!(vendors(folder.path().into()).empty_vendors(), None);
        assert_eq!(vendors("libpocl.so".into()).empty_vendors(), None, "for the linker");
    }

    #[test]
    fn a_driver_in_the_loaders_place_hides_the_vendors() {
        let direct = LoaderVariables {
            loader: Some("/opt/libintelocl.so".into()),
            ..vendors("/etc/OpenCL/vendors".into())
        };
        assert!(direct.bypass_the_loader());
        assert!(drivers(&direct, &[]).drivers.is_empty());
        let added = drivers(&direct, &["/x/libnew.so".into()]);
        assert!(added.drivers.is_empty());
        assert!(added.failed[0].named && added.failed[0].to_string().contains("OPENCL_DYLIB_PATH"));
        let loader = LoaderVariables {
            loader: Some("/opt/libOpenCL-5519dec5.so.1.0.0".into()),
            ..LoaderVariables::default()
        };
        assert!(!loader.bypass_the_loader());
    }

    #[test]
    fn a_driver_can_write_its_cache_and_its_diagnostics() {
        let state = tempfile::tempdir().unwrap();
        let environment = Driver::Loader.environment(state.path()).unwrap();
        let value = |name: &str| environment.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        assert_eq!(value("OCLGRIND_LOG"), Some(&None));
        if variable::value("POCL_CACHE_DIR").is_none() {
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
