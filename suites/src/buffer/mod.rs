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

use std::thread;

use bytemuck::Pod;
use clmatrix::cl3::memory as cl;
use clmatrix::memory::*;
use clmatrix::{Context, Device, Error, Event, Platform, Result, Status, UserEvent};
use ndarray::{Array2, ShapeBuilder, array};
use rstest::rstest;

use crate::copy::linear;
use crate::support::gate::*;
use crate::support::inverter::Inverter;
use crate::support::on_device::*;
use crate::support::pattern::*;
use crate::support::unanswered;

/// Doubles each element, on the device.
pub(crate) const DOUBLE: &str = "kernel void k(global uint *x) { x[get_global_id(0)] *= 2; }";

/// The code of a call that waits for an event that failed.
pub(crate) const WAIT_LIST_FAILED: &str = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";

/// `0, 1, 2, ...`
pub(crate) fn counting(n: u32) -> Vec<u32> {
    (0..n).collect()
}

pub(crate) fn buffer_of(on_device: &OnDevice, data: &[u32]) -> Result<Buffer> {
    Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, data)
}

/// A buffer of the numbers 0 to 3, and a gate.
pub(crate) fn buffer_and_gate(on_device: &OnDevice) -> Result<(Buffer, UserEvent)> {
    Ok((buffer_of(on_device, &counting(4))?, gate(&on_device.context)))
}

/// The driver's CL_MEM_FLAGS of an object.
pub(crate) fn driver_flags(object: &impl MemoryObject) -> MemFlags {
    let bits: u64 = cl::get_mem_object_info(object.as_raw(), cl::CL_MEM_FLAGS).unwrap().into();
    MemFlags::from_bits_retain(bits)
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
