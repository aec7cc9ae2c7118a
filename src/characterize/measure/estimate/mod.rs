//! What samples mean, decided from the samples alone. Any device could have taken them, or none.

mod summary;

pub use summary::Summary;
