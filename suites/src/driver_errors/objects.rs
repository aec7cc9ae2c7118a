//! Operands of valid commands on buffers.

use clmatrix_harness::Fixture;
use std::cell::Cell;
use std::ffi::c_void;

use clmatrix::cl3::types::{cl_command_queue, cl_context, cl_mem};
use clmatrix::memory::{Buffer, MemFlags};
use rstest::fixture;

use crate::support::on_device::{OnDevice, on_device};

/// The size in bytes of each buffer and of the host memory.
pub const SIZE: usize = 4096;

/// A context with a queue, two buffers of `SIZE` bytes, and host memory of as many.
pub struct Objects {
    pub on_device: OnDevice,
    buffer: Buffer,
    other: Buffer,
    host: Box<[Cell<u64>]>,
}

/// The fixture of that name.
#[fixture]
pub fn objects(on_device: OnDevice) -> Objects {
    Objects::new(on_device)
}

impl Fixture for Objects {
    fn of_device_under_test() -> Self {
        objects(Fixture::of_device_under_test())
    }
}

impl Objects {
    /// Creates the buffers in the context of `on_device`.
    pub fn new(on_device: OnDevice) -> Self {
        let [buffer, other] = [(); 2].map(|()| {
            Buffer::new(&on_device.context, MemFlags::READ_WRITE, SIZE).expect("a buffer")
        });
        let host = vec![Cell::new(0); SIZE / size_of::<u64>()].into();
        Self { on_device, buffer, other, host }
    }

    pub fn context(&self) -> cl_context {
        self.on_device.context.as_raw()
    }

    pub fn queue(&self) -> cl_command_queue {
        self.on_device.queue.as_raw()
    }

    pub fn buffer(&self) -> cl_mem {
        self.buffer.as_raw()
    }

    pub fn other(&self) -> cl_mem {
        self.other.as_raw()
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
