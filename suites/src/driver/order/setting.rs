//! The reasons why a command waits for an earlier one.

use Kind::{Barrier, FillBuffer};

use super::*;

pub const OUT_OF_ORDER: u64 = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

/// The events of wait lists: that of a command which has ended, and that of the first command.
const ENDED: usize = 0;
const FIRST: usize = 1;

/// The reason why the second of two commands waits for the first one.
pub struct Setting {
    /// The reason in words.
    pub text: &'static str,
    /// The rule of OpenCL.
    pub rule: &'static str,
    /// The first command is on an in-order queue of its own.
    has_two_queues: bool,
    /// The properties of the queue of the second command.
    pub properties: u64,
    /// The first command has an event.
    has_event: bool,
    /// The command between, on the queue of the second one and on other objects, with its wait list.
    between: Option<(Kind, &'static [usize])>,
    /// The wait list of the second command.
    list: &'static [usize],
}

/// Declares settings, each with the fields in which it differs from another one.
macro_rules! settings {
    ($($name:ident: $text:literal $($field:ident: $value:expr),* => $other:expr;)*) => {
        $(pub const $name: Setting = Setting { text: $text, $($field: $value,)* ..$other };)*
    };
}

pub const IN_ORDER: Setting = Setting {
    text: "on an in-order queue",
    rule: "an in-order queue runs the second one when the first one has ended (5.13)",
    has_two_queues: false,
    properties: 0,
    has_event: true,
    between: None,
    list: &[],
};

settings! {
    WITHOUT_EVENT: "on an in-order queue, the first one without an event" has_event: false => IN_ORDER;
    IN_ORDER_WITH_LIST: "on an in-order queue, the second one with an event that has ended in its wait list"
        list: &[ENDED] => IN_ORDER;
    TWO_QUEUES: "with its event in the wait list, on two in-order queues"
        rule: WAITS, list: &[FIRST], has_two_queues: true => IN_ORDER;
    PARTS: "with its event in the wait list, on queues of two sub-devices" => TWO_QUEUES;
    WAIT_LIST: "with its event in the wait list, behind one that has ended, on an out-of-order queue"
        rule: WAITS, properties: OUT_OF_ORDER, list: &[ENDED, FIRST] => IN_ORDER;
    BARRIER: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue"
        rule: "commands behind a barrier run after it, and it ends after all before it (5.12)",
        properties: OUT_OF_ORDER, between: Some((Barrier, &[])) => IN_ORDER;
    BARRIER_AND_LIST: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue, the \
        second one with an event that has ended in its wait list" list: &[ENDED] => BARRIER;
    BARRIER_WITH_LIST: "on another queue, with its event in the wait list of clEnqueueBarrierWithWaitList \
        before the second one, on an out-of-order queue"
        rule: "commands behind a barrier run when the events of its wait list have ended (5.12)",
        between: Some((Barrier, &[ENDED, FIRST])), has_two_queues: true => BARRIER;
    CLOSING: "with clEnqueueFillBuffer between, which does not wait, on an out-of-order queue"
        rule: "a marker or barrier without a wait list ends after all before it (5.12)",
        between: Some((FillBuffer, &[])) => BARRIER;
}

/// The event of the first command, and the queue and the wait list of the second one.
type Second = (Option<*mut c_void>, *mut c_void, Vec<*mut c_void>);

impl Setting {
    /// Enqueues the first command, which the gate holds, adds it to the stage if it has an event, and enqueues the
    /// command that the setting puts behind it.
    pub fn begin(&self, stage: &mut Stage<'_>, work: &mut Work) -> Second {
        let bench = stage.bench;
        let first_queue = self.has_two_queues.then(|| bench.new_queue(0));
        let queue = bench.new_queue_on(bench.devices[bench.devices.len() - 1], self.properties);
        let gate = [stage.gate.raw()];
        let call = Call::on(first_queue.unwrap_or(queue)).after(&gate);
        let first = if self.has_event {
            let name = format!("the first command of {} {}", work.name, self.text);
            Some(stage.add(name, WAITS, work.enqueue(0, call)).event.raw())
        } else {
            let (kind, operands) = &mut work.steps[0];
            kind.enqueue_without_event(operands, call);
            None
        };
        let events = [stage.ended.raw(), first.unwrap_or(ptr::null_mut())];
        let list_of = |list: &[usize]| -> Vec<_> { list.iter().map(|n| events[*n]).collect() };
        if let Some((kind, list)) = self.between {
            let call = Call::on(queue);
            kind.enqueue_without_event(&mut bench.operands(&[]), call.after(&list_of(list)));
        }
        (first, queue, list_of(self.list))
    }
}
