//! The reasons why a command waits for an earlier one.

use Entry::{Ended, First};
use Kind::{Barrier, FillBuffer};

use super::*;

pub const OUT_OF_ORDER: u64 = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

/// An event of a wait list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// The event of a command that has ended.
    Ended,
    /// The event of the first command.
    First,
}

/// The reason why the second of two commands waits for the first one.
#[derive(Clone, Copy, Debug)]
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
    /// The commands between, on the queue of the second one and on other objects, with their wait lists.
    between: &'static [(Kind, &'static [Entry])],
    /// The wait list of the second command.
    list: &'static [Entry],
}

/// Declares settings, each with the fields in which it differs from another one.
macro_rules! settings {
    ($($name:ident: $text:literal $($field:ident: $value:expr),* => $other:expr;)*) => {
        $(pub const $name: Setting = Setting { text: $text, $($field: $value,)* ..$other };)*
    };
}

const KEEPS: &str = "an in-order queue runs the second one when the first one has ended (5.13)";
const HOLDS: &str =
    "commands behind a barrier run when it has ended, and it ends after all before it (5.12)";
const LISTS: &str =
    "commands behind a barrier run when the events of its wait list have ended (5.12)";
const ENDS: &str = "a marker or barrier without a wait list ends after all before it (5.12)";

pub const IN_ORDER: Setting = Setting {
    text: "on an in-order queue",
    rule: KEEPS,
    has_two_queues: false,
    properties: 0,
    has_event: true,
    between: &[],
    list: &[],
};

settings! {
    WITHOUT_EVENT: "on an in-order queue, the first one without an event" has_event: false => IN_ORDER;
    IN_ORDER_WITH_LIST: "on an in-order queue, the second one with an event that has ended in its wait list"
        list: &[Ended] => IN_ORDER;
    TWO_QUEUES: "with its event in the wait list, on two in-order queues"
        rule: WAITS, list: &[First], has_two_queues: true => IN_ORDER;
    PARTS: "with its event in the wait list, on queues of two sub-devices" => TWO_QUEUES;
    WAIT_LIST: "with its event in the wait list, behind one that has ended, on an out-of-order queue"
        rule: WAITS, properties: OUT_OF_ORDER, list: &[Ended, First] => IN_ORDER;
    BARRIER: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue"
        rule: HOLDS, properties: OUT_OF_ORDER, between: &[(Barrier, &[])] => IN_ORDER;
    BARRIER_AND_LIST: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue, the \
        second one with an event that has ended in its wait list" list: &[Ended] => BARRIER;
    BARRIER_WITH_LIST: "on another queue, with its event in the wait list of clEnqueueBarrierWithWaitList \
        before the second one, on an out-of-order queue"
        rule: LISTS, between: &[(Barrier, &[Ended, First])], has_two_queues: true => BARRIER;
    CLOSING: "with clEnqueueFillBuffer between, which does not wait, on an out-of-order queue"
        rule: ENDS, between: &[(FillBuffer, &[])] => BARRIER;
}

impl Setting {
    /// Enqueues the first command, which the gate holds, and those that the setting puts behind it. Returns its event,
    /// and the queue and the wait list of the second command.
    pub fn begin(
        &self,
        stage: &Stage<'_>,
        work: &mut Work,
    ) -> (Option<Object>, *mut c_void, Vec<*mut c_void>) {
        let bench = stage.bench;
        let first_queue = self.has_two_queues.then(|| bench.new_queue(0));
        let queue = bench.new_queue_on(bench.devices[bench.devices.len() - 1], self.properties);
        let gate = [stage.gate.raw()];
        let call = Call::on(first_queue.unwrap_or(queue)).after(&gate);
        let first = self.has_event.then(|| work.enqueue(0, call));
        if first.is_none() {
            work.enqueue_without_event(0, call);
        }
        let events = |entries: &[Entry]| -> Vec<_> {
            let raw = |entry: &Entry| match entry {
                Ended => stage.ended.raw(),
                First => first.as_ref().map_or(ptr::null_mut(), Object::raw),
            };
            entries.iter().map(raw).collect()
        };
        for (kind, list) in self.between {
            let (list, mut operands) = (events(list), bench.operands(&[]));
            kind.enqueue_without_event(&mut operands, Call::on(queue).after(&list));
        }
        let list = events(self.list);
        (first, queue, list)
    }
}
