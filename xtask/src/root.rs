//! A root file system of another release of Debian, with versions of drivers that this release lacks.
//!
//! debootstrap makes the root beside the other runtimes. [`run`] enters it in a mount namespace of its own, in which
//! the checkout and cargo's target folder have the paths that they have outside: the configuration, the reports and
//! the caches of drivers are those of `cargo xtask matrix`. The mounts end with the last process in the namespace,
//! even if it is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use clmatrix_runner::provision::wheels::{self, WheelSet};
use clmatrix_runner::provision::{Environment, Runtime};

use crate::apt;
use crate::ci_matrix::ENABLE_RUSTICL;
use crate::files::{self, cannot};
use crate::process;
use crate::workspace::Workspace;

/// The source of packages.
const MIRROR: &str = "http://deb.debian.org/debian";

/// The packages beside those of `--variant=minbase`.
const PACKAGES: &str = "mesa-opencl-icd,ocl-icd-libopencl1,pocl-opencl-icd";

/// The file in a root that says from which packages it was made.
const STAMP: &str = "clmatrix.txt";

/// Intel's CPU runtime, an older version than in the CI matrix.
const INTEL: WheelSet = WheelSet {
    folder: "intel",
    title: "Intel's CPU runtime",
    pins: &[
        (
            "intel-opencl-rt",
            "2025.1.1",
            "0e194c2ba8540a41b811721ced9de88ec0bb8eba17cc4a46af91f8ce67941bc1",
        ),
        (
            "intel-cmplr-lib-rt",
            "2025.1.1",
            "42409cfb10b8ed2c90fa985cf156f26b51cec61b1fb0bdff04afdeefa1afd875",
        ),
        ("tbb", "2022.1.0", "4992a3f2268b33f9a7b4c274af9d7001f550e74246436647b267d58e4947628a"),
    ],
    options: &["--ignore-installed", "--prefix"],
    size: "248 MB to download, 536 MB on disk, 814 MB while unpacking",
    licence: "proprietary: Intel End User License Agreement for Developer Tools",
};

/// Mounts folders in the root `$1` and runs a command there: `$2` is the workspace, `$3` cargo's target folder.
const ENTER: &str = r#"
root=$1 workspace=$2 target=$3
shift 3
for path in "$workspace" "$target" /proc /sys /dev; do
    mkdir -p "$root$path"
    mount --rbind "$path" "$root$path"
done
exec chroot "$root" env --chdir="$workspace" "$@"
"#;

/// The releases.
// The comments of the variants are what `--help` says of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Root {
    /// Debian 13: PoCL 6, rusticl of Mesa 25 on llvmpipe, and Intel's CPU runtime 2025 from PyPI
    Trixie,
}

impl Root {
    /// The name of the release, on the command line and in Debian's archive.
    fn release(self) -> &'static str {
        match self {
            Self::Trixie => "trixie",
        }
    }

    fn folder(self, workspace: &Workspace) -> PathBuf {
        workspace.runtimes.join(self.release())
    }

    /// The command that `clmatrix` prints before the id of a test to rerun.
    fn rerun_prefix(self) -> String {
        format!("cargo xtask matrix --root {} --", self.release())
    }
}

/// Makes the root, unless it is there, and prints the versions of its drivers.
pub fn provision(workspace: &Workspace, root: Root) -> Result<()> {
    check_user()?;
    let folder = root.folder(workspace);
    if !is_ready(&folder) {
        let mut packages = vec!["debootstrap", "debian-archive-keyring"];
        if !wheels::has_pip() {
            packages.push("python3-pip");
        }
        apt::install(&packages).context(
            "the root is made by debootstrap: install the packages debootstrap and debian-archive-keyring",
        )?;
        make(root.release(), &folder)?;
    }
    println!("The root {} is set up:", folder.display());
    let mut query = Command::new("dpkg-query");
    query.arg("--admindir").arg(folder.join("var/lib/dpkg"));
    query.args(["--show", "--showformat=  ${Package} ${Version}\n"]);
    let versions = process::output(query.args(["pocl-opencl-icd", "mesa-opencl-icd"]))?;
    print!("{}", String::from_utf8_lossy(&versions.stdout));
    let (name, version, _) = INTEL.pins[0];
    println!("  {name} {version}");
    Ok(())
}

/// Becomes `clmatrix run` in the root, with its optimized binary.
pub fn run(workspace: &Workspace, root: Root, arguments: &[String]) -> Result<()> {
    check_user()?;
    let folder = root.folder(workspace);
    let release = root.release();
    ensure!(
        is_ready(&folder),
        "{} is missing or incomplete: run `cargo xtask provision --root {release}`",
        folder.display()
    );
    let clmatrix = workspace.build_optimized_clmatrix()?;
    let mut enter = Command::new("unshare");
    enter.args(["--mount", "sh", "-euc", ENTER, "sh"]);
    enter.args([&folder, &workspace.root, &workspace.target]);
    enter.arg(clmatrix).arg("run").args(arguments);
    enter.env("CLMATRIX_RERUN", root.rerun_prefix());
    // A folder of the host.
    enter.env_remove("TMPDIR");
    Environment::blank().set(ENABLE_RUSTICL.0, ENABLE_RUSTICL.1).apply(&mut enter);
    eprintln!("OpenCL devices: the root {}", folder.display());
    Err(process::exec(enter))
}

fn check_user() -> Result<()> {
    ensure!(
        process::is_root(),
        "debootstrap, mount and chroot take root: run this command as root"
    );
    Ok(())
}

/// Returns whether the root was made to its end, from the packages that are named here.
fn is_ready(folder: &Path) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|stamp| stamp == PACKAGES)
        && INTEL.is_ready(&folder.join("opt"))
}

/// Makes a root under another name and renames it, so that it appears complete or not at all.
fn make(release: &str, folder: &Path) -> Result<()> {
    let partial = folder.with_extension("partial");
    files::remove_tree(&partial)?;
    fs::create_dir_all(&partial).with_context(|| cannot("create", &partial))?;
    eprintln!("Making a root of Debian with debootstrap, in {}: 1.7 GB", folder.display());
    // In a namespace, since debootstrap leaves its mounts behind when it is killed.
    let mut debootstrap = Command::new("unshare");
    debootstrap.args(["--mount", "debootstrap", "--variant=minbase", "--include", PACKAGES]);
    process::run(debootstrap.arg(release).arg(&partial).arg(MIRROR))?;
    for downloads in ["var/cache/apt/archives", "var/lib/apt/lists"] {
        files::remove_tree(&partial.join(downloads))?;
    }
    INTEL.install(&partial.join("opt"))?;
    show_drivers(&partial)?;
    let stamp = partial.join(STAMP);
    fs::write(&stamp, PACKAGES).with_context(|| cannot("write", &stamp))?;
    files::remove_tree(folder)?;
    fs::rename(&partial, folder).with_context(|| cannot("create", folder))
}

/// Registers Intel's runtime, and hides Mesa's old driver, Clover.
fn show_drivers(root: &Path) -> Result<()> {
    let vendors = root.join("etc/OpenCL/vendors");
    let clover = vendors.join("mesa.icd");
    fs::remove_file(&clover).with_context(|| cannot("remove", &clover))?;
    let library = INTEL.library(&root.join("opt"), "libintelocl.so")?;
    let icd = vendors.join(format!("{}.icd", Runtime::Intel.name()));
    let library = Path::new("/").join(library.strip_prefix(root)?);
    fs::write(&icd, format!("{}\n", library.display())).with_context(|| cannot("write", &icd))
}
