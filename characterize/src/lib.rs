//! Properties of OpenCL devices: PyOpenCL's answers (`pyopencl.characterize`), and measurements.
//!
//! [`Facts`] are the driver's information about a device; each of PyOpenCL's functions is a method of
//! them. Most answers follow from the facts alone, so facts may also be recorded or made up. A few
//! answers need the build of a kernel: their methods take a [`TrialBuild`], which is a device, or a
//! context and a device. [`table`] has all answers.
//!
//! A guess is a [`Characterized`] value with its [`CharacterizationWarning`]s. The answers are PyOpenCL's
//! on any device, including surprising ones; `cargo xtask oracle` compares them.
//!
//! [`measure`] measures what a device does, and [`Verdict`] compares a measurement with the answer.
//! [`CharacterizedDevice`] holds both, and [`show`] shows them as tables and curves, for one device or two
//! that are compared.
//!
//! ```
//! use clmatrix_characterize::Facts;
//!
//! # fn main() -> clmatrix::Result<()> {
//! let context = clmatrix::create_some_context()?;
//! let facts = Facts::query(context.default_device())?;
//! let options = facts.fast_inaccurate_build_options().join(" ");
//! assert!(options.contains("-cl-mad-enable"));
//! assert!(facts.usable_local_mem_size(None) <= facts.local_mem_size);
//!
//! let side_by_side = facts.simultaneous_work_items_on_local_access();
//! for warning in &side_by_side.warnings {
//!     println!("{warning}");
//! }
//! assert!([1, 16, 32].contains(&side_by_side.value));
//! # Ok(())
//! # }
//! ```

#![warn(missing_debug_implementations)]

/// The example of the page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bank_conflict;
mod build;
mod characterization;
mod characterized_device;
mod facts;
mod fp64;
mod local_memory;
pub mod measure;
mod pocl;
pub mod show;
mod simd;
mod svm;
mod table;
mod table_answer;
mod trial_build;
mod vendor;
mod verdict;
mod warning;

pub use bank_conflict::{BankConflict, LocalAccess};
pub use build::StructArgCountBug;
pub use characterization::Characterization;
pub use characterized_device::{CharacterizedDevice, Devices};
pub use facts::{Facts, LocalMemType};
pub use table::{Answer, Row, table};
pub use table_answer::TableAnswer;
pub use trial_build::{FactsOnly, TrialBuild};
pub use vendor::{Amd, Nvidia};
pub use verdict::Verdict;
pub use warning::{CharacterizationWarning, Characterized};
