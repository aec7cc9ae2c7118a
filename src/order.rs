//! The place of a command: its queue and its wait list.

use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

/// The place of a command: on a queue, after the events of a wait list.
///
/// All calls that enqueue a command take it first: `&queue`, or [`queue.after(&event)`](CommandQueue::after).
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// # let other_queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
/// let filled = buffer.fill(&queue, &7_u32)?;
/// assert_eq!(buffer.to_vec::<u32>(other_queue.after(&filled))?, [7; 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Order<'a> {
    pub(crate) queue: &'a CommandQueue,
    pub(crate) wait_for: WaitList<'a>,
}

impl<'a> From<&'a CommandQueue> for Order<'a> {
    #[inline]
    fn from(queue: &'a CommandQueue) -> Self {
        Self { queue, wait_for: WaitList::default() }
    }
}

impl CommandQueue {
    /// Returns the place on this queue after `events`, for any command.
    #[doc(alias = "wait_for")]
    #[inline]
    pub fn after<'a>(&'a self, events: impl Into<WaitList<'a>>) -> Order<'a> {
        Order { queue: self, wait_for: events.into() }
    }
}
