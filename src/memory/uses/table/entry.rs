//! Uses that are followed one by one.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::uses::{Access, overlap};

/// What happens to a use that is followed by itself.
#[derive(Clone, Debug)]
pub(super) enum State<E> {
    /// A command that the driver is being asked for.
    Issuing,
    /// A map, from before the driver is asked for it until the driver is asked to end it.
    Mapped,
    /// A command, or the end of a map, that has been enqueued.
    Running(Arc<E>),
    /// Nobody can tell any more when it ends.
    Lost,
}

/// A use that is followed by itself.
#[derive(Debug)]
pub(super) struct Use<E> {
    pub id: u64,
    pub range: Range<usize>,
    pub access: Access,
    pub state: State<E>,
    /// The queue on which a map ends.
    pub queue: Option<usize>,
}

impl<E> Use<E> {
    pub(super) fn command(id: u64, range: Range<usize>, access: Access, state: State<E>) -> Self {
        Self { id, range, access, state, queue: None }
    }

    pub(super) fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
        overlap(&self.range, range) && (self.access == Access::Write || access == Access::Write)
    }
}
