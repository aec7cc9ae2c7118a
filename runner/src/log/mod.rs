//! The event log: [`events`] has its lines, [`recorder`] writes them, [`sum`] adds them up to a [`run_log`], and
//! [`store`] has the folders of the runs.

mod chain;
pub mod device_record;
pub mod durations;
pub mod events;
pub mod format;
mod lines;
mod lock;
pub mod observer;
pub mod plan;
pub mod program_record;
pub mod read_error;
pub mod recorder;
pub mod results;
pub mod run_header;
pub mod run_log;
pub mod sample;
pub mod selected_tests;
pub mod store;
pub mod sum;

pub use device_record::DeviceRecord;
pub use events::{DeviceLost, End, Event};
pub use format::{FORMAT, LOG};
pub use observer::Observer;
pub use plan::PlannedTest;
pub use read_error::{LogError, ReadError};
pub use recorder::Recorder;
pub use run_header::RunHeader;
pub use run_log::RunLog;
pub use store::Place;
pub use sum::Sum;

/// Returns the JSON Schema of a line of the event log.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(events::Event)
}
