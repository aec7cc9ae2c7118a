//! The checkouts of the suite and of the headers, and the build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::group::Group;
use crate::process;

/// The repositories, each a folder of the source.
const REPOSITORIES: [&str; 3] = ["OpenCL-CTS", "OpenCL-Headers", "SPIRV-Headers"];

/// The programs that the build needs, with their packages in Debian and Ubuntu.
const TOOLS: [(&str, &str); 3] = [("cmake", "cmake"), ("make", "make"), ("c++", "g++")];

/// The library to link, and its package.
const LIBRARY: (&str, &str) = ("libOpenCL.so.1", "ocl-icd-libopencl1");

/// The folder of the checkouts.
pub struct Source {
    /// In the order of [`REPOSITORIES`].
    checkouts: [PathBuf; 3],
    /// The OpenCL loader.
    library: PathBuf,
}

impl Source {
    /// Fails with advice unless the checkouts and all tools are there.
    pub fn find(folder: &Path) -> Result<Self> {
        let folder = std::path::absolute(folder)?;
        let checkouts = REPOSITORIES.map(|name| folder.join(name));
        for (name, checkout) in REPOSITORIES.iter().zip(&checkouts) {
            ensure!(
                checkout.join("CMakeLists.txt").is_file(),
                "{} is not there: `git clone https://github.com/KhronosGroup/{name} {0}`",
                checkout.display(),
            );
        }
        let runs = |tool: &str| process::output(Command::new(tool).arg("--version")).is_ok();
        let mut missing: Vec<&str> =
            TOOLS.iter().filter(|(tool, _)| !runs(tool)).map(|(_, package)| *package).collect();
        let library = library();
        if library.is_none() {
            missing.push(LIBRARY.1);
        }
        let advice = || {
            format!(
                "the build needs more programs (Debian, Ubuntu: `apt-get install {}`)",
                missing.join(" ")
            )
        };
        let library = library.filter(|_| missing.is_empty()).with_context(advice)?;
        Ok(Self { checkouts, library })
    }

    /// Builds the programs of the groups.
    pub fn build(&self, folder: &Path, groups: &[Group]) -> Result<()> {
        eprintln!("Building {} programs in {}", groups.len(), folder.display());
        let [cts, opencl, spirv] = &self.checkouts;
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(cts).arg("-B").arg(folder);
        // The compiler takes the most time. The tests' own code is not measured.
        configure.args(["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1"]);
        configure.args(["-DCMAKE_CXX_FLAGS_RELEASE=-O1", "--log-level=WARNING"]);
        let folder_of = |path: &Path| path.parent().unwrap_or(path).to_owned();
        for (name, path) in [
            ("CL_INCLUDE_DIR", opencl),
            ("SPIRV_INCLUDE_DIR", spirv),
            ("CL_LIB_DIR", &folder_of(&self.library)),
            ("OPENCL_LIBRARIES", &self.library),
        ] {
            configure.arg(format!("-D{name}={}", path.display()));
        }
        process::run(&mut configure)?;
        let mut build = Command::new("cmake");
        build.arg("--build").arg(folder).arg("--parallel");
        build.arg(thread::available_parallelism()?.to_string()).arg("--target");
        build.args(groups.iter().map(Group::target));
        process::run(&mut build)
    }

    /// The checkout of the suite.
    pub fn suite(&self) -> &Path {
        &self.checkouts[0]
    }

    /// The name and the commit of each checkout.
    pub fn commits(&self) -> Result<Vec<(&'static str, String)>> {
        let commit = |(name, checkout): (&&'static str, &PathBuf)| {
            let mut git = Command::new("git");
            let output = process::output(git.arg("-C").arg(checkout).args(["rev-parse", "HEAD"]))?;
            ensure!(output.status.success(), "`{}` failed", process::line(&git));
            Ok((*name, String::from_utf8_lossy(&output.stdout).trim().to_owned()))
        };
        REPOSITORIES.iter().zip(&self.checkouts).map(commit).collect()
    }
}

/// Asks the compiler for the path of the loader.
fn library() -> Option<PathBuf> {
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut ask = Command::new(compiler);
    let output = process::output(ask.arg(format!("-print-file-name={}", LIBRARY.0))).ok()?;
    // The compiler prints the name alone if it finds no file.
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    path.canonicalize().ok().filter(|_| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::TempFolder;

    #[test]
    fn a_missing_checkout_has_the_command_that_makes_it() {
        let folder = TempFolder::new("cts");
        let error = Source::find(&folder.0).err().unwrap().to_string();
        let path = folder.0.join("OpenCL-CTS").display().to_string();
        let command = format!("`git clone https://github.com/KhronosGroup/OpenCL-CTS {path}`");
        assert!(error.contains(&command), "{error}");
    }
}
