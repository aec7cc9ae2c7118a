//! What samples mean, decided from the samples alone. Any device could have taken them, or none.

mod banks;
mod cache;
mod fall;
mod multiplicity;
mod summary;
#[cfg(test)]
mod synthetic;

pub use banks::{Banks, banks, meeting};
pub use cache::is_cached;
pub use fall::{Fall, fall};
pub use multiplicity::Scale;
pub use summary::Summary;
