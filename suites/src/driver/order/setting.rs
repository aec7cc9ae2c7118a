//! The reasons why a command waits for an earlier one.

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use clmatrix::cl3::types::cl_command_queue_properties;

use super::super::api::ok;
use super::super::bench::Bench;
use super::super::command::{Call, Kind};
use super::super::object::Object;
use super::WAITS;
use super::stage::Stage;
use super::work::Work;

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

use Entry::{Ended, First, Gate};

/// A command between the first and the second one, on the queue of the second one.
#[derive(Clone, Copy, Debug)]
enum Between {
    /// clEnqueueBarrierWithWaitList.
    Barrier(&'static [Entry]),
    /// clEnqueueBarrier.
    OldBarrier,
    /// clEnqueueFillBuffer of another buffer, which waits for nothing.
    Fill,
}

use Between::{Barrier, Fill, OldBarrier};

/// The queues of two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queues {
    InOrder,
    OutOfOrder,
    /// Two in-order queues.
    Two,
    /// An in-order queue and an out-of-order queue.
    TwoOrders,
}

use Queues::{InOrder, OutOfOrder, Two, TwoOrders};

/// The fate of the event of the first command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstEvent {
    Kept,
    /// It is released when all commands have been enqueued.
    Released,
    /// The command has none.
    Absent,
}

use FirstEvent::{Absent, Kept, Released};

/// The reason why the second of two commands waits for the first one.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The reason in words.
    pub text: &'static str,
    /// The rule of OpenCL.
    pub rule: &'static str,
    queues: Queues,
    pub event: FirstEvent,
    between: &'static [Between],
    /// The wait list of the second command.
    list: &'static [Entry],
}

/// Declares settings.
macro_rules! settings {
    ($($name:ident: $text:literal, $rule:ident, $queues:ident, $event:ident, $between:expr,
        $list:expr;)*) => {
        $(pub const $name: Setting = Setting {
            text: $text,
            rule: $rule,
            queues: $queues,
            event: $event,
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
    IN_ORDER: "on an in-order queue", KEEPS, InOrder, Kept, [], [];
    WITHOUT_EVENT: "on an in-order queue, the first one without an event", KEEPS, InOrder, Absent, [], [];
    IN_ORDER_WITH_LIST: "on an in-order queue, the second one with an event that has ended in its wait list",
        KEEPS, InOrder, Kept, [], [Ended];
    GATED: "with a user event in its wait list, on an in-order queue", WAITS, InOrder, Kept, [], [Gate];
    WAIT_LIST: "with its event in the wait list, behind one that has ended, on an out-of-order queue",
        WAITS, OutOfOrder, Kept, [], [Ended, First];
    TWO_QUEUES: "with its event in the wait list, on two in-order queues", WAITS, Two, Kept, [], [First];
    PARTS: "with its event in the wait list, on queues of two sub-devices", WAITS, Two, Kept, [], [First];
    RELEASED: "with its event in the wait list, released before it has ended, on two in-order queues",
        WAITS, Two, Released, [], [First];
    BARRIER: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue",
        HOLDS, OutOfOrder, Kept, [Barrier(&[])], [];
    BARRIER_AND_LIST: "with clEnqueueBarrierWithWaitList(no list) between, on an out-of-order queue, the \
        second one with an event that has ended in its wait list",
        HOLDS, OutOfOrder, Kept, [Barrier(&[])], [Ended];
    TWO_BARRIERS: "with clEnqueueBarrierWithWaitList(no list) and then clEnqueueBarrierWithWaitList(an event \
        that has ended) between, on an out-of-order queue",
        HOLDS, OutOfOrder, Kept, [Barrier(&[]), Barrier(&[Ended])], [];
    OLD_BARRIER: "with clEnqueueBarrier between, on an out-of-order queue",
        HOLDS, OutOfOrder, Kept, [OldBarrier], [];
    BARRIER_WITH_LIST: "on another queue, with its event in the wait list of clEnqueueBarrierWithWaitList \
        before the second one, on an out-of-order queue",
        LISTS, TwoOrders, Kept, [Barrier(&[Ended, First])], [];
    CLOSING: "with clEnqueueFillBuffer between, which does not wait, on an out-of-order queue",
        ENDS, OutOfOrder, Kept, [Fill], [];
}

impl Setting {
    /// The properties of the queue of the second command.
    pub fn properties(&self) -> cl_command_queue_properties {
        let is_out_of_order = matches!(self.queues, OutOfOrder | TwoOrders);
        if is_out_of_order { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 }
    }

    /// Returns the queues of two commands. `before` are those of two others.
    pub fn queues(&self, bench: &Bench, before: Option<[*mut c_void; 2]>) -> [*mut c_void; 2] {
        let has_two = matches!(self.queues, Two | TwoOrders);
        // Commands share a queue where an earlier one would not hold a second one that is early.
        if let Some(queues) = before.filter(|_| !has_two && !self.list.contains(&First)) {
            return queues;
        }
        let last = bench.devices[bench.devices.len() - 1];
        let second = bench.new_queue_on(last, self.properties());
        let first = || before.map_or_else(|| bench.new_queue(0), |[first, _]| first);
        [if has_two { first() } else { second }, second]
    }

    /// Enqueues the first command, which the gate holds, those that the setting puts behind it, and all but
    /// the last of the `n` commands. Returns the event of the first one, and the wait list of the last one.
    pub fn begin(
        &self,
        stage: &Stage<'_>,
        (work, n): (&mut Work, usize),
        [first_queue, queue]: [*mut c_void; 2],
    ) -> (Option<Object>, Vec<*mut c_void>) {
        let gate = [stage.gate.raw()];
        let call = Call::on(first_queue);
        let call = if self.list.contains(&Gate) { call } else { call.after(&gate) };
        let first = (self.event != Absent).then(|| work.enqueue(0, call));
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
        for command in self.between {
            let enqueue = |kind: Kind, list: &[*mut c_void]| {
                let mut operands = stage.bench.operands(&[kind]);
                kind.enqueue_without_event(&mut operands, Call::on(queue).after(list));
            };
            match command {
                Barrier(entries) => enqueue(Kind::Barrier, &events(entries)),
                Fill => enqueue(Kind::FillBuffer, &[]),
                // SAFETY: the queue is valid.
                OldBarrier => unsafe { ok!(clEnqueueBarrier(queue)) },
            }
        }
        let list = events(self.list);
        for step in 1..n - 1 {
            work.enqueue_without_event(step, Call::on(queue).after(&list));
        }
        (first, list)
    }
}
