//! Estimates from samples only, which may come from any device, or none.

mod banks;
mod cache;
mod fall;
mod hierarchy;
mod line;
mod multiplicity;
mod repeat;
mod rounds;
mod summary;
#[cfg(test)]
mod synthetic;

pub use banks::{Period, meeting, period};
pub use cache::is_cached;
pub use fall::{Fall, fall};
pub use hierarchy::Hierarchy;
pub use line::line_size;
pub use multiplicity::Scale;
pub use repeat::{drift, repeatable};
pub use rounds::undrifted;
pub use summary::{Floor, Summary};

/// Returns the greatest common divisor; if one number is 0, the other one.
pub fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
