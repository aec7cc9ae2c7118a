//! Events: their status, callbacks and times (5.11, 5.14).

mod callbacks;
mod profiles;

use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::event::*;

use super::prelude::*;

/// The statuses of commands that have not failed, in their order.
static STATUSES: [Named<cl_int>; 4] =
    [named!(CL_COMPLETE), named!(CL_RUNNING), named!(CL_SUBMITTED), named!(CL_QUEUED)];

/// The query of a status.
const QUERY: &str = "clGetEventInfo(CL_EVENT_COMMAND_EXECUTION_STATUS)";

/// The status of a command.
pub fn status(event: cl_event) -> cl_int {
    Subject::Event(event).value(named!(CL_EVENT_COMMAND_EXECUTION_STATUS))
}

/// The name of a status.
pub fn status_name(status: cl_int) -> &'static str {
    STATUSES.get(status as usize).map_or_else(|| code_name(status), |named| named.name)
}

/// Checks that a command is complete.
pub fn check_complete(event: &Object, of: &str, rule: &str, findings: &Findings) {
    let found = status(event.raw());
    findings.check(found == CL_COMPLETE, format_args!("{QUERY} of {of}"), rule, status_name(found));
}

/// Waits for an event with clWaitForEvents.
pub fn wait(event: &Object) {
    let event = event.raw();
    // SAFETY: the event is valid.
    unsafe { ok!(clWaitForEvents(1, &raw const event)) };
}

/// Waits for all commands of a queue.
pub fn finish(queue: cl_command_queue) {
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(queue)) };
}

/// Enqueues a command that waits for a gate.
fn gated(bench: &Bench, kind: Kind, queue: cl_command_queue) -> (Operands, Object, Gate) {
    let mut operands = bench.operands(&[kind]);
    kind.prepare(&mut operands, queue);
    let gate = Gate::closed(bench.context);
    let list = [gate.raw()];
    let event = kind.enqueue(&mut operands, Call::on(queue).after(&list));
    (operands, event, gate)
}

/// Passes the gate to `test` while another thread flushes the queue: clFlush of Oclgrind returns after the
/// commands have ended.
fn while_flushed<R>(queue: cl_command_queue, gate: Gate, test: impl FnOnce(Gate) -> R) -> R {
    let queue = queue as usize;
    thread::scope(|scope| {
        // SAFETY: the queue is valid, and the thread ends before the caller goes on.
        scope.spawn(move || unsafe { ok!(clFlush(queue as cl_command_queue)) });
        test(gate)
    })
}

per_kind! {
    fn a_status_does_not_go_back(bench, kind) {
        let findings = Findings::default();
        let (mut operands, event, gate) = gated(&bench, kind, bench.queue);
        let call = format!("{QUERY} of {}", kind.function());
        let mut last = CL_QUEUED;
        let mut look = |least| {
            let (found, before) = (status(event.raw()), status_name(last));
            let rule = "a command is not running or complete before its wait list has ended (5.11)";
            findings.check(found >= least, &call, rule, status_name(found));
            let rule = format_args!("{before} is not followed by an earlier status (5.11)");
            findings.check(found <= last, &call, rule, status_name(found));
            last = found;
            found
        };
        look(CL_SUBMITTED);
        while_flushed(bench.queue, gate, |gate| {
            for _ in 0..4 {
                thread::sleep(Duration::from_millis(1));
                look(CL_SUBMITTED);
            }
            gate.open();
            let limit = Instant::now() + Duration::from_secs(5);
            while look(cl_int::MIN) > CL_COMPLETE && Instant::now() < limit {
                thread::yield_now();
            }
        });
        check_complete(&event, kind.function(), "a flushed command ends at last (5.15)", &findings);
        kind.finish(&mut operands, bench.queue);
    }
}

per_kind! {
    fn a_command_is_complete_after_a_wait(bench, kind) {
        let findings = Findings::default();
        let mut operands = bench.operands(&[kind]);
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        wait(&event);
        check_complete(&event, kind.function(), "CL_COMPLETE after clWaitForEvents (5.11)", &findings);
        kind.finish(&mut operands, bench.queue);
        if kind.has_blocking_flag() {
            let event = kind.enqueue(&mut operands, Call::on(bench.queue).blocking());
            let rule = "CL_COMPLETE after a call that blocks until the command is complete (5.2, 5.3, 5.6)";
            check_complete(&event, kind.function(), rule, &findings);
            kind.finish(&mut operands, bench.queue);
        }
    }
}
