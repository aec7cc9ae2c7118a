//! Properties and measurements of devices, taken in workers: for `clmatrix characterize`, and before the first test of a
//! run.

pub mod device_session;
pub(crate) mod measure;
pub mod option;
