//! A number of bytes that the devices of a page share.

use std::cell::Cell;

/// The bytes that are left for the devices that are left.
pub(super) struct Allowance {
    bytes: Cell<usize>,
    devices: Cell<usize>,
}

/// The bytes of a device. Bytes that it does not use are for the devices behind it.
pub(super) struct Share<'a> {
    of: &'a Allowance,
    left: Cell<usize>,
}

impl Allowance {
    pub(super) fn new(bytes: usize, devices: usize) -> Self {
        Self { bytes: Cell::new(bytes), devices: Cell::new(devices) }
    }

    /// Returns the share of the next device.
    pub(super) fn share(&self) -> Share<'_> {
        let devices = self.devices.get().max(1);
        self.devices.set(devices - 1);
        Share { of: self, left: Cell::new(self.bytes.get() / devices) }
    }
}

impl Share<'_> {
    /// Returns the bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }

    /// Takes so many bytes, if they are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let Some(left) = self.left.get().checked_sub(bytes) else { return false };
        self.left.set(left);
        self.of.bytes.set(self.of.bytes.get().saturating_sub(bytes));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_leaves_its_rest_to_the_next() {
        let allowance = Allowance::new(100, 2);
        let first = allowance.share();
        assert!(first.take(20) && !first.take(31) && first.take(10));
        let second = allowance.share();
        assert!(second.take(70) && !second.take(1));
    }
}
