//! Memory that the host has a pointer to.

use std::ffi::c_void;
use std::{ptr, slice};

use clmatrix::cl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_WRITE, CL_MEM_SVM_FINE_GRAIN_BUFFER,
};
use clmatrix::cl3::types::{CL_TRUE, cl_map_flags, cl_mem_flags};

use super::operand::Operand;
use crate::driver::api::{Named, cl, created, enqueue, ok};
use crate::driver::bench::Bench;
use crate::support::pattern::same;

/// Flags of shared virtual memory.
pub const COARSE: Named<cl_mem_flags> =
    Named { name: "coarse-grain SVM", value: CL_MEM_READ_WRITE };
pub const FINE: Named<cl_mem_flags> =
    Named { name: "fine-grain SVM", value: CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER };

/// What the host may do with the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Always,
    /// It has been mapped, from the buffer if there is one, and is unmapped when it is dropped.
    Mapped(Option<*mut c_void>),
    /// It is mapped for each access.
    Coarse,
    /// Its bytes are always those of pattern 0.
    Constant,
}

/// Memory of the host, which the bench keeps, or shared virtual memory.
pub struct Area<'a> {
    pub name: &'static str,
    pub bench: &'a Bench,
    pub pointer: *mut u8,
    size: usize,
    access: Access,
}

impl<'a> Area<'a> {
    /// Host memory that begins so many bytes behind the start of a page.
    pub fn host(bench: &'a Bench, size: usize, odd: usize) -> Self {
        const PAGE: usize = 4096;
        let memory = bench.new_host(size + odd + PAGE).cast::<u8>();
        let pointer = memory.wrapping_add(memory.align_offset(PAGE) + odd);
        let name = if odd == 0 { "host memory" } else { "host memory at an odd address" };
        Self { name, bench, pointer, size, access: Access::Always }
    }

    /// Memory of the caller, for example on its stack.
    pub fn of_caller(bench: &'a Bench, name: &'static str, memory: &mut [u8]) -> Self {
        let (pointer, size) = (memory.as_mut_ptr(), memory.len());
        Self { name, bench, pointer, size, access: Access::Always }
    }

    /// Static data, which are the first bytes of pattern 0.
    pub fn constant(bench: &'a Bench, data: &'static [u8]) -> Self {
        let (pointer, size) = (data.as_ptr().cast_mut(), data.len());
        Self { name: "static data", bench, pointer, size, access: Access::Constant }
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
        let access = Access::Mapped(Some(buffer));
        Self { name: "a mapped buffer", bench, pointer: pointer.cast(), size, access }
    }

    /// Coarse-grain shared virtual memory that is mapped.
    pub fn mapped_svm(bench: &'a Bench, size: usize) -> Self {
        let mut area = Self::svm(bench, size, COARSE);
        area.map(CL_MAP_READ | CL_MAP_WRITE);
        (area.name, area.access) = ("mapped SVM", Access::Mapped(None));
        area
    }

    /// Shared virtual memory with these flags.
    pub fn svm(bench: &'a Bench, size: usize, flags: Named<cl_mem_flags>) -> Self {
        let pointer = bench.new_svm_with(flags.value, size, 0).cast();
        let is_fine = flags.value & CL_MEM_SVM_FINE_GRAIN_BUFFER != 0;
        let access = if is_fine { Access::Always } else { Access::Coarse };
        Self { name: flags.name, bench, pointer, size, access }
    }

    /// Returns whether the bytes never change.
    pub fn is_constant(&self) -> bool {
        self.access == Access::Constant
    }

    fn map(&self, flags: cl_map_flags) {
        let (queue, memory) = (self.bench.queue, self.pointer.cast());
        // SAFETY: the allocation has the bytes.
        unsafe {
            ok!(clEnqueueSVMMap(
                queue,
                CL_TRUE,
                flags,
                memory,
                self.size,
                0,
                ptr::null(),
                ptr::null_mut()
            ))
        };
    }

    fn unmap(&self) {
        let (queue, memory) = (self.bench.queue, self.pointer.cast());
        // SAFETY: the bytes are mapped.
        unsafe {
            _ = enqueue!(clEnqueueSVMUnmap(queue, memory));
            _ = cl!(clFinish(queue));
        }
    }
}

impl Operand for Area<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn put(&self, bytes: &[u8]) {
        match self.access {
            Access::Constant => return,
            Access::Coarse => self.map(CL_MAP_READ | CL_MAP_WRITE),
            Access::Always | Access::Mapped(_) => (),
        }
        // SAFETY: the memory has `size` bytes, which no command uses.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.size) }.copy_from_slice(bytes);
        if self.access == Access::Coarse {
            self.unmap();
        }
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(self.bench.queue)) };
        if self.access == Access::Coarse {
            self.map(CL_MAP_READ);
        }
        // SAFETY: as above.
        let result =
            same(unsafe { slice::from_raw_parts(self.pointer, self.size) }, expected, self.name);
        if self.access == Access::Coarse {
            self.unmap();
        }
        result
    }
}

impl Drop for Area<'_> {
    fn drop(&mut self) {
        let (queue, pointer) = (self.bench.queue, self.pointer.cast());
        match self.access {
            // SAFETY: the buffer is mapped.
            Access::Mapped(Some(buffer)) => unsafe {
                _ = enqueue!(clEnqueueUnmapMemObject(queue, buffer, pointer));
            },
            Access::Mapped(None) => self.unmap(),
            _ => (),
        }
    }
}
