//! A run: [`plan`] multiplies tests by devices, [`schedule`] starts the slots of each device, and a `slot` hands
//! tests to a worker. `decision` has the next step for a test.

mod decision;
mod device_run;
pub mod entry;
mod hangs;
mod health;
mod interrupt;
mod outside;
pub mod plan;
mod queue;
pub mod schedule;
mod slot;
pub mod so_far;
pub mod state;

use device_run::DeviceRun;
pub use entry::Entry;
pub use plan::{Plan, Planned};
pub use so_far::SoFar;
use state::RunState;
pub use state::{Run, WorkerConfig};
