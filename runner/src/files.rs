//! Opens files: those that the runner finds or that a user names, those of its own, and those that a user names for
//! reports.
//!
//! No other module of the runner and the command opens a file; the lint `disallowed_methods` sees to that. `os` alone
//! opens `/proc` and `/dev/null`.

#![allow(clippy::disallowed_methods)]

mod read;
mod write;

pub use read::{is_same, open_found, open_named, read_found, read_list, read_text};
pub use write::{
    append_named, create_folder, create_log, is_standard_output, open_lock, remove_leftovers,
    replace, replace_with, touch_named, try_named, write_named,
};
