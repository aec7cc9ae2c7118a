//! Queries of images of all types (5.3.7).

use super::*;

/// Formats that all devices with images have: the order, the type, and the bytes of a pixel.
static FORMATS: [(u32, u32, usize); 4] = [
    (CL_RGBA, CL_UNSIGNED_INT8, 4),
    (CL_RGBA, CL_SIGNED_INT16, 8),
    (CL_RGBA, CL_FLOAT, 16),
    (CL_BGRA, CL_UNORM_INT8, 4),
];

/// A type of image, with its height, depth and number of layers. It may use the memory of a buffer.
pub struct Shape(Named<u32>, [usize; 3], bool);

pub static SHAPES: [Shape; 7] = [
    Shape(named!(CL_MEM_OBJECT_IMAGE1D), [0, 0, 0], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE1D_BUFFER), [0, 0, 0], true),
    Shape(named!(CL_MEM_OBJECT_IMAGE1D_ARRAY), [0, 0, 4], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D), [5, 0, 0], true),
    Shape(named!(CL_MEM_OBJECT_IMAGE2D_ARRAY), [5, 0, 4], false),
    Shape(named!(CL_MEM_OBJECT_IMAGE3D), [5, 3, 0], false),
];

/// An image, and what it was made of: the bytes of a pixel and of all pixels, and the pitches.
pub struct Picture {
    pub object: *mut c_void,
    pub name: String,
    pub kind: Named<u32>,
    format: [u32; 2],
    pub shape: cl_image_desc,
    pixel: usize,
    pub bytes: usize,
    pitches: [usize; 2],
}

impl Shape {
    /// Returns whether the device has such images.
    pub fn is_on(&self, bench: &Bench) -> bool {
        let is_plane = self.0.value == CL_MEM_OBJECT_IMAGE2D;
        bench.has_images && (!is_plane || !self.2 || pitch_alignment(bench) > 0)
    }

    /// Creates an image with a format of [`FORMATS`], and its buffer, if any. Host memory has larger pitches than
    /// the pixels need.
    pub fn create(&self, bench: &Bench, format: usize, flags: u64) -> Picture {
        let &Self(kind, [height, depth, layers], is_of_buffer) = self;
        let is_padded = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        let (image_channel_order, image_channel_data_type, pixel) = FORMATS[format];
        let given = match (is_of_buffer && height > 0, is_padded) {
            (true, _) => 8_usize.next_multiple_of(pitch_alignment(bench)) * pixel,
            (false, true) => 9 * pixel,
            (false, false) => 0,
        };
        let (rows, slices) = (height.max(1), depth + layers);
        let row = if given == 0 { 7 * pixel } else { given };
        let slice = row * if is_padded { height + 2 } else { rows };
        let buffer = match is_of_buffer {
            true => bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, row * rows)),
            false => ptr::null_mut(),
        };
        let shape = cl_image_desc {
            image_type: kind.value,
            image_width: 7,
            image_height: height,
            image_depth: depth,
            image_array_size: layers,
            image_row_pitch: given,
            image_slice_pitch: if is_padded && slices > 0 { slice } else { 0 },
            buffer,
            ..no_image()
        };
        let host = if is_padded { bench.new_host(1 << 14) } else { ptr::null_mut() };
        let format = cl_image_format { image_channel_order, image_channel_data_type };
        let (context, of_format, of_shape) = (bench.context, &raw const format, &raw const shape);
        // SAFETY: the context is valid; the buffer or the host memory has all bytes of the image.
        let object =
            unsafe { object!(Memory clCreateImage(context, flags, of_format, of_shape, host)) };
        let of = if is_of_buffer { "a buffer" } else { "its own" };
        Picture {
            object: bench.keep(object),
            name: format!("{} with {pixel} bytes a pixel in memory of {of}", kind.name),
            kind,
            format: [image_channel_order, image_channel_data_type],
            shape,
            pixel,
            bytes: 7 * pixel * rows * slices.max(1),
            pitches: [row, if slices > 0 { slice } else { 0 }],
        }
    }
}

/// The pixels at whose multiples rows begin in the memory of a buffer; 0 where the device has no such images.
fn pitch_alignment(bench: &Bench) -> usize {
    let query = named!(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
    let of_device = Subject::Device(bench.device);
    if bench.is(2, 0) { of_device.value::<u32>(query) as usize } else { 0 }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn an_image_answers_as_it_was_made(bench: Bench) {
    let findings = Findings::default();
    for shape in SHAPES.iter().filter(|shape| shape.is_on(&bench)) {
        for format in 0..FORMATS.len() {
            let Picture { object, name, format, shape, pixel, .. } =
                shape.create(&bench, format, CL_MEM_READ_WRITE);
            let asked = Asked::new(&findings, Subject::Image(object), name);
            answers!(asked; list CL_IMAGE_FORMAT &format, is CL_IMAGE_ELEMENT_SIZE pixel,
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
    let findings = Findings::default();
    for format in 0..FORMATS.len() {
        let made = shape.create(&bench, format, flags);
        let [row, slice] = made.pitches;
        let cl_image_desc { image_row_pitch, image_slice_pitch, .. } = made.shape;
        let given = format!("flags {flags:#x}, pitches {image_row_pitch} and {image_slice_pitch}");
        let name = format!("{}, created with {given}", made.name);
        let asked = Asked::new(&findings, Subject::Image(made.object), name);
        answers!(asked; is CL_IMAGE_ROW_PITCH row, is CL_IMAGE_SLICE_PITCH slice);
    }
}
