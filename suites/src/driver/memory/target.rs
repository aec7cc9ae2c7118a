//! Buffers of all kinds of memory, and sub-buffers of them.

use std::ops::Range;

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_FALSE, CL_TRUE, cl_map_flags, cl_mem_flags};
use clmatrix_harness::skip;

use super::area::{Area, COARSE, FINE, svm_kinds};
use super::operand::{Operand, touch};
use crate::driver::api::{UNWRITTEN, accepted, enqueue, enqueued};
use crate::driver::prelude::*;
use crate::support::pattern::{bytes, same};

/// The bytes of the buffers under test.
pub const BYTES: usize = 599;

/// The flags of a memory object, and the host memory that they need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Memory(pub Named<cl_mem_flags>, Host);

/// Host memory of a memory object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    None,
    /// So many bytes behind the start of a page.
    Odd(usize),
    Svm(Named<cl_mem_flags>),
}

pub const PLAIN: Memory = Memory(named!(CL_MEM_READ_WRITE), Host::None);
pub const ALLOC: Memory = Memory(named!(CL_MEM_ALLOC_HOST_PTR), Host::None);
pub const USE: Memory = Memory(named!(CL_MEM_USE_HOST_PTR), Host::Odd(0));
pub const USE_ODD: Memory = Memory(named!(CL_MEM_USE_HOST_PTR), Host::Odd(1));
pub const USE_COARSE: Memory = Memory(named!(CL_MEM_USE_HOST_PTR), Host::Svm(COARSE));
pub const USE_FINE: Memory = Memory(named!(CL_MEM_USE_HOST_PTR), Host::Svm(FINE));
pub const COPY: Memory = Memory(named!(CL_MEM_COPY_HOST_PTR), Host::Odd(1));
pub const COPY_SVM: Memory = Memory(named!(CL_MEM_COPY_HOST_PTR), Host::Svm(COARSE));
pub const ALLOC_COPY: Memory =
    Memory(named!(CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR), Host::Odd(3));
pub const READ_ONLY: Memory = Memory(named!(CL_MEM_READ_ONLY), Host::None);
pub const WRITE_ONLY: Memory = Memory(named!(CL_MEM_WRITE_ONLY), Host::None);
pub const HOST_READ: Memory = Memory(named!(CL_MEM_HOST_READ_ONLY), Host::None);
pub const HOST_WRITE: Memory = Memory(named!(CL_MEM_HOST_WRITE_ONLY), Host::None);
pub const NO_ACCESS: Memory = Memory(named!(CL_MEM_HOST_NO_ACCESS), Host::None);

/// All kinds of memory.
pub const ALL: [Memory; 14] = [
    PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
    WRITE_ONLY, HOST_READ, HOST_WRITE, NO_ACCESS,
];

impl Memory {
    /// Returns whether the device has the memory.
    pub fn is_on(self, bench: &Bench) -> bool {
        !matches!(self.1, Host::Svm(kind) if !svm_kinds(bench).contains(&kind))
    }

    /// Skips the test unless the device has the memory.
    pub fn requires(self, bench: &Bench) {
        if !self.is_on(bench) {
            skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
        }
    }

    /// Allocates the host memory that the flags need, with the bytes of pattern 0.
    pub fn area(self, bench: &Bench, size: usize) -> Option<Area<'_>> {
        let area = match self.1 {
            Host::None => return None,
            Host::Odd(odd) => Area::host(bench, size, odd),
            Host::Svm(kind) => Area::svm(bench, size, kind),
        };
        area.put(&bytes(0, size));
        Some(area)
    }
}

/// The part of a buffer that commands use: the whole, or a sub-buffer with these flags.
pub type Part = Option<Named<cl_mem_flags>>;

pub const WHOLE: Part = None;
pub const SUB: Part = Some(Named { name: "no flags", value: 0 });
pub const READ_ONLY_SUB: Part = Some(named!(CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY));
pub const WRITE_ONLY_SUB: Part = Some(named!(CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY));
pub const NO_ACCESS_SUB: Part = Some(named!(CL_MEM_HOST_NO_ACCESS));

/// Flags of memory that the host may not read, and not write.
pub const UNREADABLE: cl_mem_flags = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
pub const UNWRITABLE: cl_mem_flags = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

/// A memory object that shows bytes of the buffer under test: its name, its bytes and its flags.
struct View(&'static str, Object, Range<usize>, cl_mem_flags);

/// A buffer, or a sub-buffer with its buffer and a sub-buffer that overlaps.
pub struct Target<'a> {
    pub bench: &'a Bench,
    pub name: String,
    /// The whole buffer is the first one; the object that commands use is the last one.
    views: Vec<View>,
    pub area: Option<Area<'a>>,
    staging: Object,
}

impl<'a> Target<'a> {
    /// Creates a buffer with `size` bytes. Its host memory is overwritten after CL_MEM_COPY_HOST_PTR.
    pub fn new(bench: &'a Bench, memory: Memory, part: Part, size: usize) -> Self {
        let origin = if part.is_some() { bench.alignment() } else { 0 };
        let whole = if part.is_some() { origin + size + 77 } else { size };
        let (Memory(Named { name, value: flags }, _), area) = (memory, memory.area(bench, whole));
        let pointer = area.as_ref().map_or(ptr::null_mut(), |area| area.pointer.cast());
        let place = area.as_ref().map_or(String::new(), |area| format!(" over {}", area.name));
        let mut name = format!("a buffer with {name}{place}");
        let mut code = UNWRITTEN;
        // SAFETY: the host memory, if any, has the bytes, and the bench keeps it.
        let raw =
            unsafe { cl!(clCreateBuffer(bench.context, flags, whole, pointer, &raw mut code)) };
        if let Err(answer) = accepted(code) {
            panic!("clCreateBuffer of {name} (5.2.1): the driver returned {answer}");
        }
        // SAFETY: the call has created the reference.
        let object = unsafe { Object::new(Class::Memory, raw) };
        if let Some(area) = area.as_ref().filter(|_| flags & CL_MEM_COPY_HOST_PTR != 0) {
            area.put(&bytes(2, whole));
        }
        let mut views = vec![View("the buffer", object, 0..whole, flags)];
        if let Some(own) = part {
            name = format!("a sub-buffer with {} of its own, of {name}", own.name);
            for (name, at, size, own) in [
                ("a sub-buffer that overlaps", 0, origin + size / 2, 0),
                ("the sub-buffer", origin, size, own.value),
            ] {
                // It inherits the flags that it does not replace (5.2.1).
                let object = bench.sub_buffer(raw, own, at, size);
                views.push(View(name, object, at..at + size, flags | own));
            }
        }
        Self { bench, name, views, area, staging: bench.new_buffer(CL_MEM_READ_WRITE, whole) }
    }

    /// A buffer without flags.
    pub fn plain(bench: &'a Bench, size: usize) -> Self {
        Self::new(bench, PLAIN, WHOLE, size)
    }

    fn view(&self) -> &View {
        self.views.last().expect("a view")
    }

    /// The object that commands use.
    pub fn raw(&self) -> *mut c_void {
        self.view().1.raw()
    }

    /// The part of the bytes of the whole buffer that the object has.
    pub fn own<'b>(&self, whole: &'b mut [u8]) -> &'b mut [u8] {
        &mut whole[self.view().2.clone()]
    }

    /// Returns whether the object has one of these flags.
    pub fn has(&self, flags: cl_mem_flags) -> bool {
        self.view().3 & flags != 0
    }

    /// Maps bytes of the object.
    pub fn map(&self, flags: Named<cl_map_flags>, range: Range<usize>) -> Result<Map, String> {
        self.map_view(self.view(), flags, range)
    }

    /// Maps bytes of an object. A map of CL_MEM_USE_HOST_PTR lies in the host memory (5.2.4).
    fn map_view(
        &self,
        View(name, object, own, own_flags): &View,
        flags: Named<cl_map_flags>,
        range: Range<usize>,
    ) -> Result<Map, String> {
        let (q, n, e, f) = (self.bench.queue, ptr::null(), ptr::null_mut(), flags.value);
        let (o, at, size, mut code) = (object.raw(), range.start, range.len(), UNWRITTEN);
        // Both kinds of calls return the pointer.
        let b = if size % 2 == 0 { CL_FALSE } else { CL_TRUE };
        // SAFETY: the bytes are in the buffer.
        let pointer = unsafe {
            let map = cl!(clEnqueueMapBuffer(q, o, b, f, at, size, 0, n, e, &raw mut code));
            ok!(clFinish(q));
            map.cast()
        };
        let call = format!("clEnqueueMapBuffer({}) of bytes {range:?} of {name}", flags.name);
        accepted(code).map_err(|code| format!("{call} returned {code}"))?;
        let map = Map(q, o, ptr::slice_from_raw_parts_mut(pointer, size));
        let host = self.area.as_ref().filter(|_| own_flags & CL_MEM_USE_HOST_PTR != 0);
        let wanted = host.map_or(pointer, |area| area.pointer.wrapping_add(own.start + at));
        if pointer == wanted && !pointer.is_null() {
            return Ok(map);
        }
        map.unmap()?;
        Err(format!("{call} returned {pointer:?}; host_ptr and the offset are {wanted:?} (5.2.4)"))
    }

    /// Reads an object, and compares all its bytes.
    fn read(&self, object: &Object, expected: &[u8], name: &str) -> Result<(), String> {
        let (queue, mut found) = (self.bench.queue, vec![0; expected.len()]);
        let (o, size, to) = (object.raw(), found.len(), found.as_mut_ptr().cast());
        // SAFETY: object and memory have the bytes; the call blocks.
        accepted(unsafe { enqueue!(clEnqueueReadBuffer(queue, o, CL_TRUE, 0, size, to)) })
            .map_err(|code| format!("clEnqueueReadBuffer of {name} returned {code}"))?;
        same(&found, expected, format_args!("a read of {name}"))
    }
}

impl Operand for Target<'_> {
    fn size(&self) -> usize {
        self.views[0].2.len()
    }

    /// Writes the bytes to another buffer and copies them, as the host may not be allowed to write.
    fn put(&self, bytes: &[u8]) {
        let (queue, staging, size) = (self.bench.queue, self.staging.raw(), bytes.len());
        let (whole, from) = (self.views[0].1.raw(), bytes.as_ptr().cast_mut().cast());
        // SAFETY: both buffers have the bytes; the write blocks.
        unsafe {
            enqueued!(clEnqueueWriteBuffer(queue, staging, CL_TRUE, 0, size, from));
            enqueued!(clEnqueueCopyBuffer(queue, staging, whole, 0, 0, size));
            ok!(clFinish(queue));
        }
    }

    /// Compares a copy of the whole, and reads and maps of all objects that the host may read.
    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        let (queue, whole, staging) = (self.bench.queue, self.views[0].1.raw(), &self.staging);
        // SAFETY: both buffers have the bytes.
        accepted(unsafe {
            ok!(clFinish(queue));
            enqueue!(clEnqueueCopyBuffer(queue, whole, staging.raw(), 0, 0, expected.len()))
        })?;
        self.read(staging, expected, "a copy of the whole buffer")?;
        for view in self.views.iter().filter(|view| view.3 & UNREADABLE == 0) {
            let (View(name, object, own, _), range) = (view, 0..view.2.len());
            self.read(object, &expected[own.clone()], name)?;
            let map = self.map_view(view, named!(CL_MAP_READ), range)?;
            let result = touch(CL_MAP_READ, map.2, &mut expected[own.clone()].to_vec());
            map.unmap()?;
            result.map_err(|answer| format!("a map of {name}: {answer}"))?;
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

/// Mapped bytes: the queue and the object, and the bytes.
pub struct Map(*mut c_void, *mut c_void, pub *mut [u8]);

impl Map {
    /// Unmaps the bytes, and waits for it.
    pub fn unmap(self) -> Result<(), String> {
        let Self(queue, object, bytes) = self;
        // SAFETY: the bytes are mapped, and not used after it.
        let code = unsafe { enqueue!(clEnqueueUnmapMemObject(queue, object, bytes.cast())) };
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(queue)) };
        accepted(code).map_err(|code| format!("clEnqueueUnmapMemObject returned {code}"))
    }
}
