//! `clEnqueueFillImage` (OpenCL 3.0, 5.3.4; `pyopencl.enqueue_fill_image`).

use super::*;

const COLOR: [u32; 4] = [word(11), word(22), word(33), word(44)];

for_each_type! {
    fn a_fill_writes_the_whole_image(on_device, image_type) {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        enqueue_copy(&on_device.queue, &image, &places(image.shape()), ..)?;
        enqueue_fill(&on_device.queue, &image, COLOR, ..)?;
        assert_eq!(seen(&on_device, &image)?, vec![COLOR; pixel_count(&image)]);
        Ok(())
    }
}

for_each_type! {
    fn a_fill_writes_its_region_only(on_device, image_type) {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let mut expected = places(image.shape());
        enqueue_copy(&on_device.queue, &image, &expected, ..)?;
        // Pixels 2 and 3, rows or layers 1 to 3, slices or layers 1 and 2.
        let all = [2..4_usize, 1..4, 1..3];
        let axes: [_; 3] = std::array::from_fn(|axis| {
            if axis < image.shape().len() { all[axis].clone() } else { 0..1 }
        });
        let lens = axes.each_ref().map(|axis| axis.len());
        let part = ImageRegion::new(lens).origin(axes.each_ref().map(|axis| axis.start));
        enqueue_fill(&on_device.queue, &image, COLOR, part)?;
        for (pixel, position) in expected.iter_mut().zip(positions(image.shape())) {
            if (0..3).all(|axis| axes[axis].contains(&position[axis])) {
                *pixel = COLOR;
            }
        }
        assert_eq!(seen(&on_device, &image)?, expected);
        assert_eq!(pixels(&on_device, &image)?, expected);
        Ok(())
    }
}

/// More pixels than another image has in a row.
#[clmatrix_harness::test(requires(images))]
fn long_images_of_buffers_are_filled(on_device: OnDevice) -> Result<()> {
    let pixels = (2 * on_device.device().opencl3().image2d_max_width().map_err(unanswered)? + 5)
        .min(on_device.device().opencl3().image_max_buffer_size().map_err(unanswered)?);
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &vec![9_u8; pixels])?;
    let builder = Image::builder(&on_device.context, GREY).shape([pixels]);
    let image = or_skip(builder.buffer(&buffer).build())?;
    enqueue_fill(&on_device.queue, &image, [7_u32, 0, 0, 0], ImageRegion::default().origin([1]))?;
    let found = buffer.to_vec::<u8>(&on_device.queue)?;
    assert_eq!(found[0], 9);
    assert!(found[1..].iter().all(|byte| *byte == 7));
    Ok(())
}

/// The bits that a kernel sees in each format's pixels.
#[rstest]
#[case::float(ChannelType::Float, [0.5_f32, -2.0, 1e10, 0.0], [0.5_f32, -2.0, 1e10, 0.0].map(f32::to_bits))]
#[case::half(ChannelType::HalfFloat, [0.5_f32, -2.0, 1024.0, 0.0], [0.5_f32, -2.0, 1024.0, 0.0].map(f32::to_bits))]
#[case::unorm(ChannelType::UnormInt8, [0.0_f32, 1.0, 1.0, 0.0], [0.0_f32, 1.0, 1.0, 0.0].map(f32::to_bits))]
#[case::signed_8(ChannelType::SignedInt8, [0_i32, -1, 127, -128], [0_i32, -1, 127, -128].map(i32::cast_unsigned))]
#[case::signed_16(ChannelType::SignedInt16, [0_i32, -1, 300, -3000], [0_i32, -1, 300, -3000].map(i32::cast_unsigned))]
#[case::signed_32(ChannelType::SignedInt32, [0_i32, -1, i32::MAX, i32::MIN], [0_i32, -1, i32::MAX, i32::MIN].map(i32::cast_unsigned))]
#[case::unsigned_8(ChannelType::UnsignedInt8, [0_u32, 1, 128, 255], [0_u32, 1, 128, 255])]
#[case::unsigned_16(ChannelType::UnsignedInt16, [0_u32, 1, 300, 65535], [0_u32, 1, 300, 65535])]
#[case::unsigned_32(ChannelType::UnsignedInt32, [0_u32, 1, 300, u32::MAX], [0_u32, 1, 300, u32::MAX])]
#[clmatrix_harness::test(requires(images))]
fn a_color_has_the_kind_of_the_format<C: FillColor>(
    on_device: OnDevice,
    #[case] channel_type: ChannelType,
    #[case] color: C,
    #[case] bits: [u32; 4],
) -> Result<()> {
    let format = ImageFormat::new(ChannelOrder::Rgba, channel_type);
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, format, [3, 2])?;
    enqueue_fill(&on_device.queue, &image, color, ..)?;
    assert_eq!(seen(&on_device, &image)?, [bits; 6]);
    Ok(())
}

/// Red is red, also where blue comes first in memory.
#[clmatrix_harness::test(requires(images))]
fn a_color_has_channels_by_name(on_device: OnDevice) -> Result<()> {
    let format = ImageFormat::new(ChannelOrder::Bgra, ChannelType::UnormInt8);
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, format, [3, 2])?;
    enqueue_fill(&on_device.queue, &image, [1.0, 0.0, 0.0, 0.0], ..)?;
    let red = [1.0_f32, 0.0, 0.0, 0.0].map(f32::to_bits);
    assert_eq!(seen(&on_device, &image)?, [red; 6]);
    assert_eq!(image.to_vec::<[u8; 4]>(&on_device.queue)?, [[0, 0, 255, 0]; 6]);
    Ok(())
}

#[clmatrix_harness::test(requires(images, extension = "cl_khr_depth_images"))]
fn a_depth_image_is_filled_with_one_float(on_device: OnDevice) -> Result<()> {
    let format = ImageFormat::new(ChannelOrder::Depth, ChannelType::Float);
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, format, [3, 2])?;
    enqueue_fill(&on_device.queue, &image, 0.25, ..)?;
    assert_eq!(image.to_vec::<f32>(&on_device.queue)?, [0.25; 6]);
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &image, [0.25; 4], ..)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_color_of_another_kind_is_refused(on_device: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U32, [3, 2])?;
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &image, [1.0; 4], ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &image, [1_i32; 4], ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &image, 1.0, ..)), "CL_INVALID_VALUE");
    let fraction = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnormInt8);
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, fraction, [3, 2])?;
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &image, [1_u32; 4], ..)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn pixels_outside_the_image_are_refused(on_device: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U32, [3, 2])?;
    for part in [
        ImageRegion::new([4, 1]),
        ImageRegion::new([1, 3]),
        ImageRegion::new([1, 1, 2]),
        ImageRegion::new([0, 1]),
        ImageRegion::new([1, 1]).origin([3]),
        ImageRegion::default().origin([0, 2]),
        ImageRegion::new([1, 1]).origin([usize::MAX]),
        ImageRegion::new([1, 1]).pitches([64]),
    ] {
        let fill = enqueue_fill(&on_device.queue, &image, COLOR, part);
        assert_eq!(refusal(fill), "CL_INVALID_VALUE", "{part:?}");
    }
    Ok(())
}
