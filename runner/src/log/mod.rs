//! The event log: [`events`] has its lines, [`recorder`] writes them, [`sum`] adds them up to a [`run_log`], and
//! [`store`] has the folders of the runs.

mod chain;
pub mod device_record;
pub mod durations;
pub mod events;
mod lines;
mod lock;
pub mod plan;
pub mod program_record;
pub mod recorder;
pub mod results;
pub mod run_header;
pub mod run_log;
pub mod sample;
pub mod selected_tests;
pub mod store;
pub mod sum;
pub mod wall_time;

pub use device_record::DeviceRecord;
pub use events::{DeviceLost, End, Event};
pub use lines::{LogError, ReadError};
pub use plan::PlannedTest;
pub use recorder::{Observer, Recorder};
pub use run_header::RunHeader;
pub use run_log::RunLog;
pub use store::Place;
pub use sum::Sum;

/// The name of the event log in its folder.
pub const LOG: &str = "events.jsonl";

/// The version of the format that this version writes and reads.
pub const FORMAT: u32 = 3;

/// Returns the JSON Schema of a line of the event log.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(events::Event)
}
