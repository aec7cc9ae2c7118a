//! A run on the terminal while it goes on: the progress of each device, and the output of running tests.

pub(crate) mod echo;
pub(crate) mod progress;
