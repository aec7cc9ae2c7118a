//! The reasons why a command waits for an earlier one.

use Entry::{Ended, First, Gate};
use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE as OUT_OF_ORDER;

use super::*;

/// An event of a wait list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// The event of a command that has ended.
    Ended,
    /// The event of the first command.
    First,
    /// A user event, which the first command does not wait for.
    Gate,
}

/// The reason why the second of two commands waits for the first one.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The reason in words.
    pub text: &'static str,
    /// The rule of OpenCL.
    pub rule: &'static str,
    /// The first command is on an in-order queue of its own.
    pub has_two: bool,
    /// The properties of the queue of the second command.
    pub properties: u64,
    /// The first command has an event.
    pub has_event: bool,
    /// The commands between, on the queue of the second one: clEnqueueBarrierWithWaitList with a list, or
    /// clEnqueueFillBuffer of another buffer, which waits for nothing.
    between: &'static [Option<&'static [Entry]>],
    /// The wait list of the second command.
    list: &'static [Entry],
}

/// Declares settings.
macro_rules! settings {
    ($($name:ident: $text:literal, $rule:ident, $two:literal, $properties:expr, $event:literal, $between:expr, $list:expr;)*) => {
        $(pub const $name: Setting = Setting {
            text: $text,
            rule: $rule,
            has_two: $two == 2,
            properties: $properties,
            has_event: $event,
            between: &$between,
            list: &$list,
        };)*
    };
}

const KEEPS: &str = "an in-order queue runs the second one when the first one has ended (5.13)";
const HOLDS: &str =
    "commands behind a barrier run when it has ended, and it ends after all before it (5.12)";
const LISTS: &str =
    "commands behind a barrier run when the events of its wait list have ended (5.12)";
const ENDS: &str = "a marker or barrier without a wait list ends after all before it (5.12)";

settings! {
    IN_ORDER: "on an in-order queue", KEEPS, 1, 0, true, [], [];
    WITHOUT_EVENT: "on an in-order queue, the first one without an event", KEEPS, 1, 0, false, [], [];
    IN_ORDER_WITH_LIST: "on an in-order queue, the second one with an event that has ended in its wait list",
        KEEPS, 1, 0, true, [], [Ended];
    GATED: "with a user event in its wait list, on an in-order queue", WAITS, 1, 0, true, [], [Gate];
    WAIT_LIST: "with its event in the wait list, behind one that has ended, on an out-of-order queue",
        WAITS, 1, OUT_OF_ORDER, true, [], [Ended, First];
    TWO_QUEUES: "with its event in the wait list, on two in-order queues", WAITS, 2, 0, true, [], [First];
    PARTS: "with its event in the wait list, on queues of two sub-devices", WAITS, 2, 0, true, [], [First];
    BARRIER: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue",
        HOLDS, 1, OUT_OF_ORDER, true, [Some(&[])], [];
    BARRIER_AND_LIST: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue, the \
        second one with an event that has ended in its wait list",
        HOLDS, 1, OUT_OF_ORDER, true, [Some(&[])], [Ended];
    TWO_BARRIERS: "with clEnqueueBarrierWithWaitList(no list) and then clEnqueueBarrierWithWaitList(an event \
        that has ended) between, on an out-of-order queue",
        HOLDS, 1, OUT_OF_ORDER, true, [Some(&[]), Some(&[Ended])], [];
    BARRIER_WITH_LIST: "on another queue, with its event in the wait list of clEnqueueBarrierWithWaitList \
        before the second one, on an out-of-order queue",
        LISTS, 2, OUT_OF_ORDER, true, [Some(&[Ended, First])], [];
    CLOSING: "with clEnqueueFillBuffer between, which does not wait, on an out-of-order queue",
        ENDS, 1, OUT_OF_ORDER, true, [None], [];
}

impl Setting {
    /// Returns the queues of two commands. `before` are those of two others.
    pub fn queues(&self, bench: &Bench, before: Option<[*mut c_void; 2]>) -> [*mut c_void; 2] {
        // Commands share a queue where an earlier one would not hold a second one that is early.
        if let Some(queues) = before.filter(|_| !self.has_two && !self.list.contains(&First)) {
            return queues;
        }
        let last = bench.devices[bench.devices.len() - 1];
        let second = bench.new_queue_on(last, self.properties);
        let first = || before.map_or_else(|| bench.new_queue(0), |[first, _]| first);
        [if self.has_two { first() } else { second }, second]
    }

    /// Enqueues the first command, which the gate holds, and those that the setting puts behind it. Returns the event
    /// of the first one, and the wait list of the last one.
    pub fn begin(
        &self,
        stage: &Stage<'_>,
        work: &mut Work,
        [first_queue, queue]: [*mut c_void; 2],
    ) -> (Option<Object>, Vec<*mut c_void>) {
        let gate = [stage.gate.raw()];
        let held: &[_] = if self.list.contains(&Gate) { &[] } else { &gate };
        let call = Call::on(first_queue).after(held);
        let first = self.has_event.then(|| work.enqueue(0, call));
        if first.is_none() {
            work.enqueue_without_event(0, call);
        }
        let events = |entries: &[Entry]| -> Vec<_> {
            let raw = |entry: &Entry| match entry {
                Ended => stage.ended.raw(),
                First => first.as_ref().map_or(ptr::null_mut(), Object::raw),
                Gate => gate[0],
            };
            entries.iter().map(raw).collect()
        };
        for list in self.between {
            let kind = if list.is_some() { Kind::Barrier } else { Kind::FillBuffer };
            let list = events(list.unwrap_or_default());
            let mut operands = stage.bench.operands(&[kind]);
            kind.enqueue_without_event(&mut operands, Call::on(queue).after(&list));
        }
        let list = events(self.list);
        (first, list)
    }
}
