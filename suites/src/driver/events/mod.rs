//! Events: their status, callbacks and times (5.11, 5.14).

mod callbacks;
pub mod profiles;

use super::prelude::*;

/// The statuses of commands that have not failed, in their order.
static STATUSES: [Named<cl_int>; 4] =
    [named!(CL_COMPLETE), named!(CL_RUNNING), named!(CL_SUBMITTED), named!(CL_QUEUED)];

/// The status of a command.
pub fn status(event: cl_event) -> cl_int {
    Subject::Event(event).value(named!(CL_EVENT_COMMAND_EXECUTION_STATUS))
}

/// The name of a status.
pub fn status_name(status: cl_int) -> &'static str {
    STATUSES.get(status as usize).map_or_else(|| code_name(status), |named| named.name)
}

/// Waits for an event with clWaitForEvents.
pub fn wait_for(event: &Object) {
    succeeds("clWaitForEvents", wait(&[event.raw()]));
}

/// Enqueues a command that waits for a gate.
pub fn gated(bench: &Bench, kind: Kind, queue: cl_command_queue) -> (Operands, Object, Gate) {
    let mut operands = bench.operands(&[kind]);
    kind.prepare(&mut operands, queue);
    let gate = Gate::closed(bench.context);
    let event = kind.enqueue(&mut operands, Call::on(queue).after(&[gate.raw()]));
    (operands, event, gate)
}
