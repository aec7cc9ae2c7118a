//! Commands that a closed gate holds, and calls that wait for them.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::event::*;

use super::*;
use crate::driver::events::{finish, status, status_name};

/// How long a command gets to run too early.
pub const A_MOMENT: Duration = Duration::from_millis(10);

/// Waits up to 5 s until `condition` holds, and returns whether it does.
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
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
    /// The event of a command that ends before this one.
    pub earlier: Option<*mut c_void>,
}

/// Returns whether the command has ended. Adds a finding if it has ended before the earlier ones.
fn has_ended(Held { call, rule, event, earlier }: &Held, findings: &Findings) -> bool {
    let found = status(event.raw());
    let earlier = earlier.map_or(CL_COMPLETE, status);
    if found <= CL_COMPLETE {
        let answer = format!("it has ended while the one before it is {}", status_name(earlier));
        findings.check(earlier <= CL_COMPLETE, call, rule, answer);
    }
    let answer = format_args!("the status is {} in the end", status_name(found));
    findings.check(found >= CL_COMPLETE, call, "the status is CL_COMPLETE (5.11)", answer);
    found <= CL_COMPLETE
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
        finish(bench.queue);
        let (findings, gate) = (Findings::default(), Gate::closed(bench.context));
        Self { bench, findings, gate, ended, queues: vec![], held: vec![], works: vec![] }
    }

    /// Creates an in-order queue.
    pub fn new_queue(&mut self) -> *mut c_void {
        self.queues.push(self.bench.new_queue(0));
        self.queues[self.queues.len() - 1]
    }

    /// Enqueues a command, which the wait list holds, on a queue of its own, and returns its event.
    pub fn hold(&mut self, kind: Kind, list: &[*mut c_void], with: &str) -> *mut c_void {
        let mut work = Work::new(self.bench, &[kind]).expect("one command");
        let event = work.enqueue(0, Call::on(self.new_queue()).after(list));
        let (raw, call) = (event.raw(), format!("{} with {with}", work.name));
        self.held.push(Held { call: call.clone(), rule: WAITS, event, earlier: None });
        self.works.push((work, call, WAITS));
        raw
    }

    /// Flushes the queues, checks that the commands are held, opens the gate, and checks that they end in
    /// order and leave the right bytes.
    pub fn play(self) {
        let Self { findings, gate, ended: _ended, queues, held, mut works, .. } = self;
        let queues: Vec<usize> = queues.iter().map(|queue| *queue as usize).collect();
        let (findings, held, all) = (&findings, &held, &works);
        let left = thread::scope(move |scope| {
            scope.spawn(move || {
                for queue in queues {
                    // Oclgrind's clFlush returns when the gate is open (OCLGRIND-2).
                    // SAFETY: the queue is valid.
                    unsafe { ok!(clFlush(queue as *mut c_void)) };
                }
            });
            thread::sleep(A_MOMENT);
            for Held { call, rule, event, .. } in held {
                let found = status(event.raw());
                let answer = format!("it is {} while a user event holds all", status_name(found));
                findings.check(found > CL_COMPLETE, call, rule, answer);
            }
            all.iter().for_each(|(work, call, rule)| work.check_unread((findings, call, rule)));
            // Dropped here, too, if a query panics.
            gate.open();
            let mut left: Vec<_> = held.iter().collect();
            eventually(|| {
                left.retain(|held| !has_ended(held, findings));
                left.is_empty()
            });
            left
        });
        for Held { call, .. } in &left {
            let rule = "it ends after what it waits for has ended (3.2)";
            findings.add(call, rule, "it has not ended within 5 s");
        }
        for (work, call, rule) in works.iter_mut().filter(|_| left.is_empty()) {
            work.check((findings, call, rule));
        }
    }
}

/// True if a call returned when all gates were open, and the gates.
pub type Opened = (bool, Vec<Gate>);

/// Makes a call while another thread opens the gates one after the other, beginning at this time, unless the call has
/// returned. Returns whether all were open when the call returned, and the gates.
pub fn meanwhile<T>(gates: Vec<Gate>, at: Duration, call: impl FnOnce() -> T) -> (T, Opened) {
    let (is_open, (returned, waits)) = (&AtomicBool::new(false), mpsc::channel());
    thread::scope(|scope| {
        let opener = scope.spawn(move || {
            let has_returned = waits.recv_timeout(at).is_ok();
            for (n, gate) in gates.iter().enumerate().filter(|_| !has_returned) {
                is_open.store(n + 1 == gates.len(), SeqCst);
                gate.open();
                thread::sleep(A_MOMENT / 4);
            }
            gates
        });
        let (result, was_open) = (call(), is_open.load(SeqCst));
        _ = returned.send(());
        (result, (was_open, opener.join().expect("the thread ends")))
    })
}
