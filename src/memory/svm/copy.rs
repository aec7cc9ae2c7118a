//! Bytes between shared virtual memory and host memory, or other such memory
//! (`clEnqueueSVMMemcpy`; OpenCL 3.0, 5.6.1).

use std::ffi::c_void;
use std::ops::Range;

use cl3::command_queue as cl;
use cl3::error_codes::CL_MEM_COPY_OVERLAP;
use cl3::types::{CL_NON_BLOCKING, cl_event};

use super::memory::SvmMemory;
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::command::{AccessedRange, enqueue};
use crate::memory::into_memory::Host;
use crate::memory::range::{check_not_empty, checked_span, overlap};
use crate::memory::track::Access;
use crate::memory::transfer::CopyTo;
use crate::memory::transfer::host::{HostCommand, HostSource, HostTarget};
use crate::memory::transfer::host_ptr::HostPtr;
use crate::memory::transfer::linear::Linear;
use crate::queue::{Arguments, CommandQueue};
use crate::wait_list::WaitList;

const CALL: &str = "clEnqueueSVMMemcpy";

impl<D: HostTarget> CopyTo<Host<D>> for &dyn SvmPointer {
    type Part = Linear;
    type Output = D::Output;

    fn copy(
        queue: &CommandQueue,
        dst: Host<D>,
        src: Self,
        part: Linear,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        dst.0.transfer(queue, wait_for, |host_ptr| plan(src, Access::Read, part, host_ptr))
    }
}

impl<S: HostSource> CopyTo<&dyn SvmPointer> for Host<S> {
    type Part = Linear;
    type Output = S::Output;

    fn copy(
        queue: &CommandQueue,
        dst: &dyn SvmPointer,
        src: Self,
        part: Linear,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        src.0.transfer(queue, wait_for, |host_ptr| plan(dst, Access::Write, part, host_ptr))
    }
}

impl CopyTo<&dyn SvmPointer> for &dyn SvmPointer {
    type Part = Linear;
    type Output = Result<Event>;

    fn copy(
        queue: &CommandQueue,
        dst: &dyn SvmPointer,
        src: Self,
        part: Linear,
        wait_for: &WaitList<'_>,
    ) -> Self::Output {
        let (src, dst) = (SvmRange::new(src), SvmRange::new(dst));
        let size = part.size_between(src.size(), dst.size());
        let (from, to) = (src.part(part.src_offset, size)?, dst.part(part.dst_offset, size)?);
        let (source, target) = (from.start(), to.start());
        check_no_overlap(source, target, size)?;
        let accesses = [from.accessed(Access::Read), to.accessed(Access::Write)];
        enqueue(CALL, queue, &accesses, wait_for, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, as is the memory, whose `size` bytes
            // there are apart; it is not freed before the command has ended.
            unsafe {
                let blocking = CL_NON_BLOCKING;
                cl::enqueue_svm_mem_cpy(queue, blocking, target, source, size, count, events)
            }
        })
    }
}

/// Bytes of shared virtual memory.
#[derive(Debug)]
struct SvmRange<'a> {
    memory: &'a SvmMemory,
    range: Range<usize>,
}

impl<'a> SvmRange<'a> {
    fn new(svm: &'a dyn SvmPointer) -> Self {
        Self { memory: svm.memory(), range: svm.window() }
    }

    fn size(&self) -> usize {
        self.range.len()
    }

    /// Returns the `size` bytes from `offset` on.
    fn part(&self, offset: usize, size: usize) -> Result<Self> {
        let part = checked_span(CALL, "shared allocation", self.size(), offset, size)?;
        check_not_empty(CALL, &part)?;
        // Neither overflows: the part is within the memory.
        let first = self.range.start;
        Ok(Self { memory: self.memory, range: first + part.start..first + part.end })
    }

    fn start(&self) -> *mut c_void {
        self.memory.at(self.range.start)
    }

    fn accessed(&self, access: Access) -> AccessedRange<'a> {
        self.memory.accessed(self.range.clone(), access)
    }
}

fn check_no_overlap(source: *mut c_void, target: *mut c_void, size: usize) -> Result<()> {
    let bytes = |at: *mut c_void| at.addr()..at.addr() + size;
    let (from, to) = (bytes(source), bytes(target));
    if !overlap(&from, &to) {
        return Ok(());
    }
    let reason =
        format!("{size} bytes at {source:?} would be copied onto themselves at {target:?}");
    Err(Error::refused(CALL, CL_MEM_COPY_OVERLAP, reason))
}

/// `clEnqueueSVMMemcpy` to or from host memory.
#[derive(Debug)]
struct SvmCommand<'a> {
    svm: SvmRange<'a>,
    access: Access,
    host: *mut u8,
}

/// Returns the command that does `access` to `part` of `svm`; the other side is at `host_ptr`.
fn plan(
    svm: &dyn SvmPointer,
    access: Access,
    part: Linear,
    host_ptr: HostPtr,
) -> Result<SvmCommand<'_>> {
    let offset = part.device_offset(CALL, access)?;
    let svm = SvmRange::new(svm);
    let available = host_ptr.size(CALL)?;
    let left = svm.size().saturating_sub(offset);
    let size = part.byte_count.unwrap_or_else(|| available.min(left));
    checked_span(CALL, "host memory", available, 0, size)?;
    Ok(SvmCommand { svm: svm.part(offset, size)?, access, host: host_ptr.pointer })
}

impl HostCommand for SvmCommand<'_> {
    fn call(&self) -> &'static str {
        CALL
    }

    fn accessed(&self) -> AccessedRange<'_> {
        self.svm.accessed(self.access)
    }

    unsafe fn submit(
        &self,
        (queue, count, events): Arguments,
    ) -> std::result::Result<cl_event, i32> {
        let (svm, host) = (self.svm.start(), self.host.cast());
        let (target, source) = match self.access {
            Access::Read => (host, svm),
            Access::Write => (svm, host),
        };
        let size = self.svm.size();
        // SAFETY: the caller vouches for the handles and the host memory, which has `size` bytes, as
        // has the shared memory there; that is not freed before the command has ended.
        unsafe {
            cl::enqueue_svm_mem_cpy(queue, CL_NON_BLOCKING, target, source, size, count, events)
        }
    }
}
