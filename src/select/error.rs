//! The errors of a selection, with the available platforms and devices.

use super::catalog::PlatformInfo;

/// The part of a selection that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Piece {
    /// The number of its entry, from 1: entries are separated by `;` in PYOPENCL_TEST, by `:` in PYOPENCL_CTX.
    pub entry: usize,
    /// The piece as it was written.
    pub text: String,
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} (entry {})", self.text, self.entry)
    }
}

/// The reasons why a selection is refused. `found` lists the platforms and devices that there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// An entry has more than one `:`.
    #[error("{0}: expected PLATFORM or PLATFORM:DEVICE,DEVICE,...; separate entries with `;`")]
    Syntax(Piece),
    /// A pattern is invalid.
    #[error("{piece}: not a pattern: {reason}")]
    Pattern {
        /// The pattern.
        piece: Piece,
        /// The reason.
        reason: String,
    },
    /// No platform has this name or matches this pattern.
    #[error("no platform matches {piece}; there are:{found}")]
    NoSuchPlatform {
        /// The name or pattern.
        piece: Piece,
        /// The platforms and devices of the machine.
        found: String,
    },
    /// A platform's index is out of range.
    #[error("platform index {piece} is out of range; there are:{found}")]
    PlatformIndex {
        /// The index.
        piece: Piece,
        /// The platforms and devices of the machine.
        found: String,
    },
    /// No device has this name or matches this pattern.
    #[error("no device matches {piece} on {platforms}; there are:{found}")]
    NoSuchDevice {
        /// The name or pattern.
        piece: Piece,
        /// The platforms that were searched.
        platforms: String,
        /// The platforms and devices of the machine.
        found: String,
    },
    /// A device's index is out of range.
    #[error("device index {piece} is out of range on {platforms}; there are:{found}")]
    DeviceIndex {
        /// The index.
        piece: Piece,
        /// The platforms that were searched.
        platforms: String,
        /// The platforms and devices of the machine.
        found: String,
    },
    /// The chosen platforms have no device.
    #[error("{piece} chooses {platforms}, which has no device; there are:{found}")]
    WithoutDevices {
        /// The platform's name, index or pattern.
        piece: Piece,
        /// The platforms that it chooses.
        platforms: String,
        /// The platforms and devices of the machine.
        found: String,
    },
    /// There is no device at all.
    #[error("there is no device; platforms:{found}")]
    NoDevices {
        /// The platforms and devices of the machine.
        found: String,
    },
    /// PYOPENCL_CTX has too many parts.
    #[error(
        "{0}: PYOPENCL_CTX has at most two parts, a platform and its devices; this is the third"
    )]
    LeftOver(Piece),
}

/// The reasons why a text is not a [`PlatformPattern`](super::PlatformPattern).
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// An index: the order of platforms differs from machine to machine.
    #[error("a platform has no index here: use a part of its name or vendor")]
    Index,
    /// An invalid pattern, with the reason.
    #[error("invalid glob: {0}")]
    Glob(String),
}

/// The platforms and devices with their indices, a line each.
pub(super) fn listing(platforms: &[PlatformInfo]) -> String {
    let mut lines = String::new();
    for (index, platform) in platforms.iter().enumerate() {
        lines += &format!("\n  {index}: {} ({})", platform.name, platform.vendor);
        for (index, device) in platform.devices.iter().enumerate() {
            let kind = device.device_type;
            lines += &format!("\n     {index}: {} ({}), {kind}", device.name, device.vendor);
        }
        if platform.devices.is_empty() {
            lines += "\n     no device";
        }
    }
    if lines.is_empty() { " no platforms".to_owned() } else { lines }
}
