//! Worker processes: each is bound to one device, sees only that device's driver, and runs test
//! after test until one goes wrong.
//!
//! [`parent`] is the runner's side, [`child`] the worker's, [`protocol`] what they say to each
//! other, [`capture`] what is kept of a test's output.

pub mod capture;
pub mod child;
pub mod parent;
pub(crate) mod property;
pub mod protocol;
