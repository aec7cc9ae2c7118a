//! Bytes that a kernel has written, or reads.

use clmatrix::memory::{Buffer, MemFlags, MemoryObject, enqueue_copy};
use clmatrix::{ExecuteKernel, Kernel, Program, Result};

use crate::on_device::OnDevice;

/// A kernel that turns each byte of a buffer round.
pub struct Inverter<'a> {
    on_device: &'a OnDevice,
    kernel: Kernel,
}

impl<'a> Inverter<'a> {
    /// Builds the kernel.
    pub fn new(on_device: &'a OnDevice) -> Result<Self> {
        let source = "kernel void k(global uchar *x) { x[get_global_id(0)] ^= 255; }";
        let program = Program::create_and_build_from_source(&on_device.context, source, "")
            .unwrap_or_else(|log| panic!("the kernel does not compile:\n{log}"));
        Ok(Self { on_device, kernel: Kernel::create(&program, "k")? })
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
        let mut launch = ExecuteKernel::new(&self.kernel);
        // SAFETY: the kernel takes one buffer, and uses as many bytes of it as it has.
        unsafe {
            launch.set_arg(&buffer.as_raw());
            launch.set_global_work_size(buffer.size());
            launch.enqueue_nd_range(&self.on_device.queue)?;
        }
        Ok(())
    }
}
