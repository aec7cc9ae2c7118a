//! The output of a program of the OpenCL conformance test suite, by its tests.

use std::time::{Duration, Instant};

use crate::os::Source;
use crate::worker::capture::Capture;

/// A line that is longer, in bytes, is no line of the suite's harness.
const LONGEST_MARK: usize = 1024;

/// The output of a process, divided at the lines `TEST...`, which the suite's harness prints before each test.
pub(super) struct CtsOutput<'a> {
    tests: Vec<&'a str>,
    /// The output before the first test.
    before: Part,
    parts: Vec<Part>,
    /// The tests that have begun, in their order.
    begun: Vec<usize>,
    phase: Phase,
    /// The last line of standard output so far.
    line: Vec<u8>,
    /// True if its beginning is in the output already.
    is_long: bool,
    process_end: Option<Instant>,
}

/// The phase of the test that has begun last.
#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running,
    /// The last line ends as the harness's line at the end of the test, but may be one of the test itself.
    MayHaveEnded,
    Ended,
}

/// The output of one test.
#[derive(Default)]
struct Part {
    stdout: Capture,
    stderr: Capture,
    begin: Option<Instant>,
    end: Option<Instant>,
}

/// The output, the duration and the end of one test.
pub(super) struct PartText {
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
    /// The end of the process, for a test without a beginning.
    pub ended: Option<Instant>,
}

impl<'a> CtsOutput<'a> {
    pub fn new(tests: Vec<&'a str>) -> Self {
        let parts = tests.iter().map(|_| Part::default()).collect();
        let before = Part { begin: Some(Instant::now()), ..Part::default() };
        let (begun, line) = (Vec::new(), Vec::new());
        Self {
            tests,
            before,
            parts,
            begun,
            phase: Phase::Running,
            line,
            is_long: false,
            process_end: None,
        }
    }

    /// Adds what was read. Returns the tests that begin in it. `wrote` gets the parts of each test.
    pub fn push(
        &mut self,
        from: Source,
        bytes: &[u8],
        wrote: &mut dyn FnMut(usize, &[u8]),
    ) -> Vec<usize> {
        if from == Source::Stderr {
            self.current().stderr.push(bytes);
            wrote(self.last(), bytes);
            return Vec::new();
        }
        let mut begun = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            let is_whole = piece.ends_with(b"\n");
            if is_whole && !self.is_long {
                begun.extend(self.read_mark());
            }
            if is_whole || self.line.len() > LONGEST_MARK {
                let line = std::mem::take(&mut self.line);
                self.current().stdout.push(&line);
                wrote(self.last(), &line);
                self.is_long = !is_whole;
            }
        }
        begun
    }

    /// Reads a whole line. Returns the test that begins with it.
    fn read_mark(&mut self) -> Option<usize> {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim_end();
        if let Some(begins) = line.strip_suffix("...")
            && let Some(test) = self.tests.iter().position(|test| *test == begins)
            && !self.begun.contains(&test)
        {
            let now = Instant::now();
            self.current().end.get_or_insert(now);
            self.parts[test].begin = Some(now);
            self.begun.push(test);
            self.phase = Phase::Running;
            return Some(test);
        }
        let last = *self.begun.last()?;
        match split_end(self.tests[last], line) {
            Some(("", _)) => {
                self.phase = Phase::Ended;
                self.parts[last].end = Some(Instant::now());
            }
            Some(_) if self.phase == Phase::Running => self.phase = Phase::MayHaveEnded,
            None if self.phase == Phase::MayHaveEnded => self.phase = Phase::Running,
            _ => {}
        }
        None
    }

    fn current(&mut self) -> &mut Part {
        match self.begun.last() {
            Some(test) => &mut self.parts[*test],
            None => &mut self.before,
        }
    }

    /// Ends the output with the process. Without results, the last test has run so long.
    pub fn end(&mut self, has_results: bool) {
        let (line, now) = (std::mem::take(&mut self.line), Instant::now());
        let current = self.current();
        current.stdout.push(&line);
        current.end = current.end.filter(|_| has_results).or(Some(now));
        self.process_end = Some(now);
    }

    /// The test that has begun last, or the first test.
    fn last(&self) -> usize {
        self.begun.last().copied().unwrap_or(0)
    }

    /// The tests that have begun, in their order.
    pub fn begun(&self) -> &[usize] {
        &self.begun
    }

    /// The test that has begun and has not printed its end.
    pub fn running(&self) -> Option<usize> {
        self.begun.last().copied().filter(|_| self.phase == Phase::Running)
    }

    /// The test whose limit counts: the one that has begun, until it has printed its end for sure.
    pub fn limited(&self) -> Option<usize> {
        self.begun.last().copied().filter(|_| self.phase != Phase::Ended)
    }

    /// Takes the output of each test, after the output before all tests.
    pub fn take_texts(self) -> Vec<PartText> {
        let before = self.before.into_text();
        // Without a beginning, the process's time is that of its only test, but not that of each of several.
        let is_only = self.parts.len() == 1;
        let text = |part: Part| {
            let has_begun = part.begin.is_some();
            let own = part.into_text();
            PartText {
                stdout: [&*before.stdout, &*own.stdout].concat(),
                stderr: [&*before.stderr, &*own.stderr].concat(),
                duration: if has_begun || !is_only { own.duration } else { before.duration },
                ended: own.ended.or(self.process_end),
            }
        };
        self.parts.into_iter().map(text).collect()
    }
}

/// Divides the line that the suite's harness prints at the end of a test. Returns the text before the test's
/// name, which is that of a test whose output ends without a newline, and the text after the name.
pub(super) fn split_end<'a>(name: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let line = line.trim_end();
    let at_end = [" passed", " FAILED", " test not supported"].into_iter().find_map(|end| {
        let before = line.strip_suffix(end)?.strip_suffix(name)?;
        Some((before, &line[line.len() - end.len()..]))
    });
    // The reason follows.
    let skipped = || {
        let at = line.find(&format!("{name} skipped ("))?;
        Some((&line[..at], &line[at + name.len()..]))
    };
    at_end.or_else(skipped)
}

impl Part {
    fn into_text(mut self) -> PartText {
        let duration = self.begin.zip(self.end).map(|(begin, end)| end.duration_since(begin));
        PartText {
            stdout: self.stdout.take_text(),
            stderr: self.stderr.take_text(),
            duration: duration.unwrap_or_default(),
            ended: self.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_each_test_is_its_own() {
        let text = "device\na...\nin a\na passed\nb...\nb...\nERROR: b\nb FAILED\nc...\nno end";
        for size in [1, 3, text.len()] {
            let mut output = CtsOutput::new(vec!["c", "b", "a"]);
            let mut begun = Vec::new();
            for bytes in text.as_bytes().chunks(size) {
                begun.extend(output.push(Source::Stdout, bytes, &mut |_, _| {}));
            }
            output.push(Source::Stderr, b"error of c", &mut |_, _| {});
            output.end(false);
            assert_eq!((begun, output.running()), (vec![2, 1, 0], Some(0)), "pieces of {size}");
            let texts = output.take_texts();
            let stdout: Vec<&str> = texts.iter().map(|text| &*text.stdout).collect();
            let expected = [
                "device\nc...\nno end",
                "device\nb...\nb...\nERROR: b\nb FAILED\n",
                "device\na...\nin a\na passed\n",
            ];
            assert_eq!(stdout, expected, "pieces of {size}");
            assert_eq!(texts[0].stderr, "error of c");
        }
    }

    #[test]
    fn only_a_single_test_without_a_beginning_has_the_time_of_its_process() {
        for (tests, has_time) in [(vec!["a"], true), (vec!["a", "b"], false)] {
            let mut output = CtsOutput::new(tests.clone());
            let minute = Duration::from_secs(60);
            output.before.begin = output.before.begin.and_then(|begin| begin.checked_sub(minute));
            output.push(Source::Stdout, b"no images\n", &mut |_, _| {});
            output.end(true);
            let ended = output.process_end;
            for text in output.take_texts() {
                assert_eq!(text.duration >= minute, has_time, "{tests:?}");
                assert_eq!(text.ended, ended, "{tests:?}");
            }
        }
    }

    #[test]
    fn a_test_ends_at_its_end_mark_or_where_the_next_begins() {
        let mut output = CtsOutput::new(vec!["a", "b", "c", "d"]);
        output.push(Source::Stdout, b"a...\nb...\nb passed\n", &mut |_, _| {});
        let ended_b = output.parts[1].end;
        output.push(Source::Stdout, b"c...\n", &mut |_, _| {});
        output.push(Source::Stdout, b"c passed\nPASSED 3 of 3 tests\n", &mut |_, _| {});
        let ended_c = output.parts[2].end;
        output.end(true);
        let (begun_b, process_end) = (output.parts[1].begin, output.process_end);
        assert!(begun_b < ended_b && ended_b < ended_c && ended_c < process_end);
        let ended: Vec<_> = output.take_texts().iter().map(|text| text.ended).collect();
        assert_eq!(ended, [begun_b, ended_b, ended_c, process_end]);
    }

    #[test]
    fn the_last_test_of_a_process_without_results_ends_with_it() {
        for has_results in [true, false] {
            let mut output = CtsOutput::new(vec!["a"]);
            output.push(Source::Stdout, b"a...\na passed\n", &mut |_, _| {});
            let printed = output.parts[0].end;
            output.end(has_results);
            let process_end = output.process_end;
            let ended = output.take_texts()[0].ended;
            assert_eq!(ended, if has_results { printed } else { process_end });
        }
    }

    #[test]
    fn a_test_that_has_printed_its_end_does_not_run() {
        for (line, running) in [
            ("a passed\n", None),
            ("a FAILED\n", None),
            ("a test not supported\n", None),
            ("a skipped (requires at least OpenCL version 3.0)\n", None),
            ("ab passed\n", Some(0)),
            ("a passed\ntext of the program\n", None),
            // The line may be one of the test.
            ("ba passed\n", None),
            ("ba passed\ntext of the test\n", Some(0)),
            ("ba passed\na passed\ntext of the program\n", None),
            ("no newlinea passed\n", None),
            ("no newlinea skipped (no images)\n", None),
            ("a passed 3 of 4\n", Some(0)),
            ("passed\n", Some(0)),
            ("a passed", Some(0)),
        ] {
            let mut output = CtsOutput::new(vec!["a"]);
            assert_eq!(output.running(), None);
            output.push(Source::Stdout, b"a...\n", &mut |_, _| {});
            output.push(Source::Stdout, line.as_bytes(), &mut |_, _| {});
            assert_eq!(output.running(), running, "{line:?}");
        }
        let mut output = CtsOutput::new(vec!["a"]);
        output.push(Source::Stdout, b"a...\n\xffa passed\n", &mut |_, _| {});
        assert_eq!(output.running(), None);
    }

    #[test]
    fn a_long_line_is_no_mark() {
        let mut output = CtsOutput::new(vec!["a"]);
        let long = [&[b'x'; 3000][..], b"\na...\n"].concat();
        let mut written = Vec::new();
        let mut wrote = |test: usize, bytes: &[u8]| written.push((test, bytes.len()));
        let (first, rest) = long.split_at(3000);
        assert!(output.push(Source::Stdout, first, &mut wrote).is_empty());
        assert_eq!(output.push(Source::Stdout, rest, &mut wrote), [0]);
        assert_eq!(written, [(0, 3000), (0, 1), (0, 5)]);
        output.end(true);
        assert_eq!(output.take_texts()[0].stdout.len(), long.len());
    }
}
