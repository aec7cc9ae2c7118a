//! The key `slots`.

use std::str::FromStr;

use clmatrix::select::DeviceType;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Value;

/// The most slots of a processor by default.
const MOST_OF_CPU: usize = 8;

/// The most slots of a GPU or an accelerator by default. Drivers create the contexts of several processes one after
/// another, so more slots gain nothing.
const MOST_OF_OTHERS: usize = 4;

/// The number of tests that may run on a device at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "usize")]
#[cfg_attr(feature = "schema", schemars(with = "std::num::NonZeroUsize"))]
pub enum Slots {
    /// A number by the kind of device and the processors of the machine; 1 until it is known.
    #[default]
    Auto,
    /// This number, at least 1.
    Count(usize),
}

/// The devices whose tests run at the same time, and the processors that they share.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// The processors that this process may use.
    pub processors: usize,
    /// The devices.
    pub devices: usize,
    /// The devices among them that are processors.
    pub cpus: usize,
}

impl Slots {
    /// Returns the number.
    pub fn count(self) -> usize {
        match self {
            Self::Auto => 1,
            Self::Count(count) => count,
        }
    }

    /// Returns the number for a device of these types: for a processor its share of the processors, for all others
    /// four, and not more than the processors per device.
    pub(crate) fn on(self, types: DeviceType, together: Together) -> Self {
        let Together { processors, devices, cpus } = together;
        let (share, most) = match types.contains(DeviceType::CPU) {
            true => (processors / cpus.max(1), MOST_OF_CPU),
            false => (processors / devices.max(1), MOST_OF_OTHERS),
        };
        match self {
            Self::Auto => Self::Count(share.clamp(1, most)),
            count => count,
        }
    }
}

impl From<Slots> for usize {
    fn from(slots: Slots) -> Self {
        slots.count()
    }
}

impl FromStr for Slots {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(count @ 1..)) => Ok(Self::Count(count)),
            _ => Err("not `auto` or a whole number of at least 1"),
        }
    }
}

impl<'de> Deserialize<'de> for Slots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = &"\"auto\" or a whole number of at least 1";
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == "auto" => Ok(Self::Auto),
            Value::Integer(count @ 1..) => Ok(Self::Count(count as usize)),
            Value::String(text) => Err(D::Error::invalid_value(Unexpected::Str(&text), expected)),
            Value::Integer(count) => {
                Err(D::Error::invalid_value(Unexpected::Signed(count), expected))
            }
            other => Err(D::Error::invalid_type(Unexpected::Other(other.type_str()), expected)),
        }
    }
}

/// The forms of the key.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes the value")]
pub(super) enum Written {
    /// `"auto"`.
    Auto(Auto),
    /// The number.
    Count(std::num::NonZeroUsize),
}

/// The word `auto`.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "it describes the value")]
pub(super) enum Auto {
    /// A number for the kind of device and the processors of the machine.
    Auto,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_share_the_processors() {
        let [cpu, gpu, accelerator] = [DeviceType::CPU, DeviceType::GPU, DeviceType::ACCELERATOR];
        let on = |types, processors, devices, cpus| {
            Slots::Auto.on(types, Together { processors, devices, cpus }).count()
        };
        let cases = [
            (on(cpu, 16, 1, 1), 8),
            (on(cpu, 16, 5, 4), 4),
            (on(cpu, 2, 4, 4), 1),
            (on(gpu, 16, 2, 1), 4),
            (on(gpu, 16, 8, 0), 2),
            (on(accelerator, 1, 3, 1), 1),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
        let together = Together { processors: 16, devices: 1, cpus: 1 };
        assert_eq!(Slots::Count(3).on(cpu, together), Slots::Count(3));
    }

    #[test]
    fn options_are_auto_or_a_number() {
        assert_eq!("auto".parse(), Ok(Slots::Auto));
        assert_eq!("3".parse(), Ok(Slots::Count(3)));
        assert!(["0", "-1", "many", ""].iter().all(|text| text.parse::<Slots>().is_err()));
    }
}
