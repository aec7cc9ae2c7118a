//! `enqueue_copy` between host memory and buffers, and between buffers (`pyopencl.enqueue_copy`).
//!
//! The device checks the effect of a copy: a kernel works on the bytes in between.

mod arrays;
mod linear;
mod pending;
mod profile;
mod property;
mod rect;
mod refused;

use clmatrix::memory::*;
use clmatrix::{CommandQueue, Device, Error, Event, Result, UserEvent};
use ndarray::{Array2, Array3, ShapeBuilder, s};
use rstest::rstest;

use crate::buffer::{
    DOUBLE, WAIT_LIST_FAILED, buffer_and_gate, buffer_of, buffer_with, bytes_in, contents,
    counting, refusal,
};
use crate::support::gate::*;
use crate::support::inverter::Inverter;
use crate::support::on_device::*;
use crate::support::pattern::*;

/// The arguments of a linear copy; without a byte count, all bytes from the offsets on.
pub(crate) fn linear(src_offset: usize, dst_offset: usize, byte_count: Option<usize>) -> Linear {
    let bytes = Linear::default().src_offset(src_offset).dst_offset(dst_offset);
    match byte_count {
        Some(count) => bytes.byte_count(count),
        None => bytes,
    }
}
