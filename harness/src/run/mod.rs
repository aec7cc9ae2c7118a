//! A run: [`plan`] multiplies tests by devices, [`schedule`] starts the slots of each device, and a `slot` hands tests
//! to a worker.

pub mod device_query;
mod device_run;
mod hang_budget;
mod hangs;
mod health;
pub mod interrupt;
mod limits;
mod outside;
pub mod plan;
pub mod repeat;
pub mod resumed_run;
mod retry;
mod rounds;
pub mod schedule;
mod slot;
pub mod so_far;
pub mod state;
mod test_worker;
mod turn;
