//! Commands that a closed gate holds.

use std::time::Instant;

use super::*;

/// How long a command gets to run too early.
pub const A_MOMENT: Duration = Duration::from_millis(10);

/// A command that waits for a gate, or for commands behind it.
pub struct Held {
    /// The command in words.
    call: String,
    /// The rule that makes it wait.
    rule: &'static str,
    pub event: Object,
    /// The event of a command that ends before this one.
    pub earlier: Option<*mut c_void>,
    /// The bytes, which this command is the last one to change.
    pub work: Option<Work>,
    /// The last status that the test has seen.
    last: cl_int,
}

impl Held {
    /// Returns whether the command has ended, and checks a status that is new, also against that of the earlier one.
    fn has_ended(&mut self, bench: &Bench) -> bool {
        let Self { call, rule, event, earlier, last, .. } = self;
        let found = status(event.raw());
        if found != *last {
            let name = status_name(*last);
            let next = format!("{name} is followed by the next ones only, to CL_COMPLETE (5.11)");
            bench.check((0..*last).contains(&found), &call, next, status_name(found));
            let earlier = earlier.map_or(CL_COMPLETE, status);
            let is_early = found <= CL_COMPLETE && earlier > CL_COMPLETE;
            let earlier = status_name(earlier);
            let answer = format!("it has ended while the one before it is {earlier}");
            bench.check(!is_early, &call, rule, answer);
            *last = found;
        }
        found <= CL_COMPLETE
    }
}

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

/// A test in which all commands wait for one gate. The findings are told after the gate has opened.
pub struct Stage<'a> {
    pub bench: &'a Bench,
    pub gate: Gate,
    /// The event of a command that has ended.
    pub ended: Object,
    held: Vec<Held>,
}

impl<'a> Stage<'a> {
    pub fn new(bench: &'a Bench) -> Self {
        let ended = Kind::Marker.enqueue(&mut bench.operands(&[]), Call::on(bench.queue));
        finish(bench.queue);
        Self { bench, gate: Gate::closed(bench.context), ended, held: vec![] }
    }

    /// Adds a command, with its name, the rule that makes it wait, and its event.
    pub fn add(&mut self, call: String, rule: &'static str, event: Object) -> &mut Held {
        self.held.push(Held { call, rule, event, earlier: None, work: None, last: CL_QUEUED });
        self.held.last_mut().expect("a command")
    }

    /// Flushes the queues, checks that the commands are held, opens the gate, and checks that they end in
    /// order and leave the right bytes.
    pub fn play(mut self) {
        before_opening(self.bench, &self.gate, || {
            for held in &mut self.held {
                held.has_ended(self.bench);
                let Held { call, rule, last, .. } = held;
                let answer = format!("it is {} while a user event holds all", status_name(*last));
                self.bench.check(*last >= CL_SUBMITTED, &call, &rule, answer);
            }
        });
        self.end();
    }

    /// Checks that all commands had ended when a call returned, and the bytes.
    pub fn end_after(self, call: &str, rule: &str, was_open: bool) {
        let answer = "it returned while a user event held a command";
        self.bench.check(was_open, call, rule, answer);
        for held in self.held.iter().filter(|_| was_open) {
            let found = status(held.event.raw());
            let answer = format!("a command has the status {} then", status_name(found));
            self.bench.check(found == CL_COMPLETE, call, rule, answer);
        }
        self.end();
    }

    /// Opens the gate, and checks that the commands end and leave the right bytes.
    fn end(mut self) {
        let (bench, held, start) = (self.bench, &mut self.held, Instant::now());
        self.gate.open();
        let left = |held: &mut Held| usize::from(!held.has_ended(bench));
        while held.iter_mut().map(left).sum::<usize>() > 0 && start.elapsed().as_secs() < 20 {
            thread::sleep(Duration::from_micros(100));
        }
        for held in held {
            let has_ended = held.last <= CL_COMPLETE;
            let rule = "it ends after what it waits for has ended (3.2)";
            bench.check(has_ended, &held.call, rule, "it has not ended within 20 s");
            let Some(work) = held.work.as_mut().filter(|_| has_ended) else { continue };
            // A status alone does not make the bytes visible (5.11).
            wait_for(&held.event);
            work.check(bench, &held.call, held.rule);
            // A command that has ended keeps its status.
            held.has_ended(bench);
        }
    }
}
