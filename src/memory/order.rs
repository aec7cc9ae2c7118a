//! Where a command goes.

use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

/// The place of a command in the order of commands: on a queue, after the events of a wait list.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub(crate) queue: &'a CommandQueue,
    pub(crate) wait_for: &'a WaitList<'a>,
}

impl<'a> Order<'a> {
    #[inline]
    pub(crate) fn new(queue: &'a CommandQueue, wait_for: &'a WaitList<'a>) -> Self {
        Self { queue, wait_for }
    }
}
