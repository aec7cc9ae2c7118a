//! The event log as a file.

/// The name of the event log in its folder.
pub const LOG: &str = "events.jsonl";

/// The version of the format that this version writes and reads.
pub const FORMAT: u32 = 3;
