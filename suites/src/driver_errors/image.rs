//! Images: creation (5.3.1).

use super::prelude::*;

/// The arguments of clCreateImage.
struct Create {
    context: cl_context,
    flags: cl_mem_flags,
    format: Option<[u32; 2]>,
    shape: Option<cl_image_desc>,
    host: *mut c_void,
}

/// An image of this type and `SHAPE`, which the bench keeps.
pub fn new_image(bench: &Bench, image_type: u32, channel_type: u32) -> cl_mem {
    let mut call = Create::valid(bench);
    let (shape, format) = (*call.of_type(image_type), [CL_RGBA, channel_type]);
    bench.keep(bench.image(call.flags & !CL_MEM_COPY_HOST_PTR, format, &shape, NULL))
}

impl Create {
    /// A 2D image of `SHAPE` with the pixels that are in host memory.
    fn valid(bench: &Bench) -> Self {
        let (image_type, [image_width, image_height, image_depth]) = (CL_MEM_OBJECT_IMAGE2D, SHAPE);
        let image_array_size = image_depth;
        let shape = cl_image_desc {
            image_type,
            image_width,
            image_height,
            image_depth,
            image_array_size,
            ..no_image()
        };
        Self {
            context: bench.context,
            flags: CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
            format: Some([CL_RGBA, CL_UNSIGNED_INT8]),
            shape: Some(shape),
            host: bench.new_host(SIZE),
        }
    }

    fn shape(&mut self) -> &mut cl_image_desc {
        self.shape.as_mut().expect("a shape")
    }

    /// Changes the type, and returns the shape.
    fn of_type(&mut self, image_type: cl_mem_object_type) -> &mut cl_image_desc {
        if image_type == CL_MEM_OBJECT_IMAGE3D {
            // Kernels need not be able to write 3D images.
            self.flags = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
        }
        self.shape().image_type = image_type;
        self.shape()
    }

    fn without_host(&mut self, flags: cl_mem_flags) {
        (self.flags, self.host) = (flags, NULL);
    }

    fn answer(&self) -> Answer {
        let (flags, host, shape) = (self.flags, self.host, pointer(self.shape.as_slice()));
        let format = pointer(self.format.as_slice()).cast();
        answer!(Memory clCreateImage(self.context, flags, format, shape, host))
    }
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn create_checks_its_arguments(bench, c: Create);
    valid() => CL_SUCCESS;
    null_format(c.format = None) => CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
    null_shape(c.shape = None) => CL_INVALID_IMAGE_DESCRIPTOR;
    the_type_of_buffers(c.shape().image_type = CL_MEM_OBJECT_BUFFER)
        => CL_INVALID_IMAGE_DESCRIPTOR;
    type_0(c.shape().image_type = 0) => CL_INVALID_IMAGE_DESCRIPTOR;
    row_pitch_without_host_memory(
        c.without_host(CL_MEM_READ_WRITE);
        c.shape().image_row_pitch = 64;
    ) => CL_INVALID_IMAGE_DESCRIPTOR;
    rows_that_overlap(c.shape().image_row_pitch = 60) => CL_INVALID_IMAGE_DESCRIPTOR;
    rows_of_part_pixels(c.shape().image_row_pitch = 66) => CL_INVALID_IMAGE_DESCRIPTOR;
    samples(c.shape().num_samples = 1) => CL_INVALID_IMAGE_DESCRIPTOR;
    host_memory_without_a_flag(c.flags = CL_MEM_READ_WRITE) => CL_INVALID_HOST_PTR;
    null_for_copy_host_ptr(c.without_host(CL_MEM_COPY_HOST_PTR)) => CL_INVALID_HOST_PTR;
    null_for_use_host_ptr(c.without_host(CL_MEM_USE_HOST_PTR)) => CL_INVALID_HOST_PTR;
    read_write_and_read_only(c.flags |= CL_MEM_READ_ONLY) => CL_INVALID_VALUE;
    read_only_and_write_only(c.without_host(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))
        => CL_INVALID_VALUE;
    copy_host_ptr_and_use_host_ptr(c.flags |= CL_MEM_USE_HOST_PTR) => CL_INVALID_VALUE;
    alloc_host_ptr_and_use_host_ptr(c.flags = CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR)
        => CL_INVALID_VALUE;
    host_read_only_and_host_write_only(c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)
        => CL_INVALID_VALUE;
    host_read_only_and_host_no_access(c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
        => CL_INVALID_VALUE;
    an_unknown_flag(c.flags |= 1 << 62) => CL_INVALID_VALUE;
}

cases! {
    /// The device has no such format either.
    #[clmatrix_harness::test(requires(images))]
    fn create_refuses_invalid_formats(bench, c: Create)
        => [CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CL_IMAGE_FORMAT_NOT_SUPPORTED];
    channel_order_0(c.format = Some([0, CL_UNSIGNED_INT8]));
    channel_type_0(c.format = Some([CL_RGBA, 0]));
    packed_channels_of_another_order(c.format = Some([CL_RGBA, CL_UNORM_SHORT_565]));
}

/// OpenCL says that such an image has a buffer, and names no code of its own.
#[clmatrix_harness::test(requires(images))]
fn create_refuses_an_image_of_a_null_buffer(bench: Bench) {
    let mut call = Create::valid(&bench);
    call.of_type(CL_MEM_OBJECT_IMAGE1D_BUFFER);
    call.without_host(CL_MEM_READ_WRITE);
    let named = [CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE];
    assert_code(call.answer(), "CL_MEM_OBJECT_IMAGE1D_BUFFER, and a null buffer", &named);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_mip_levels(bench: Bench) {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    if extensions.contains("cl_khr_mipmap_image") {
        skip!("the device has images with mip levels");
    }
    let mut call = Create::valid(&bench);
    call.shape().num_mip_levels = 1;
    assert_code(call.answer(), "a mip level", &[CL_INVALID_IMAGE_DESCRIPTOR]);
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn create_checks_slice_pitches(bench, c: Create) => [CL_INVALID_IMAGE_DESCRIPTOR];
    slices_that_overlap(c.of_type(CL_MEM_OBJECT_IMAGE3D).image_slice_pitch = 7 * 64);
    slices_of_part_rows(c.of_type(CL_MEM_OBJECT_IMAGE3D).image_slice_pitch = 8 * 64 + 4);
    layers_that_overlap(c.of_type(CL_MEM_OBJECT_IMAGE2D_ARRAY).image_slice_pitch = 7 * 64);
    rows_of_an_array_that_overlap(c.of_type(CL_MEM_OBJECT_IMAGE1D_ARRAY).image_slice_pitch = 32);
}

/// The codes for a size that is not valid: the descriptor's and the size's, of which versions of
/// OpenCL name one.
const WRONG_SIZE: [cl_int; 2] = [CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_IMAGE_SIZE];

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn create_refuses_images_without_pixels(bench, c: Create) => WRONG_SIZE;
    width(c.of_type(CL_MEM_OBJECT_IMAGE1D).image_width = 0);
    width_2d(c.of_type(CL_MEM_OBJECT_IMAGE2D).image_width = 0);
    height_2d(c.of_type(CL_MEM_OBJECT_IMAGE2D).image_height = 0);
    height_3d(c.of_type(CL_MEM_OBJECT_IMAGE3D).image_height = 0);
    depth(c.of_type(CL_MEM_OBJECT_IMAGE3D).image_depth = 0);
    layers_1d(c.of_type(CL_MEM_OBJECT_IMAGE1D_ARRAY).image_array_size = 0);
    layers_2d(c.of_type(CL_MEM_OBJECT_IMAGE2D_ARRAY).image_array_size = 0);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_images_wider_than_the_device_supports(bench: Bench) {
    let mut call = Create::valid(&bench);
    call.without_host(CL_MEM_READ_WRITE);
    call.shape().image_width = bench.value::<usize>(named!(CL_DEVICE_IMAGE2D_MAX_WIDTH)) + 1;
    assert_code(call.answer(), "CL_DEVICE_IMAGE2D_MAX_WIDTH + 1", &WRONG_SIZE);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_images_higher_than_the_device_supports(bench: Bench) {
    let mut call = Create::valid(&bench);
    call.without_host(CL_MEM_READ_WRITE);
    call.shape().image_height = bench.value::<usize>(named!(CL_DEVICE_IMAGE2D_MAX_HEIGHT)) + 1;
    assert_code(call.answer(), "CL_DEVICE_IMAGE2D_MAX_HEIGHT + 1", &WRONG_SIZE);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_unsupported_formats(bench: Bench) {
    // For whatever access.
    let supported = [CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY].map(|access| {
        get_supported_image_formats(bench.context, access, CL_MEM_OBJECT_IMAGE2D)
            .expect("the formats")
    });
    let has = |found: &cl_image_format, [order, channel_type]: [u32; 2]| {
        found.image_channel_order == order && found.image_channel_data_type == channel_type
    };
    let valid_formats =
        [[CL_RGB, CL_UNORM_SHORT_555], [CL_INTENSITY, CL_FLOAT], [CL_LUMINANCE, CL_FLOAT]];
    let missing = valid_formats
        .into_iter()
        .find(|format| !supported.iter().flatten().any(|found| has(found, *format)));
    if missing.is_none() {
        skip!("the device has all formats that the test knows");
    }
    let call = Create { format: missing, ..Create::valid(&bench) };
    assert_code(call.answer(), "a format that is not returned", &[CL_IMAGE_FORMAT_NOT_SUPPORTED]);
}
