//! The key `type`: types of devices.

use clmatrix::select::DeviceType;
use serde::Deserialize as _;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use super::text_value::{Text, deserialize_from_text};
use crate::devices::device_kind::DeviceKind;

/// Types of which a device has at least one.
#[derive(Clone, Debug)]
pub(super) struct DeviceKinds(Vec<DeviceKind>);

impl Text for DeviceKinds {
    const EXPECTED: &str =
        "a type of devices, or several: `cpu`, `gpu`, `accelerator`, `custom`, `{cpu,accelerator}`";

    fn parse(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let names = inner.map_or(vec![text], |inner| inner.split(',').map(str::trim).collect());
        let kinds = names.into_iter().map(|name| DeviceKind::deserialize(name.into_deserializer()));
        let kinds: Result<_, Error> = kinds.collect();
        kinds.map(Self).map_err(|error| error.to_string())
    }
}

deserialize_from_text!(DeviceKinds);

impl DeviceKinds {
    /// Returns whether one is among the types of a device.
    pub(super) fn are_among(&self, types: DeviceType) -> bool {
        self.0.iter().any(|kind| kind.is_among(types))
    }
}
