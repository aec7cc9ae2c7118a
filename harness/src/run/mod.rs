//! A run: [`plan`] multiplies tests by devices, [`schedule`] hands each test to a worker,
//! [`execution`] leads from the first event to the reports, and [`progress`] shows what goes on.

pub(crate) mod echo;
pub(crate) mod execution;
mod health;
pub(crate) mod interrupt;
pub mod plan;
pub(crate) mod progress;
pub mod schedule;
