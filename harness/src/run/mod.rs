//! A run: [`plan`] multiplies tests by devices, [`schedule`] starts the slots of each device, a `slot`
//! hands tests to a worker, and `execution` leads from the first event to the reports.

pub mod device_query;
mod device_run;
pub mod execution;
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
