//! Bytes between shared virtual memory and host memory, or other such memory
//! (`clEnqueueSVMMemcpy`; OpenCL 3.0, 5.6.1).

use std::ffi::c_void;
use std::ops::{Range, RangeFull};

use crate::event::Event;
use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::CL_MEM_COPY_OVERLAP;
use cl3::types::{CL_NON_BLOCKING, cl_event};
use ndarray::Dimension;

use super::linear::{Linear, check_no_host_offset};
use super::{CopyArgs, Everything};
use crate::error::{Error, Result};
use crate::memory::command::{AccessedRange, enqueue};
use crate::memory::host::{HostArguments, HostCommand, HostMemory, HostSource, HostTarget, Place};
use crate::memory::range::overlap;
use crate::memory::range::{check_not_empty, checked_span};
use crate::memory::svm::memory::SvmMemory;
use crate::memory::svm::{SvmAllocation, SvmArray, SvmPointer, SystemSvm, sealed};
use crate::memory::track::Access;
use crate::wait_list::WaitList;

const CALL: &str = "clEnqueueSVMMemcpy";

/// Copies between host memory and a kind of shared virtual memory. One for all kinds would be refused:
/// what is a `SvmPointer` might be host memory, too, as far as the compiler knows.
macro_rules! with_host {
    ($([$($generics:tt)*] $svm:ty;)*) => {
        $(
            impl<Host: HostTarget, $($generics)*> CopyArgs<Host, &$svm> for Linear {
                type Output = Host::Output;

                fn enqueue(
                    self,
                    queue: &CommandQueue,
                    dst: Host,
                    src: &$svm,
                    wait_for: &WaitList<'_>,
                ) -> Self::Output {
                    dst.transfer(queue, wait_for, |place| {
                        check_no_host_offset(CALL, self.dst_offset)?;
                        plan(src, Access::Read, self.src_offset, self.byte_count, place)
                    })
                }
            }

            impl<Host: HostTarget, $($generics)*> Everything<Host, &$svm> for RangeFull {
                type Args = Linear;
            }

            impl<Host: HostSource, $($generics)*> Everything<&$svm, Host> for RangeFull {
                type Args = Linear;
            }

            impl<Host: HostSource, $($generics)*> CopyArgs<&$svm, Host> for Linear {
                type Output = Host::Output;

                fn enqueue(
                    self,
                    queue: &CommandQueue,
                    dst: &$svm,
                    src: Host,
                    wait_for: &WaitList<'_>,
                ) -> Self::Output {
                    src.transfer(queue, wait_for, |place| {
                        check_no_host_offset(CALL, self.src_offset)?;
                        plan(dst, Access::Write, self.dst_offset, self.byte_count, place)
                    })
                }
            }
        )*
    };
}

with_host! {
    [] SvmAllocation;
    [T: Pod, D: Dimension] SvmArray<T, D>;
    [H: HostMemory] SystemSvm<H>;
}

/// Copies from one kind of shared virtual memory to another.
macro_rules! between {
    ($([$($generics:tt)*] $dst:ty, $src:ty;)*) => {
        $(
            impl<$($generics)*> Everything<&$dst, &$src> for RangeFull {
                type Args = Linear;
            }

            impl<$($generics)*> CopyArgs<&$dst, &$src> for Linear {
                type Output = Result<Event>;

                fn enqueue(
                    self,
                    queue: &CommandQueue,
                    dst: &$dst,
                    src: &$src,
                    wait_for: &WaitList<'_>,
                ) -> Self::Output {
                    copy(queue, both(self, src, dst)?, wait_for)
                }
            }
        )*
    };
}

between! {
    [] SvmAllocation, SvmAllocation;
    [T: Pod, D: Dimension] SvmAllocation, SvmArray<T, D>;
    [H: HostMemory] SvmAllocation, SystemSvm<H>;
    [T: Pod, D: Dimension] SvmArray<T, D>, SvmAllocation;
    [T: Pod, D: Dimension, U: Pod, E: Dimension] SvmArray<T, D>, SvmArray<U, E>;
    [T: Pod, D: Dimension, H: HostMemory] SvmArray<T, D>, SystemSvm<H>;
    [H: HostMemory] SystemSvm<H>, SvmAllocation;
    [H: HostMemory, T: Pod, D: Dimension] SystemSvm<H>, SvmArray<T, D>;
    [H: HostMemory, G: HostMemory] SystemSvm<H>, SystemSvm<G>;
}

/// The `size` bytes from `offset` on, counted as the memory's uses do.
fn span(svm: &impl SvmPointer, offset: usize, size: usize) -> Result<Range<usize>> {
    let range = checked_span(CALL, "shared allocation", svm.size(), offset, size)?;
    check_not_empty(CALL, &range)?;
    sealed::bytes(CALL, svm, range)
}

/// What is copied from where to where.
fn both<'a>(
    Linear { src_offset, dst_offset, byte_count }: Linear,
    src: &'a impl SvmPointer,
    dst: &'a impl SvmPointer,
) -> Result<[(&'a SvmMemory, Range<usize>); 2]> {
    let left = |size: usize, offset| size.saturating_sub(offset);
    let size = byte_count
        .unwrap_or_else(|| left(src.size(), src_offset).min(left(dst.size(), dst_offset)));
    let (from, to) = (span(src, src_offset, size)?, span(dst, dst_offset, size)?);
    Ok([(src.memory(), from), (dst.memory(), to)])
}

fn copy(
    queue: &CommandQueue,
    [(src, from), (dst, to)]: [(&SvmMemory, Range<usize>); 2],
    wait_for: &WaitList<'_>,
) -> Result<Event> {
    let size = from.len();
    let (source, target) = (src.at(from.start), dst.at(to.start));
    check_no_overlap(source, target, size)?;
    let operands = [src.operand(from, Access::Read), dst.operand(to, Access::Write)];
    let event = enqueue(CALL, queue, &operands, wait_for, |(queue, count, events)| {
        // SAFETY: the handles are alive and of one context, as is the memory, whose `size` bytes
        // there are apart; it is not freed before the command has ended.
        unsafe {
            let blocking = CL_NON_BLOCKING;
            cl::enqueue_svm_mem_cpy(queue, blocking, target, source, size, count, events)
        }
    })?;
    Ok(event)
}

fn check_no_overlap(source: *mut c_void, target: *mut c_void, size: usize) -> Result<()> {
    let bytes = |at: *mut c_void| at.addr()..at.addr() + size;
    let (from, to) = (bytes(source), bytes(target));
    if !overlap(&from, &to) {
        return Ok(());
    }
    let why = format!("{size} bytes at {source:?} would be copied onto themselves at {target:?}");
    Err(Error::refused(CALL, CL_MEM_COPY_OVERLAP, why))
}

/// `clEnqueueSVMMemcpy` to or from host memory.
#[derive(Debug)]
struct SvmCommand<'a> {
    memory: &'a SvmMemory,
    range: Range<usize>,
    access: Access,
    host: *mut u8,
}

/// The command between `offset` of `svm` and the host memory at `place`: `byte_count` bytes, or as
/// many as both have.
fn plan(
    svm: &impl SvmPointer,
    access: Access,
    offset: usize,
    byte_count: Option<usize>,
    place: Place,
) -> Result<SvmCommand<'_>> {
    let available = place.size(CALL)?;
    let left = svm.size().saturating_sub(offset);
    let size = byte_count.unwrap_or_else(|| available.min(left));
    checked_span(CALL, "host memory", available, 0, size)?;
    let range = span(svm, offset, size)?;
    Ok(SvmCommand { memory: svm.memory(), range, access, host: place.pointer })
}

impl HostCommand for SvmCommand<'_> {
    fn call(&self) -> &'static str {
        CALL
    }

    fn operand(&self) -> AccessedRange<'_> {
        self.memory.operand(self.range.clone(), self.access)
    }

    unsafe fn issue(
        &self,
        (queue, blocking, count, events): HostArguments,
    ) -> std::result::Result<cl_event, i32> {
        let (svm, host) = (self.memory.at(self.range.start), self.host.cast());
        let (target, source) = match self.access {
            Access::Read => (host, svm),
            Access::Write => (svm, host),
        };
        let size = self.range.len();
        // SAFETY: the caller vouches for the handles and the host memory, which has `size` bytes, as
        // has the shared memory there; that is not freed before the command has ended.
        unsafe { cl::enqueue_svm_mem_cpy(queue, blocking, target, source, size, count, events) }
    }
}
