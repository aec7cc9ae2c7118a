//! Commands between buffers and host memory, linear and rectangular (OpenCL 3.0, 5.2.2).

use std::ffi::c_void;
use std::ops::Range;

use cl3::command_queue as cl;
use cl3::types::{CL_NON_BLOCKING, cl_mem};

use super::Buffer;
use crate::error::Result;
use crate::memory::Linear;
use crate::memory::command::AccessedRange;
use crate::memory::object::check_host_access;
use crate::memory::range::{check_not_empty, checked_span};
use crate::memory::track::Access;
use crate::memory::transfer::{HostCommand, HostPtr, Layout, Rows};
use crate::queue::{Arguments, Submitted};

/// The bytes of the buffer and of the host memory.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// These bytes of the buffer, and as many from the pointer on.
    Linear(Range<usize>),
    /// Two rectangles of the same region.
    Rect { buffer: Rows, host: Rows },
}

/// `clEnqueueReadBuffer`, `clEnqueueWriteBuffer` and their variants for rectangles.
#[derive(Debug)]
pub(super) struct BufferCommand<'a> {
    call: &'static str,
    buffer: &'a Buffer,
    access: Access,
    part: Part,
    pointer: *mut u8,
}

/// Returns the name of the call that performs `access` on a buffer.
pub(in crate::memory) fn linear_call(access: Access) -> &'static str {
    match access {
        Access::Read => "clEnqueueReadBuffer",
        Access::Write => "clEnqueueWriteBuffer",
    }
}

/// Calls the driver for `access` to `bytes` of a buffer, without blocking.
///
/// # Safety
/// As for [`HostCommand::submit`]; the bytes are within the buffer, and as many at `host` are within the
/// host memory.
pub(in crate::memory) unsafe fn submit_linear(
    raw: cl_mem,
    access: Access,
    bytes: &Range<usize>,
    host: *mut c_void,
    (queue, count, events): Arguments,
) -> Submitted {
    let (blocking, offset, size) = (CL_NON_BLOCKING, bytes.start, bytes.len());
    // SAFETY: as the caller promises.
    unsafe {
        match access {
            Access::Read => {
                cl::enqueue_read_buffer(queue, raw, blocking, offset, size, host, count, events)
            }
            Access::Write => {
                cl::enqueue_write_buffer(queue, raw, blocking, offset, size, host, count, events)
            }
        }
    }
}

/// Returns the name of the call that performs `access` on rectangles of a buffer.
pub(super) fn rect_call(access: Access) -> &'static str {
    match access {
        Access::Read => "clEnqueueReadBufferRect",
        Access::Write => "clEnqueueWriteBufferRect",
    }
}

impl<'a> BufferCommand<'a> {
    /// Returns the command that moves `linear`; the other side is at `host_ptr`.
    pub(super) fn linear(
        buffer: &'a Buffer,
        access: Access,
        linear: Linear,
        host_ptr: HostPtr,
    ) -> Result<Self> {
        let call = linear_call(access);
        let offset = linear.device_offset(call, access)?;
        let part = match (host_ptr.layout(call)?, linear.byte_count) {
            (Layout::Rows(host), None) => {
                buffer.span(call, offset, host_ptr.layout(call)?.byte_count())?;
                Part::Rect { buffer: Rows::packed(offset, host.region), host }
            }
            (_, byte_count) => {
                let available = host_ptr.size(call)?;
                let host = match byte_count {
                    Some(size) => checked_span(call, "host memory", available, 0, size)?,
                    None => 0..available,
                };
                let range = buffer.span(call, offset, host.len())?;
                check_not_empty(call, &range)?;
                Part::Linear(range)
            }
        };
        Self::new(buffer, access, part, host_ptr.pointer)
    }

    /// `part` is within the buffer, and within the host memory at `pointer`.
    pub(super) fn new(
        buffer: &'a Buffer,
        access: Access,
        part: Part,
        pointer: *mut u8,
    ) -> Result<Self> {
        let call = match part {
            Part::Linear(_) => linear_call(access),
            Part::Rect { .. } => rect_call(access),
        };
        check_host_access(call, buffer.flags(), access)?;
        Ok(Self { call, buffer, access, part, pointer })
    }
}

impl HostCommand for BufferCommand<'_> {
    fn call(&self) -> &'static str {
        self.call
    }

    fn accessed(&self) -> AccessedRange<'_> {
        let range = match &self.part {
            Part::Linear(range) => range.clone(),
            Part::Rect { buffer, .. } => buffer.hull(),
        };
        self.buffer.accessed(&range, self.access)
    }

    unsafe fn submit(&self, (queue, count, events): Arguments) -> Submitted {
        let raw = self.buffer.as_raw();
        let (buffer, host) = match &self.part {
            Part::Rect { buffer, host } => (buffer, host),
            Part::Linear(range) => {
                let (pointer, arguments) = (self.pointer.cast(), (queue, count, events));
                // SAFETY: the caller vouches for the handles and the memory, and the range is within both.
                return unsafe { submit_linear(raw, self.access, range, pointer, arguments) };
            }
        };
        macro_rules! submit {
            ($function:path) => {
                // SAFETY: as above, of the rectangles.
                unsafe {
                    $function(
                        queue,
                        raw,
                        CL_NON_BLOCKING,
                        buffer.origin.as_ptr(),
                        host.origin.as_ptr(),
                        buffer.region.as_ptr(),
                        buffer.row_pitch,
                        buffer.slice_pitch,
                        host.row_pitch,
                        host.slice_pitch,
                        self.pointer.cast(),
                        count,
                        events,
                    )
                }
            };
        }
        match self.access {
            Access::Read => submit!(cl::enqueue_read_buffer_rect),
            Access::Write => submit!(cl::enqueue_write_buffer_rect),
        }
    }
}
