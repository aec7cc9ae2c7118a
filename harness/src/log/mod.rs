//! The event log: [`events`] has its lines, [`recorder`] writes them, [`sum`] adds them up to a [`run_log`], and
//! [`store`] has the folders of the runs.

mod chain;
pub mod device_record;
pub mod durations;
pub mod events;
pub mod format;
mod lines;
pub(crate) mod lock;
pub mod observer;
pub mod plan;
pub mod program_record;
pub mod read_error;
pub mod recorder;
mod results;
pub mod round_counts;
mod round_results;
pub mod run_header;
pub mod run_log;
pub mod sample;
pub mod selected_tests;
pub mod store;
pub mod sum;

/// The JSON Schema of a line of the event log.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(events::Event)
}
