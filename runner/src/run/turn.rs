//! The use of a device by one of its slots.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The use of a device by a slot, until it is dropped.
pub(super) struct Turn<'a> {
    device: &'a RwLock<()>,
    held: Held<'a>,
}

#[expect(dead_code, reason = "the guards are held")]
enum Held<'a> {
    Nothing,
    Shared(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

impl<'a> Turn<'a> {
    /// Waits until no other slot uses the device alone.
    pub fn shared(device: &'a RwLock<()>) -> Self {
        let guard = device.read();
        Self { device, held: Held::Shared(guard) }
    }

    /// Waits until no other slot uses the device.
    pub fn alone(device: &'a RwLock<()>) -> Self {
        Self { device, held: Held::Alone(device.write()) }
    }

    /// Returns whether other slots may use the device, too.
    pub fn is_shared(&self) -> bool {
        matches!(self.held, Held::Shared(_))
    }

    /// Waits until no other slot uses the device. Others may use it before.
    pub fn become_alone(&mut self) {
        self.held = Held::Nothing;
        self.held = Held::Alone(self.device.write());
    }
}
