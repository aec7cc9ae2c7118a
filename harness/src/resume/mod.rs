//! Goes on with a run that was killed or cut short: reads its logs and compares the machine of now with that of
//! the run.

pub mod differences;
pub mod unfinished;
