//! The event log: [`events`] has its lines, [`recorder`] writes them, [`sum`] adds them up to a [`run_log`], and
//! [`store`] has the folders of the runs.

mod chain;
pub mod device_record;
pub mod durations;
pub mod events;
pub mod format;
mod lines;
pub(crate) mod lock;
pub mod plan;
pub mod program_record;
pub mod read_error;
pub mod recorder;
mod results;
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

#[cfg(all(test, feature = "schema"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    #[test]
    fn the_schema_in_docs_is_that_of_the_types() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/log.schema.json");
        // Not the text: the order of its keys depends on the features of serde_json.
        let written: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert!(
            written == super::schema().to_value(),
            "docs/log.schema.json is out of date: run `cargo xtask schema`"
        );
    }
}
