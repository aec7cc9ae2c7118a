//! `clCreateImage` (OpenCL 3.0, 5.3.1; `pyopencl.create_image`).

use clmatrix::Result;
use clmatrix::memory::{Image, ImageType, MemFlags};
use rstest::rstest;

use super::{RGBA_U32, places, seen};
use crate::on_device::{OnDevice, on_device};

#[rstest]
#[case::image_1d(&[7], false, ImageType::Image1d)]
#[case::image_1d_array(&[7, 5], true, ImageType::Image1dArray)]
#[case::image_2d(&[7, 5], false, ImageType::Image2d)]
#[case::image_2d_array(&[7, 5, 3], true, ImageType::Image2dArray)]
#[case::image_3d(&[7, 5, 3], false, ImageType::Image3d)]
#[clmatrix_harness::test(requires(images))]
fn begins_with_the_host_data(
    on_device: OnDevice,
    #[case] shape: &[usize],
    #[case] is_array: bool,
    #[case] image_type: ImageType,
) -> Result<()> {
    let places = places(shape);
    let builder = Image::builder(&on_device.context, RGBA_U32)
        .flags(MemFlags::READ_ONLY)
        .shape(shape)
        .copy_from(&places);
    let image = if is_array { builder.array().build()? } else { builder.build()? };
    assert_eq!(image.image_type(), image_type);
    assert_eq!(seen(&on_device, &image)?, places);
    Ok(())
}
