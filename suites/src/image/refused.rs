//! Calls that the library refuses before the driver sees them.

use super::*;

/// Takes an image and a buffer.
const OF_AN_IMAGE: &str = "kernel void k(read_only image2d_t image, global uint *x) { *x = 1; }";

#[clmatrix_harness::test(requires(images))]
fn invalid_shapes_are_refused(on_device: OnDevice) {
    let new =
        |shape: &[usize]| Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U32, shape);
    for shape in [&[][..], &[0], &[7, 0], &[0, 5], &[7, 5, 0], &[1, 1, 1, 1]] {
        assert_eq!(refusal(new(shape)), "CL_INVALID_IMAGE_DESCRIPTOR", "{shape:?}");
    }
    let row = Image::builder(&on_device.context, RGBA_U32).shape([7]).array().build();
    assert_eq!(refusal(row), "CL_INVALID_IMAGE_DESCRIPTOR", "an array of pixels");
}

#[clmatrix_harness::test(requires(images))]
fn shapes_larger_than_the_limit_are_refused(on_device: OnDevice) -> Result<()> {
    let build = |shape: &[usize], is_array: bool| {
        let builder = Image::builder(&on_device.context, RGBA_U8).shape(shape);
        if is_array { builder.array().build() } else { builder.build() }
    };
    let width = on_device.device().opencl3().image2d_max_width().map_err(unanswered)?;
    let height = on_device.device().opencl3().image2d_max_height().map_err(unanswered)?;
    let width_3d = on_device.device().opencl3().image3d_max_width().map_err(unanswered)?;
    let height_3d = on_device.device().opencl3().image3d_max_height().map_err(unanswered)?;
    let depth = on_device.device().opencl3().image3d_max_depth().map_err(unanswered)?;
    let layers = on_device.device().opencl3().image_max_array_size().map_err(unanswered)?;
    for (shape, is_array) in [
        (&[width + 1][..], false),
        (&[usize::MAX], false),
        (&[width + 1, 1], false),
        (&[1, height + 1], false),
        (&[usize::MAX, usize::MAX], false),
        (&[width_3d + 1, 1, 1], false),
        (&[1, height_3d + 1, 1], false),
        (&[1, 1, depth + 1], false),
        (&[1, layers + 1], true),
        (&[1, 1, layers + 1], true),
        (&[1, height + 1, 1], true),
    ] {
        assert_eq!(refusal(build(shape, is_array)), "CL_INVALID_IMAGE_SIZE", "{shape:?}");
    }
    build(&[width, 1], false)?;
    build(&[1, height], false)?;
    build(&[1, 1, layers], true)?;
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn invalid_pitches_are_refused(on_device: OnDevice) {
    let build = |shape: &[usize], pitches: [usize; 2], is_array: bool| {
        let data = [0_u8; 4096];
        let builder = Image::builder(&on_device.context, RGBA_U8).shape(shape).pitches(pitches);
        let builder = builder.copy_from(&data);
        if is_array { builder.array().build() } else { builder.build() }
    };
    for (shape, pitches, is_array) in [
        // A row has 12 bytes.
        (&[3, 2][..], [11, 0], false),
        (&[3, 2], [14, 0], false),
        (&[3, 2], [12, 24], false),
        (&[3], [8, 0], false),
        (&[3], [12, 12], false),
        (&[3, 2, 2], [12, 20], false),
        (&[3, 2, 2], [16, 40], false),
        (&[3, 2, 2], [12, 20], true),
        (&[3, 2], [16, 12], true),
        (&[3, 2], [0, 8], true),
        (&[3, 2], [usize::MAX - 3, 0], false),
        (&[3, 2, 2], [12, usize::MAX - 3], false),
    ] {
        let result = build(shape, pitches, is_array);
        assert_eq!(refusal(result), "CL_INVALID_IMAGE_DESCRIPTOR", "{shape:?} {pitches:?}");
    }
    let without_data =
        Image::builder(&on_device.context, RGBA_U8).shape([3, 2]).pitches([12]).build();
    assert_eq!(refusal(without_data), "CL_INVALID_IMAGE_DESCRIPTOR");
    let array = Array2::<[u8; 4]>::default((3, 2));
    let with_array = Image::builder(&on_device.context, RGBA_U8).copy_from_array(&array);
    assert_eq!(refusal(with_array.pitches([12]).build()), "CL_INVALID_IMAGE_DESCRIPTOR");
}

#[clmatrix_harness::test(requires(images))]
fn invalid_host_data_is_refused(on_device: OnDevice) -> Result<()> {
    let builder = || Image::builder(&on_device.context, RGBA_U8);
    let host_ptr = "CL_INVALID_HOST_PTR";
    let data = [0_u8; 64];
    assert_eq!(refusal(builder().shape([4, 4]).copy_from(&data[..63]).build()), host_ptr);
    builder().shape([4, 4]).copy_from(&data).build()?;
    // The gap after the last row, and after the last slice.
    let rows = || builder().shape([3, 4]).pitches([16]);
    assert_eq!(refusal(rows().copy_from(&data[..60]).build()), host_ptr);
    rows().copy_from(&data).build()?;
    let slices = || builder().shape([2, 1, 2]).pitches([8, 32]);
    assert_eq!(refusal(slices().copy_from(&data[..63]).build()), host_ptr);
    slices().copy_from(&data).build()?;

    let bytes = Array2::<u8>::zeros((4, 4));
    assert_eq!(refusal(builder().copy_from_array(&bytes).build()), host_ptr, "a channel each");
    let array = Array2::<[u8; 4]>::default((4, 4));
    assert_eq!(refusal(builder().copy_from_array(&array).shape([4, 5]).build()), host_ptr);
    assert_eq!(refusal(builder().shape([4, 4]).flags(MemFlags::COPY_HOST_PTR).build()), host_ptr);
    assert_eq!(refusal(builder().shape([4, 4]).flags(MemFlags::USE_HOST_PTR).build()), host_ptr);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn unsupported_formats_are_refused(on_device: OnDevice) {
    let format = ImageFormat::new(ChannelOrder::Rgb, ChannelType::SignedInt32);
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, format, [7, 5]);
    let error = image.as_ref().expect_err("no device has it");
    assert!(error.detail().contains("RGBA SIGNED_INT32"), "what is there instead: {error}");
    assert_eq!(error.class(), clmatrix::Class::Unsupported);
    assert_eq!(refusal(image), "CL_IMAGE_FORMAT_NOT_SUPPORTED");
}

#[clmatrix_harness::test(requires(images))]
fn conflicting_flags_are_refused(on_device: OnDevice) {
    for flags in [
        MemFlags::READ_ONLY | MemFlags::WRITE_ONLY,
        MemFlags::HOST_READ_ONLY | MemFlags::HOST_NO_ACCESS,
        MemFlags::KERNEL_READ_AND_WRITE,
    ] {
        let image = Image::new(&on_device.context, flags, RGBA_U32, [7, 5]);
        assert_eq!(refusal(image), "CL_INVALID_VALUE", "{flags:?}");
    }
}

#[clmatrix_harness::test(requires(images))]
fn pixels_outside_the_image_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let image = image_of(&on_device, ImageType::Image1dArray, MemFlags::READ_WRITE)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 4096)?;
    let invalid = "CL_INVALID_VALUE";
    for (origin, region) in [
        ([1, 0, 0], [7, 1, 1]),
        ([0, 5, 0], [1, 1, 1]),
        ([0, 0, 1], [1, 1, 1]),
        ([0, 0, 0], [1, 1, 2]),
        ([0, 0, 0], [1, 0, 1]),
        ([usize::MAX, 0, 0], [2, 1, 1]),
        ([0, 0, 0], [usize::MAX, 1, 1]),
    ] {
        let part = ImageRegion::new(region).origin(origin);
        let mut host = [0_u8; 4096];
        assert_eq!(refusal(enqueue_copy(queue, &mut host, &image, part)), invalid);
        assert_eq!(refusal(enqueue_copy(queue, &image, &host, part)), invalid);
        let part = ImageBufferRegion::new(region).origin(origin);
        assert_eq!(refusal(enqueue_copy(queue, &buffer, &image, part)), invalid);
        assert_eq!(refusal(enqueue_copy(queue, &image, &buffer, part)), invalid);
        let copy = ImageCopy::new(region);
        let other = image_of(&on_device, ImageType::Image1dArray, MemFlags::READ_WRITE)?;
        assert_eq!(refusal(enqueue_copy(queue, &other, &image, copy.src_origin(origin))), invalid);
        assert_eq!(refusal(enqueue_copy(queue, &other, &image, copy.dst_origin(origin))), invalid);
    }
    let far = ImageBufferRegion::new([1]).offset(4081);
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &image, far)), invalid);
    let farther = ImageBufferRegion::new([1]).offset(usize::MAX);
    assert_eq!(refusal(enqueue_copy(queue, &image, &buffer, farther)), invalid);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn host_memory_of_the_wrong_size_is_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U8, [4, 4])?;
    let invalid = "CL_INVALID_VALUE";
    let mut host = [0_u8; 80];
    let mut read =
        |size: usize, part: ImageRegion| enqueue_copy(queue, &mut host[..size], &image, part);
    assert_eq!(refusal(read(63, ImageRegion::default())), invalid);
    read(64, ImageRegion::default())?;
    // Up to the last pixel, and not the gap after it.
    assert_eq!(refusal(read(75, ImageRegion::default().pitches([20]))), invalid);
    read(76, ImageRegion::default().pitches([20]))?;
    assert_eq!(refusal(read(80, ImageRegion::default().pitches([15]))), invalid);
    assert_eq!(refusal(read(80, ImageRegion::default().pitches([16, 64]))), invalid);
    assert_eq!(refusal(read(80, ImageRegion::default().pitches([usize::MAX]))), invalid);
    let other_rows = Array2::<[u8; 4]>::default((6, 6));
    let other_rows = other_rows.slice(s![..4, ..5]);
    assert_eq!(refusal(enqueue_copy(queue, &image, other_rows, ..)), invalid);
    let backwards = Array2::<[u8; 4]>::default((4, 4));
    let backwards = backwards.slice(s![..;-1, ..]);
    assert_eq!(refusal(enqueue_copy(queue, &image, backwards, ..)), invalid);
    let view = Array2::<[u8; 4]>::default((6, 6));
    let pitched = ImageRegion::default().pitches([24]);
    let result = enqueue_copy(queue, &image, view.slice(s![..4, ..4]), pitched);
    assert_eq!(refusal(result), invalid, "it has gaps of its own");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn overlapping_copies_and_other_formats_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U8, [4, 4])?;
    let copy = |args: ImageCopy| enqueue_copy(queue, &image, &image, args);
    assert_eq!(refusal(copy(ImageCopy::default())), "CL_MEM_COPY_OVERLAP");
    assert_eq!(refusal(copy(ImageCopy::new([3, 3]).dst_origin([1, 1]))), "CL_MEM_COPY_OVERLAP");
    copy(ImageCopy::new([2, 4]).dst_origin([2, 0]))?;
    let signed = ImageFormat::new(ChannelOrder::Rgba, ChannelType::SignedInt8);
    let other = Image::new(&on_device.context, MemFlags::READ_WRITE, signed, [4, 4])?;
    assert_eq!(refusal(enqueue_copy(queue, &other, &image, ..)), "CL_IMAGE_FORMAT_MISMATCH");
    let smaller = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U8, [4, 3])?;
    assert_eq!(refusal(enqueue_copy(queue, &smaller, &image, ..)), "CL_INVALID_VALUE");
    enqueue_copy(queue, &image, &smaller, ..)?;
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn commands_against_host_access_flags_are_refused(on_device: OnDevice) -> Result<()> {
    let new = |flags| Image::new(&on_device.context, flags, RGBA_U8, [1, 1]);
    let (read_only, write_only) = (new(MemFlags::HOST_READ_ONLY)?, new(MemFlags::HOST_WRITE_ONLY)?);
    let mut pixel = [0_u8; 4];
    let invalid = "CL_INVALID_OPERATION";
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &read_only, &pixel, ..)), invalid);
    enqueue_copy(&on_device.queue, &write_only, &pixel, ..)?;
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &mut pixel, &write_only, ..)), invalid);
    enqueue_copy(&on_device.queue, &read_only, &write_only, ..)?;
    enqueue_copy(&on_device.queue, &mut pixel, &read_only, ..)?;
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn objects_of_another_context_are_refused(on_device: OnDevice, elsewhere: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::READ_WRITE, RGBA_U8, [4, 4])?;
    let foreign = Image::new(&elsewhere.context, MemFlags::READ_WRITE, RGBA_U8, [4, 4])?;
    let buffer = Buffer::new(&elsewhere.context, MemFlags::READ_WRITE, 64)?;
    let invalid = "CL_INVALID_CONTEXT";
    let mut host = [0_u8; 64];
    assert_eq!(refusal(enqueue_copy(&elsewhere.queue, &mut host, &image, ..)), invalid);
    assert_eq!(refusal(enqueue_fill(&elsewhere.queue, &image, [0_u32; 4], ..)), invalid);
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &image, &foreign, ..)), invalid);
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &image, &buffer, ..)), invalid);
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &buffer, &image, ..)), invalid);
    let of_foreign = Image::builder(&on_device.context, RGBA_U8).shape([4]).buffer(&buffer);
    assert_eq!(refusal(of_foreign.build()), invalid);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn kernel_arguments_other_than_images_are_refused(on_device: OnDevice) -> Result<()> {
    let mut kernel = on_device.kernel(OF_AN_IMAGE, "-cl-kernel-arg-info")?;
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_ONLY)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    let mut launch = kernel.launch();
    launch.arg(&buffer).arg(&image).global(1);
    // SAFETY: nothing is launched: the arguments are refused.
    assert_eq!(refusal(unsafe { launch.enqueue(&on_device.queue) }), "CL_INVALID_ARG_VALUE");
    // SAFETY: these are the kernel's arguments, and it stays within them.
    unsafe { kernel.launch().arg(&image).arg(&buffer).global(1).enqueue(&on_device.queue)? }.wait()
}

#[clmatrix_harness::test(requires(images))]
fn launches_with_a_mapped_image_are_refused(on_device: OnDevice) -> Result<()> {
    let mut kernel = on_device.kernel(OF_AN_IMAGE, "")?;
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    let last_pixel = ImageRegion::default().origin([6, 4]);
    let map = image.map_read::<[u32; 4]>(&on_device.queue, last_pixel)?;
    // SAFETY: these are the kernel's arguments, and it stays within them.
    let event =
        unsafe { kernel.launch().arg(&image).arg(&buffer).global(1).enqueue(&on_device.queue) };
    assert_eq!(refusal(event), "CL_INVALID_OPERATION");
    let mut launch = kernel.launch();
    launch.arg_read(&image).arg(&buffer).global(1);
    // SAFETY: as above.
    let event = unsafe { launch.enqueue(&on_device.queue)? };
    drop(map);
    event.wait()
}
