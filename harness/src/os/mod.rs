//! The operating system: processes, their groups, pipes and exits.
//!
//! Everything else in this crate is portable. Another system is one more file here with the same
//! items as [`linux`].

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!("clmatrix-harness runs on Linux; another system needs a file beside os/linux.rs");
