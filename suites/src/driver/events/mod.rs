//! Events: their status, callbacks and times (5.11, 5.14).

mod callbacks;
pub mod profiles;

use super::order::meanwhile;
use super::prelude::*;

/// The statuses of commands that have not failed, in their order.
static STATUSES: [Named<cl_int>; 4] = named![CL_COMPLETE; CL_RUNNING; CL_SUBMITTED; CL_QUEUED];

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

/// How long a call that does not wait has to return.
const LONG: Duration = Duration::from_secs(5);

/// Enqueues a command that waits for a gate, and checks that the call does not wait.
pub fn gated(bench: &Bench, kind: Kind, queue: cl_command_queue) -> (Operands, Object, Gate) {
    let (gate, mut operands) = (Gate::closed(bench.context), bench.operands(&[kind]));
    kind.prepare(&mut operands, queue);
    let (list, mut event) = ([gate.raw()], None);
    let call = Call::on(queue).after(&list);
    let was_open = meanwhile(&gate, LONG, || event = Some(kind.enqueue(&mut operands, call)));
    let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
    let call = format!("{}{flag} with a user event in its wait list", kind.function());
    let rule = "the call returns when the command is enqueued (3.2)";
    bench.check(!was_open, call, rule, "it returned when the user event had ended");
    (operands, event.expect("an event"), gate)
}
