//! Images: creation (5.3.1).

use crate::support::unanswered;
use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::error_codes::{
    CL_IMAGE_FORMAT_NOT_SUPPORTED, CL_INVALID_HOST_PTR, CL_INVALID_IMAGE_DESCRIPTOR,
    CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CL_INVALID_IMAGE_SIZE, CL_INVALID_MEM_OBJECT,
    CL_INVALID_VALUE, CL_SUCCESS,
};
use clmatrix::cl3::memory::{
    CL_FLOAT, CL_INTENSITY, CL_LUMINANCE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR,
    CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_OBJECT_BUFFER,
    CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE1D_BUFFER,
    CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D, CL_MEM_READ_ONLY,
    CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, CL_MEM_WRITE_ONLY, CL_RGB, CL_RGBA, CL_UNORM_SHORT_555,
    CL_UNORM_SHORT_565, CL_UNSIGNED_INT8, create_image, get_supported_image_formats,
};
use clmatrix::cl3::types::{
    cl_context, cl_image_desc, cl_image_format, cl_int, cl_mem_flags, cl_mem_object_type,
};
use clmatrix::{Device, Result};
use clmatrix_harness::skip;
use rstest::rstest;

use super::command::pointer;
use super::images::SHAPE;
use super::objects::{Objects, objects};
use super::{assert_code, assert_one_of, creation_code};

/// The arguments of clCreateImage.
struct Create {
    context: cl_context,
    flags: cl_mem_flags,
    format: Option<cl_image_format>,
    shape: Option<cl_image_desc>,
    host: *mut c_void,
}

impl Create {
    /// An image of `SHAPE` with the pixels that are in host memory.
    fn valid(objects: &Objects, image_type: cl_mem_object_type) -> Self {
        let shape = cl_image_desc {
            image_type,
            image_width: SHAPE[0],
            image_height: SHAPE[1],
            image_depth: SHAPE[2],
            image_array_size: SHAPE[2],
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: ptr::null_mut(),
        };
        let access = match image_type {
            // Kernels need not be able to write 3D images.
            CL_MEM_OBJECT_IMAGE3D => CL_MEM_READ_ONLY,
            _ => CL_MEM_READ_WRITE,
        };
        Self {
            context: objects.context(),
            flags: access | CL_MEM_COPY_HOST_PTR,
            format: Some(cl_image_format {
                image_channel_order: CL_RGBA,
                image_channel_data_type: CL_UNSIGNED_INT8,
            }),
            shape: Some(shape),
            host: objects.host(),
        }
    }

    fn shape(&mut self) -> &mut cl_image_desc {
        self.shape.as_mut().expect("a shape")
    }

    fn format(&mut self, order: u32, channel_type: u32) {
        self.format = Some(cl_image_format {
            image_channel_order: order,
            image_channel_data_type: channel_type,
        });
    }

    fn without_host(&mut self, flags: cl_mem_flags) {
        (self.flags, self.host) = (flags, ptr::null_mut());
    }

    fn code(&self) -> cl_int {
        let (format, shape) = (pointer(&self.format), pointer(&self.shape));
        // SAFETY: the host memory, if any, has more bytes than images of `SHAPE`.
        creation_code(unsafe { create_image(self.context, self.flags, format, shape, self.host) })
    }
}

#[rstest]
#[case::valid(|_: &mut Create| (), CL_SUCCESS)]
#[case::null_format(|c: &mut Create| c.format = None, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)]
#[case::null_shape(|c: &mut Create| c.shape = None, CL_INVALID_IMAGE_DESCRIPTOR)]
#[case::the_type_of_buffers(
    |c: &mut Create| c.shape().image_type = CL_MEM_OBJECT_BUFFER, CL_INVALID_IMAGE_DESCRIPTOR
)]
#[case::type_0(|c: &mut Create| c.shape().image_type = 0, CL_INVALID_IMAGE_DESCRIPTOR)]
#[case::row_pitch_without_host_memory(
    |c: &mut Create| {
        c.without_host(CL_MEM_READ_WRITE);
        c.shape().image_row_pitch = 64;
    },
    CL_INVALID_IMAGE_DESCRIPTOR
)]
#[case::rows_that_overlap(
    |c: &mut Create| c.shape().image_row_pitch = 60, CL_INVALID_IMAGE_DESCRIPTOR
)]
#[case::rows_of_part_pixels(
    |c: &mut Create| c.shape().image_row_pitch = 66, CL_INVALID_IMAGE_DESCRIPTOR
)]
#[case::samples(|c: &mut Create| c.shape().num_samples = 1, CL_INVALID_IMAGE_DESCRIPTOR)]
#[case::host_memory_without_a_flag(
    |c: &mut Create| c.flags = CL_MEM_READ_WRITE, CL_INVALID_HOST_PTR
)]
#[case::null_for_copy_host_ptr(
    |c: &mut Create| c.without_host(CL_MEM_COPY_HOST_PTR), CL_INVALID_HOST_PTR
)]
#[case::null_for_use_host_ptr(
    |c: &mut Create| c.without_host(CL_MEM_USE_HOST_PTR), CL_INVALID_HOST_PTR
)]
#[case::read_write_and_read_only(
    |c: &mut Create| c.flags |= CL_MEM_READ_ONLY, CL_INVALID_VALUE
)]
#[case::read_only_and_write_only(
    |c: &mut Create| c.without_host(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY), CL_INVALID_VALUE
)]
#[case::copy_host_ptr_and_use_host_ptr(
    |c: &mut Create| c.flags |= CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE
)]
#[case::alloc_host_ptr_and_use_host_ptr(
    |c: &mut Create| c.flags = CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE
)]
#[case::host_read_only_and_host_write_only(
    |c: &mut Create| c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, CL_INVALID_VALUE
)]
#[case::host_read_only_and_host_no_access(
    |c: &mut Create| c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, CL_INVALID_VALUE
)]
#[case::an_unknown_flag(|c: &mut Create| c.flags |= 1 << 62, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(images))]
fn create_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Create),
    #[case] expected: cl_int,
) {
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    change(&mut call);
    assert_code(call.code(), expected);
}

/// The device has no such format either.
#[rstest]
#[case::channel_order_0(0, CL_UNSIGNED_INT8)]
#[case::channel_type_0(CL_RGBA, 0)]
#[case::packed_channels_of_another_order(CL_RGBA, CL_UNORM_SHORT_565)]
#[clmatrix_harness::test(requires(images))]
fn create_refuses_invalid_formats(objects: Objects, #[case] order: u32, #[case] channel_type: u32) {
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    call.format(order, channel_type);
    let named = [CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, CL_IMAGE_FORMAT_NOT_SUPPORTED];
    assert_one_of(call.code(), &named);
}

/// OpenCL says that such an image has a buffer, and names no code of its own.
#[clmatrix_harness::test(requires(images))]
fn create_refuses_an_image_of_a_null_buffer(objects: Objects) {
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE1D_BUFFER);
    call.without_host(CL_MEM_READ_WRITE);
    let named = [CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE];
    assert_one_of(call.code(), &named);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_mip_levels(objects: Objects, device: Device) -> Result<()> {
    if device.opencl3().extensions().map_err(unanswered)?.contains("cl_khr_mipmap_image") {
        skip!("the device has images with mip levels");
    }
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    call.shape().num_mip_levels = 1;
    assert_code(call.code(), CL_INVALID_IMAGE_DESCRIPTOR);
    Ok(())
}

#[rstest]
#[case::slices_that_overlap(CL_MEM_OBJECT_IMAGE3D, 7 * 64)]
#[case::slices_of_part_rows(CL_MEM_OBJECT_IMAGE3D, 8 * 64 + 4)]
#[case::layers_that_overlap(CL_MEM_OBJECT_IMAGE2D_ARRAY, 7 * 64)]
#[case::rows_of_an_array_that_overlap(CL_MEM_OBJECT_IMAGE1D_ARRAY, 32)]
#[clmatrix_harness::test(requires(images))]
fn create_checks_slice_pitches(
    objects: Objects,
    #[case] image_type: cl_mem_object_type,
    #[case] slice_pitch: usize,
) {
    let mut call = Create::valid(&objects, image_type);
    call.shape().image_slice_pitch = slice_pitch;
    assert_code(call.code(), CL_INVALID_IMAGE_DESCRIPTOR);
}

/// The codes for a size that is not valid: the descriptor's and the size's, of which versions of OpenCL name one.
const WRONG_SIZE: [cl_int; 2] = [CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_IMAGE_SIZE];

#[rstest]
#[case::width(CL_MEM_OBJECT_IMAGE1D, |s: &mut cl_image_desc| s.image_width = 0)]
#[case::width_2d(CL_MEM_OBJECT_IMAGE2D, |s: &mut cl_image_desc| s.image_width = 0)]
#[case::height_2d(CL_MEM_OBJECT_IMAGE2D, |s: &mut cl_image_desc| s.image_height = 0)]
#[case::height_3d(CL_MEM_OBJECT_IMAGE3D, |s: &mut cl_image_desc| s.image_height = 0)]
#[case::depth(CL_MEM_OBJECT_IMAGE3D, |s: &mut cl_image_desc| s.image_depth = 0)]
#[case::layers_1d(CL_MEM_OBJECT_IMAGE1D_ARRAY, |s: &mut cl_image_desc| s.image_array_size = 0)]
#[case::layers_2d(CL_MEM_OBJECT_IMAGE2D_ARRAY, |s: &mut cl_image_desc| s.image_array_size = 0)]
#[clmatrix_harness::test(requires(images))]
fn create_refuses_images_without_pixels(
    objects: Objects,
    #[case] image_type: cl_mem_object_type,
    #[case] change: fn(&mut cl_image_desc),
) {
    let mut call = Create::valid(&objects, image_type);
    change(call.shape());
    assert_one_of(call.code(), &WRONG_SIZE);
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_images_wider_than_the_device_supports(
    objects: Objects,
    device: Device,
) -> Result<()> {
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    call.without_host(CL_MEM_READ_WRITE);
    call.shape().image_width = device.opencl3().image2d_max_width().map_err(unanswered)? + 1;
    assert_one_of(call.code(), &WRONG_SIZE);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_images_higher_than_the_device_supports(
    objects: Objects,
    device: Device,
) -> Result<()> {
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    call.without_host(CL_MEM_READ_WRITE);
    call.shape().image_height = device.opencl3().image2d_max_height().map_err(unanswered)? + 1;
    assert_one_of(call.code(), &WRONG_SIZE);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn create_refuses_unsupported_formats(objects: Objects) {
    // For whatever access.
    let supported = [CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY].map(|access| {
        get_supported_image_formats(objects.context(), access, CL_MEM_OBJECT_IMAGE2D)
            .expect("the formats")
    });
    let is_missing = |(order, channel_type): &(u32, u32)| {
        !supported.iter().flatten().any(|format| {
            (format.image_channel_order, format.image_channel_data_type) == (*order, *channel_type)
        })
    };
    let valid_formats =
        [(CL_RGB, CL_UNORM_SHORT_555), (CL_INTENSITY, CL_FLOAT), (CL_LUMINANCE, CL_FLOAT)];
    let Some((order, channel_type)) = valid_formats.into_iter().find(is_missing) else {
        skip!("the device has all formats that the test knows");
    };
    let mut call = Create::valid(&objects, CL_MEM_OBJECT_IMAGE2D);
    call.format(order, channel_type);
    assert_code(call.code(), CL_IMAGE_FORMAT_NOT_SUPPORTED);
}
