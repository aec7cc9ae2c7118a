//! Queries of memory objects: buffers, parts of buffers, and images (5.5.5).

use super::image::{Picture, SHAPES, Shape};
use super::*;

/// Flags with their names.
macro_rules! flags {
    ($($($flag:ident)|+);+) => { [$(Named { name: stringify!($($flag)|+), value: $($flag)|+ }),+] };
}

const BYTES: usize = 96;

/// A memory object, and what it was made of. The bytes of an image are the least number.
struct Made {
    object: *mut c_void,
    name: String,
    kind: Named<u32>,
    flags: Named<u64>,
    bytes: usize,
    host: *mut c_void,
    parent: *mut c_void,
    offset: usize,
}

fn buffer(bench: &Bench, flags: Named<u64>, bytes: usize, shared: *mut c_void) -> Made {
    let is_given = flags.value & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    let given = if is_given && shared.is_null() { bench.new_host(bytes) } else { shared };
    // SAFETY: the context is valid; the host memory, if any, has as many bytes, and outlives the buffer.
    let object =
        unsafe { object!(Memory clCreateBuffer(bench.context, flags.value, bytes, given)) };
    let (object, name) = (bench.keep(object), format!("a buffer with {}", flags.name));
    let host = if flags.value & CL_MEM_USE_HOST_PTR != 0 { given } else { ptr::null_mut() };
    let (kind, parent) = (named!(CL_MEM_OBJECT_BUFFER), ptr::null_mut());
    Made { object, name, kind, flags, bytes, host, parent, offset: 0 }
}

fn buffers(bench: &Bench) -> Vec<Made> {
    let all = flags![CL_MEM_READ_WRITE; CL_MEM_READ_ONLY; CL_MEM_WRITE_ONLY;
        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY; CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY;
        CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS; CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
        CL_MEM_WRITE_ONLY | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR];
    all.map(|flags| buffer(bench, flags, BYTES, ptr::null_mut())).into()
}

/// Creates a part of a buffer, which inherits the flags that it is not given.
fn part(bench: &Bench, parent: &Made, given: u64, flags: Named<u64>) -> Made {
    let offset = bench.alignment();
    let object = bench.keep(bench.sub_buffer(parent.object, given, offset, BYTES));
    let name = format!("a part, created with flags {given:#x}, of {}", parent.name);
    let is_used = !parent.host.is_null();
    let host = if is_used { parent.host.wrapping_byte_add(offset) } else { ptr::null_mut() };
    Made { object, name, flags, bytes: BYTES, host, parent: parent.object, offset, ..*parent }
}

fn parts(bench: &Bench) -> Vec<Made> {
    let same = flags![CL_MEM_READ_WRITE; CL_MEM_READ_ONLY; CL_MEM_WRITE_ONLY;
        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY; CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR; CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR];
    let [read, write, none, used] = flags![CL_MEM_READ_ONLY; CL_MEM_WRITE_ONLY;
        CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS; CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR];
    let own = [
        (same[0], CL_MEM_READ_ONLY, read),
        (same[0], CL_MEM_WRITE_ONLY, write),
        (same[0], CL_MEM_HOST_NO_ACCESS, none),
        (same[4], CL_MEM_READ_ONLY, used),
    ];
    let make = |(parent, given, flags)| {
        let parent = buffer(bench, parent, bench.alignment() + 2 * BYTES, ptr::null_mut());
        part(bench, &parent, given, flags)
    };
    same.map(|flags| (flags, 0, flags)).into_iter().chain(own).map(make).collect()
}

fn images(bench: &Bench) -> Vec<Made> {
    let make = |shape: &Shape| {
        let made = shape.create(bench, 0, CL_MEM_READ_WRITE);
        let Picture { object, kind, name, shape, bytes, .. } = made;
        let (host, [flags]) = (ptr::null_mut(), flags![CL_MEM_READ_WRITE]);
        Made { object, name, kind, flags, bytes, host, parent: shape.buffer, offset: 0 }
    };
    SHAPES.iter().filter(|shape| shape.is_on(bench)).map(make).collect()
}

#[rstest]
#[clmatrix_harness::test]
fn memory_answers_as_it_was_made(
    bench: Bench,
    #[values(buffers, parts, images)] make: fn(&Bench) -> Vec<Made>,
    #[values(false, true)] is_of_host: bool,
) {
    let findings = Findings::default();
    for made in make(&bench) {
        let asked = Asked::new(&findings, Subject::Memory(made.object), made.name);
        if is_of_host {
            asked.pointer(named!(CL_MEM_HOST_PTR), made.host);
            continue;
        }
        answers!(asked; constant CL_MEM_TYPE made.kind, constant CL_MEM_FLAGS made.flags,
            is CL_MEM_MAP_COUNT 0_u32, pointer CL_MEM_CONTEXT bench.context,
            pointer CL_MEM_ASSOCIATED_MEMOBJECT made.parent, is CL_MEM_OFFSET made.offset);
        let is_exact = made.kind.value == CL_MEM_OBJECT_BUFFER;
        let rule = format!("{} bytes (exactly: {is_exact})", made.bytes);
        let holds = |found: &[usize]| found == [made.bytes] || !is_exact && found >= &[made.bytes];
        asked.check(named!(CL_MEM_SIZE), rule, holds);
        if bench.is(3, 0) {
            asked.list::<u64>(named!(CL_MEM_PROPERTIES), &[]);
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_buffer_tells_whether_its_host_memory_is_shared(
    bench: Bench,
    #[values(false, true)] is_shared: bool,
    #[values(false, true)] is_part: bool,
) {
    let is_all_shared = bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM != 0;
    if !bench.has_svm() || !is_shared && is_all_shared {
        skip!("the device lacks memory of this kind");
    }
    let findings = Findings::default();
    let bytes = bench.alignment() + 2 * BYTES;
    let shared = if is_shared { bench.new_svm(bytes) } else { ptr::null_mut() };
    let [flags] = flags![CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR];
    let whole = buffer(&bench, flags, bytes, shared);
    let made = if is_part { part(&bench, &whole, 0, flags) } else { whole };
    let asked = Asked::new(&findings, Subject::Memory(made.object), made.name);
    asked.is(named!(CL_MEM_USES_SVM_POINTER), u32::from(is_shared));
}

#[rstest]
#[case::buffer(Kind::MapBuffer, Kind::UnmapBuffer)]
#[case::image(Kind::MapImage, Kind::UnmapImage)]
#[clmatrix_harness::test]
fn maps_are_counted(bench: Bench, #[case] map: Kind, #[case] unmap: Kind) {
    bench.requires(map);
    let findings = Findings::default();
    let mut operands = bench.operands(&[map]);
    let [object, _] = if map == Kind::MapImage { operands.images } else { operands.buffers };
    for (kind, count) in [(map, 1_u32), (map, 2), (unmap, 1), (unmap, 0)] {
        drop(kind.enqueue(&mut operands, Call::on(bench.queue)));
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(bench.queue)) };
        let name = format!("memory after {}, mapped {count} times", kind.function());
        Asked::new(&findings, Subject::Memory(object), name).is(named!(CL_MEM_MAP_COUNT), count);
    }
}
