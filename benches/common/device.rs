//! The devices that a benchmark measures.

use std::env;

use clmatrix::select::{DeviceInfo, Selection, platforms};
use clmatrix::{Context, Device};

/// A device to be measured, and its position among the platforms.
pub struct Subject {
    pub platform: usize,
    pub number: usize,
    pub platform_name: String,
    pub device: Device,
    pub info: DeviceInfo,
}

impl Subject {
    pub fn context(&self) -> Context {
        Context::new([&self.device]).expect("a context")
    }

    /// The names and versions of the device, the driver, this crate and the compiler.
    pub fn header(&self) -> String {
        let Self { platform_name, info, .. } = self;
        format!(
            "{} ({platform_name})\ndriver {}, {}\nclmatrix {}, rustc {}",
            info.name,
            info.driver_version,
            info.version,
            env!("CARGO_PKG_VERSION"),
            rustc_version()
        )
    }
}

/// The devices that CLMATRIX_TEST selects, else those of the platforms in `defaults` that the
/// machine has.
///
/// # Panics
/// If there is no such device.
pub fn chosen(defaults: &[&str]) -> Vec<Subject> {
    let platforms = platforms().unwrap_or_else(|error| panic!("{error}"));
    let infos: Vec<_> = platforms.iter().map(|platform| platform.info.clone()).collect();
    let resolve = |wish: &str| Selection::parse_clmatrix(wish)?.resolve(&infos);
    let found: Vec<_> = match env::var("CLMATRIX_TEST") {
        Ok(wish) => resolve(&wish).unwrap_or_else(|error| panic!("CLMATRIX_TEST={wish}: {error}")),
        Err(_) => defaults.iter().filter_map(|name| resolve(name).ok()).flatten().collect(),
    };
    assert!(!found.is_empty(), "no device of {defaults:?}: CLMATRIX_TEST selects others");
    let subject = |(platform, number): (usize, usize)| Subject {
        platform,
        number,
        platform_name: infos[platform].name.clone(),
        device: platforms[platform].devices[number].clone(),
        info: infos[platform].devices[number].clone(),
    };
    found.into_iter().map(subject).collect()
}

/// The platform of the default device.
pub const POCL: &str = "Portable Computing Language";

/// Prints how to measure on another machine.
pub fn print_where_this_is() {
    let path = env::current_exe().map_or_else(|_| "it".into(), |path| path.display().to_string());
    println!("\nTo measure on another machine: copy {path} there and run it; --help says how.");
}

/// The version of the compiler, which it writes into executables.
fn rustc_version() -> String {
    const NOTE: &[u8] = b"rustc version ";
    let executable = env::current_exe().and_then(std::fs::read).unwrap_or_default();
    let notes = executable.windows(NOTE.len()).enumerate().filter(|(_, bytes)| *bytes == NOTE);
    notes
        .map(|(position, _)| &executable[position + NOTE.len()..])
        .find(|text| text[0].is_ascii_digit())
        .and_then(|text| text.split(|byte| *byte == 0).next())
        .map_or_else(|| "unknown".into(), |text| String::from_utf8_lossy(text).into_owned())
}
