//! Memory that the host has a pointer to.

use std::ops::Range;
use std::slice;

use clmatrix::cl3::device::CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_TRUE, cl_map_flags, cl_mem_flags};

use super::operand::Operand;
use crate::driver::api::{accepted, enqueue, enqueued};
use crate::driver::prelude::*;
use crate::support::pattern::same;

/// Flags of shared virtual memory.
pub const COARSE: Named<cl_mem_flags> = named!(CL_MEM_READ_WRITE);
pub const FINE: Named<cl_mem_flags> = named!(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER);

/// The kinds of shared virtual memory that the device has.
pub fn svm_kinds(bench: &Bench) -> Vec<Named<cl_mem_flags>> {
    let has_fine = bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
    [(bench.has_svm(), COARSE), (has_fine, FINE)]
        .into_iter()
        .filter_map(|(has, kind)| has.then_some(kind))
        .collect()
}

/// The use that the host may make of the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Always,
    /// It is mapped for each access.
    Coarse,
    /// It is a map of this buffer, which ends when it is dropped.
    Mapped(*mut c_void),
    /// Its bytes are always those of pattern 0.
    Constant,
}

/// Memory of the host, which outlives the commands, or shared virtual memory.
pub struct Area<'a> {
    pub bench: &'a Bench,
    pub name: String,
    pub pointer: *mut u8,
    pub size: usize,
    pub access: Access,
}

impl<'a> Area<'a> {
    /// Host memory that begins so many bytes behind the start of a page.
    pub fn host(bench: &'a Bench, size: usize, odd: usize) -> Self {
        const PAGE: usize = 4096;
        let memory = bench.new_host(size + odd + PAGE).cast::<u8>();
        let pointer = memory.wrapping_add(memory.align_offset(PAGE) + odd);
        let name = format!("host memory {odd} bytes behind the start of a page");
        Self { bench, name, pointer, size, access: Access::Always }
    }

    /// A mapped buffer.
    pub fn mapped(bench: &'a Bench, size: usize) -> Self {
        let buffer = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, size));
        let (queue, flags) = (bench.queue, CL_MAP_READ | CL_MAP_WRITE);
        let (list, event) = (ptr::null(), ptr::null_mut());
        // SAFETY: the buffer has the bytes.
        let pointer = unsafe {
            created!(clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, size, 0, list, event))
        };
        let (name, access) = ("a mapped buffer".into(), Access::Mapped(buffer));
        Self { bench, name, pointer: pointer.cast(), size, access }
    }

    /// Shared virtual memory with these flags.
    pub fn svm(bench: &'a Bench, size: usize, flags: Named<cl_mem_flags>) -> Self {
        let pointer = bench.new_svm_with(flags.value, size, 0).cast();
        let access = if flags == FINE { Access::Always } else { Access::Coarse };
        Self { bench, name: format!("SVM with {}", flags.name), pointer, size, access }
    }

    /// Maps bytes of shared virtual memory.
    pub fn map(&self, flags: cl_map_flags, range: &Range<usize>) -> Result<(), String> {
        let (queue, at) = (self.bench.queue, self.pointer.wrapping_add(range.start).cast());
        // SAFETY: the memory has the bytes.
        accepted(unsafe { enqueue!(clEnqueueSVMMap(queue, CL_TRUE, flags, at, range.len())) })
            .map_err(|code| format!("clEnqueueSVMMap returned {code}"))
    }

    /// Ends a map that begins at this byte, and waits for it.
    pub fn unmap(&self, at: usize) -> Result<(), String> {
        let (queue, at) = (self.bench.queue, self.pointer.wrapping_add(at).cast());
        // SAFETY: the bytes are mapped.
        let code = unsafe { enqueue!(clEnqueueSVMUnmap(queue, at)) };
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(queue)) };
        accepted(code).map_err(|code| format!("clEnqueueSVMUnmap returned {code}"))
    }
}

impl Operand for Area<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn put(&self, bytes: &[u8]) {
        let (queue, to, size) = (self.bench.queue, self.pointer.cast(), self.size);
        match self.access {
            Access::Constant => (),
            // SAFETY: the memory has the bytes, and no command uses them.
            Access::Coarse => unsafe {
                enqueued!(clEnqueueSVMMemcpy(queue, CL_TRUE, to, bytes.as_ptr().cast(), size));
            },
            // SAFETY: as above.
            _ => unsafe { ptr::copy(bytes.as_ptr(), self.pointer, size) },
        }
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(self.bench.queue)) };
        let is_coarse = self.access == Access::Coarse;
        if is_coarse {
            self.map(CL_MAP_READ, &(0..self.size))?;
        }
        // SAFETY: the memory has the bytes, and no command uses them.
        let found = unsafe { slice::from_raw_parts(self.pointer, self.size) };
        let result = same(found, expected, &self.name);
        if is_coarse { self.unmap(0).and(result) } else { result }
    }
}

impl Drop for Area<'_> {
    fn drop(&mut self) {
        if let Access::Mapped(buffer) = self.access {
            let (queue, pointer) = (self.bench.queue, self.pointer.cast());
            // SAFETY: the buffer is mapped.
            _ = unsafe { enqueue!(clEnqueueUnmapMemObject(queue, buffer, pointer)) };
        }
    }
}
