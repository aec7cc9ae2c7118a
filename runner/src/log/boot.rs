//! A start of a machine.

use crate::system;

/// A start of a machine.
#[derive(Clone)]
pub(super) struct Boot {
    pub host: String,
    /// `None` where the system has none.
    pub id: Option<String>,
}

impl Boot {
    /// Returns the present one.
    pub fn now() -> Self {
        Self { host: system::host(), id: system::boot_id() }
    }

    /// Returns whether this machine was started again after `before`, as far as is known.
    pub fn is_restart_of(&self, before: &Self) -> bool {
        let ids = self.id.as_ref().zip(before.id.as_ref());
        self.host == before.host && ids.is_some_and(|(now, before)| now != before)
    }
}
