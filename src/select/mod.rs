//! Which platforms and devices there are, and which of them are meant.
//!
//! [`platforms`] asks the drivers once; [`Selection`] (PYOPENCL_TEST and patterns) and
//! [`choose_devices`] (PYOPENCL_CTX) work on its answer.

mod catalog;
mod enumerate;
mod error;
mod platform_pattern;
#[doc(hidden)]
pub mod query;
#[cfg(test)]
mod sample;
mod selection;
mod some_context;

pub use catalog::{DeviceInfo, DeviceType, PlatformInfo, Svm, Version};
pub use enumerate::{FoundPlatform, platforms};
pub use error::{Piece, SelectionError};
pub use platform_pattern::PlatformPattern;
pub use selection::Selection;
pub use some_context::{choose_devices, create_some_context};
