//! The files of a characterization in a report folder.

use std::fs;
use std::io;
use std::path::PathBuf;

use clmatrix_characterize::Devices;
use clmatrix_characterize::show::svg;
use clmatrix_runner::files;
use clmatrix_runner::folders::entries;
use clmatrix_runner::log::store::remove_reports;
use clmatrix_runner::report::file_name;
use clmatrix_runner::terminal::AnyError;

/// A folder with `characterize.json` and `curves/DEVICE/NAME.svg`. The files of an earlier call stay
/// until there are new ones.
pub struct ReportFiles {
    folder: PathBuf,
    has_new: bool,
}

impl ReportFiles {
    /// Creates the folder and checks that it can be written to.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        tempfile::NamedTempFile::new_in(&folder)?;
        Ok(Self { folder, has_new: false })
    }

    /// Replaces `characterize.json`, which is complete at any time, and removes the curves of an earlier call.
    pub fn save(&mut self, devices: &Devices) -> Result<(), AnyError> {
        let json = serde_json::to_string_pretty(devices)? + "\n";
        files::replace(&self.folder.join("characterize.json"), json.as_bytes())?;
        if !self.has_new {
            self.has_new = true;
            let devices = entries(&self.folder.join("curves"))?.into_iter();
            for device in devices.filter(|device| device.is_dir() && !device.is_symlink()) {
                remove_reports(&device, "svg")?;
                // Fails if the folder has other files.
                let _ = fs::remove_dir(&device);
            }
        }
        Ok(())
    }

    /// Draws the curves of the saved devices. Returns the folder, if anything was saved.
    pub fn finish(&self, devices: &Devices) -> Result<Option<&PathBuf>, AnyError> {
        if !self.has_new {
            return Ok(None);
        }
        for (id, device) in devices {
            let folder = self.folder.join("curves").join(file_name(id));
            for (name, curve) in &device.curves() {
                fs::create_dir_all(&folder)?;
                let title = format!("{name} ({id}, driver {})", device.driver_version);
                let file = folder.join(format!("{}.svg", file_name(name)));
                files::replace(&file, svg::text(curve, &title)?.as_bytes())?;
            }
        }
        Ok(Some(&self.folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_until_there_is_something_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("curves/gone")).unwrap();
        for name in ["characterize.json", "curves/gone/banks.svg", "curves/kept.svg"] {
            fs::write(path(name), "earlier").unwrap();
        }
        let mut report = ReportFiles::new(folder.path().to_owned()).unwrap();
        assert_eq!(report.finish(&Devices::new()).unwrap(), None);
        assert_eq!(fs::read(path("characterize.json")).unwrap(), b"earlier");
        assert!(path("curves/gone/banks.svg").exists());
        report.save(&Devices::new()).unwrap();
        assert_eq!(fs::read(path("characterize.json")).unwrap(), b"{}\n");
        assert!(!path("curves/gone").exists() && path("curves/kept.svg").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no unfinished file");
        assert!(report.finish(&Devices::new()).unwrap().is_some());
    }

    #[test]
    fn a_folder_below_a_file_cannot_be_had() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(ReportFiles::new(file.path().join("reports")).is_err());
    }
}
