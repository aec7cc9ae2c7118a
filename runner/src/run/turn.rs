//! The use of a device by one of its slots.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The use of a device by a slot, until it is dropped.
pub(super) struct Turn<'a> {
    device: &'a RwLock<()>,
    shared: Option<RwLockReadGuard<'a, ()>>,
    alone: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Turn<'a> {
    /// Waits until no other slot uses the device alone, or with `is_alone`, until no other slot uses it.
    pub fn new(device: &'a RwLock<()>, is_alone: bool) -> Self {
        let (shared, alone) =
            ((!is_alone).then(|| device.read()), is_alone.then(|| device.write()));
        Self { device, shared, alone }
    }

    /// Returns whether other slots may use the device, too.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Waits until no other slot uses the device. Others may use it before.
    pub fn become_alone(&mut self) {
        self.shared = None;
        self.alone.get_or_insert_with(|| self.device.write());
    }
}
