//! The output of running tests, as lines.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::os::Source;
use crate::run::entry::Entry;

/// The longest line, in bytes. A longer one is broken.
const LONGEST_LINE: usize = 8 * 1024;

/// Turns the output of running tests into lines.
///
/// With several devices, each line begins with the name of the device. If a test is run again, lines that have
/// already been returned are not returned again.
pub struct Echo {
    /// The text before each line of a test, by its position in the plan.
    prefixes: Vec<String>,
    streams: Mutex<HashMap<(Entry, Source), Stream>>,
}

/// One stream of one test.
#[derive(Default)]
struct Stream {
    /// The bytes of a line that has not ended yet.
    unfinished: Vec<u8>,
    /// The lines of this run of the test so far.
    lines: usize,
    /// The lines that have been returned.
    returned: usize,
}

impl Echo {
    /// Expects the output of tests on these devices: the id of each test's, in the order of the plan.
    pub fn new<'a>(devices: impl Iterator<Item = &'a str>) -> Self {
        let devices: Vec<&str> = devices.collect();
        let several = devices.windows(2).any(|pair| pair[0] != pair[1]);
        let width = devices.iter().map(|device| device.len()).max().unwrap_or(0);
        let prefix = |device: &&str| match several {
            true => format!("{device:width$} | "),
            false => String::new(),
        };
        Self { prefixes: devices.iter().map(prefix).collect(), streams: Mutex::default() }
    }

    /// Returns the lines that end in `bytes`, with their newlines.
    pub fn wrote(&self, position: Entry, from: Source, bytes: &[u8]) -> Vec<String> {
        let mut streams = self.streams.lock();
        let stream = streams.entry((position, from)).or_default();
        let mut lines = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                stream.unfinished.push(byte);
            }
            if byte == b'\n' || stream.unfinished.len() >= LONGEST_LINE {
                lines.extend(stream.end_line().map(|line| self.whole(position, &line)));
            }
        }
        lines
    }

    /// Removes the lines of the first run of a test: it is run again.
    pub fn repeated(&self, position: Entry) {
        for from in [Source::Stdout, Source::Stderr] {
            if let Some(stream) = self.streams.lock().get_mut(&(position, from)) {
                stream.unfinished.clear();
                stream.lines = 0;
            }
        }
    }

    /// Returns the last lines of a test that have no newline.
    pub fn finished(&self, position: Entry) -> Vec<(Source, String)> {
        let last_line = |from| {
            let stream = self.streams.lock().remove(&(position, from));
            let line = stream.filter(|stream| !stream.unfinished.is_empty())?.end_line()?;
            Some((from, self.whole(position, &line)))
        };
        [Source::Stdout, Source::Stderr].into_iter().filter_map(last_line).collect()
    }

    /// Returns `line` with the device of a test before it, if there are several devices.
    pub fn with_device(&self, position: Entry, line: &str) -> String {
        self.prefixes[position].clone() + line
    }

    fn whole(&self, position: Entry, line: &str) -> String {
        self.with_device(position, line) + "\n"
    }
}

impl Stream {
    /// Returns the line that ends here, unless it has been returned already.
    fn end_line(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.unfinished)).into_owned();
        self.lines += 1;
        if self.lines <= self.returned {
            return None;
        }
        self.returned = self.lines;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo() -> Echo {
        let prefixes = vec![String::new(), "pocl-cpu | ".to_owned()];
        Echo { prefixes, streams: Mutex::default() }
    }

    #[test]
    fn lines_come_whole_and_with_their_device() {
        let echo = echo();
        assert!(echo.wrote(Entry(1), Source::Stdout, b"one, ").is_empty());
        assert_eq!(echo.wrote(Entry(1), Source::Stderr, b"else\n"), ["pocl-cpu | else\n"]);
        assert_eq!(echo.wrote(Entry(0), Source::Stdout, b"\nx\n"), ["\n", "x\n"]);
        let lines = echo.wrote(Entry(1), Source::Stdout, b"two\nthree\xff\nfour");
        assert_eq!(lines, ["pocl-cpu | one, two\n", "pocl-cpu | three\u{fffd}\n"]);
        assert_eq!(echo.finished(Entry(1)), [(Source::Stdout, "pocl-cpu | four\n".to_owned())]);
        assert_eq!(echo.finished(Entry(1)), []);
        assert_eq!(echo.finished(Entry(0)), []);
    }

    #[test]
    fn a_line_without_an_end_is_broken() {
        let lines = echo().wrote(Entry(0), Source::Stdout, &vec![b'x'; 3 * LONGEST_LINE - 1]);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_repeated_test_shows_each_line_once() {
        let echo = echo();
        assert_eq!(echo.wrote(Entry(0), Source::Stdout, b"one\ntwo\nthr"), ["one\n", "two\n"]);
        echo.repeated(Entry(0));
        assert_eq!(echo.wrote(Entry(0), Source::Stdout, b"one\ntwo\nthree\nfour"), ["three\n"]);
        assert_eq!(echo.finished(Entry(0)), [(Source::Stdout, "four\n".to_owned())]);
    }
}
