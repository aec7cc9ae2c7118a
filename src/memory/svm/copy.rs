//! Bytes between shared virtual memory and host memory, or other such memory
//! (`clEnqueueSVMMemcpy`; OpenCL 3.0, 5.6.1).

use std::ffi::c_void;
use std::ops::Range;

use cl3::command_queue as cl;
use cl3::error_codes::CL_MEM_COPY_OVERLAP;
use cl3::types::CL_NON_BLOCKING;

use super::memory::{SvmMemory, span};
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::memory::command::{AccessedRange, enqueue};
use crate::memory::range::{checked_span, overlap};
use crate::memory::track::Access;
use crate::memory::transfer::{HostCommand, HostCopy, HostPtr};
use crate::memory::{CopyTo, Linear, Order};
use crate::queue::{Arguments, Submitted};

const CALL: &str = "clEnqueueSVMMemcpy";

impl HostCopy for &dyn SvmPointer {
    type Part = Linear;

    fn plan(self, access: Access, part: Linear, host_ptr: HostPtr) -> Result<impl HostCommand> {
        let offset = part.device_offset(CALL, access)?;
        let available = host_ptr.size(CALL)?;
        let size = part.byte_count.unwrap_or(available);
        checked_span(CALL, "host memory", available, 0, size)?;
        let range = span(CALL, self, offset, size)?;
        Ok(SvmCommand { memory: self.memory(), range, access, host: host_ptr.pointer })
    }
}

impl CopyTo<&dyn SvmPointer> for &dyn SvmPointer {
    type Part = Linear;
    type Output = Result<Event>;

    fn copy(order: &Order<'_>, dst: &dyn SvmPointer, src: Self, part: Linear) -> Self::Output {
        let size = part.size_between(src.size(), dst.size());
        let from = span(CALL, src, part.src_offset, size)?;
        let to = span(CALL, dst, part.dst_offset, size)?;
        let (source, target) = (src.memory().at(from.start), dst.memory().at(to.start));
        let bytes = |at: *mut c_void| at.addr()..at.addr() + size;
        let overlaps = overlap(&bytes(source), &bytes(target));
        Error::refuse_if(overlaps, CALL, CL_MEM_COPY_OVERLAP, || {
            format!("{size} bytes at {source:?} would be copied onto themselves at {target:?}")
        })?;
        let accesses =
            [src.memory().accessed(from, Access::Read), dst.memory().accessed(to, Access::Write)];
        enqueue(CALL, order, &accesses, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, as is the memory, whose `size` bytes
            // there are apart; it is not freed before the command has ended.
            unsafe {
                let blocking = CL_NON_BLOCKING;
                cl::enqueue_svm_mem_cpy(queue, blocking, target, source, size, count, events)
            }
        })
    }
}

/// `clEnqueueSVMMemcpy` to or from host memory.
#[derive(Debug)]
struct SvmCommand<'a> {
    memory: &'a SvmMemory,
    range: Range<usize>,
    access: Access,
    host: *mut u8,
}

impl HostCommand for SvmCommand<'_> {
    fn call(&self) -> &'static str {
        CALL
    }

    fn accessed(&self) -> AccessedRange<'_> {
        self.memory.accessed(self.range.clone(), self.access)
    }

    unsafe fn submit(&self, (queue, count, events): Arguments) -> Submitted {
        let (svm, host) = (self.memory.at(self.range.start), self.host.cast());
        let (target, source) = match self.access {
            Access::Read => (host, svm),
            Access::Write => (svm, host),
        };
        let size = self.range.len();
        // SAFETY: the caller vouches for the handles and the host memory, which has `size` bytes, as
        // has the shared memory there; that is not freed before the command has ended.
        unsafe {
            cl::enqueue_svm_mem_cpy(queue, CL_NON_BLOCKING, target, source, size, count, events)
        }
    }
}
