//! The result of a test, from the inside out: the [`ended`] that its process tells is a part of the [`attempt`],
//! which is a part of the [`test_result`] that log and reports have.

pub mod attempt;
pub mod ended;
pub mod findings;
pub mod output_place;
pub mod test_result;
