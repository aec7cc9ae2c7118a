//! What samples mean, decided from the samples alone. Any device could have taken them, or none.

mod banks;
mod cache;
mod fall;
mod hierarchy;
mod line;
mod multiplicity;
mod rounds;
mod summary;
#[cfg(test)]
mod synthetic;

pub use banks::{Banks, banks, meeting};
pub use cache::is_cached;
pub use fall::{Fall, fall};
pub use hierarchy::Hierarchy;
pub use line::line_size;
pub use multiplicity::Scale;
pub use rounds::undrifted;
pub use summary::Summary;
