//! The devices that a benchmark measures.

use std::env;

use clmatrix::select::{DeviceInfo, Selection, platforms};
use clmatrix::{Context, Device};

/// A device to be measured, with what is needed to find it again.
pub struct Subject {
    pub platform: usize,
    pub number: usize,
    pub platform_name: String,
    pub device: Device,
    pub info: DeviceInfo,
}

impl Subject {
    pub fn context(&self) -> Context {
        Context::from_device(&self.device).expect("a context")
    }

    /// The device, its driver, and what this executable was made of and with.
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

/// What CLMATRIX_TEST says, else PoCL.
pub fn chosen() -> Vec<Subject> {
    let wish = env::var("CLMATRIX_TEST").unwrap_or_else(|_| "Portable Computing Language".into());
    let platforms = platforms().unwrap_or_else(|error| panic!("{error}"));
    let infos: Vec<_> = platforms.iter().map(|platform| platform.info.clone()).collect();
    let found = Selection::parse_clmatrix(&wish)
        .and_then(|selection| selection.resolve(&infos))
        .unwrap_or_else(|error| panic!("CLMATRIX_TEST={wish}: {error}"));
    let subject = |(platform, number): (usize, usize)| Subject {
        platform,
        number,
        platform_name: infos[platform].name.clone(),
        device: platforms[platform].devices[number],
        info: infos[platform].devices[number].clone(),
    };
    found.into_iter().map(subject).collect()
}

/// Tells the way to other machines.
pub fn print_where_this_is() {
    let path = env::current_exe().map_or_else(|_| "it".into(), |path| path.display().to_string());
    println!("\nTo measure on another machine: copy {path} there and run it; --help says how.");
}

/// The compiler's version, which it notes in what it makes.
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
