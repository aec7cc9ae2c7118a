//! Buffers: how they are made, what moves data in and out, regions of them, and maps.
//!
//! The other side checks the effect of a call: a kernel reads the writes of the host, and the host
//! reads the writes of a kernel.

mod copy;
mod create;
mod fill;
mod foreign;
mod from_raw;
mod gated;
mod host_memory;
mod map;
mod map_nonblocking;
mod out_of_order;
mod read_write;
mod regions;
mod slice;
mod sub_region;
mod vendor_flags;

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{Error, Result};

use crate::support::on_device::OnDevice;

/// Doubles each element, on the device.
pub(crate) const DOUBLE: &str = "kernel void k(global uint *x) { x[get_global_id(0)] *= 2; }";

/// `0, 1, 2, ...`
pub(crate) fn counting(n: u32) -> Vec<u32> {
    (0..n).collect()
}

pub(crate) fn buffer_of(on_device: &OnDevice, data: &[u32]) -> Result<Buffer> {
    Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, data)
}

/// All that is in `buffer`.
pub(crate) fn contents(on_device: &OnDevice, buffer: &Buffer) -> Result<Vec<u32>> {
    let mut data = vec![0; buffer.size() / 4];
    buffer.read(&on_device.queue, &mut data)?;
    Ok(data)
}

/// The bytes of `buffer`.
pub(crate) fn bytes_in(on_device: &OnDevice, buffer: &Buffer) -> Result<Vec<u8>> {
    let mut bytes = vec![0; buffer.size()];
    buffer.read(&on_device.queue, &mut bytes)?;
    Ok(bytes)
}

/// A buffer that begins with `bytes`.
pub(crate) fn buffer_with(on_device: &OnDevice, bytes: &[u8]) -> Result<Buffer> {
    Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, bytes)
}

/// The name of the code with which this crate refused a call: the driver's answers have no detail.
#[track_caller]
pub(crate) fn refusal<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => panic!("the call or command succeeded, where it has to fail"),
        Err(error) => {
            assert!(!error.detail().is_empty(), "the driver refused it: {error}");
            Error::code_name(&error)
        }
    }
}
