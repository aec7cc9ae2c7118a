//! Bytes that a kernel has written, or reads.

use std::cell::RefCell;

use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use clmatrix::{Kernel, Result};

use crate::support::on_device::OnDevice;

/// A kernel that inverts each byte of a buffer, and one that copies a buffer.
pub struct Inverter<'a> {
    on_device: &'a OnDevice,
    invert: RefCell<Kernel>,
    copy: RefCell<Kernel>,
}

impl<'a> Inverter<'a> {
    /// Builds the kernels.
    pub fn new(on_device: &'a OnDevice) -> Result<Self> {
        let invert = "kernel void k(global uchar *x) { x[get_global_id(0)] ^= 255; }";
        let copy = "kernel void k(global const uchar *x, global uchar *y) {
            y[get_global_id(0)] = x[get_global_id(0)];
        }";
        let build = |source| on_device.kernel(source, "").map(RefCell::new);
        Ok(Self { on_device, invert: build(invert)?, copy: build(copy)? })
    }

    /// A buffer of these bytes, which a kernel has written.
    pub fn written(&self, bytes: &[u8]) -> Result<Buffer> {
        let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let buffer = Buffer::from_slice(&self.on_device.context, MemFlags::READ_WRITE, &inverted)?;
        self.invert(&buffer)?;
        Ok(buffer)
    }

    /// The bytes of a buffer, as a kernel reads them; zero where it does not.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>> {
        let mut bytes = vec![0; buffer.size()];
        let OnDevice { context, queue } = self.on_device;
        let seen = Buffer::from_slice(context, MemFlags::READ_WRITE, &bytes)?;
        let mut kernel = self.copy.borrow_mut();
        let mut launch = kernel.launch();
        launch.global(buffer.size()).local(1).arg_read(buffer).arg(&seen);
        // SAFETY: the kernel uses as many bytes of both buffers as they have.
        unsafe { launch.enqueue(queue) }?;
        enqueue_copy(queue, &mut bytes, &seen, ..)?;
        Ok(bytes)
    }

    /// Inverts each byte.
    pub fn invert(&self, buffer: &Buffer) -> Result<()> {
        let mut kernel = self.invert.borrow_mut();
        let mut launch = kernel.launch();
        launch.global(buffer.size()).local(1).arg(buffer);
        // SAFETY: the kernel uses as many bytes of the buffer as it has.
        unsafe { launch.enqueue(&self.on_device.queue) }?;
        Ok(())
    }
}
