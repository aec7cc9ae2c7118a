//! Platforms and devices, and their selection.
//!
//! [`platforms`] queries the drivers once; [`Selection`] (PYOPENCL_TEST and patterns) and [`choose_devices`]
//! (PYOPENCL_CTX) work on its result.

mod catalog;
mod enumerate;
mod error;
mod platform_pattern;
mod properties;
pub(crate) mod query;
#[cfg(test)]
mod sample;
mod selection;
mod some_context;

pub use catalog::{DeviceInfo, DeviceType, PlatformInfo, SvmCapabilities, Version};
pub use enumerate::{FoundPlatform, platforms};
pub use error::{PatternError, Piece, SelectionError};
pub use platform_pattern::PlatformPattern;
pub use properties::PropertyValue;
pub use query::Query;
pub use selection::Selection;
pub use some_context::{choose_devices, create_some_context};
