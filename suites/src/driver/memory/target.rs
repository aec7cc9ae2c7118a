//! Buffers of all kinds of memory, and sub-buffers of them.

use std::ffi::c_void;
use std::ops::Range;
use std::{ptr, slice};

use Memory::*;
use clmatrix::cl3::device::{CL_DEVICE_MEM_BASE_ADDR_ALIGN, CL_DEVICE_SVM_FINE_GRAIN_BUFFER};
use clmatrix::cl3::memory::{
    CL_BUFFER_CREATE_TYPE_REGION, CL_MAP_READ, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR,
    CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_READ_ONLY,
    CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, CL_MEM_WRITE_ONLY,
};
use clmatrix::cl3::types::{CL_FALSE, CL_TRUE, cl_buffer_region, cl_map_flags, cl_mem_flags};
use clmatrix_harness::skip;

use super::area::{Area, COARSE, FINE};
use super::operand::Operand;
use crate::driver::api::{Named, UNWRITTEN, accepted, cl, created, enqueue, enqueued, named, ok};
use crate::driver::bench::Bench;
use crate::driver::object::{Class, Object};
use crate::driver::query::Subject;
use crate::support::pattern::{bytes, same};

/// The bytes of the buffers under test.
pub const SIZE: usize = 599;

/// Kinds of memory of a buffer: its flags, and where its host memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Plain,
    Alloc,
    Use,
    UseOdd,
    UseCoarse,
    UseFine,
    Copy,
    CopySvm,
    AllocCopy,
    ReadOnly,
    WriteOnly,
    HostReads,
    HostWrites,
    NoAccess,
}

impl Memory {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Plain, Alloc, Use, UseOdd, UseCoarse, UseFine, Copy, CopySvm, AllocCopy, ReadOnly,
        WriteOnly, HostReads, HostWrites, NoAccess,
    ];

    /// The flags of the buffer.
    pub fn flags(self) -> Named<cl_mem_flags> {
        match self {
            Plain => named!(CL_MEM_READ_WRITE),
            Alloc => named!(CL_MEM_ALLOC_HOST_PTR),
            Use | UseOdd | UseCoarse | UseFine => named!(CL_MEM_USE_HOST_PTR),
            Copy | CopySvm => named!(CL_MEM_COPY_HOST_PTR),
            AllocCopy => Named {
                name: "CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR",
                value: CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
            },
            ReadOnly => named!(CL_MEM_READ_ONLY),
            WriteOnly => named!(CL_MEM_WRITE_ONLY),
            HostReads => named!(CL_MEM_HOST_READ_ONLY),
            HostWrites => named!(CL_MEM_HOST_WRITE_ONLY),
            NoAccess => named!(CL_MEM_HOST_NO_ACCESS),
        }
    }

    /// Returns whether the device has the memory.
    pub fn is_on(self, bench: &Bench) -> bool {
        match self {
            UseCoarse | CopySvm => bench.has_svm(),
            UseFine => bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0,
            _ => true,
        }
    }

    /// Skips the test unless the device has the memory.
    pub fn requires(self, bench: &Bench) {
        if !self.is_on(bench) {
            skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
        }
    }

    /// Allocates the host memory that the flags need, with the bytes of pattern 0.
    pub fn area(self, bench: &Bench, size: usize) -> Option<Area<'_>> {
        let area = match self {
            Use => Area::host(bench, size, 0),
            UseOdd | Copy => Area::host(bench, size, 1),
            AllocCopy => Area::host(bench, size, 3),
            UseCoarse | CopySvm => Area::svm(bench, size, COARSE),
            UseFine => Area::svm(bench, size, FINE),
            _ => return None,
        };
        area.put(&bytes(0, size));
        Some(area)
    }
}

/// The part of a buffer that commands use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    Sub,
    /// Sub-buffers with flags of their own.
    ReadOnlySub,
    WriteOnlySub,
    NoAccessSub,
}

impl Part {
    fn flags(self) -> Named<cl_mem_flags> {
        match self {
            Self::Whole | Self::Sub => Named { name: "no flags", value: 0 },
            Self::NoAccessSub => named!(CL_MEM_HOST_NO_ACCESS),
            Self::ReadOnlySub => Named {
                name: "CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY",
                value: CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY,
            },
            Self::WriteOnlySub => Named {
                name: "CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY",
                value: CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY,
            },
        }
    }
}

/// A memory object that shows bytes of the buffer under test.
struct View {
    name: &'static str,
    object: Object,
    origin: usize,
    size: usize,
    flags: cl_mem_flags,
}

/// A buffer, or a sub-buffer with its buffer and a sub-buffer that overlaps.
pub struct Target<'a> {
    pub bench: &'a Bench,
    pub name: String,
    /// The object that commands use is the first one.
    views: Vec<View>,
    area: Option<Area<'a>>,
    staging: Object,
}

impl<'a> Target<'a> {
    /// Creates a buffer with `size` bytes. Its host memory is overwritten after CL_MEM_COPY_HOST_PTR.
    pub fn new(bench: &'a Bench, memory: Memory, part: Part, size: usize) -> Self {
        let bits: u32 = Subject::Device(bench.device).value(named!(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
        let origin = if part == Part::Whole { 0 } else { (bits as usize / 8).max(1) };
        let whole = if part == Part::Whole { size } else { origin + size + 77 };
        let area = memory.area(bench, whole);
        let pointer = area.as_ref().map_or(ptr::null_mut(), |area| area.pointer.cast());
        let (flags, own, mut code) = (memory.flags(), part.flags(), UNWRITTEN);
        let place = area.as_ref().map_or(String::new(), |area| format!(" over {}", area.name));
        let mut name = format!("a buffer with {}{place}", flags.name);
        // SAFETY: the host memory, if any, has the bytes, and the bench keeps it.
        let raw = unsafe {
            cl!(clCreateBuffer(bench.context, flags.value, whole, pointer, &raw mut code))
        };
        if let Err(answer) = accepted(code) {
            panic!("clCreateBuffer of {name} (5.2.1): the driver returned {answer}");
        }
        // SAFETY: the call has created the reference.
        let object = unsafe { Object::new(Class::Memory, raw) };
        if let Some(area) = area.as_ref().filter(|_| flags.value & CL_MEM_COPY_HOST_PTR != 0) {
            area.put(&bytes(2, whole));
        }
        let mut views =
            vec![View { name: "the buffer", object, origin: 0, size: whole, flags: flags.value }];
        if part != Part::Whole {
            name = format!("a sub-buffer with {} of its own, of {name}", own.name);
            let sub = views[0].sub_buffer("the sub-buffer", origin..origin + size, own.value);
            views.push(views[0].sub_buffer("a sub-buffer that overlaps", 0..origin + size / 2, 0));
            views.insert(0, sub);
        }
        Self { bench, name, views, area, staging: bench.new_buffer(CL_MEM_READ_WRITE, whole) }
    }

    /// A buffer without flags.
    pub fn plain(bench: &'a Bench, size: usize) -> Self {
        Self::new(bench, Plain, Part::Whole, size)
    }

    /// The object that commands use.
    pub fn raw(&self) -> *mut c_void {
        self.views[0].object.raw()
    }

    /// The part of the bytes of the whole buffer that the object has.
    pub fn own<'b>(&self, whole: &'b mut [u8]) -> &'b mut [u8] {
        let View { origin, size, .. } = self.views[0];
        &mut whole[origin..origin + size]
    }

    /// Returns whether the object has one of these flags.
    pub fn has(&self, flags: cl_mem_flags) -> bool {
        self.views[0].flags & flags != 0
    }

    /// Returns whether the host may read the object.
    pub fn host_reads(&self) -> bool {
        self.views[0].host_reads()
    }

    /// Returns whether the host may write the object.
    pub fn host_writes(&self) -> bool {
        !self.has(CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
    }

    /// Maps bytes of the object.
    pub fn map(&self, flags: Named<cl_map_flags>, range: Range<usize>) -> Result<Map<'_>, String> {
        self.map_view(&self.views[0], flags, range)
    }

    /// Maps bytes of an object. A map of CL_MEM_USE_HOST_PTR lies in the host memory (5.2.4).
    fn map_view<'m>(
        &'m self,
        view: &'m View,
        flags: Named<cl_map_flags>,
        range: Range<usize>,
    ) -> Result<Map<'m>, String> {
        let (queue, list, event) = (self.bench.queue, ptr::null(), ptr::null_mut());
        let (object, at, size, mut code) = (view.object.raw(), range.start, range.len(), UNWRITTEN);
        // Both kinds of calls return the pointer.
        let is_blocking = if size % 2 == 0 { CL_FALSE } else { CL_TRUE };
        // SAFETY: the bytes are in the buffer.
        let pointer = unsafe {
            let code = &raw mut code;
            let pointer = cl!(clEnqueueMapBuffer(
                queue,
                object,
                is_blocking,
                flags.value,
                at,
                size,
                0,
                list,
                event,
                code
            ));
            ok!(clFinish(queue));
            pointer.cast::<u8>()
        };
        let call =
            format!("clEnqueueMapBuffer({}) of bytes {range:?} of {}", flags.name, view.name);
        accepted(code).map_err(|code| format!("{call} returned {code}"))?;
        let map = Map { target: self, view, pointer, size };
        let host = self.area.as_ref().filter(|_| view.flags & CL_MEM_USE_HOST_PTR != 0);
        let wanted = host.map_or(pointer, |area| area.pointer.wrapping_add(view.origin + at));
        if pointer == wanted && !pointer.is_null() {
            return Ok(map);
        }
        map.unmap()?;
        Err(format!("{call} returned {pointer:?}; host_ptr and the offset are {wanted:?} (5.2.4)"))
    }
}

impl Operand for Target<'_> {
    fn size(&self) -> usize {
        self.views.iter().map(|view| view.size).max().expect("one view")
    }

    /// Writes the bytes to another buffer and copies them, as the host may not be allowed to write.
    fn put(&self, bytes: &[u8]) {
        let (queue, staging, size) = (self.bench.queue, self.staging.raw(), bytes.len());
        let whole = self.views.iter().max_by_key(|view| view.size).expect("one view").object.raw();
        // SAFETY: both buffers have the bytes; the write blocks.
        unsafe {
            let from = bytes.as_ptr().cast_mut().cast();
            enqueued!(clEnqueueWriteBuffer(queue, staging, CL_TRUE, 0, size, from));
            enqueued!(clEnqueueCopyBuffer(queue, staging, whole, 0, 0, size));
            ok!(clFinish(queue));
        }
    }

    /// Compares a copy of the whole, and reads and maps of all objects that the host may read.
    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        let (queue, staging, size) = (self.bench.queue, self.staging.raw(), expected.len());
        let whole = self.views.iter().max_by_key(|view| view.size).expect("one view").object.raw();
        let read = |object, size| {
            let mut found = vec![0; size];
            let to = found.as_mut_ptr().cast();
            // SAFETY: buffer and memory have the bytes; the call blocks.
            let code =
                unsafe { enqueue!(clEnqueueReadBuffer(queue, object, CL_TRUE, 0, size, to)) };
            accepted(code)
                .map(|()| found)
                .map_err(|code| format!("clEnqueueReadBuffer returned {code}"))
        };
        // SAFETY: both buffers have the bytes.
        accepted(unsafe {
            ok!(clFinish(queue));
            enqueue!(clEnqueueCopyBuffer(queue, whole, staging, 0, 0, size))
        })?;
        same(&read(staging, size)?, expected, "a copy of the whole buffer")?;
        for view in self.views.iter().filter(|view| view.host_reads()) {
            let (object, expected) = (view.object.raw(), &expected[view.origin..][..view.size]);
            same(&read(object, view.size)?, expected, format_args!("a read of {}", view.name))?;
            let map = self.map_view(view, named!(CL_MAP_READ), 0..view.size)?;
            let result = same(map.bytes(), expected, format_args!("a map of {}", view.name));
            map.unmap()?;
            result?;
        }
        Ok(())
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        // A driver crashes if overlapping sub-buffers are released in the order of their last unmaps.
        while self.views.pop().is_some() {}
    }
}

impl View {
    fn host_reads(&self) -> bool {
        self.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS) == 0
    }

    /// Creates a sub-buffer, which inherits the flags that it does not replace (5.2.1).
    fn sub_buffer(&self, name: &'static str, range: Range<usize>, flags: cl_mem_flags) -> Self {
        let (origin, size) = (range.start, range.len());
        let region = cl_buffer_region { origin, size };
        // SAFETY: the buffer is valid, and the region lies in it.
        let object = unsafe {
            let (kind, region) = (CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast());
            let raw = created!(clCreateSubBuffer(self.object.raw(), flags, kind, region));
            Object::new(Class::Memory, raw)
        };
        Self { name, object, origin, size, flags: self.flags | flags }
    }
}

/// Mapped bytes.
pub struct Map<'a> {
    target: &'a Target<'a>,
    view: &'a View,
    pointer: *mut u8,
    size: usize,
}

impl Map<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes are mapped.
        unsafe { slice::from_raw_parts(self.pointer, self.size) }
    }

    /// Replaces the bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        // SAFETY: the bytes are mapped for writing.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.size) }.copy_from_slice(bytes);
    }

    /// Unmaps the bytes, and waits for it.
    pub fn unmap(self) -> Result<(), String> {
        let (queue, object, pointer) =
            (self.target.bench.queue, self.view.object.raw(), self.pointer.cast());
        // SAFETY: the bytes are mapped, and not used after it.
        let code = unsafe { enqueue!(clEnqueueUnmapMemObject(queue, object, pointer)) };
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(queue)) };
        accepted(code).map_err(|code| format!("clEnqueueUnmapMemObject returned {code}"))
    }
}
