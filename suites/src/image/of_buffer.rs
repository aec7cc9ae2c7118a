//! Images that show a buffer's bytes (OpenCL 3.0, 5.3.1; PyOpenCL's `buffer` of `create_image`).

use clmatrix::cl3::device::{
    CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, get_device_info,
};

use super::*;

/// A buffer of the places of so many pixels.
fn buffer_of(on_device: &OnDevice, pixels: usize) -> Result<Buffer> {
    Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &places(&[pixels]))
}

fn row_of(on_device: &OnDevice, buffer: &Buffer, pixels: usize) -> Result<Image> {
    Image::builder(&on_device.context, RGBA_U32).shape([pixels]).buffer(buffer).build()
}

#[clmatrix_harness::test(requires(images))]
fn kernels_read_the_bytes_of_the_buffer_as_pixels(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, 9)?;
    let image = row_of(&on_device, &buffer, 7)?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image1dBuffer, &[7][..]));
    assert_eq!(image.buffer(), Some(&buffer));
    assert_eq!(seen(&on_device, &image)?, places(&[7]));
    enqueue_copy(&on_device.queue, &buffer, &[words([9; 4]); 9], ..)?;
    assert_eq!(seen(&on_device, &image)?, [words([9; 4]); 7]);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn kernel_writes_to_the_image_are_in_the_buffer(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[words([8; 4]); 9])?;
    write_places(&on_device, &row_of(&on_device, &buffer, 7)?)?;
    let found = buffer.to_vec::<[u32; 4]>(&on_device.queue)?;
    assert_eq!(found[..7], places(&[7]));
    assert_eq!(found[7..], [words([8; 4]); 2], "and no more");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn pixels_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, 7)?;
    let image = row_of(&on_device, &buffer, 7)?;
    let middle = ImageRegion::new([2]).origin([3]);
    enqueue_copy(&on_device.queue, &image, &[words([40; 4]), words([41; 4])], middle)?;
    enqueue_fill(&on_device.queue, &image, words([5; 4]), ImageRegion::default().origin([6]))?;
    let mut expected = places(&[7]);
    expected[3..5].copy_from_slice(&[words([40; 4]), words([41; 4])]);
    expected[6] = words([5; 4]);
    assert_eq!(seen(&on_device, &image)?, expected);
    let mut found = [[0_u32; 4]; 2];
    enqueue_copy(&on_device.queue, &mut found, &image, middle)?;
    assert_eq!(found, [words([40; 4]), words([41; 4])]);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_of_a_sub_buffer_has_its_bytes(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 112)?;
    let pixels = part / 16;
    let whole = buffer_of(&on_device, 2 * pixels)?;
    let region = whole.sub_buffer(part..)?;
    let image = row_of(&on_device, &region, 7)?;
    assert_eq!(image.associated_memory_object()?, Some(region.as_raw()));
    let expected = &places(&[2 * pixels])[pixels..pixels + 7];
    assert_eq!(seen(&on_device, &image)?, expected);
    write_places(&on_device, &image)?;
    let found = whole.to_vec::<[u32; 4]>(&on_device.queue)?;
    assert_eq!(found[..pixels], places(&[2 * pixels])[..pixels]);
    assert_eq!(found[pixels..pixels + 7], places(&[7]));
    Ok(())
}

/// The images are mapped and unmapped one after the other, and dropped with their regions in this order.
// quirk: NVIDIA-11
#[clmatrix_harness::test(requires(images))]
fn images_of_overlapping_regions_may_be_released_in_any_order(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 112)?;
    let buffer = buffer_of(&on_device, 2 * part / 16)?;
    for _ in 0..50 {
        let regions = [buffer.sub_buffer(..2 * part)?, buffer.sub_buffer(part..)?];
        let images = [row_of(&on_device, &regions[0], 7)?, row_of(&on_device, &regions[1], 7)?];
        for (image, first) in images.iter().zip([0, part / 16]) {
            let middle = ImageRegion::new([2]).origin([1]);
            let map = image.map_read::<[u32; 4]>(&on_device.queue, middle)?;
            let expected = &places(&[2 * part / 16])[first + 1..first + 3];
            assert_eq!(map.pixels().as_slice(), Some(expected));
        }
        images.into_iter().zip(regions).for_each(drop);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_keeps_its_buffer(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, 7)?;
    let image = row_of(&on_device, &buffer, 7)?;
    let again = image.buffer().cloned();
    drop(buffer);
    assert_eq!(seen(&on_device, &image)?, places(&[7]));
    drop(image);
    let buffer = again.expect("the image shows one");
    assert_eq!(buffer.to_vec::<[u32; 4]>(&on_device.queue)?, places(&[7]));
    let is_alone = || {
        // The library releases the event of the kernel when a later command finds the kernel complete.
        buffer.to_vec::<u32>(&on_device.queue)?;
        Ok(buffer.reference_count()? == 1)
    };
    assert!(soon(is_alone)?, "{}", buffer.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_inherits_the_flags_of_its_buffer(on_device: OnDevice) -> Result<()> {
    let flags = MemFlags::READ_ONLY | MemFlags::HOST_WRITE_ONLY;
    let buffer = Buffer::new(&on_device.context, flags, 112)?;
    assert_eq!(row_of(&on_device, &buffer, 7)?.flags(), flags);
    let build = |flags| {
        let builder = Image::builder(&on_device.context, RGBA_U32).shape([7]);
        builder.flags(flags).buffer(&buffer).build()
    };
    assert_eq!(build(MemFlags::READ_ONLY)?.flags(), flags);
    assert_eq!(
        build(MemFlags::HOST_NO_ACCESS)?.flags(),
        MemFlags::READ_ONLY | MemFlags::HOST_NO_ACCESS
    );
    assert_eq!(refusal(build(MemFlags::READ_WRITE)), "CL_INVALID_VALUE");
    assert_eq!(refusal(build(MemFlags::HOST_READ_ONLY)), "CL_INVALID_VALUE");
    assert_eq!(refusal(build(MemFlags::COPY_HOST_PTR)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn commands_on_an_image_of_a_mapped_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, 7)?;
    let image = row_of(&on_device, &buffer, 7)?;
    let map = buffer.map_read_write::<u32>(queue, 8..12)?;
    let part = |origin: usize| ImageRegion::new([1]).origin([origin]);
    let read = |origin: usize| enqueue_copy(queue, &mut [0_u32; 4], &image, part(origin));
    let gate = gate(&on_device.context);
    let beside = [1, 3].map(|x| enqueue_copy(queue.after(&gate), vec![0_u32; 4], &image, part(x)));
    assert_eq!(refusal(read(2)), "CL_INVALID_OPERATION");
    assert_eq!(refusal(enqueue_fill(queue, &image, [0_u32; 4], ..)), "CL_INVALID_OPERATION");
    // The reads of the other pixels begin after the unmap.
    map.unmap_on(&on_device.another_queue())?.wait()?;
    open(&gate);
    for read in beside {
        read?.wait()?;
    }
    let map = buffer.map_read::<u32>(queue, ..)?;
    read(2)?;
    let write = || enqueue_copy(queue, &image, &[words([7; 4]); 7], ..);
    assert_eq!(refusal(write()), "CL_INVALID_OPERATION");
    drop(map);
    write()?;
    assert_eq!(seen(&on_device, &image)?, [words([7; 4]); 7]);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn copies_onto_the_same_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, 14)?;
    let (image, twin) = (row_of(&on_device, &buffer, 7)?, row_of(&on_device, &buffer, 7)?);
    let onto = |args: ImageBufferRegion| enqueue_copy(&on_device.queue, &image, &buffer, args);
    assert_eq!(refusal(onto(ImageBufferRegion::default())), "CL_MEM_COPY_OVERLAP");
    let overlapping = ImageBufferRegion::new([2]).origin([5]).offset(96);
    assert_eq!(refusal(onto(overlapping)), "CL_MEM_COPY_OVERLAP");
    onto(ImageBufferRegion::new([2]).origin([5]).offset(112))?;
    let mut expected = places(&[7]);
    expected[5..].copy_from_slice(&places(&[9])[7..]);
    assert_eq!(pixels(&on_device, &image)?, expected);

    let copy = |args: ImageCopy| enqueue_copy(&on_device.queue, &image, &twin, args);
    assert_eq!(refusal(copy(ImageCopy::default())), "CL_MEM_COPY_OVERLAP");
    copy(ImageCopy::new([2]).dst_origin([2]))?;
    expected.copy_within(..2, 2);
    assert_eq!(seen(&on_device, &image)?, expected);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn images_larger_than_the_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let buffer = buffer_of(&on_device, 7)?;
    assert_eq!(refusal(row_of(&on_device, &buffer, 8)), "CL_INVALID_IMAGE_SIZE");
    assert_eq!(refusal(row_of(&on_device, &buffer, usize::MAX)), "CL_INVALID_IMAGE_SIZE");
    let of_buffer = || Image::builder(context, RGBA_U32).buffer(&buffer);
    let descriptor = "CL_INVALID_IMAGE_DESCRIPTOR";
    assert_eq!(refusal(of_buffer().build()), descriptor, "no shape");
    assert_eq!(refusal(of_buffer().shape([0]).build()), descriptor);
    assert_eq!(refusal(of_buffer().shape([1, 1, 1]).build()), descriptor);
    assert_eq!(refusal(of_buffer().shape([1, 1]).array().build()), descriptor);
    assert_eq!(refusal(of_buffer().shape([7]).pitches([112]).build()), descriptor);
    assert_eq!(refusal(of_buffer().shape([1]).copy_from(&[0_u32; 4]).build()), descriptor);
    Ok(())
}

/// How far apart rows have to be, and where they may begin, in bytes.
fn alignments(device: &Device) -> [usize; 2] {
    [CL_DEVICE_IMAGE_PITCH_ALIGNMENT, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT].map(|name| {
        let pixels: u32 = get_device_info(device.as_raw(), name).expect("it tells").into();
        pixels.max(1) as usize * RGBA_U32.item_size()
    })
}

#[clmatrix_harness::test(requires(images, extension = "cl_khr_image2d_from_buffer"))]
fn a_2d_image_has_the_rows_of_a_buffer(on_device: OnDevice) -> Result<()> {
    let [pitch, base] = alignments(on_device.device());
    let row_pitch = (4 * 16_usize).next_multiple_of(pitch);
    let base = base.next_multiple_of(region_offset(on_device.device(), 1)?);
    let whole = buffer_of(&on_device, (base + 3 * row_pitch) / 16)?;
    let region = whole.sub_buffer(base..)?;
    let build = |shape: [usize; 2]| {
        let builder = Image::builder(&on_device.context, RGBA_U32).shape(shape);
        builder.pitches([row_pitch]).buffer(&region).build()
    };
    let image = build([3, 3])?;
    assert_eq!((image.image_type(), image.buffer()), (ImageType::Image2d, Some(&region)));
    assert_eq!(image.row_pitch()?, row_pitch);
    let all = places(&[whole.size() / 16]);
    let first = |y: usize| (base + y * row_pitch) / 16;
    let rows: Vec<_> = (0..3).flat_map(|y| all[first(y)..first(y) + 3].to_vec()).collect();
    assert_eq!(seen(&on_device, &image)?, rows);
    write_places(&on_device, &image)?;
    let found = whole.to_vec::<[u32; 4]>(&on_device.queue)?;
    assert_eq!(found[..first(0)], all[..first(0)]);
    assert_eq!(found[first(2)..first(2) + 3], places(&[3, 3])[6..]);
    assert_eq!(found[first(1) + 3], all[first(1) + 3], "not between the rows");

    let (queue, gate) = (&on_device.queue, gate(&on_device.context));
    let map = region.map_read_write::<u32>(queue, ..4)?;
    let row = |y: usize| ImageRegion::new([3, 1]).origin([0, y]);
    let read = || enqueue_copy(queue, &mut [[0_u32; 4]; 3], &image, row(0));
    assert_eq!(refusal(read()), "CL_INVALID_OPERATION");
    let beside = enqueue_copy(queue.after(&gate), vec![[0_u32; 4]; 3], &image, row(1))?;
    map.unmap_on(&on_device.another_queue())?.wait()?;
    open(&gate);
    beside.wait()?;
    read()?;
    assert_eq!(refusal(build([3, 4])), "CL_INVALID_IMAGE_SIZE");
    Ok(())
}

#[clmatrix_harness::test(requires(images, extension = "cl_khr_image2d_from_buffer"))]
fn misaligned_rows_of_a_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let [pitch, base] = alignments(on_device.device());
    let buffer = buffer_of(&on_device, 3 * pitch.max(base))?;
    let build = |row_pitch: usize| {
        let builder = Image::builder(&on_device.context, RGBA_U32).shape([1, 2]);
        builder.pitches([row_pitch]).buffer(&buffer).build()
    };
    build(pitch)?;
    let descriptor = "CL_INVALID_IMAGE_DESCRIPTOR";
    assert_eq!(refusal(build(pitch + 4)), descriptor);
    assert_eq!(refusal(build(8)), descriptor);
    if pitch > 16 {
        assert_eq!(refusal(build(pitch + 16)), descriptor);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_device_without_2d_images_of_buffers_is_unsupported(on_device: OnDevice) -> Result<()> {
    if has(&on_device, "cl_khr_image2d_from_buffer")? {
        skip!("the device makes 2D images of buffers");
    }
    let buffer = buffer_of(&on_device, 8)?;
    let image = Image::builder(&on_device.context, RGBA_U32).shape([4, 2]).buffer(&buffer).build();
    assert_eq!(image.as_ref().map_err(|error| error.class()).err(), Some(Class::Unsupported));
    assert_eq!(refusal(image), "CL_INVALID_OPERATION");
    Ok(())
}
