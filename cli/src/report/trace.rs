//! A run as a trace for Perfetto and `chrome://tracing`, in Chrome's trace event format: a process for each
//! device, a thread for each slot, and a complete event for each test, start of a worker and probe.
//!
//! The viewers refuse events of one thread that overlap unless one is inside the other. Such events of a slot, as in
//! a merged run, are put on several threads.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use clmatrix_runner::log::ReadError;
use clmatrix_runner::log::events::{Event, Probed, Started, WorkerStarted};
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Verdict;
use indexmap::{IndexMap, IndexSet};
use serde::Serializer;
use serde_json::{Value, json};

use super::present;

/// The name of the track of work outside of slots.
const OTHERS: &str = "probes and replays";

/// More threads than a slot has.
const LANES: u64 = 1000;

/// The spans of a run.
#[derive(Default)]
pub(crate) struct Trace {
    header: Option<Box<RunHeader>>,
    /// The devices, in the order of their processes.
    devices: Vec<String>,
    /// The list of tests: their paths.
    tests: Vec<String>,
    spans: Vec<Span>,
    /// The spans of the attempts of tests, by ids and numbers of attempts.
    attempts: HashMap<(TestId, u32), usize>,
    /// The slots of workers.
    slots: HashMap<u32, u32>,
    /// The last time in the log.
    end: Option<SystemTime>,
}

/// A span of time on a device.
struct Span {
    device: String,
    /// The worker that ran a test or was started.
    worker: Option<u32>,
    slot: Option<u32>,
    name: String,
    category: &'static str,
    begin: SystemTime,
    /// The duration; none before the end.
    duration: Option<Duration>,
    /// The details, which the viewers show.
    details: Value,
}

impl Trace {
    /// Reads the log of a run.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) fn read(log: &Path) -> Result<Self, ReadError> {
        let mut trace = Self::default();
        for event in RunLog::events(log)? {
            trace.add(event?);
        }
        Ok(trace)
    }

    /// Writes the trace.
    ///
    /// # Errors
    ///
    /// The trace cannot be written.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut spans: Vec<&Span> = self.spans.iter().collect();
        spans.sort_by_key(|span| span.begin);
        let of_spans = self.spans.iter().map(|span| &span.device);
        let devices: IndexSet<&String> = self.devices.iter().chain(of_spans).collect();
        let header = self.header.as_ref();
        let origin = header.map_or(SystemTime::UNIX_EPOCH, |header| header.time);
        let micros =
            |time: SystemTime| time.duration_since(origin).unwrap_or_default().as_micros() as u64;
        // The process, the slot and the number among the threads of the slot, with the end of its last event.
        let mut threads: IndexMap<(u32, Option<u32>, u32), u64> = IndexMap::new();
        let ends = self.ends(&spans);
        let placed = spans.into_iter().zip(ends).map(|(span, end)| {
            let pid = devices.get_index_of(&span.device).expect("its device") as u32 + 1;
            let begin = micros(span.begin);
            let end = end.map_or(begin, micros).max(begin);
            let mut thread = (pid, self.slot(span), 0);
            while threads.get(&thread).is_some_and(|end| *end > begin) {
                thread.2 += 1;
            }
            (span, pid, threads.insert_full(thread, end).0, begin, end)
        });
        let placed: Vec<_> = placed.collect();
        // Perfetto treats a thread with the number of its process as the main thread.
        let first = devices.len() as u32 + 1;
        let spans = placed.into_iter().map(|(span, pid, thread, begin, end)| {
            json!({
                "name": span.name, "ph": "X", "pid": pid, "tid": first + thread as u32,
                "cat": span.category, "ts": begin, "dur": end - begin, "args": span.details,
            })
        });
        let metadata = |pid: u32, tid: u32, kind: &str, name: &str, order: u64| {
            [("name", json!(name)), ("sort_index", json!(order))].map(|(what, value)| {
                let (name, args) = (format!("{kind}_{what}"), json!({ what: value }));
                json!({ "name": name, "ph": "M", "pid": pid, "tid": tid, "args": args })
            })
        };
        let pids = devices.iter().zip(1..);
        let processes =
            pids.flat_map(|(device, pid)| metadata(pid, first, "process", device, pid.into()));
        let threads = threads.keys().zip(first..).flat_map(|((pid, slot, lane), tid)| {
            let name = slot.map_or(OTHERS.to_owned(), |slot| format!("slot {slot}"));
            let name = if *lane == 0 { name } else { format!("{name} ({})", lane + 1) };
            // Slots by their numbers, then the others.
            let rank = slot.map_or(u64::from(u32::MAX), u64::from) * LANES + u64::from(*lane);
            metadata(*pid, tid, "thread", &name, rank)
        });
        let run = header.map(|header| &header.run_id);
        let other = json!({ "run": run, "host": header.map(|header| &header.host) });
        write!(to, r#"{{"displayTimeUnit":"ms","otherData":{other},"traceEvents":"#)?;
        let events = processes.chain(threads).chain(spans);
        serde_json::Serializer::new(&mut *to).collect_seq(events)?;
        to.write_all(b"}")
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Run(_) if self.header.is_some() => self.cut(),
            Event::Run(header) => self.header = Some(header),
            Event::Device(record) => self.devices.push(record.device.id),
            Event::Plan(part) => self.tests.extend(part.tests.into_iter().map(|test| test.path)),
            Event::Started(started) => self.start(started),
            Event::Finished(finished) => self.finish(&finished.result),
            Event::WorkerStarted(started) => {
                let WorkerStarted { device, worker, time: begin, duration, error, .. } = started;
                let details = present(json!({ "worker": worker, "error": error }));
                let (name, category) = ("start of a worker".to_owned(), "worker");
                let (slot, duration) = (None, Some(duration));
                self.push(Span { device, worker, slot, name, category, begin, duration, details });
            }
            Event::Probed(Probed { device, time: begin, duration, error }) => {
                let details = present(json!({ "error": error }));
                let (name, category) = ("probe".to_owned(), "probe");
                let (worker, slot, duration) = (None, None, Some(duration));
                self.push(Span { device, worker, slot, name, category, begin, duration, details });
            }
            _ => {}
        }
    }

    fn push(&mut self, span: Span) {
        let end = span.begin.checked_add(span.duration.unwrap_or_default());
        self.end = self.end.max(end);
        self.spans.push(span);
    }

    fn start(&mut self, started: Started) {
        let Started { test, device, time: begin, attempt, worker, slot, .. } = started;
        let Some(path) = self.tests.get(test as usize) else { return };
        let id = TestId::new(path, &device);
        self.slots.extend(worker.zip(slot));
        let (name, category) = (id.path().to_owned(), "test");
        let (device, slot) = (id.device().to_owned(), slot.or(Some(0)));
        let details = json!({ "verdict": "unfinished" });
        self.attempts.insert((id, attempt), self.spans.len());
        self.push(Span { device, worker, slot, name, category, begin, duration: None, details });
    }

    /// Ends an attempt. A later result of the same attempt replaces the verdict.
    fn finish(&mut self, result: &TestResult) {
        let Some(&span) = self.attempts.get(&(result.test.clone(), result.attempt.number)) else {
            return;
        };
        let span = &mut self.spans[span];
        let duration = *span.duration.get_or_insert(result.attempt.duration);
        self.end = self.end.max(span.begin.checked_add(duration));
        let message = || first_line(&result.attempt.outcome.to_string());
        span.details = present(json!({
            "verdict": result.verdict.name(),
            "message": (result.verdict != Verdict::Pass).then(message),
            "attempt": result.attempt.number,
            "worker": result.attempt.worker,
            "host": result.host,
        }));
    }

    /// Ends the attempts that were running when the run was cut short, at the last time before it was resumed.
    fn cut(&mut self) {
        for span in self.spans.iter_mut().filter(|span| span.duration.is_none()) {
            let duration = self.end.and_then(|end| end.duration_since(span.begin).ok());
            span.duration = Some(duration.unwrap_or_default());
        }
    }

    /// Returns the slot of a span, which is that of its worker.
    fn slot(&self, span: &Span) -> Option<u32> {
        span.slot.or_else(|| self.slots.get(&span.worker?).copied())
    }

    /// Returns the ends of these spans, which are in the order of their begins. An attempt without a result ends
    /// before the next one of its slot, the last one with the log.
    fn ends(&self, spans: &[&Span]) -> Vec<Option<SystemTime>> {
        let mut next: HashMap<(&str, Option<u32>), SystemTime> = HashMap::new();
        let ends = spans.iter().rev().map(|span| {
            let after = next.insert((&span.device, self.slot(span)), span.begin);
            let own = span.duration.and_then(|duration| span.begin.checked_add(duration));
            own.or(after).or(self.end)
        });
        let mut ends: Vec<_> = ends.collect();
        ends.reverse();
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_runner::log::plan::{PlannedTest, PlannedTests};
    use clmatrix_runner::log::sample::{TIME, changed, device, device_record, header, result};
    use clmatrix_runner::verdict::Outcome;
    use insta::assert_snapshot;

    fn at(milliseconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + TIME + Duration::from_millis(milliseconds)
    }

    fn start(test: u32, time: u64, attempt: u32, worker: u32, slot: u32) -> Event {
        Event::Started(Started {
            test,
            device: "d".to_owned(),
            time: at(time),
            attempt,
            worker: Some(worker),
            slot: Some(slot),
            pid: None,
        })
    }

    /// A result after a quarter of a second.
    fn finish(test: &str, attempt: u32, outcome: Outcome) -> Event {
        Event::finished(changed(result(test, outcome), |r| r.attempt.number = attempt))
    }

    fn worker(worker: Option<u32>, time: u64) -> Event {
        Event::WorkerStarted(WorkerStarted {
            device: "d".to_owned(),
            worker,
            time: at(time),
            duration: Duration::from_millis(40),
            error: None,
            sees_others: None,
        })
    }

    /// The file, with a line for each event.
    fn file(events: Vec<Event>) -> String {
        let tests = ["s::a", "s::b"].map(PlannedTest::unplanned).into();
        let mut trace = Trace::default();
        trace.add(Event::Run(Box::new(header(Vec::new()))));
        trace.add(Event::Device(Box::new(device_record(device("d", "PoCL"), "bench"))));
        trace.add(Event::Plan(PlannedTests { tests }));
        events.into_iter().for_each(|event| trace.add(event));
        let mut file = Vec::new();
        trace.write(&mut file).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        file.to_string().replace("{\"args\"", "\n{\"args\"")
    }

    #[test]
    fn a_run_has_spans_of_tests_workers_and_probes() {
        let crashed = || Outcome::signal("SIGSEGV");
        let probe = |time| {
            let (device, duration) = ("d".to_owned(), Duration::from_micros(7));
            Event::Probed(Probed { device, time, error: None, duration })
        };
        let file = file(vec![
            worker(Some(1), 10),
            start(0, 100, 1, 1, 0),
            finish("s::a@d", 1, crashed()),
            probe(at(360)),
            worker(Some(2), 400),
            start(0, 450, 2, 2, 0),
            finish("s::a@d", 2, Outcome::Passed),
            worker(Some(3), 500),
            finish("s::b@d", 1, Outcome::Skipped { reason: "no".to_owned() }),
            start(0, 750, 3, 2, 0),
            start(1, 800, 1, 2, 0),
        ]);
        assert_snapshot!(file);
    }

    #[test]
    fn an_attempt_that_is_cut_short_ends_before_the_run_goes_on() {
        let resumed = || Event::Run(Box::new(header(Vec::new())));
        let crashed = Outcome::signal("SIGKILL");
        let file = file(vec![
            start(0, 100, 1, 1, 0),
            start(1, 200, 1, 2, 1),
            finish("s::b@d", 1, Outcome::Passed),
            resumed(),
            start(0, 10_100, 2, 3, 0),
            resumed(),
            finish("s::a@d", 2, crashed),
            start(1, 20_000, 2, 4, 0),
            finish("s::b@d", 2, Outcome::Passed),
        ]);
        assert_snapshot!(file);
    }

    #[test]
    fn events_of_a_thread_do_not_overlap() {
        let mut log = Vec::new();
        for time in 0..40 {
            let (attempt, slot) = (time as u32 + 1, time as u32 % 3);
            log.push(start(1, 100 * time, attempt, attempt, slot));
            log.push(finish("s::b@d", attempt, Outcome::Passed));
        }
        let regular: Value = serde_json::from_str(&file(log)).unwrap();
        let events = regular["traceEvents"].as_array().unwrap().iter();
        let mut ends: HashMap<(u64, u64), u64> = HashMap::new();
        let mut count = 0;
        for event in events.filter(|event| event["ph"] == "X") {
            let number = |name: &str| event[name].as_u64().unwrap();
            assert!(number("pid") > 0 && number("tid") > 0 && number("pid") != number("tid"));
            let end = ends.entry((number("pid"), number("tid"))).or_default();
            assert!(*end <= number("ts"), "{event}");
            *end = number("ts") + number("dur");
            count += 1;
        }
        assert_eq!(count, 40);
        let overlapping = file(vec![
            start(0, 0, 1, 1, 0),
            finish("s::a@d", 1, Outcome::Passed),
            start(1, 249, 1, 2, 0),
            finish("s::b@d", 1, Outcome::Passed),
            start(1, 250, 2, 2, 0),
            finish("s::b@d", 2, Outcome::Passed),
        ]);
        assert_snapshot!(overlapping);
    }
}
