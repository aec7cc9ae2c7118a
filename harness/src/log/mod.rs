//! The event log: [`events`] has its lines, [`recorder`] writes them, [`read`] reads them back, and
//! [`store`] has the folders of the runs.

pub mod device_record;
pub(crate) mod durations;
pub mod events;
mod finished;
mod line;
mod lines;
pub(crate) mod lock;
pub mod plan;
pub mod read;
pub mod recorder;
pub mod round_results;
pub mod run_header;
#[cfg(test)]
pub(crate) mod sample;
pub mod selected_tests;
pub mod store;
pub(crate) mod system;
pub(crate) mod unfinished;

/// The JSON Schema of a line of the event log.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(events::Event)
}
