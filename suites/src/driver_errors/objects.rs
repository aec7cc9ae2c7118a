//! Operands of valid commands on buffers.

use std::cell::Cell;

use clmatrix::opencl3::device::Device;

use super::prelude::*;

/// The size in bytes of each buffer and of the host memory.
pub const SIZE: usize = 4096;

/// A context with a queue, two buffers of `SIZE` bytes, and host memory of as many.
pub struct Objects {
    pub on_device: OnDevice,
    pub buffer: Buffer,
    pub other: Buffer,
    host: Box<[Cell<u64>]>,
}

/// The fixture of that name.
#[fixture]
pub fn objects(on_device: OnDevice) -> Objects {
    let buffer = || Buffer::new(&on_device.context, MemFlags::READ_WRITE, SIZE).expect("a buffer");
    let host = vec![Cell::new(0); SIZE / size_of::<u64>()].into();
    Objects { buffer: buffer(), other: buffer(), host, on_device }
}

impl Fixture for Objects {
    fn of_device_under_test() -> Self {
        objects(Fixture::of_device_under_test())
    }
}

impl Objects {
    pub fn context(&self) -> cl_context {
        self.on_device.context.as_raw()
    }

    pub fn queue(&self) -> cl_command_queue {
        self.on_device.queue.as_raw()
    }

    /// The device under test.
    pub fn device(&self) -> Device {
        self.on_device.context.default_device().opencl3()
    }

    /// Host memory that commands may read and write.
    pub fn host(&self) -> *mut c_void {
        self.host.as_ptr().cast_mut().cast()
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // A driver that accepts an invalid command may still use the host memory.
        _ = self.on_device.queue.finish();
    }
}
