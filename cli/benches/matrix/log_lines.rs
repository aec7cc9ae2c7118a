//! The lengths of the lines of an event log.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The results that passed, and lengths in bytes, with the ends of lines.
#[derive(Default)]
pub struct LogLines {
    /// The number of results that passed.
    pub passed: usize,
    /// The longest line.
    pub longest: usize,
    /// The longest `started`.
    pub longest_started: usize,
    /// The longest `finished` of a test that passed.
    pub longest_passed: usize,
}

impl LogLines {
    pub fn of(log: &Path) -> Self {
        let mut log = BufReader::new(File::open(log).expect("there is a log"));
        let (mut lines, mut line) = (Self::default(), String::new());
        while log.read_line(&mut line).expect("the log can be read") > 0 {
            lines.longest = lines.longest.max(line.len());
            if line.starts_with(r#"{"event":"started""#) {
                lines.longest_started = lines.longest_started.max(line.len());
            } else if line.starts_with(r#"{"event":"finished""#)
                && line.contains(r#""outcome":"passed""#)
            {
                lines.passed += 1;
                lines.longest_passed = lines.longest_passed.max(line.len());
            }
            line.clear();
        }
        lines
    }
}
