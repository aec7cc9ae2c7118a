//! The part of the tests of a run: [`ShardChoice`] is the option, and [`Division`] the rule that divides the tests.

mod choice;
mod division;

pub(crate) use choice::ShardChoice;
pub use division::Division;
