//! `clGetSupportedImageFormats` (OpenCL 3.0, 5.3.2; `pyopencl.get_supported_image_formats`).

use super::*;

/// The formats of every device with images, for reading and for writing (OpenCL 3.0, 5.3.2.1).
const REQUIRED: [ChannelType; 10] = [
    ChannelType::UnormInt8,
    ChannelType::UnormInt16,
    ChannelType::SignedInt8,
    ChannelType::SignedInt16,
    ChannelType::SignedInt32,
    ChannelType::UnsignedInt8,
    ChannelType::UnsignedInt16,
    ChannelType::UnsignedInt32,
    ChannelType::HalfFloat,
    ChannelType::Float,
];

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn required_formats_are_supported(
    on_device: OnDevice,
    #[values(MemFlags::READ_ONLY, MemFlags::WRITE_ONLY)] flags: MemFlags,
    #[values(ImageType::Image2d, ImageType::Image3d, ImageType::Image2dArray)]
    image_type: ImageType,
) -> Result<()> {
    let formats = on_device.context.supported_image_formats(flags, image_type)?;
    let writes_3d = has(&on_device, "cl_khr_3d_image_writes")?;
    if (image_type, flags) == (ImageType::Image3d, MemFlags::WRITE_ONLY) && !writes_3d {
        skip!("kernels cannot write 3D images");
    }
    for channel_type in REQUIRED {
        let format = ImageFormat::new(ChannelOrder::Rgba, channel_type);
        assert!(formats.contains(&format), "{format}");
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn images_of_each_supported_format_are_created(
    on_device: OnDevice,
    #[values(
        ImageType::Image1d,
        ImageType::Image1dArray,
        ImageType::Image2d,
        ImageType::Image2dArray,
        ImageType::Image3d
    )]
    image_type: ImageType,
) -> Result<()> {
    let context = &on_device.context;
    for format in context.supported_image_formats(MemFlags::READ_ONLY, image_type)? {
        let shape = super::shape(image_type);
        let builder = Image::builder(context, format).flags(MemFlags::READ_ONLY).shape(shape);
        let image = if image_type.is_array() { builder.array() } else { builder }.build()?;
        assert_eq!((image.format(), image.image_type()), (format, image_type));
        let pixels: usize = shape.iter().product();
        assert!(image.size() >= pixels * format.item_size());
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_pixel_size_of_the_driver_is_that_of_the_channels(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    for format in context.supported_image_formats(MemFlags::READ_ONLY, ImageType::Image2d)? {
        let image = Image::new(context, MemFlags::READ_ONLY, format, [7, 5])?;
        let driver_says = driver_says(&image, cl::CL_IMAGE_ELEMENT_SIZE);
        let numbers = if format.channel_type.is_packed() { 1 } else { format.channel_count() };
        assert_eq!(driver_says, numbers * format.channel_size(), "{format}");
        assert_eq!(driver_says, format.item_size(), "{format}");
    }
    Ok(())
}

/// Where one kernel both reads and writes an image, the device has fewer formats, or none.
#[clmatrix_harness::test(requires(images))]
fn formats_for_kernels_that_read_and_write_are_a_subset(on_device: OnDevice) -> Result<()> {
    let formats = |flags| on_device.context.supported_image_formats(flags, ImageType::Image2d);
    let both = formats(MemFlags::KERNEL_READ_AND_WRITE)?;
    let all = formats(MemFlags::empty())?;
    assert_eq!(all, formats(MemFlags::READ_WRITE)?, "the default");
    assert!(both.iter().all(|format| all.contains(format)), "{both:?}");
    Ok(())
}

#[clmatrix_harness::test]
fn conflicting_flags_are_refused(on_device: OnDevice) {
    let flags = MemFlags::READ_ONLY | MemFlags::WRITE_ONLY;
    let formats = on_device.context.supported_image_formats(flags, ImageType::Image2d);
    assert_eq!(refusal(formats), "CL_INVALID_VALUE");
}
