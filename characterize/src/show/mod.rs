//! Characterizations as text, tables and curves.
//!
//! ```
//! use clmatrix::select::platforms;
//! use clmatrix_characterize::{Characterization, CharacterizedDevice};
//!
//! # fn main() -> clmatrix::Result<()> {
//! for platform in platforms()? {
//!     for (device, info) in platform.devices.iter().zip(&platform.info.devices) {
//!         let mut shown = CharacterizedDevice::new(&platform.info.name, info);
//!         shown.characterization = Some(Characterization::query(device, false)?);
//!         println!("{}\n{}", shown.title("0:0"), shown.text_table().plain());
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod compare;
pub mod curve;
/// For the pages of `clmatrix-cli`.
#[doc(hidden)]
pub mod markdown;
mod side_by_side;
pub mod svg;
pub mod terminal;
pub mod text_table;
