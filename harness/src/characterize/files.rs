//! What a report folder has of measured devices.

use std::error::Error;
use std::fs;
use std::path::Path;

use super::{Devices, svg};
use crate::recorder::remove_reports;
use crate::report::file_name;

/// Writes `characterize.json`, and `curves/DEVICE/NAME.svg` for each curve.
pub fn write(devices: &Devices, folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("characterize.json"), serde_json::to_string_pretty(devices)? + "\n")?;
    for (id, device) in devices {
        let folder = folder.join("curves").join(file_name(id));
        // Those of an earlier call are about other measurements.
        remove_reports(&folder, "svg")?;
        let curves = device.curves();
        if !curves.is_empty() {
            fs::create_dir_all(&folder)?;
        }
        for (name, curve) in &curves {
            let title = format!("{name} ({id}, driver {})", device.driver_version);
            svg::draw(curve, &title, &folder.join(format!("{}.svg", file_name(name))))?;
        }
    }
    Ok(())
}
