//! Worker processes: each is bound to one device, sees only that device's driver, and runs test after test until one
//! fails.
//!
//! [`parent`] is the runner's side, [`child`] the worker's, [`protocol`] has the messages, [`capture`]
//! captures the output of a test. [`driver_probe`] has workers list the platforms.

pub mod capture;
pub mod child;
pub mod commands;
pub(crate) mod contexts;
mod device_probe;
pub mod driver_probe;
mod entry;
pub mod job;
mod leak_check;
pub mod parent;
pub mod process_attempt;
pub mod property;
pub mod protocol;

pub use commands::WorkerCommands;
pub use job::JobCall;
pub use parent::WorkerCommand;
pub use process_attempt::{ProcessAttempt, WorkerAfter};
pub use protocol::{Role, Task};
