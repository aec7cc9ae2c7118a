//! Worker processes: each is bound to one device, sees only that device's driver, and runs test
//! after test until one goes wrong.
//!
//! [`parent`] is the runner's side, [`child`] the worker's, [`protocol`] has the messages, [`capture`]
//! captures the output of a test. [`driver_probe`] has workers list the platforms.

pub mod capture;
pub mod child;
pub mod commands;
pub(crate) mod contexts;
mod device_probe;
pub mod driver_probe;
pub mod job;
pub mod job_call;
mod kept_context;
mod leak_check;
pub mod parent;
mod process_state;
pub(crate) mod property;
pub mod protocol;
pub mod ran;
