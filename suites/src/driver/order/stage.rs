//! Commands that a closed gate holds, and calls that wait for them.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::event::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, status_text};
use clmatrix::cl3::types::cl_int;

use super::super::api::{code_name, named, ok};
use super::super::bench::Bench;
use super::super::command::{Call, Kind};
use super::super::findings::Findings;
use super::super::object::{Gate, Object};
use super::super::query::Subject;
use super::WAITS;
use super::work::Work;

/// How long a command gets to run too early.
pub const A_MOMENT: Duration = Duration::from_millis(10);

/// The status of a command.
pub fn status(event: *mut c_void) -> cl_int {
    Subject::Event(event).value(named!(CL_EVENT_COMMAND_EXECUTION_STATUS))
}

/// The name of a status.
pub fn status_name(status: cl_int) -> &'static str {
    if status < 0 { code_name(status) } else { status_text(status) }
}

/// Waits up to 5 s until `condition` holds, and returns whether it does.
pub fn eventually(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}

/// A command that waits for a gate, or for commands behind it.
pub struct Held {
    /// The command in words.
    pub call: String,
    /// The rule that makes it wait.
    pub rule: &'static str,
    pub event: Object,
    /// Commands that end before this one.
    pub earlier: Vec<*mut c_void>,
    /// The command has been seen to end.
    pub has_ended: Cell<bool>,
}

impl Held {
    /// A command that waits for a gate.
    pub fn new(call: String, rule: &'static str, event: Object) -> Self {
        Self { call, rule, event, earlier: Vec::new(), has_ended: Cell::default() }
    }

    /// Adds a finding if the command has ended before the gate opens.
    fn check_held(&self, findings: &Findings) {
        let status = status(self.event.raw());
        let answer =
            format_args!("the status is {} while a user event holds all", status_name(status));
        findings.check(status > CL_COMPLETE, &self.call, self.rule, answer);
    }

    /// Returns whether the command has ended. Adds a finding if it has ended before the earlier ones.
    fn has_ended(&self, findings: &Findings) -> bool {
        if self.has_ended.get() {
            return true;
        }
        let found = status(self.event.raw());
        if found > CL_COMPLETE {
            return false;
        }
        self.has_ended.set(true);
        let answer = format_args!("the status is {} in the end", status_name(found));
        findings.check(
            found == CL_COMPLETE,
            &self.call,
            "the status is CL_COMPLETE (5.11)",
            answer,
        );
        for event in &self.earlier {
            let earlier = status(*event);
            let answer =
                format_args!("it has ended while the one before it is {}", status_name(earlier));
            findings.check(earlier <= CL_COMPLETE, &self.call, self.rule, answer);
        }
        true
    }
}

/// A test in which all commands wait for one gate. The findings are told after the gate has opened.
pub struct Stage<'a> {
    pub bench: &'a Bench,
    pub findings: Findings,
    pub gate: Gate,
    /// The event of a command that has ended.
    pub ended: Object,
    pub queues: Vec<*mut c_void>,
    pub held: Vec<Held>,
    /// The commands, with their names and the rule of their order.
    pub works: Vec<(Work, String, &'static str)>,
}

impl<'a> Stage<'a> {
    pub fn new(bench: &'a Bench) -> Self {
        let ended = Kind::Marker.enqueue(&mut bench.operands(&[]), Call::on(bench.queue));
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(bench.queue)) };
        Self {
            bench,
            findings: Findings::default(),
            gate: Gate::closed(bench.context),
            ended,
            queues: Vec::new(),
            held: Vec::new(),
            works: Vec::new(),
        }
    }

    /// Creates an in-order queue.
    pub fn new_queue(&mut self) -> *mut c_void {
        self.queues.push(self.bench.new_queue(0));
        self.queues[self.queues.len() - 1]
    }

    /// Enqueues clEnqueueFillBuffer, which the wait list holds, and returns its event.
    pub fn hold(&mut self, queue: *mut c_void, list: &[*mut c_void], with: String) -> *mut c_void {
        let mut work = Work::new(self.bench, &[Kind::FillBuffer]);
        let event = work.enqueue(0, Call::on(queue).after(list));
        let (raw, call) = (event.raw(), format!("{work} with {with}"));
        self.held.push(Held::new(call.clone(), WAITS, event));
        self.works.push((work, call, WAITS));
        raw
    }

    /// Flushes the queues, checks that the commands are held, opens the gate, and checks that they end in
    /// order and leave the right bytes.
    pub fn play(self) {
        let Self { bench, findings, gate, ended: _ended, queues, held, mut works } = self;
        let queues: Vec<usize> = queues.iter().map(|queue| *queue as usize).collect();
        let (findings, held, all) = (&findings, &held, &works);
        let all_end = thread::scope(move |scope| {
            scope.spawn(move || {
                for queue in queues {
                    // Oclgrind's clFlush returns when the gate is open (OCLGRIND-2).
                    // SAFETY: the queue is valid.
                    unsafe { ok!(clFlush(queue as *mut c_void)) };
                }
            });
            thread::sleep(A_MOMENT);
            held.iter().for_each(|held| held.check_held(findings));
            all.iter().for_each(|(work, call, rule)| work.check_unread(findings, call, rule));
            // Dropped here, too, if a query panics.
            gate.open();
            eventually(|| held.iter().filter(|held| !held.has_ended(findings)).count() == 0)
        });
        for held in held.iter().filter(|held| !held.has_ended.get()) {
            let rule = "it ends after what it waits for has ended (3.2)";
            findings.add(&held.call, rule, "it has not ended within 5 s");
        }
        for (work, call, rule) in works.iter_mut().filter(|_| all_end) {
            work.check(bench, findings, call, rule);
        }
    }
}

/// Makes a call while another thread opens the gates one after the other, and returns whether all were open
/// when the call returned.
pub fn meanwhile<T>(gates: Vec<Gate>, call: impl FnOnce() -> T) -> (T, bool) {
    let is_open = &AtomicBool::new(false);
    thread::scope(|scope| {
        let opener = scope.spawn(move || {
            thread::sleep(A_MOMENT);
            let (last, others) = gates.split_last().expect("a gate");
            for gate in others {
                gate.open();
                thread::sleep(A_MOMENT / 4);
            }
            is_open.store(true, SeqCst);
            last.open();
            gates
        });
        let result = (call(), is_open.load(SeqCst));
        // The gates live until the call has returned.
        drop(opener.join());
        result
    })
}

/// Makes a call that is to return while the gate is closed, and returns whether it does. The gate opens after
/// 5 s.
pub fn at_once<T>(gate: &mut Gate, call: impl FnOnce() -> T) -> (T, bool) {
    let (returned, waits) = mpsc::channel();
    thread::scope(|scope| {
        let guard = scope.spawn(move || {
            let has_returned = waits.recv_timeout(Duration::from_secs(5)).is_ok();
            if !has_returned {
                gate.open();
            }
            has_returned
        });
        let result = call();
        _ = returned.send(());
        (result, guard.join().expect("the guard ends"))
    })
}
