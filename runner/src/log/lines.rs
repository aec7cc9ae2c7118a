//! The lines of an event log, one after the other, and the reasons why a log cannot be read.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Event, FORMAT, LOG, RunHeader};
use crate::files;

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

/// Reads a log line by line.
pub(super) struct Lines<S> {
    stream: S,
    /// The name of the log in errors.
    path: PathBuf,
    text: Vec<u8>,
    number: usize,
    /// The number of bytes so far.
    pub(super) end: u64,
}

impl Lines<BufReader<File>> {
    /// Opens a log.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let file =
            files::open_found(path).map_err(|error| ReadError::Io(path.to_owned(), error))?;
        Ok(Self::new(BufReader::new(file), path))
    }
}

impl<S: BufRead> Lines<S> {
    /// Reads from a stream, which `name` names in errors.
    pub(super) fn new(stream: S, name: &Path) -> Self {
        Self { stream, path: name.to_owned(), text: Vec::new(), number: 0, end: 0 }
    }

    /// Returns the next line, which is empty at the end of the log.
    pub(super) fn next_text(&mut self) -> Result<&[u8], ReadError> {
        self.text.clear();
        self.number += 1;
        let read = self.stream.read_until(b'\n', &mut self.text);
        self.end += read.map_err(|error| ReadError::Io(self.path.clone(), error))? as u64;
        Ok(&self.text)
    }

    /// Returns the next event with its bytes in the log.
    ///
    /// A last line without its newline, cut off when the runner was killed, counts only if it is whole.
    pub(super) fn next(&mut self) -> Result<Option<(Event, Range<u64>)>, ReadError> {
        let start = self.end;
        if self.next_text()?.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(&self.text) {
            Ok(event) => Ok(Some((event, start..self.end))),
            Err(_) if !self.text.ends_with(b"\n") => Ok(None),
            Err(error) => Err(ReadError::Line(self.path.clone(), self.number, error)),
        }
    }
}

impl RunHeader {
    /// Reads the first line of a log alone.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its first line is not a header.
    pub fn read(log: &Path) -> Result<Self, ReadError> {
        match Lines::open(log)?.next()? {
            Some((Event::Run(header), _)) => Ok(*header),
            _ => Err(ReadError::Log(log.to_owned(), LogError::NoHeader)),
        }
    }
}
