//! The part of the tests of a run: [`ShardChoice`] is the option, [`Engine`] a program that gives each run its part by
//! environment variables, and [`Division`] the rule that divides the tests.

mod choice;
mod division;
mod engine;

pub(crate) use choice::ShardChoice;
pub use division::Division;
pub(crate) use engine::Engine;
