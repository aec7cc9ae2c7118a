//! Memory of all kinds that commands use, and parts of it.

use std::sync::atomic::AtomicU8;

use super::*;

/// The bytes of the memory under test.
pub const BYTES: usize = 599;

/// The one piece of memory of that kind, which one operand uses at a time.
static STATIC: [AtomicU8; BYTES] = [const { AtomicU8::new(0) }; BYTES];

/// A kind of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// A buffer, over memory of this kind if its flags need host memory.
    Buffer(Named<u64>, Option<&'static Self>),
    /// Shared virtual memory.
    Svm(Named<u64>),
    /// Host memory that begins so many bytes behind the start of a page.
    Host(usize),
    /// Data of the program.
    Static,
    /// Host memory that is a map of other memory.
    Mapped(&'static Self),
}

pub use Memory::*;

pub const SVM_COARSE: Memory = Svm(named!(CL_MEM_READ_WRITE));
pub const SVM_FINE: Memory = Svm(named!(CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER));
pub const PLAIN: Memory = Buffer(named!(CL_MEM_READ_WRITE), None);
pub const ALLOC: Memory = Buffer(named!(CL_MEM_ALLOC_HOST_PTR), None);
pub const USE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&Host(0)));
pub const USE_ODD: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&Host(1)));
pub const USE_COARSE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&SVM_COARSE));
pub const USE_FINE: Memory = Buffer(named!(CL_MEM_USE_HOST_PTR), Some(&SVM_FINE));
pub const COPY: Memory = Buffer(named!(CL_MEM_COPY_HOST_PTR), Some(&Host(1)));
pub const COPY_SVM: Memory = Buffer(named!(CL_MEM_COPY_HOST_PTR), Some(&Mapped(&SVM_COARSE)));
pub const ALLOC_COPY: Memory =
    Buffer(named!(CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR), Some(&Host(3)));
pub const READ_ONLY: Memory = Buffer(named!(CL_MEM_READ_ONLY), None);
pub const WRITE_ONLY: Memory = Buffer(named!(CL_MEM_WRITE_ONLY), None);
pub const HOST_READ: Memory = Buffer(named!(CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY), None);
pub const HOST_WRITE: Memory = Buffer(named!(CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY), None);
pub const NO_ACCESS: Memory = Buffer(named!(CL_MEM_HOST_NO_ACCESS), None);

/// All kinds of memory of devices.
pub const ALL: [Memory; 16] = [
    PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
    WRITE_ONLY, HOST_READ, HOST_WRITE, NO_ACCESS, SVM_COARSE, SVM_FINE,
];

impl Memory {
    /// Returns whether the device has the memory.
    pub fn is_on(self, bench: &Bench) -> bool {
        let has_fine = bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
        match self {
            Buffer(_, Some(under)) | Mapped(under) => under.is_on(bench),
            Svm(_) => bench.has_svm() && (has_fine || self == SVM_COARSE),
            _ => true,
        }
    }
}

/// Flags of memory that the host may not read, and not write.
pub const UNREADABLE: u64 = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
pub const UNWRITABLE: u64 = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

/// Memory of one kind, or a part of it.
pub struct Target<'a> {
    pub bench: &'a Bench,
    pub name: String,
    pub memory: Memory,
    /// Where the bytes begin that commands use.
    pub base: usize,
    /// The memory of a part.
    whole: Option<Box<Self>>,
    /// The buffer, or none and the pointer to other memory.
    object: Option<Object>,
    pointer: *mut c_void,
    /// The bytes that commands use, among all.
    pub range: Range<usize>,
    /// The host memory of a buffer, or the memory of a map.
    under: Option<Box<Self>>,
}

impl<'a> Target<'a> {
    /// Creates memory, of which commands use [`BYTES`]. A buffer over host memory begins with pattern 2.
    pub fn new(bench: &'a Bench, memory: Memory, is_part: bool) -> Self {
        if !is_part {
            return Self::whole(bench, memory, BYTES);
        }
        let origin = if let Svm(_) = memory { 76 } else { bench.alignment() };
        let whole = Box::new(Self::whole(bench, memory, origin + BYTES + 78));
        let object = whole.is_buffer().then(|| bench.sub_buffer(whole.raw(), 0, [origin, BYTES]));
        let kind = if whole.is_buffer() { "a sub-buffer" } else { "a part" };
        let name = format!("{kind} of {}", whole.name);
        let pointer = whole.pointer.wrapping_byte_add(origin);
        let (whole, range) = (Some(whole), origin..origin + BYTES);
        Self { bench, name, memory, base: 0, whole, object, pointer, range, under: None }
    }

    /// Creates memory, all of which commands use. Skips the test if the device lacks it.
    pub fn whole(bench: &'a Bench, memory: Memory, size: usize) -> Self {
        if !memory.is_on(bench) {
            skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
        }
        let (mut object, mut pointer, mut under) = (None, ptr::null_mut(), None);
        let name = match memory {
            Buffer(Named { name, value: flags }, None) => {
                object = Some(bench.new_buffer(flags, size));
                format!("a buffer of {size} bytes with {name}")
            }
            Buffer(Named { name, value: flags }, Some(host)) => {
                let host = under.insert(Box::new(Self::whole(bench, *host, size)));
                host.put(&bytes(2, size));
                pointer = host.raw();
                object = Some(bench.buffer(flags, size, pointer));
                if flags & CL_MEM_COPY_HOST_PTR != 0 {
                    host.put(&bytes(1, size));
                }
                format!("a buffer of {size} bytes with {name} over {}", host.name)
            }
            Svm(Named { name, value: flags }) => {
                pointer = bench.new_svm_with(flags, size, 0);
                format!("SVM of {size} bytes with {name}")
            }
            Host(odd) => {
                const PAGE: usize = 4096;
                let memory = bench.new_host(size + odd + PAGE).cast::<u8>();
                pointer = memory.wrapping_add(memory.align_offset(PAGE) + odd).cast();
                format!("{size} bytes of host memory, {odd} behind the start of a page")
            }
            Static => {
                assert!(size <= BYTES, "static data has {BYTES} bytes");
                pointer = STATIC.as_ptr().cast_mut().cast();
                "static data".into()
            }
            Mapped(memory) => {
                let mapped = under.insert(Box::new(Self::whole(bench, *memory, size)));
                pointer = mapped.map(MAP_BOTH, 0..size).expect("a map");
                format!("a map of {}", mapped.name)
            }
        };
        Self { bench, name, memory, base: 0, whole: None, object, pointer, range: 0..size, under }
    }

    /// The bytes of a buffer from `base` on.
    pub fn window(bench: &'a Bench, buffer: *mut c_void, base: usize, size: usize) -> Self {
        let object = Some(Object::retained(Class::Memory, buffer));
        let name = format!("a buffer from byte {base:#x} on");
        let (pointer, range) = (ptr::null_mut(), 0..size);
        Self { bench, name, memory: PLAIN, base, whole: None, object, pointer, range, under: None }
    }

    /// The buffer or the pointer that commands use.
    pub fn raw(&self) -> *mut c_void {
        self.object.as_ref().map_or(self.pointer, Object::raw)
    }

    /// The operands of a command that reads one target and writes another one.
    pub fn operands(targets: [&Self; 2]) -> Operands {
        let raw = targets.map(Self::raw);
        let buffers = targets.map(|it| it.object.as_ref().map_or(ptr::null_mut(), Object::raw));
        Operands { buffers, svm: raw, host: raw, ..targets[0].bench.no_operands() }
    }

    /// The number of all bytes.
    pub fn size(&self) -> usize {
        self.whole.as_ref().map_or(self.range.len(), |whole| whole.size())
    }

    /// Returns whether this is a buffer.
    pub fn is_buffer(&self) -> bool {
        self.object.is_some()
    }

    /// Returns whether the memory has one of these flags.
    pub fn has(&self, flags: u64) -> bool {
        match self.memory {
            Buffer(own, _) | Svm(own) => own.value & flags != 0,
            // No kernel may use it.
            Host(_) | Static | Mapped(_) => flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY) != 0,
        }
    }

    /// Maps bytes. A map of CL_MEM_USE_HOST_PTR lies in the host memory (5.2.4).
    pub fn map(&self, flags: Named<u64>, range: Range<usize>) -> Result<*mut c_void, String> {
        let (queue, at, size) = (self.bench.queue, self.base + range.start, range.len());
        let kind = if self.is_buffer() { Kind::MapBuffer } else { Kind::SvmMap };
        let span = Some(Span { flags: flags.value, ..Span::line([at, 0, size]) });
        // Both kinds of calls return the pointer.
        let call = Call { span, is_blocking: size % 2 == 1, ..Call::on(queue) };
        let mut operands = Self::operands([self; 2]);
        let code = kind.code(&mut operands, call, ptr::null_mut());
        let call = format!("{}({}) of bytes {range:?}", kind.function(), flags.name);
        accepted(code).map_err(|code| format!("{call} returned {code}"))?;
        finish(queue);
        let (pointer, host) = (operands.mapped, self.pointer.wrapping_byte_add(at));
        let wanted = if self.has(CL_MEM_USE_HOST_PTR) { host } else { pointer };
        if pointer == wanted && !pointer.is_null() {
            return Ok(pointer);
        }
        self.unmap(pointer)?;
        Err(format!("{call} returned {pointer:?}; host_ptr and the offset are {wanted:?} (5.2.4)"))
    }

    /// Unmaps bytes.
    pub fn unmap(&self, mapped: *mut c_void) -> Checked {
        let kind = if self.is_buffer() { Kind::UnmapBuffer } else { Kind::SvmUnmap };
        let mut operands = Operands { mapped, ..Self::operands([self; 2]) };
        let code = kind.code(&mut operands, Call::on(self.bench.queue), ptr::null_mut());
        accepted(code).map_err(|code| format!("{} returned {code}", kind.function()))
    }

    /// Maps bytes at once, does what [`touch`] does, and unmaps them. If the host reads and writes, another map directly
    /// behind shows what it wrote.
    pub fn touch(&self, flags: Named<u64>, ranges: &[Range<usize>], model: &mut [u8]) -> Checked {
        let is_current = flags.value != CL_MAP_WRITE || !self.has(UNREADABLE);
        let touched = if is_current { flags.value } else { CL_MAP_WRITE_INVALIDATE_REGION };
        let (mut maps, mut result) = (vec![], Ok(()));
        for range in ranges {
            let map = self.map(flags, range.clone())?;
            result = result.and(touch(touched, map, &mut model[range.clone()]));
            maps.push(map);
        }
        maps.into_iter().try_for_each(|map| self.unmap(map))?;
        if touched == MAP_BOTH.value {
            let again = self.touch(MAP_FLAGS[0], ranges, model);
            result = result.and(again.map_err(|answer| format!("{answer}, behind the unmap")));
        }
        finish(self.bench.queue);
        result
    }

    /// Replaces all bytes, by a copy from another buffer, as the host may not be allowed to write.
    pub fn put(&self, bytes: &[u8]) {
        let (queue, size, to, from) = (self.bench.queue, bytes.len(), self.raw(), bytes.as_ptr());
        // SAFETY: the memory has the bytes, and no command uses them when the call has returned.
        unsafe {
            match (&self.whole, self.memory) {
                (Some(whole), _) => whole.put(bytes),
                (None, Buffer(..)) => {
                    let copy = self.bench.buffer_of(bytes);
                    enqueued!(clEnqueueCopyBuffer(queue, copy.raw(), to, 0, self.base, size));
                    finish(queue);
                }
                (None, Svm(_)) => enqueued!(clEnqueueSVMMemcpy(queue, 1, to, from.cast(), size)),
                _ => ptr::copy(from, to.cast(), size),
            }
        }
    }

    /// Waits for all commands, and compares all bytes: those of host memory; of a copy of a buffer; and of maps of
    /// the whole and of the part if the host may read.
    pub fn compare(&self, expected: &[u8]) -> Checked {
        let (bench, from, size) = (self.bench, self.raw(), expected.len());
        finish(bench.queue);
        match (&self.whole, self.memory) {
            (Some(whole), _) => whole.compare(expected)?,
            (None, Buffer(..)) => {
                if let (Some(under), true) = (&self.under, self.has(CL_MEM_COPY_HOST_PTR)) {
                    under.compare(&bytes(1, size))?;
                }
                let (queue, copy) = (bench.queue, bench.new_buffer(CL_MEM_READ_WRITE, size));
                let to = copy.raw();
                // SAFETY: both buffers have the bytes.
                unsafe { enqueued!(clEnqueueCopyBuffer(queue, from, to, self.base, 0, size)) };
                same(&bench.contents_of::<u8>(to, size), expected, "a copy of the whole")?;
            }
            (None, Svm(_)) => (),
            _ => {
                // SAFETY: the memory has the bytes, and no command uses them any more.
                let found = unsafe { slice::from_raw_parts(from.cast(), size) };
                return same(found, expected, &self.name);
            }
        }
        let (mut own, all) = (expected[self.range.clone()].to_vec(), 0..self.range.len());
        let mapped: &[_] = if self.has(UNREADABLE) { &[] } else { slice::from_ref(&all) };
        self.touch(named!(CL_MAP_READ), mapped, &mut own)
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let (Mapped(_), Some(mapped)) = (self.memory, &self.under) {
            let unmapped = mapped.unmap(self.pointer);
            finish(self.bench.queue);
            assert!(unmapped.is_ok() || thread::panicking(), "{unmapped:?}");
        }
    }
}
