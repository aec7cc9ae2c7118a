//! A run as a trace for Perfetto and `chrome://tracing`, in Chrome's trace event format: a process for each
//! device, a thread for each slot, and a complete event for each test, start of a worker and probe.
//!
//! The viewers refuse events of one thread that overlap unless one is inside the other. Such events of a slot, as in
//! a merged run, are put on several threads.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime};

use clmatrix_runner::log::events::{Event, Probed, Started, WorkerStarted};
use clmatrix_runner::log::read_error::ReadError;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Verdict;
use indexmap::IndexSet;
use serde::Serialize;
use serde_json::{Value, json};

/// The name of the track of work outside of slots.
const OTHERS: &str = "probes and replays";

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
    details: Details,
}

/// The details of a span, which the viewers show.
#[derive(Default, Serialize)]
struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceFile<'a> {
    display_time_unit: &'static str,
    other_data: Value,
    trace_events: Vec<TraceEvent<'a>>,
}

/// An event of the format. Times are in microseconds from the start of the run.
#[derive(Serialize)]
#[serde(untagged)]
enum TraceEvent<'a> {
    /// A name or a place of a process or a thread.
    Metadata(Value),
    Span {
        name: &'a str,
        ph: char,
        pid: u32,
        tid: u32,
        cat: &'static str,
        ts: u64,
        dur: u64,
        args: &'a Details,
    },
}

impl Trace {
    /// Reads the log of a run.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) fn read(log: &Path) -> Result<Self, ReadError> {
        let mut trace = Self::default();
        RunLog::for_each_event(log, |event| {
            trace.add(event);
            ControlFlow::Continue(())
        })?;
        Ok(trace)
    }

    /// Writes the trace.
    ///
    /// # Errors
    ///
    /// The trace cannot be written.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        Ok(serde_json::to_writer(to, &self.file())?)
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Run(_) if self.header.is_some() => self.cut(),
            Event::Run(header) => self.header = Some(header),
            Event::Device(record) => self.devices.push(record.device.id),
            Event::Plan(part) => self.tests.extend(part.tests.into_iter().map(|test| test.path)),
            Event::WorkerStarted(started) => self.add_worker(started),
            Event::Started(started) => self.start(started),
            Event::Finished(finished) => self.finish(&finished.result),
            Event::Probed(Probed { device, time: begin, error, duration }) => {
                self.push(Span {
                    device,
                    worker: None,
                    slot: None,
                    name: "probe".to_owned(),
                    category: "probe",
                    begin,
                    duration: Some(duration),
                    details: Details { error, ..Details::default() },
                });
            }
            _ => {}
        }
    }

    fn push(&mut self, span: Span) {
        let end = span.begin.checked_add(span.duration.unwrap_or_default());
        self.end = self.end.max(end);
        self.spans.push(span);
    }

    fn add_worker(&mut self, started: WorkerStarted) {
        let WorkerStarted { device, worker, time, duration, error, .. } = started;
        self.push(Span {
            device,
            worker,
            slot: None,
            name: "start of a worker".to_owned(),
            category: "worker",
            begin: time,
            duration: Some(duration),
            details: Details { worker, error, ..Details::default() },
        });
    }

    fn start(&mut self, started: Started) {
        let Started { test, device, time, attempt, worker, slot, .. } = started;
        let Some(path) = self.tests.get(test as usize) else { return };
        let id = TestId::new(path, &device);
        self.slots.extend(worker.zip(slot));
        let (name, device) = (id.path(), id.device());
        let span = Span {
            device: device.to_owned(),
            worker,
            slot: Some(slot.unwrap_or_default()),
            name: name.to_owned(),
            category: "test",
            begin: time,
            duration: None,
            details: Details { verdict: Some("unfinished"), ..Details::default() },
        };
        self.attempts.insert((id, attempt), self.spans.len());
        self.push(span);
    }

    /// Ends an attempt. A later result of the same attempt replaces the verdict.
    fn finish(&mut self, result: &TestResult) {
        let Some(&span) = self.attempts.get(&(result.test.clone(), result.attempt.number)) else {
            return;
        };
        let span = &mut self.spans[span];
        let duration = *span.duration.get_or_insert(result.attempt.duration);
        self.end = self.end.max(span.begin.checked_add(duration));
        let message = (result.verdict != Verdict::Pass)
            .then(|| first_line(&result.attempt.outcome.to_string()));
        span.details = Details {
            verdict: Some(result.verdict.name()),
            message,
            attempt: Some(result.attempt.number),
            worker: result.attempt.worker,
            host: result.host.clone(),
            error: None,
        };
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
        let mut next: HashMap<(&str, Option<u32>), &Span> = HashMap::new();
        let mut ends: Vec<_> = spans
            .iter()
            .rev()
            .map(|span| {
                let after = next.insert((&span.device, self.slot(span)), span);
                let own = span.duration.and_then(|duration| span.begin.checked_add(duration));
                own.or_else(|| after.map(|after| after.begin)).or(self.end)
            })
            .collect();
        ends.reverse();
        ends
    }

    fn file(&self) -> TraceFile<'_> {
        let mut spans: Vec<&Span> = self.spans.iter().collect();
        spans.sort_by_key(|span| span.begin);
        let of_spans = self.spans.iter().map(|span| span.device.as_str());
        let devices: IndexSet<&str> =
            self.devices.iter().map(String::as_str).chain(of_spans).collect();
        let header = self.header.as_ref();
        let origin = header.map_or(SystemTime::UNIX_EPOCH, |header| header.time);
        let micros =
            |time: SystemTime| time.duration_since(origin).unwrap_or_default().as_micros() as u64;
        let ends = self.ends(&spans);
        let mut threads: Vec<Thread> = Vec::new();
        // Perfetto treats a thread with the number of its process as the main thread.
        let first_thread = devices.len() as u32 + 1;
        let spans = spans.into_iter().zip(ends).map(|(span, end)| {
            let pid = devices.get_index_of(span.device.as_str()).expect("its device") as u32 + 1;
            let begin = micros(span.begin);
            let end = end.map_or(begin, micros).max(begin);
            let thread = Thread::find(&mut threads, pid, self.slot(span), begin);
            threads[thread].end = end;
            TraceEvent::Span {
                name: &span.name,
                ph: 'X',
                pid,
                tid: first_thread + thread as u32,
                cat: span.category,
                ts: begin,
                dur: end - begin,
                args: &span.details,
            }
        });
        let spans: Vec<TraceEvent<'_>> = spans.collect();
        let metadata = |pid: u32, tid, kind: &str, name: &str, order: u64| {
            let event = |what: &str, args: Value| {
                let name = format!("{kind}_{what}");
                json!({ "name": name, "ph": "M", "pid": pid, "tid": tid, "args": args })
            };
            let name = event("name", json!({ "name": name }));
            [name, event("sort_index", json!({ "sort_index": order }))].map(TraceEvent::Metadata)
        };
        let names = devices
            .iter()
            .zip(1..)
            .flat_map(|(device, pid)| metadata(pid, first_thread, "process", device, pid.into()));
        let threads = threads.iter().zip(first_thread..).flat_map(|(thread, tid)| {
            metadata(thread.pid, tid, "thread", &thread.name(), thread.rank())
        });
        TraceFile {
            display_time_unit: "ms",
            other_data: json!({
                "run": header.map(|header| &header.run_id),
                "host": header.map(|header| &header.host),
            }),
            trace_events: names.chain(threads).chain(spans).collect(),
        }
    }
}

/// A track of a device.
struct Thread {
    pid: u32,
    /// The slot; none for work outside of slots.
    slot: Option<u32>,
    /// The number among the threads of the slot, from 0.
    lane: u32,
    /// The end of its last event, in microseconds.
    end: u64,
}

impl Thread {
    /// Finds the first thread of a slot that has no event at a time, or adds one. Returns the position.
    fn find(threads: &mut Vec<Self>, pid: u32, slot: Option<u32>, begin: u64) -> usize {
        let mut lane = 0;
        for (position, thread) in threads.iter().enumerate() {
            if (thread.pid, thread.slot) == (pid, slot) {
                if thread.end <= begin {
                    return position;
                }
                lane += 1;
            }
        }
        threads.push(Self { pid, slot, lane, end: 0 });
        threads.len() - 1
    }

    fn name(&self) -> String {
        let name = self.slot.map_or(OTHERS.to_owned(), |slot| format!("slot {slot}"));
        if self.lane == 0 { name } else { format!("{name} ({})", self.lane + 1) }
    }

    /// Returns the place among the threads of the device: slots by their numbers, then the others.
    fn rank(&self) -> u64 {
        const LANES: u64 = 1000;
        self.slot.map_or(u64::from(u32::MAX), u64::from) * LANES + u64::from(self.lane)
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
        let file = serde_json::to_value(trace.file()).unwrap();
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
