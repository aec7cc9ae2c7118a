//! What the host does to bytes that need no map: a map that ends on no queue.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cl3::error_codes::CL_INVALID_COMMAND_QUEUE;

use super::map::MapUse;
use super::table::Table;
use super::{Access, Uses};
use crate::error::{Error, Result};
use crate::handle::Outcome;

/// The host's use of bytes that need no map.
#[derive(Debug)]
pub(crate) struct HostUse {
    uses: Arc<Uses>,
    id: u64,
}

impl HostUse {
    /// Enters it, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped.
    pub(crate) fn enter(
        call: &'static str,
        uses: &Arc<Uses>,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let id = uses.enter_host(call, range, access)?.id;
        Ok(Self { uses: Arc::clone(uses), id })
    }
}

impl Drop for HostUse {
    fn drop(&mut self) {
        self.uses.end(self.id, Outcome::Complete);
    }
}

impl Uses {
    /// Enters what the host does to bytes that need no map, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped.
    pub(crate) fn enter_host(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<MapUse> {
        let no_queue = || Err(Error::refused(call, CL_INVALID_COMMAND_QUEUE, "there is no queue"));
        let enter = |table: &mut Table<_, _>, settled| {
            table.enter_host(&self.shared.issuing, range, access, settled)
        };
        let entered = enter(&mut self.lock(), false);
        let id = match entered {
            Ok(id) => id,
            Err(obstacle) => self.overcome(obstacle, call, no_queue, range, enter)?,
        };
        // No queue has this number.
        let entered = MapUse { id, queue: ptr::null_mut() };
        self.wait_before_map(call, entered, range, access)?;
        Ok(entered)
    }
}
