//! Queries of memory objects: buffers, parts of buffers (5.5.5), and images (5.3.7).

use super::*;
use crate::driver::memory::{PLAIN, Target};

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

fn buffer(bench: &Bench, flags: Named<u64>, bytes: usize, host: *mut c_void) -> Made {
    let (kind, parent) = (named!(CL_MEM_OBJECT_BUFFER), ptr::null_mut());
    let [host, given] = [CL_MEM_USE_HOST_PTR, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR]
        .map(|needed| if flags.value & needed != 0 { host } else { ptr::null_mut() });
    let object = bench.keep(bench.buffer(flags.value, bytes, given));
    let name = format!("a buffer with {}", flags.name);
    Made { object, name, kind, flags, bytes, host, parent, offset: 0 }
}

fn buffers(bench: &Bench) -> Vec<Made> {
    let all = named![CL_MEM_READ_WRITE; CL_MEM_READ_ONLY; CL_MEM_WRITE_ONLY;
        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY; CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY;
        CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS; CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
        CL_MEM_WRITE_ONLY | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR];
    all.map(|flags| buffer(bench, flags, BYTES, bench.new_host(BYTES))).into()
}

/// Creates a part of a buffer, which inherits the flags that it is not given.
fn part(bench: &Bench, parent: &Made, given: u64, flags: Named<u64>) -> Made {
    let offset = bench.alignment();
    let object = bench.keep(bench.sub_buffer(parent.object, given, [offset, BYTES]));
    let name = format!("a part, created with flags {given:#x}, of {}", parent.name);
    let host = parent.host.wrapping_byte_add(if parent.host.is_null() { 0 } else { offset });
    Made { object, name, flags, bytes: BYTES, host, parent: parent.object, offset, ..*parent }
}

fn parts(bench: &Bench) -> Vec<Made> {
    let same = named![CL_MEM_READ_WRITE; CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR; CL_MEM_READ_ONLY;
        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY; CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR;
        CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR];
    let own = [
        (same[0], CL_MEM_WRITE_ONLY, named!(CL_MEM_WRITE_ONLY)),
        (same[0], CL_MEM_HOST_NO_ACCESS, named!(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS)),
        (same[1], CL_MEM_READ_ONLY, named!(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR)),
    ];
    let bytes = bench.alignment() + BYTES;
    let make = |(parent, given, flags)| {
        part(bench, &buffer(bench, parent, bytes, bench.new_host(bytes)), given, flags)
    };
    same.map(|flags| (flags, 0, flags)).into_iter().chain(own).map(make).collect()
}

/// Formats that all devices with images have, and the bytes of a pixel.
static FORMATS: [([u32; 2], usize); 3] =
    [([CL_RGBA, CL_UNSIGNED_INT8], 4), ([CL_RGBA, CL_FLOAT], 16), ([CL_BGRA, CL_UNORM_INT8], 4)];

/// A type of image, with its height, depth and number of layers. It may use the memory of a buffer.
struct Shape(Named<u32>, [usize; 3], bool);

static SHAPES: [Shape; 7] = [
    Shape(named!(CL_MEM_OBJECT_IMAGE1D), [0, 0, 0], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE1D_BUFFER), [0, 0, 0], true),
    Shape(named!(CL_MEM_OBJECT_IMAGE1D_ARRAY), [0, 0, 4], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], true),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D_ARRAY), [5, 0, 4], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE3D), [5, 3, 0], false),
];

impl Shape {
    /// Returns whether the device has such images.
    fn is_on(&self, bench: &Bench) -> bool {
        let is_plane_of_buffer = self.2 && self.1[0] > 0;
        bench.has_images && (!is_plane_of_buffer || pitch_alignment(bench) > 0)
    }

    /// Creates an image with a format of [`FORMATS`], and its buffer, if any. Host memory has larger pitches than
    /// the pixels need. Returns the image and its shape, with the pitches that it must have.
    fn create(&self, bench: &Bench, format: usize, flags: u64) -> (Made, cl_image_desc) {
        let &Self(kind, [height, depth, layers], is_of_buffer) = self;
        let (format, pixel) = FORMATS[format];
        let (rows, slices) = (height.max(1), depth + layers);
        let padding = usize::from(flags != CL_MEM_READ_WRITE);
        let (is_plane, alignment) = (is_of_buffer && height > 0, pitch_alignment(bench));
        let given = if is_plane { 8_usize.next_multiple_of(alignment) } else { 9 * padding };
        let row = pixel * if given == 0 { 7 } else { given };
        let slice = if slices == 0 { 0 } else { row * (rows + 2 * padding) };
        let mut shape = no_image();
        (shape.image_type, shape.image_width, shape.image_height) = (kind.value, 7, height);
        (shape.image_depth, shape.image_array_size) = (depth, layers);
        let [row_pitch, slice_pitch] = [given * pixel, slice * padding];
        (shape.image_row_pitch, shape.image_slice_pitch) = (row_pitch, slice_pitch);
        if is_of_buffer {
            shape.buffer = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, row * rows));
        }
        let host = if padding > 0 { bench.new_host(1 << 14) } else { ptr::null_mut() };
        let object = bench.keep(bench.image(flags, format, &shape, host));
        let of = if is_of_buffer { "a buffer" } else { "its own" };
        let about = format!("{pixel} bytes a pixel in memory of {of}, flags {flags:#x}");
        let name = format!("{} with {about}, pitches {row_pitch} and {slice_pitch}", kind.name);
        (shape.image_row_pitch, shape.image_slice_pitch) = (row, slice);
        let flags = Named { name: "the flags of the call", value: flags };
        let (bytes, parent) = (7 * pixel * rows * slices.max(1), shape.buffer);
        (Made { object, name, kind, flags, bytes, host, parent, offset: 0 }, shape)
    }
}

/// The pixels at whose multiples rows begin in the memory of a buffer; 0 where the device has no such images.
fn pitch_alignment(bench: &Bench) -> usize {
    let query = named!(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
    if bench.is(2, 0) { bench.value::<u32>(query) as usize } else { 0 }
}

fn images(bench: &Bench) -> Vec<Made> {
    let shapes = SHAPES.iter().filter(|shape| shape.is_on(bench));
    shapes.map(|shape| shape.create(bench, 0, CL_MEM_READ_WRITE).0).collect()
}

#[rstest]
#[clmatrix_harness::test]
fn memory_answers_as_it_was_made(
    bench: Bench,
    #[values(buffers, parts, images)] make: fn(&Bench) -> Vec<Made>,
    #[values(false, true)] is_of_host: bool,
) {
    for made in make(&bench) {
        let asked = bench.asked(Subject::Memory(made.object), made.name);
        if is_of_host {
            asked.pointer(named!(CL_MEM_HOST_PTR), made.host);
            continue;
        }
        answers!(asked; constant CL_MEM_TYPE made.kind, constant CL_MEM_FLAGS made.flags,
            is CL_MEM_MAP_COUNT 0_u32, pointer CL_MEM_CONTEXT bench.context,
            pointer CL_MEM_ASSOCIATED_MEMOBJECT made.parent, is CL_MEM_OFFSET made.offset,
            [2, 0] is CL_MEM_USES_SVM_POINTER 0_u32, [3, 0] list CL_MEM_PROPERTIES &[0_u64; 0]);
        let is_exact = made.kind.value == CL_MEM_OBJECT_BUFFER;
        let rule = format!("{} bytes (exactly: {is_exact})", made.bytes);
        let holds = |found: &[usize]| found == [made.bytes] || !is_exact && found >= &[made.bytes];
        asked.check(named!(CL_MEM_SIZE), rule, holds);
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_buffer_of_shared_memory_tells_so(bench: Bench, #[values(false, true)] is_part: bool) {
    let flags = named!(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR);
    let bytes = bench.alignment() + BYTES;
    let whole = buffer(&bench, flags, bytes, bench.new_svm(bytes));
    let made = if is_part { part(&bench, &whole, 0, flags) } else { whole };
    bench.asked(Subject::Memory(made.object), made.name).is(named!(CL_MEM_USES_SVM_POINTER), 1_u32);
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn memory_of_a_list_has_its_properties(bench: Bench, #[values(&[], &[0])] list: &[u64]) {
    let check = |object: Object, function: &str| {
        let name = format!("an object of {function} with list {list:?}");
        answers!(bench.asked(Subject::Memory(object.raw()), name); list CL_MEM_PROPERTIES list,
            constant CL_MEM_FLAGS named!(CL_MEM_READ_ONLY), pointer CL_MEM_CONTEXT bench.context);
    };
    let (context, given) = (bench.context, pointer(list));
    let (flags, none) = (CL_MEM_READ_ONLY, ptr::null_mut());
    // SAFETY: the context is valid; the list, if any, ends with 0.
    let buffer = unsafe {
        created!(Memory clCreateBufferWithProperties(context, given, flags, BYTES, none))
    };
    check(buffer, "clCreateBufferWithProperties");
    if bench.has_images {
        let kind = CL_MEM_OBJECT_IMAGE1D;
        let shape = cl_image_desc { image_type: kind, image_width: 7, ..no_image() };
        let (format, shape) = (FORMATS[0].0.as_ptr().cast(), &raw const shape);
        // SAFETY: as above; the format and the shape are valid.
        let image = unsafe {
            created!(Memory clCreateImageWithProperties(context, given, flags, format, shape, none))
        };
        check(image, "clCreateImageWithProperties");
    }
}

#[clmatrix_harness::test(requires(images))]
fn maps_of_an_image_are_counted(bench: Bench) {
    let mut operands = bench.operands(&[Kind::MapImage]);
    for (kind, count) in [(Kind::MapImage, 1), (Kind::UnmapImage, 0)] {
        drop(kind.enqueue(&mut operands, Call::on(bench.queue)));
        check_maps(&bench, operands.images[0], count);
    }
}

#[clmatrix_harness::test]
fn overlapping_maps_are_counted(bench: Bench) {
    let target = Target::whole(&bench, PLAIN, BYTES);
    let maps = [1, 2].map(|count| {
        let map = target.map(named!(CL_MAP_READ), 0..BYTES).expect("a map");
        check_maps(&bench, target.raw(), count);
        map
    });
    for (map, count) in maps.into_iter().zip([1, 0]) {
        target.unmap(map).expect("an unmap");
        check_maps(&bench, target.raw(), count);
    }
}

/// Checks CL_MEM_MAP_COUNT when all commands have ended.
fn check_maps(bench: &Bench, object: *mut c_void, count: u32) {
    finish(bench.queue);
    let name = format!("memory of whose maps {count} have not been unmapped");
    bench.asked(Subject::Memory(object), name).is(named!(CL_MEM_MAP_COUNT), count);
}

#[clmatrix_harness::test(requires(images))]
fn an_image_answers_as_it_was_made(bench: Bench) {
    for shape in SHAPES.iter().filter(|shape| shape.is_on(&bench)) {
        for (format, row) in FORMATS.iter().enumerate() {
            let (made, shape) = shape.create(&bench, format, CL_MEM_READ_WRITE);
            answers!(bench.asked(Subject::Image(made.object), made.name);
                list CL_IMAGE_FORMAT &row.0, is CL_IMAGE_ELEMENT_SIZE row.1,
                is CL_IMAGE_WIDTH shape.image_width, is CL_IMAGE_HEIGHT shape.image_height,
                is CL_IMAGE_DEPTH shape.image_depth, is CL_IMAGE_ARRAY_SIZE shape.image_array_size,
                pointer CL_IMAGE_BUFFER shape.buffer, is CL_IMAGE_NUM_MIP_LEVELS 0_u32,
                is CL_IMAGE_NUM_SAMPLES 0_u32);
        }
    }
}

#[rstest]
#[case::line(&SHAPES[0])]
#[case::line_of_buffer(&SHAPES[1])]
#[case::lines(&SHAPES[2])]
#[case::plane(&SHAPES[3])]
#[case::plane_of_buffer(&SHAPES[4])]
#[case::planes(&SHAPES[5])]
#[case::solid(&SHAPES[6])]
#[clmatrix_harness::test(requires(images))]
fn an_image_has_its_pitches(
    bench: Bench,
    #[case] shape: &Shape,
    #[values(CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR)] flags: u64,
) {
    if !shape.is_on(&bench) || shape.2 && flags != CL_MEM_READ_WRITE {
        skip!("the device lacks images of this kind, or they have the memory of a buffer");
    }
    for format in 0..FORMATS.len() {
        let (made, shape) = shape.create(&bench, format, flags);
        answers!(bench.asked(Subject::Image(made.object), made.name);
            is CL_IMAGE_ROW_PITCH shape.image_row_pitch,
            is CL_IMAGE_SLICE_PITCH shape.image_slice_pitch);
    }
}
