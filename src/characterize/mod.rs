//! What a device is like: guesses by vendor and version for code that wants to suit it
//! (PyOpenCL's `pyopencl.characterize`).
//!
//! [`Facts`] are what the driver tells; each of PyOpenCL's functions is a method of them. Most
//! answers follow from the facts alone, so facts that somebody has written down, or made up, are
//! answered for as well. For a few a kernel has to be built: these methods take a [`TrialBuild`],
//! which is a device, or a context and a device.
//!
//! An answer that is a guess says so: it is a [`Characterized`] value, which carries its
//! [`CharacterizationWarning`]s. [`table`] has all answers at once.
//!
//! The answers are PyOpenCL's on any device, including those that are not what one would expect;
//! `cargo xtask oracle` compares them.
//!
//! ```
//! use clmatrix::Device;
//! use clmatrix::characterize::Facts;
//!
//! # fn main() -> clmatrix::Result<()> {
//! let context = clmatrix::create_some_context()?;
//! let device = Device::new(context.default_device());
//! let facts = Facts::of(&device)?;
//! let options = facts.fast_inaccurate_build_options().join(" ");
//! assert!(options.contains("-cl-mad-enable"));
//! assert!(facts.usable_local_mem_size(None) <= device.local_mem_size()?);
//!
//! let side_by_side = facts.simultaneous_work_items_on_local_access();
//! for warning in &side_by_side.warnings {
//!     println!("{warning}");
//! }
//! assert!([1, 16, 32].contains(&side_by_side.value));
//! # Ok(())
//! # }
//! ```

mod bank_conflict;
mod build;
mod facts;
mod fp64;
mod local_memory;
pub mod measure;
mod pocl;
mod simd;
mod svm;
mod table;
mod trial_build;
mod vendor;
mod verdict;
mod warning;

pub use bank_conflict::{BankConflict, LocalAccess};
pub use build::StructArgCountBug;
pub use facts::{Facts, LocalMemType};
pub use table::{Answer, Row, table};
pub use trial_build::{FactsOnly, TrialBuild};
pub use vendor::{Amd, Nvidia};
pub use verdict::Verdict;
pub use warning::{CharacterizationWarning, Characterized};
