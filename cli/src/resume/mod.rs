//! Goes on with a run that was killed or cut short: reads its logs and compares the machine of now with that of
//! the run.

pub(crate) mod accepted;
pub(crate) mod differences;
pub(crate) mod unfinished;
