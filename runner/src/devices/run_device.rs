//! A device in the event log and the reports.

use clmatrix::select::DeviceInfo;
use serde::{Deserialize, Serialize};

/// The device part of the id of a test that needs none.
pub const HOST: &str = "host";

/// Returns the id of a device on its host: without the `%HOST` of a merged run of several hosts.
pub fn without_host(id: &str) -> &str {
    id.split_once('%').map_or(id, |(id, _)| id)
}

/// A device under test, with the platform that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDevice {
    /// The stable slug, the part after `@` of a test's id.
    pub id: String,
    /// CL_PLATFORM_NAME, CL_PLATFORM_VENDOR and CL_PLATFORM_VERSION.
    pub platform: PlatformName,
    /// The driver's description of the device.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub info: DeviceInfo,
}

/// The strings that name a platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlatformName {
    /// CL_PLATFORM_NAME.
    pub name: String,
    /// CL_PLATFORM_VENDOR.
    pub vendor: String,
    /// CL_PLATFORM_VERSION.
    pub version: String,
}
