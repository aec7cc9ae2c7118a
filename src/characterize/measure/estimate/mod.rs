//! What samples mean, decided from the samples alone. Any device could have taken them, or none.

mod cache;
mod summary;

pub use cache::is_cached;
pub use summary::Summary;
