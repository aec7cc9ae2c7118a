//! The event log: [`events`] has its lines, [`recorder`] writes them, [`read`] reads them back.

pub mod events;
pub(crate) mod header;
pub mod read;
pub mod recorder;
#[cfg(test)]
pub(crate) mod sample;
