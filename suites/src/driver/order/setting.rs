//! The reasons why a command waits for an earlier one.

use super::*;

pub const OUT_OF_ORDER: u64 = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

/// A wait list: the numbers of events that have ended, of the first command's, and of others that have ended.
type List = [usize; 3];

/// The reason why the second of two commands waits for the first one.
pub struct Setting {
    /// The number of queues, and the properties of that of the second command.
    pub queues: (usize, u64),
    /// The command between, on the queue of the second one and on other objects, with its wait list.
    between: Option<(Kind, List)>,
    /// The wait list of the second command.
    list: List,
    /// The bytes of the two commands.
    bytes: Bytes,
    /// The reason in words, with its section of the OpenCL 3.0 API specification. Numbers in a list count from 0.
    pub text: &'static str,
}

/// Declares settings, each with its fields in their order.
macro_rules! settings {
    ($($name:ident: $queues:expr, $between:expr, $list:expr, $bytes:ident, $text:literal;)*) => {$(
        pub const $name: Setting = Setting {
            queues: $queues, between: $between, list: $list, bytes: Kind::$bytes, text: $text,
        };
    )*};
}

settings! {
    IN_ORDER: (1, 0), None, [0; 3], whole, "on an in-order queue (5.13)";
    IN_ORDER_OF_FEW: (1, 0), None, [0; 3], few,
        "on an in-order queue (5.13), with the first four bytes or the first pixel of each object";
    IN_ORDER_WITH_LIST: (1, 0), None, [1, 0, 0], whole,
        "on an in-order queue (5.13), the second one with an event that has ended in its wait list";
    TWO_QUEUES: (2, 0), None, [8, 1, 8], whole,
        "with its event as number 8 of 17 in the wait list (3.2), on two in-order queues";
    WAIT_LIST: (1, OUT_OF_ORDER), None, [63, 1, 0], whole,
        "with its event as number 63 of 64 in the wait list (3.2), on an out-of-order queue";
    BARRIER: (1, OUT_OF_ORDER), Some((Kind::Barrier, [0; 3])), [0; 3], whole,
        "with clEnqueueBarrierWithWaitList(no list) between (5.12), on an out-of-order queue";
    BARRIER_AND_LIST: (1, OUT_OF_ORDER), Some((Kind::Barrier, [0; 3])), [1, 0, 0], whole,
        "with clEnqueueBarrierWithWaitList(no list) between (5.12), on an out-of-order queue, the \
         second one with an event that has ended in its wait list";
    BARRIER_WITH_LIST: (2, OUT_OF_ORDER), Some((Kind::Barrier, [0, 1, 1])), [0; 3], whole,
        "on another queue, with its event in the wait list of clEnqueueBarrierWithWaitList before \
         the second one (5.12), on an out-of-order queue";
    CLOSING: (1, OUT_OF_ORDER), Some((Kind::FillBuffer, [0; 3])), [0; 3], whole,
        "with clEnqueueFillBuffer between, which does not wait, on an out-of-order queue (5.12)";
}

/// Two commands, and the queue and the wait list of the second one, empty if the setting needs no event.
type Begun<'a> = (Work<'a>, *mut c_void, Vec<*mut c_void>);

impl Setting {
    /// Enqueues the first of two commands, which the gate holds, and the command that the setting puts behind it.
    pub fn begin<'a>(&self, stage: &Stage<'a>, kinds: [Kind; 2]) -> Begun<'a> {
        let (bench, gate) = (stage.bench, [stage.gate.raw()]);
        let mut work = Work::new(bench, kinds, self.bytes);
        work.name += &format!(" {}", self.text);
        let queue = bench.new_queue_on(bench.devices[bench.devices.len() - 1], self.queues.1);
        let first_queue = if self.queues.0 == 2 { bench.new_queue(0) } else { queue };
        // Every second pair has the event where no other command needs it.
        let has_event = self.list != [0; 3] || self.between.is_some() || stage.held.len() % 2 == 1;
        work.name += if has_event { "" } else { ", the first one without an event" };
        let first = work.enqueue(0, Call::on(first_queue).after(&gate), has_event);
        let events = [stage.ended.raw(), first, stage.ended.raw()];
        let list = |n: List| [0, 1, 2].map(|i| vec![events[i]; n[i]]).concat();
        if let Some((kind, n)) = self.between {
            kind.enqueue_without_event(&mut bench.operands(&[]), Call::on(queue).after(&list(n)));
        }
        (work, queue, list(self.list))
    }
}
