//! Memory of all kinds that commands use, and parts of it.

use std::ops::Range;
use std::slice;

use super::*;

/// The bytes of the memory under test.
pub const BYTES: usize = 599;

/// A kind of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// A buffer, over memory of this kind if its flags need host memory.
    Buffer(Named<u64>, Option<&'static Self>),
    /// Shared virtual memory.
    Svm(Named<u64>),
    /// Host memory that begins so many bytes behind the start of a page.
    Host(usize),
    /// Host memory that is a map of a buffer.
    Mapped,
}

use Memory::*;

pub const SVM_COARSE: Memory = Svm(named!(CL_MEM_READ_WRITE));
pub const SVM_FINE: Memory = Svm(named!(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER));
pub const PLAIN: Memory = Buffer(named!(CL_MEM_READ_WRITE), None);
pub const ALLOC: Memory = Buffer(named!(CL_MEM_ALLOC_HOST_PTR), None);
pub const USE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&Host(0)));
pub const USE_ODD: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&Host(1)));
pub const USE_COARSE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&SVM_COARSE));
pub const USE_FINE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&SVM_FINE));
pub const COPY: Memory = Buffer(named!(CL_MEM_COPY_HOST_PTR), Some(&Host(1)));
pub const COPY_SVM: Memory = Buffer(named!(CL_MEM_COPY_HOST_PTR), Some(&SVM_COARSE));
pub const ALLOC_COPY: Memory =
    Buffer(named!(CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR), Some(&Host(3)));
pub const READ_ONLY: Memory = Buffer(named!(CL_MEM_READ_ONLY), None);
pub const WRITE_ONLY: Memory = Buffer(named!(CL_MEM_WRITE_ONLY), None);
pub const HOST_READ: Memory = Buffer(named!(CL_MEM_HOST_READ_ONLY), None);
pub const HOST_WRITE: Memory = Buffer(named!(CL_MEM_HOST_WRITE_ONLY), None);
pub const NO_ACCESS: Memory = Buffer(named!(CL_MEM_HOST_NO_ACCESS), None);

/// All kinds of memory of devices.
pub const ALL: [Memory; 16] = [
    PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
    WRITE_ONLY, HOST_READ, HOST_WRITE, NO_ACCESS, SVM_COARSE, SVM_FINE,
];

impl Memory {
    /// Returns whether the device has the memory.
    pub fn is_on(self, bench: &Bench) -> bool {
        match self {
            Buffer(_, Some(under)) => under.is_on(bench),
            Svm(_) => {
                let fine = if self == SVM_FINE { CL_DEVICE_SVM_FINE_GRAIN_BUFFER } else { 0 };
                bench.has_svm() && bench.svm_capabilities & fine == fine
            }
            _ => true,
        }
    }

    /// Skips the test unless the device has the memory.
    pub fn requires(self, bench: &Bench) {
        if !self.is_on(bench) {
            skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
        }
    }
}

/// The part of the memory that commands use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Sub,
}

/// Flags of memory that the host may not read, and not write.
pub const UNREADABLE: u64 = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
pub const UNWRITABLE: u64 = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

/// A buffer, or a pointer to other memory.
enum Place {
    Object(Object),
    Pointer(*mut c_void),
}

impl Place {
    fn raw(&self) -> *mut c_void {
        match self {
            Self::Object(object) => object.raw(),
            Self::Pointer(first) => *first,
        }
    }

    fn is_buffer(&self) -> bool {
        matches!(self, Self::Object(_))
    }
}

/// The operands of a command on two places.
fn operands(bench: &Bench, places: [&Place; 2]) -> Operands {
    let raw = places.map(Place::raw);
    let buffers = places.map(|place| if place.is_buffer() { place.raw() } else { ptr::null_mut() });
    Operands { buffers, svm: raw, host: raw, ..bench.no_operands() }
}

/// Memory of one kind.
pub struct Target<'a> {
    pub bench: &'a Bench,
    pub name: String,
    pub memory: Memory,
    /// Where the bytes begin that commands use.
    pub base: usize,
    /// The whole with its bytes, and the part.
    views: Vec<(Place, Range<usize>)>,
    /// The host memory of a buffer, or the buffer of a map.
    under: Option<Box<Self>>,
}

impl<'a> Target<'a> {
    /// Creates memory, of which commands use `size` bytes. A buffer over host memory begins with pattern 0.
    pub fn new(bench: &'a Bench, memory: Memory, part: Part, size: usize) -> Self {
        if part == Part::Whole {
            return Self::whole(bench, memory, size);
        }
        let origin = if let Svm(_) = memory { 76 } else { bench.alignment() };
        let mut target = Self::whole(bench, memory, origin + size + 78);
        let (part, place) = match &target.views[0].0 {
            Place::Object(whole) => {
                ("a sub-buffer", Place::Object(bench.sub_buffer(whole.raw(), 0, [origin, size])))
            }
            Place::Pointer(first) => ("a part", Place::Pointer(first.wrapping_byte_add(origin))),
        };
        target.name = format!("{part} of {}", target.name);
        target.views.push((place, origin..origin + size));
        target
    }

    /// Creates memory, all of which commands use.
    pub fn whole(bench: &'a Bench, memory: Memory, size: usize) -> Self {
        let mut under = None;
        let (place, name) = match memory {
            Buffer(Named { name, value: flags }, None) => {
                let buffer = bench.new_buffer(flags, size);
                (Place::Object(buffer), format!("a buffer with {name}"))
            }
            Buffer(Named { name, value: flags }, Some(host)) => {
                let host = Self::whole(bench, *host, size);
                host.put(&bytes(0, size));
                let is_copied = flags & CL_MEM_COPY_HOST_PTR != 0;
                // The host reads shared memory within a map only (5.6.1).
                let map = (is_copied && matches!(host.memory, Svm(_)))
                    .then(|| host.map(named!(CL_MAP_READ), 0..size).expect("a map"));
                let buffer = bench.buffer(flags, size, host.raw());
                map.map_or(Ok(()), |map| host.unmap(map)).expect("an unmap");
                if is_copied {
                    host.put(&bytes(2, size));
                }
                let name = format!("a buffer with {name} over {}", host.name);
                under = Some(Box::new(host));
                (Place::Object(buffer), name)
            }
            Svm(Named { name, value: flags }) => {
                let memory = bench.new_svm_with(flags, size, 0);
                (Place::Pointer(memory), format!("SVM with {name}"))
            }
            Host(odd) => {
                const PAGE: usize = 4096;
                let memory = bench.new_host(size + odd + PAGE).cast::<u8>();
                let first = memory.wrapping_add(memory.align_offset(PAGE) + odd);
                let name = format!("host memory {odd} bytes behind the start of a page");
                (Place::Pointer(first.cast()), name)
            }
            Mapped => {
                let buffer = Self::whole(bench, PLAIN, size);
                let map = buffer.map(named!(CL_MAP_READ | CL_MAP_WRITE), 0..size).expect("a map");
                under = Some(Box::new(buffer));
                (Place::Pointer(map.cast()), "a mapped buffer".to_owned())
            }
        };
        Self { bench, name, memory, base: 0, views: vec![(place, 0..size)], under }
    }

    /// The bytes of a buffer from `base` on.
    pub fn window(bench: &'a Bench, buffer: *mut c_void, base: usize, size: usize) -> Self {
        let place = Place::Object(Object::retained(Class::Memory, buffer));
        let name = format!("a buffer from byte {base:#x} on");
        Self { bench, name, memory: PLAIN, base, views: vec![(place, 0..size)], under: None }
    }

    fn part(&self) -> &(Place, Range<usize>) {
        self.views.last().expect("the whole")
    }

    /// The buffer or the pointer that commands use.
    pub fn raw(&self) -> *mut c_void {
        self.part().0.raw()
    }

    /// The operands of a command that reads one target and writes another one.
    pub fn operands([from, to]: [&Self; 2]) -> Operands {
        operands(from.bench, [&from.part().0, &to.part().0])
    }

    /// The number of all bytes.
    pub fn size(&self) -> usize {
        self.views[0].1.len()
    }

    /// The bytes that commands use, of a model of all.
    pub fn own<'b>(&self, whole: &'b mut [u8]) -> &'b mut [u8] {
        &mut whole[self.part().1.clone()]
    }

    /// Returns whether this is a buffer.
    pub fn is_buffer(&self) -> bool {
        self.part().0.is_buffer()
    }

    /// Returns whether the memory has one of these flags.
    pub fn has(&self, flags: u64) -> bool {
        matches!(self.memory, Buffer(own, _) | Svm(own) if own.value & flags != 0)
    }

    /// Maps bytes of the part.
    pub fn map(&self, flags: Named<u64>, range: Range<usize>) -> Result<*mut [u8], String> {
        self.map_view(self.part(), flags, range)
    }

    /// Unmaps bytes of the part.
    pub fn unmap(&self, bytes: *mut [u8]) -> Checked {
        self.unmap_view(self.part(), bytes)
    }

    /// Maps bytes of a view. A map of CL_MEM_USE_HOST_PTR lies in the host memory (5.2.4).
    fn map_view(
        &self,
        view: &(Place, Range<usize>),
        flags: Named<u64>,
        range: Range<usize>,
    ) -> Result<*mut [u8], String> {
        let (queue, at, size) = (self.bench.queue, self.base + range.start, range.len());
        let kind = if self.is_buffer() { Kind::MapBuffer } else { Kind::SvmMap };
        let span = Some(Span { flags: flags.value, ..Span::line([at, 0, size]) });
        // Both kinds of calls return the pointer.
        let call = Call { span, is_blocking: size % 2 == 1, ..Call::on(queue) };
        let mut operands = operands(self.bench, [&view.0; 2]);
        let code = kind.code(&mut operands, call, ptr::null_mut());
        let call = format!("{}({}) of bytes {range:?}", kind.function(), flags.name);
        accepted(code).map_err(|code| format!("{call} returned {code}"))?;
        finish(queue);
        let pointer = operands.mapped;
        let map = ptr::slice_from_raw_parts_mut(pointer.cast(), size);
        let host = self.under.as_ref().filter(|_| self.has(CL_MEM_USE_HOST_PTR));
        let wanted = host.map_or(pointer, |host| host.raw().wrapping_byte_add(view.1.start + at));
        if pointer == wanted && !pointer.is_null() {
            return Ok(map);
        }
        self.unmap_view(view, map)?;
        Err(format!("{call} returned {pointer:?}; host_ptr and the offset are {wanted:?} (5.2.4)"))
    }

    /// Unmaps bytes of a view, and waits for it.
    fn unmap_view(&self, view: &(Place, Range<usize>), bytes: *mut [u8]) -> Checked {
        let queue = self.bench.queue;
        let kind = if self.is_buffer() { Kind::UnmapBuffer } else { Kind::SvmUnmap };
        let mapped = bytes.cast();
        let mut operands = Operands { mapped, ..operands(self.bench, [&view.0; 2]) };
        let code = kind.code(&mut operands, Call::on(queue), ptr::null_mut());
        finish(queue);
        accepted(code).map_err(|code| format!("{} returned {code}", kind.function()))
    }

    /// Replaces all bytes, by a copy from another buffer, as the host may not be allowed to write.
    pub fn put(&self, bytes: &[u8]) {
        let (queue, size, from) = (self.bench.queue, bytes.len(), bytes.as_ptr());
        // SAFETY: the memory has the bytes, and no command uses them when the call has returned.
        unsafe {
            match (&self.views[0].0, self.memory) {
                (Place::Object(whole), _) => {
                    let (copy, to) = (self.bench.buffer_of(bytes), whole.raw());
                    enqueued!(clEnqueueCopyBuffer(queue, copy.raw(), to, 0, self.base, size));
                    finish(queue);
                }
                (Place::Pointer(to), Svm(_)) => {
                    enqueued!(clEnqueueSVMMemcpy(queue, CL_TRUE, *to, from.cast(), size));
                }
                (Place::Pointer(to), _) => ptr::copy(from, to.cast(), size),
            }
        }
    }

    /// Waits for all commands, and compares all bytes: those of host memory; of a copy of a buffer; and of maps of
    /// the whole and of the part if the host may read.
    pub fn compare(&self, expected: &[u8]) -> Checked {
        let (bench, size) = (self.bench, expected.len());
        finish(bench.queue);
        if let (Some(under), true) = (&self.under, self.has(CL_MEM_COPY_HOST_PTR)) {
            under.compare(&bytes(2, self.size()))?;
        }
        if let Place::Object(whole) = &self.views[0].0 {
            let (from, copy) = (whole.raw(), bench.new_buffer(CL_MEM_READ_WRITE, size));
            let (queue, to) = (bench.queue, copy.raw());
            // SAFETY: both buffers have the bytes.
            unsafe { enqueued!(clEnqueueCopyBuffer(queue, from, to, self.base, 0, size)) };
            same(&bench.contents_of::<u8>(to, size), expected, "a copy of the whole")?;
        } else if !matches!(self.memory, Svm(_)) {
            // SAFETY: the memory has the bytes, and no command uses them any more.
            let found = unsafe { slice::from_raw_parts(self.raw().cast(), size) };
            return same(found, expected, &self.name);
        }
        for view in self.views.iter().filter(|_| !self.has(UNREADABLE)) {
            let mut own = expected[view.1.clone()].to_vec();
            let map = self.map_view(view, named!(CL_MAP_READ), 0..own.len())?;
            let result = touch(CL_MAP_READ, map, &mut own);
            self.unmap_view(view, map)?;
            result?;
        }
        Ok(())
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let (Mapped, Some(buffer)) = (self.memory, &self.under) {
            let map = ptr::slice_from_raw_parts_mut(self.raw().cast(), self.size());
            _ = buffer.unmap(map);
        }
    }
}
