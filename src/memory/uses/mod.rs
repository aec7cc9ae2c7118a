//! Which bytes of an object are mapped, and which commands are under way on which bytes.
//!
//! This is what lets safe code map memory: see the module documentation of [`super`]. The lock is
//! never held across a driver call that can wait, so a command is entered before the driver is asked
//! for it, and what came of it is added afterwards.
//!
//! - [`table`] has the rules, [`shared`] their lock, and [`issuing`] counts beside it what the driver is
//!   just being asked for.
//! - [`command`], [`map`] and [`host`] enter the uses and note what came of them; [`pending`] follows
//!   what has been enqueued.
//! - [`idle`] tells when bytes are not in use any more, [`only_queue`] at a glance on whose queue
//!   they have been.
//! - [`queue`] knows in which order a queue's commands end, [`failures`] what drivers do
//!   otherwise where one fails, [`marks`] what that takes, and [`introduce`] which queues the uses know.

mod command;
mod failures;
mod host;
mod idle;
mod introduce;
mod issuing;
pub(crate) mod lock;
mod map;
mod marks;
mod only_queue;
mod pending;
mod queue;
mod shared;
mod table;

use std::ops::Range;
use std::sync::Arc;

use cl3::error_codes::CL_INVALID_OPERATION;

use crate::error::{Error, Result};
pub(crate) use host::HostUse;
use lock::MutexGuard;
pub(crate) use map::MapUse;
pub(crate) use marks::Moment;
use only_queue::OnlyQueue;
use pending::Pending;
pub(crate) use queue::{KnownQueue, Marked};
use shared::Shared;
pub(crate) use table::Entered;
use table::{LOST_MAP, Obstacle, Refusal, Table};

/// What is done to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They are read.
    Read,
    /// They are written, and perhaps read.
    Write,
}

/// Returns whether two ranges have a byte in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// The uses of one object and all that shares its bytes. Ranges are in bytes from its start.
#[derive(Debug)]
pub struct Uses {
    shared: Shared<Arc<KnownQueue>, Pending>,
    only_queue: OnlyQueue,
}

impl Uses {
    /// Those of an object that nobody uses yet.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { shared: Shared::default(), only_queue: OnlyQueue::none() })
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Table<Arc<KnownQueue>, Pending>> {
        self.shared.lock()
    }

    /// Enters a use with `enter` when what is in its way has been looked at; `ask` asks about its
    /// queue.
    #[cold]
    fn overcome<T>(
        &self,
        mut obstacle: Obstacle<Pending>,
        call: &'static str,
        ask: impl Fn() -> Result<Arc<KnownQueue>>,
        range: &Range<usize>,
        enter: impl Fn(
            &mut Table<Arc<KnownQueue>, Pending>,
            bool,
        ) -> std::result::Result<T, Obstacle<Pending>>,
    ) -> Result<T> {
        let mut settled = false;
        loop {
            match obstacle {
                Obstacle::UnknownQueue => self.introduce(ask()?),
                Obstacle::Unmapping(running) => {
                    self.settle(running);
                    settled = true;
                }
                Obstacle::Refused(refusal) => return Err(in_use(call, range, &refusal)),
            }
            let entered = enter(&mut self.lock(), settled);
            match entered {
                Ok(entered) => return Ok(entered),
                Err(next) => obstacle = next,
            }
        }
    }
}

fn in_use(call: &'static str, wanted: &Range<usize>, refusal: &Refusal) -> Error {
    let Refusal { held, why } = refusal;
    let why = format!("bytes {wanted:?} overlap bytes {held:?}, which {why}");
    Error::refused(call, CL_INVALID_OPERATION, why)
}

fn lost_map(call: &'static str, range: &Range<usize>) -> Error {
    in_use(call, range, &Refusal { held: range.clone(), why: LOST_MAP })
}
