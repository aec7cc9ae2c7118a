//! Properties and measurements of devices, taken in workers: for `clmatrix characterize`, and before the first test of a
//! run. `jobs` has the side of the worker.

pub(crate) mod device_session;
pub(crate) mod jobs;
mod logged;
pub(crate) mod measure;
pub(crate) mod option;

pub(crate) use logged::{logged, to_log};
