//! Commands that a closed gate holds.

use std::time::Instant;

use super::*;

/// How long a command gets to run too early.
pub const A_MOMENT: Duration = Duration::from_millis(10);

/// Flushes all queues on another thread while the checks run, and opens the gate after them.
pub fn before_opening(bench: &Bench, gate: &Gate, checks: impl FnOnce()) {
    let queues: Vec<_> = bench.queues().into_iter().map(|queue| queue as usize).collect();
    thread::scope(|scope| {
        // Oclgrind's clFlush returns when the gate is open (OCLGRIND-2).
        scope.spawn(|| queues.into_iter().for_each(|queue| flush(queue as *mut c_void)));
        // Also if a query is refused.
        let _opening = Opening(gate);
        thread::sleep(A_MOMENT);
        checks();
    });
}

/// Makes a call while another thread opens the gate at this time, unless the call has returned. Returns whether the gate
/// was open when the call returned.
pub fn meanwhile(gate: &Gate, at: Duration, call: impl FnOnce()) -> bool {
    let (returned, waits) = std::sync::mpsc::channel();
    // A call that panics drops the sender, and the thread opens the gate at once.
    thread::scope(move |scope| {
        scope.spawn(move || waits.recv_timeout(at).is_err().then(|| gate.open()));
        call();
        let was_open = gate.is_open();
        _ = returned.send(());
        was_open
    })
}

/// A test in which all commands wait for one gate. The findings are told after the gate has opened.
pub struct Stage<'a> {
    pub bench: &'a Bench,
    pub gate: Gate,
    /// The event of a command that has ended.
    pub ended: Object,
    /// Commands that wait for the gate, or for commands behind it.
    pub held: Vec<Work<'a>>,
}

impl<'a> Stage<'a> {
    pub fn new(bench: &'a Bench) -> Self {
        let ended = Kind::Marker.run(bench, bench.queue);
        Self { bench, gate: Gate::closed(bench.context), ended, held: vec![] }
    }

    /// Flushes the queues, checks that the commands are held, opens the gate, and checks that they end in
    /// order and leave the right bytes.
    pub fn play(mut self) {
        before_opening(self.bench, &self.gate, || {
            check_all(&mut self.held, CL_SUBMITTED..=CL_QUEUED, "while a user event holds all");
        });
        self.end();
    }

    /// Makes a call while another thread opens the gate, and checks that all commands have ended when it returns, and
    /// the bytes.
    pub fn end_by(mut self, name: &str, rule: &str, call: impl FnOnce(&mut Vec<Work<'a>>)) {
        let was_open = meanwhile(&self.gate, A_MOMENT, || call(&mut self.held));
        self.bench.check(was_open, name, rule, "it returned while a user event held a command");
        check_all(&mut self.held, CL_COMPLETE..=CL_COMPLETE, "when the call has returned");
        self.end();
    }

    /// Opens the gate, and checks that the commands end and leave the right bytes.
    fn end(mut self) {
        let end = Instant::now() + Duration::from_secs(20);
        self.gate.open();
        while !check_all(&mut self.held, CL_COMPLETE..=CL_QUEUED, "then") && Instant::now() < end {
            thread::sleep(Duration::from_micros(100));
        }
        if self.held.iter().any(|work| work.events.is_empty()) {
            self.bench.queues().into_iter().for_each(finish);
        }
        for work in &mut self.held {
            work.seen.clear();
            if work.check_statuses(CL_COMPLETE..=CL_COMPLETE, "at the end, or after 20 s") {
                // A status alone does not make the bytes visible (5.11).
                work.events.iter().for_each(wait_for);
                work.check();
                // A command that has ended keeps its status.
                work.check_statuses(CL_COMPLETE..=CL_QUEUED, "then");
            }
        }
    }
}
