//! Queries of memory objects: buffers, parts of buffers (5.5.5), and images (5.3.7).

use super::*;

const BYTES: usize = 96;

/// A memory object, and what it was made of. The bytes of an image are the least number, and its shape has the pitches that
/// it must have; the shape of a buffer has the parent alone.
struct Made {
    object: *mut c_void,
    name: String,
    kind: Named<u32>,
    flags: Named<u64>,
    bytes: usize,
    host: *mut c_void,
    offset: usize,
    format: usize,
    shape: cl_image_desc,
}

/// The flags of buffers.
const FLAGS: [Named<u64>; 10] = named![CL_MEM_READ_WRITE; CL_MEM_READ_ONLY; CL_MEM_WRITE_ONLY;
    CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY; CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY;
    CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS; CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
    CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
    CL_MEM_WRITE_ONLY | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR];

fn buffer(bench: &Bench, flags: Named<u64>, bytes: usize, host: *mut c_void) -> Made {
    let [host, given] = [CL_MEM_USE_HOST_PTR, CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR]
        .map(|needed| if flags.value & needed != 0 { host } else { ptr::null_mut() });
    let object = bench.keep(bench.buffer(flags.value, bytes, given));
    let (name, kind) = (format!("a buffer with {}", flags.name), named!(CL_MEM_OBJECT_BUFFER));
    Made { object, name, kind, flags, bytes, host, offset: 0, format: 0, shape: no_image() }
}

fn buffers(bench: &Bench) -> Vec<Made> {
    FLAGS.map(|flags| buffer(bench, flags, BYTES, bench.new_host(BYTES))).into()
}

/// Creates a part of a buffer, which inherits the flags that it is not given.
fn part(bench: &Bench, whole: &Made, given: u64, flags: Named<u64>) -> Made {
    let offset = bench.alignment();
    let object = bench.keep(bench.sub_buffer(whole.object, given, [offset, BYTES]));
    let name = format!("a part, created with flags {given:#x}, of {}", whole.name);
    let host = whole.host.wrapping_byte_add(if whole.host.is_null() { 0 } else { offset });
    let shape = cl_image_desc { buffer: whole.object, ..no_image() };
    Made { object, name, flags, bytes: BYTES, host, offset, shape, ..*whole }
}

fn parts(bench: &Bench) -> Vec<Made> {
    let own = [
        (FLAGS[0], CL_MEM_WRITE_ONLY, named!(CL_MEM_WRITE_ONLY)),
        (FLAGS[0], CL_MEM_HOST_NO_ACCESS, named!(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS)),
        (FLAGS[6], CL_MEM_READ_ONLY, named!(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR)),
        (FLAGS[3], CL_MEM_HOST_READ_ONLY, FLAGS[3]),
        (FLAGS[3], CL_MEM_HOST_NO_ACCESS, named!(CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS)),
        (FLAGS[4], CL_MEM_HOST_NO_ACCESS, named!(CL_MEM_READ_ONLY | CL_MEM_HOST_NO_ACCESS)),
        (FLAGS[5], CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS, FLAGS[5]),
    ];
    let bytes = bench.alignment() + BYTES;
    let whole = |flags| buffer(bench, flags, bytes, bench.new_host(bytes));
    let make = |(of, given, flags)| part(bench, &whole(of), given, flags);
    FLAGS.map(|flags| (flags, 0, flags)).into_iter().chain(own).map(make).collect()
}

/// Formats that all devices with images have, and the bytes of a pixel.
static FORMATS: [([u32; 2], usize); 3] =
    [([CL_RGBA, CL_UNSIGNED_INT8], 4), ([CL_RGBA, CL_FLOAT], 16), ([CL_BGRA, CL_UNORM_INT8], 4)];

/// A type of image, with its height, depth and number of layers. It may use the memory of a buffer.
struct Shape(Named<u32>, [usize; 3], bool);

const LINE: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE1D), [0, 0, 0], false);
const LINE_OF_BUFFER: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE1D_BUFFER), [0, 0, 0], true);
const LINES: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE1D_ARRAY), [0, 0, 4], false);
const PLANE: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], false);
const PLANE_OF_BUFFER: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], true);
const PLANES: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE2D_ARRAY), [5, 0, 4], false);
const SOLID: Shape = Shape(named!(CL_MEM_OBJECT_IMAGE3D), [5, 3, 0], false);

impl Shape {
    /// Returns whether the device has such images.
    fn is_on(&self, bench: &Bench) -> bool {
        bench.has_images && (!self.2 || self.1[0] == 0 || pitch_alignment(bench) > 0)
    }

    /// Creates an image with a format of [`FORMATS`], and its buffer, if any. Host memory has larger pitches than
    /// the pixels need.
    fn create(&self, bench: &Bench, format: usize, flags: u64) -> Made {
        let &Self(kind, [height, depth, layers], is_of_buffer) = self;
        let ((layout, pixel), rows, slices) = (FORMATS[format], height.max(1), depth + layers);
        let padding = if flags == CL_MEM_READ_WRITE { 0 } else { 2 };
        let (is_plane, alignment) = (is_of_buffer && height > 0, pitch_alignment(bench));
        let pixels = if is_plane { 8_usize.next_multiple_of(alignment) } else { 7 + padding };
        let row = pixels * pixel;
        let slice = if slices == 0 { 0 } else { row * (rows + padding) };
        let given = if pixels == 7 { [0; 2] } else { [row, slice] };
        let mut shape = no_image();
        (shape.image_type, shape.image_width, shape.image_height) = (kind.value, 7, height);
        (shape.image_depth, shape.image_array_size) = (depth, layers);
        [shape.image_row_pitch, shape.image_slice_pitch] = given;
        if is_of_buffer {
            shape.buffer = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, row * (rows + 1)));
        }
        let host = if padding > 0 { bench.new_host(1 << 14) } else { ptr::null_mut() };
        let object = bench.keep(bench.image(flags, layout, &shape, host));
        let of = if is_of_buffer { "a buffer" } else { "its own" };
        let about = format!("{pixel} bytes a pixel in memory of {of}, flags {flags:#x}");
        let name = format!("{} with {about}, pitches {given:?}", kind.name);
        [shape.image_row_pitch, shape.image_slice_pitch] = [row, slice];
        let flags = Named { name: "the flags of the call", value: flags };
        let bytes = 7 * pixel * rows * slices.max(1);
        Made { object, name, kind, flags, bytes, host, offset: 0, format, shape }
    }
}

/// The pixels at whose multiples rows begin in the memory of a buffer; 0 where the device has no such images.
fn pitch_alignment(bench: &Bench) -> usize {
    let query = named!(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
    if bench.is(2, 0) { bench.value::<u32>(query) as usize } else { 0 }
}

fn images(bench: &Bench) -> Vec<Made> {
    let all = [LINE, LINE_OF_BUFFER, LINES, PLANE, PLANE_OF_BUFFER, PLANES, SOLID];
    let make = |it: Shape| [0, 1, 2].map(|format| it.create(bench, format, CL_MEM_READ_WRITE));
    all.into_iter().filter(|shape| shape.is_on(bench)).flat_map(make).collect()
}

#[rstest]
#[clmatrix_harness::test]
fn memory_answers_as_it_was_made(
    bench: Bench,
    #[values(buffers, parts, images)] make: fn(&Bench) -> Vec<Made>,
    #[values(false, true)] is_of_host: bool,
) {
    for Made { object, name, kind, flags, bytes, host, offset, format, shape } in make(&bench) {
        if is_of_host {
            answers!(bench, Memory(object), name; pointer CL_MEM_HOST_PTR host);
            continue;
        }
        let is_image = kind.value != CL_MEM_OBJECT_BUFFER;
        answers!(bench, Memory(object), name; constant CL_MEM_TYPE kind, is CL_MEM_OFFSET offset,
            constant CL_MEM_FLAGS flags, is CL_MEM_MAP_COUNT 0_u32,
            within CL_MEM_SIZE bytes..=if is_image { usize::MAX } else { bytes },
            pointer CL_MEM_CONTEXT bench.context, pointer CL_MEM_ASSOCIATED_MEMOBJECT shape.buffer,
            counted CL_MEM_REFERENCE_COUNT (Class::Memory, object),
            [bench.is(2, 0)] is CL_MEM_USES_SVM_POINTER 0_u32,
            [bench.is(3, 0)] list CL_MEM_PROPERTIES &[0_u64; 0]);
        if is_image {
            answers!(bench, Image(object), name; list CL_IMAGE_FORMAT &FORMATS[format].0,
                is CL_IMAGE_ELEMENT_SIZE FORMATS[format].1, is CL_IMAGE_WIDTH shape.image_width,
                is CL_IMAGE_HEIGHT shape.image_height, is CL_IMAGE_DEPTH shape.image_depth,
                is CL_IMAGE_ARRAY_SIZE shape.image_array_size, pointer CL_IMAGE_BUFFER shape.buffer,
                is CL_IMAGE_NUM_MIP_LEVELS 0_u32, is CL_IMAGE_NUM_SAMPLES 0_u32);
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn an_image_has_its_pitches(
    bench: Bench,
    #[values(LINE, LINE_OF_BUFFER, LINES, PLANE, PLANE_OF_BUFFER, PLANES, SOLID)] shape: Shape,
    #[values(CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR)] flags: u64,
) {
    if !shape.is_on(&bench) || shape.2 && flags != CL_MEM_READ_WRITE {
        skip!("the device lacks images of this kind, or they have the memory of a buffer");
    }
    for format in 0..FORMATS.len() {
        let made = shape.create(&bench, format, flags);
        answers!(bench, Image(made.object), made.name;
            is CL_IMAGE_ROW_PITCH made.shape.image_row_pitch,
            is CL_IMAGE_SLICE_PITCH made.shape.image_slice_pitch);
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_buffer_of_shared_memory_tells_so(
    bench: Bench,
    #[values(false, true)] is_part: bool,
    #[values(0, 128)] behind: usize,
) {
    let bytes = bench.alignment() + BYTES;
    let memory = bench.new_svm(bytes + behind);
    let mut whole = buffer(&bench, FLAGS[6], bytes, memory);
    whole.name += &format!(" over SVM with {behind} bytes behind it");
    let made = if is_part { part(&bench, &whole, 0, FLAGS[6]) } else { whole };
    answers!(bench, Memory(made.object), made.name; is CL_MEM_USES_SVM_POINTER 1_u32);
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn memory_of_a_list_has_its_properties(bench: Bench, #[values(&[], &[0])] list: &[u64]) {
    let (context, given, none) = (bench.context, pointer(list), ptr::null_mut());
    let (flags, format) = (CL_MEM_READ_ONLY, FORMATS[0].0.as_ptr().cast());
    let shape = &cl_image_desc { image_type: LINE.0.value, image_width: 7, ..no_image() };
    // SAFETY: the context is valid; the list, if any, ends with 0; the format and the shape are valid.
    let buffer = unsafe {
        created!(Memory clCreateBufferWithProperties(context, given, flags, BYTES, none))
    };
    // SAFETY: as above.
    let image = bench.has_images.then(|| unsafe {
        created!(Memory clCreateImageWithProperties(context, given, flags, format, shape, none))
    });
    let part = bench.sub_buffer(buffer.raw(), 0, [0, BYTES]);
    answers!(bench, Memory(part.raw()), format!("a part of a buffer with list {list:?}");
        list CL_MEM_PROPERTIES &[0_u64; 0]);
    for (object, kind) in [buffer].into_iter().chain(image).zip(["Buffer", "Image"]) {
        let name = format!("an object of clCreate{kind}WithProperties with list {list:?}");
        answers!(bench, Memory(object.raw()), name; list CL_MEM_PROPERTIES list,
            constant CL_MEM_FLAGS named!(CL_MEM_READ_ONLY), pointer CL_MEM_CONTEXT bench.context);
    }
}

/// Maps a buffer and an image twice each.
#[rstest]
#[clmatrix_harness::test]
fn maps_are_counted(bench: Bench, #[values(false, true)] is_of_host: bool) {
    let kinds = [Kind::MapBuffer, Kind::UnmapBuffer, Kind::MapImage, Kind::UnmapImage];
    let kinds = &kinds[..if bench.has_images { 4 } else { 2 }];
    let mut operands = bench.operands(kinds);
    if is_of_host {
        operands.buffers[0] = bench.keep(bench.buffer(CL_MEM_USE_HOST_PTR, SIZE, operands.host[0]));
        if bench.has_images {
            operands.images[0] = PLANE.create(&bench, 0, CL_MEM_USE_HOST_PTR).object;
        }
    }
    let span = Span { flags: CL_MAP_READ, ..Span::of([4, 4, 1], [([0; 3], [0; 2]); 2]) };
    // Each copy of the operands keeps the pointer of one map.
    let mut both = [operands; 2];
    for kind in kinds {
        for (n, operands) in (0_u32..).zip(&mut both) {
            drop(kind.enqueue(operands, Call::on(bench.queue).of(span)));
            finish(bench.queue);
            let [memory, _] = kind.arguments(operands, Call::on(bench.queue)).memory;
            let count = if kind.unmap().is_some() { n + 1 } else { 1 - n };
            let name = format!("memory of whose maps {count} have not been unmapped");
            answers!(bench, Memory(memory), name; is CL_MEM_MAP_COUNT count);
        }
        // The last map ends first.
        both.reverse();
    }
}
