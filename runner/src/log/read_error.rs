//! The reasons why a log cannot be read.

use std::io;
use std::path::PathBuf;

use super::format::{FORMAT, LOG};

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The log cannot be read, with the reason.
    #[error("{path}: cannot be read: {1}", path = .0.display())]
    Io(PathBuf, io::Error),
    /// A line of the log, counted from 1, is not an event, with the reason.
    #[error("{path}:{1}: not an event: {2}", path = .0.display())]
    Line(PathBuf, usize, serde_json::Error),
    /// The events do not make a log, with the reason.
    #[error("{path}: {1}", path = .0.display())]
    Log(PathBuf, LogError),
}

/// Events that are not those of one run.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LogError {
    /// The log has no header.
    #[error("not a log of a run: it does not begin with a `run` event")]
    NoHeader,
    /// The file has two logs.
    #[error("the log of more than one run: it has a second `run` event")]
    SecondHeader,
    /// The log of a resumed run was not found.
    #[error("the run resumes {0}, whose log was not found at ../{0}/{LOG}")]
    NoParent(String),
    /// Another version wrote the log, and this version would misread it.
    #[error("the log has format {0}, but this version reads format {FORMAT}")]
    Format(u32),
}
