//! A device with its answers and measurements.

use clmatrix::select::DeviceInfo;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::measure::Measured;
use crate::{Characterization, Verdict};

/// One device in the output of `clmatrix characterize --format json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CharacterizedDevice {
    /// CL_DEVICE_NAME.
    pub name: String,
    /// CL_PLATFORM_NAME.
    pub platform: String,
    /// CL_DRIVER_VERSION.
    pub driver_version: String,
    /// The answers, unless there is an error.
    #[serde(flatten)]
    pub characterization: Option<Characterization>,
    /// The reason why there are no answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The measurements, by their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub measured: IndexMap<String, Measured>,
    /// The comparison of measurements with PyOpenCL's answers of the same names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub verdicts: IndexMap<String, Verdict>,
}

/// The devices of one call of `clmatrix characterize`, by their ids.
pub type Devices = IndexMap<String, CharacterizedDevice>;

impl CharacterizedDevice {
    /// Returns a device of the platform of this name, without answers.
    pub fn new(platform: &str, info: &DeviceInfo) -> Self {
        Self {
            name: info.name.clone(),
            platform: platform.to_owned(),
            driver_version: info.driver_version.clone(),
            characterization: None,
            error: None,
            measured: IndexMap::new(),
            verdicts: IndexMap::new(),
        }
    }

    /// Returns id, name, platform and driver on one line.
    pub fn title(&self, id: &str) -> String {
        let Self { name, platform, driver_version, .. } = self;
        format!("{id}: {name} ({platform}), driver {driver_version}")
    }

    /// Adds measurements.
    pub fn add(&mut self, measured: impl IntoIterator<Item = Measured>) {
        let named = |measured: Measured| (measured.name.clone(), measured);
        self.measured.extend(measured.into_iter().map(named));
        self.verdicts = self.judged();
    }
}
