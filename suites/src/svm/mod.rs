//! Shared virtual memory: how it is made and freed, mapped and used without maps, copied and filled,
//! and seen as buffers, arrays and the host's own memory.
//!
//! The other side checks the effect of a call: a kernel compares the writes of the host, and the host
//! reads the writes of a kernel.

mod access;
mod array;
mod as_buffer;
mod copy;
mod create;
mod fill;
mod lifetime;
mod map;
mod migrate;
mod pointers;
mod release;
mod system;
mod unsupported;

use std::ops::Range;
use std::thread;

use clmatrix::launch::KernelArg;
use clmatrix::memory::{
    Buffer, Linear, MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, MemFlags,
    MigrationFlags, SvmAllocation, SvmFlags, SvmPointer, SystemSvm, enqueue_copy, enqueue_fill,
    enqueue_svm_migratemem,
};
use clmatrix::{CommandQueue, Context, Device, Event, Result, Status};
use clmatrix_harness::{CtxFactory, skip};
use rstest::rstest;

use crate::buffer::{counting, refusal};
use crate::support::excuse::Excuse;
use crate::support::gate::*;
use crate::support::mib::MiB;
use crate::support::on_device::*;
use crate::support::pattern::*;
use crate::support::unanswered;

pub(crate) const COARSE: SvmFlags = SvmFlags::READ_WRITE;
const FINE: SvmFlags = SvmFlags::READ_WRITE.union(SvmFlags::FINE_GRAIN_BUFFER);

/// Memory that begins with `data`.
pub(crate) fn svm_of(on_device: &OnDevice, flags: SvmFlags, data: &[u32]) -> Result<SvmAllocation> {
    svm_with(on_device, flags, bytemuck::cast_slice(data))
}

/// Memory that begins with `bytes`.
fn svm_with(on_device: &OnDevice, flags: SvmFlags, bytes: &[u8]) -> Result<SvmAllocation> {
    let svm = SvmAllocation::new(&on_device.context, bytes.len(), 0, flags)?;
    enqueue_copy(&on_device.queue, &svm, bytes, ..)?;
    Ok(svm)
}

/// Memory for one [`MiB`] at an address that does not suit it.
fn misaligned(on_device: &OnDevice, flags: SvmFlags) -> Result<SvmAllocation> {
    let block = |_| SvmAllocation::new(&on_device.context, size_of::<MiB>(), 0, flags);
    let blocks = (0..8).map(block).collect::<Result<Vec<_>>>()?;
    let suits = |svm: &SvmAllocation| svm.svm_ptr().cast::<MiB>().is_aligned();
    let misaligned = blocks.into_iter().find(|svm| !suits(svm));
    Ok(misaligned.unwrap_or_else(|| Excuse::AlignedBlocks.skip()))
}

/// Frees the memory on `queue`, and returns whether it could: the driver may be done with a buffer of it
/// some time after the buffer's last handle has been dropped.
fn is_released_soon(svm: SvmAllocation, queue: &CommandQueue) -> Result<bool> {
    let mut svm = Some(svm);
    soon(|| match svm.take().expect("the memory").enqueue_release(queue) {
        Ok(released) => released.wait().map(|()| true),
        Err(back) => {
            svm = back.memory;
            Ok(false)
        }
    })
}

/// The bytes of the memory, by way of a copy.
fn bytes_in(on_device: &OnDevice, svm: &SvmAllocation) -> Result<Vec<u8>> {
    let mut bytes = vec![0; svm.size()];
    enqueue_copy(&on_device.queue, &mut bytes, svm, ..)?;
    Ok(bytes)
}

/// Doubles each element, on the device.
pub(crate) fn double<S: SvmPointer>(on_device: &OnDevice, svm: &S) -> Result<Event>
where
    for<'a> &'a S: KernelArg<'a>,
{
    let mut double = on_device.kernel(crate::buffer::DOUBLE, "")?;
    // SAFETY: the kernel takes memory, and uses as many elements as it has.
    unsafe { double.launch().arg(svm).global(svm.size() / 4).enqueue(&on_device.queue) }
}

/// Has the device compare the memory with what is expected.
#[track_caller]
pub(crate) fn assert_on_device<S: SvmPointer>(on_device: &OnDevice, svm: &S, expected: &[u32])
where
    for<'a> &'a S: KernelArg<'a>,
{
    let wrong = count_wrong(on_device, svm, expected).expect("the device compares");
    assert!(
        wrong == 0,
        "a kernel finds {wrong} of {} elements wrong in the memory",
        expected.len()
    );
}

fn count_wrong<S: SvmPointer>(on_device: &OnDevice, svm: &S, expected: &[u32]) -> Result<u32>
where
    for<'a> &'a S: KernelArg<'a>,
{
    const COMPARE: &str = "kernel void k(global const uint *found, global const uint *expected,
                                         global uint *wrong) {
        size_t i = get_global_id(0);
        if (found[i] != expected[i]) atomic_inc(wrong);
    }";
    assert_eq!(svm.size(), size_of_val(expected));
    let context = &on_device.context;
    let expected_there = Buffer::from_slice(context, MemFlags::READ_ONLY, expected)?;
    let wrong = Buffer::from_slice(context, MemFlags::READ_WRITE, &[0_u32])?;
    let mut compare = on_device.kernel(COMPARE, "")?;
    let mut launch = compare.launch();
    launch.arg(svm).arg(&expected_there).arg(&wrong).global(expected.len());
    // SAFETY: the kernel takes three pieces of memory, and has as many work items as elements.
    unsafe { launch.enqueue(&on_device.queue)? };
    let mut count = [0];
    wrong.read(&on_device.queue, &mut count)?;
    Ok(count[0])
}

/// All that is in the memory, by way of a map.
pub(crate) fn contents(on_device: &OnDevice, svm: &impl SvmPointer) -> Result<Vec<u32>> {
    Ok(svm.map_read(&on_device.queue, ..)?.to_vec())
}
