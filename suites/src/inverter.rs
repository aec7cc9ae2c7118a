//! Bytes that a kernel has written, or reads.

use std::cell::RefCell;

use clmatrix::memory::{Buffer, MemFlags, MemoryObject, enqueue_copy};
use clmatrix::{Launcher, Result};

use crate::on_device::OnDevice;

/// A kernel that turns each byte of a buffer round.
pub struct Inverter<'a> {
    on_device: &'a OnDevice,
    kernel: RefCell<Launcher>,
}

impl<'a> Inverter<'a> {
    /// Builds the kernel.
    pub fn new(on_device: &'a OnDevice) -> Result<Self> {
        let source = "kernel void k(global uchar *x) { x[get_global_id(0)] ^= 255; }";
        Ok(Self { on_device, kernel: RefCell::new(on_device.launcher(source, "")?) })
    }

    /// A buffer of these bytes, which a kernel has written.
    pub fn written(&self, bytes: &[u8]) -> Result<Buffer> {
        let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let buffer = Buffer::from_slice(&self.on_device.context, MemFlags::READ_WRITE, &inverted)?;
        self.invert(&buffer)?;
        Ok(buffer)
    }

    /// The bytes of a buffer, as a kernel reads them.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>> {
        self.invert(buffer)?;
        let mut bytes = vec![0; buffer.size()];
        enqueue_copy(&self.on_device.queue, &mut bytes, buffer, .., [])?;
        Ok(bytes.into_iter().map(|byte| !byte).collect())
    }

    /// Turns each byte round.
    pub fn invert(&self, buffer: &Buffer) -> Result<()> {
        let mut kernel = self.kernel.borrow_mut();
        let mut launch = kernel.launch();
        launch.global(buffer.size()).arg(buffer);
        // SAFETY: the kernel uses as many bytes of the buffer as it has.
        unsafe { launch.enqueue(&self.on_device.queue) }?;
        Ok(())
    }
}
