//! Maps of images (OpenCL 3.0, 5.3.6; `pyopencl.enqueue_map_image`).

use super::*;

/// The shape of a map of the whole image: slices, rows, pixels.
fn mapped_shape(image: &Image) -> [usize; 3] {
    let axis = |axis: usize| image.shape().get(axis).copied().unwrap_or(1);
    [axis(2), axis(1), axis(0)]
}

for_each_type! {
    fn a_map_shows_each_pixel_at_its_position(on_device, image_type) {
        let queue = &on_device.queue;
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        enqueue_copy(queue, &image, &places(image.shape()), ..)?;
        let map = image.map_read::<[u32; 4]>(queue, ..)?;
        assert_eq!(map.pixels().shape(), mapped_shape(&image));
        for ((z, y, x), pixel) in map.pixels().indexed_iter() {
            assert_eq!(*pixel, place(x, y, z));
        }
        assert!(map.row_pitch() >= 7 * 16);
        assert!(map.slice_pitch() >= map.pixels().shape()[1] * map.row_pitch());
        Ok(())
    }
}

for_each_type! {
    fn a_kernel_sees_writes_through_a_map(on_device, image_type) {
        let queue = &on_device.queue;
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        enqueue_copy(queue, &image, &vec![words([9; 4]); image.shape().iter().product()], ..)?;
        let mut map = image.map_write_invalidate::<[u32; 4]>(queue, ..)?;
        for ((z, y, x), pixel) in map.pixels_mut().indexed_iter_mut() {
            *pixel = place(x, y, z);
        }
        map.unmap()?;
        assert_eq!(seen(&on_device, &image)?, places(image.shape()));
        Ok(())
    }
}

for_each_type! {
    fn a_map_of_a_region_leaves_the_rest_unchanged(on_device, image_type) {
        let queue = &on_device.queue;
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let mut expected = places(image.shape());
        enqueue_copy(queue, &image, &expected, ..)?;
        let [origin, _] = all_but_the_first(image.shape());
        let part = ImageRegion::default().origin(origin);
        let mut map = image.map_read_write::<[u32; 4]>(queue, part)?;
        let [oz, oy, ox] = [origin[2], origin[1], origin[0]];
        for ((z, y, x), pixel) in map.pixels_mut().indexed_iter_mut() {
            assert_eq!(*pixel, place(x + ox, y + oy, z + oz));
            pixel[3] = word(7);
        }
        map.unmap()?;
        for (pixel, position) in expected.iter_mut().zip(positions(image.shape())) {
            if is_from(position, origin) {
                pixel[3] = word(7);
            }
        }
        assert_eq!(seen(&on_device, &image)?, expected);
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn a_map_shows_kernel_writes(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    write_places(&on_device, &image)?;
    let map = image.map_read::<[u32; 4]>(&on_device.queue, ..)?;
    assert!(map.pixels().iter().eq(&places(&[7, 5])));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_map_for_writing_keeps_pixels_that_are_not_written(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let mut expected = places(&[7, 5]);
    enqueue_copy(&on_device.queue, &image, &expected, ..)?;
    let mut map = image.map_write::<[u32; 4]>(&on_device.queue, ..)?;
    map.pixels_mut()[[0, 4, 6]] = words([1; 4]);
    drop(map);
    expected[34] = words([1; 4]);
    assert_eq!(seen(&on_device, &image)?, expected);
    Ok(())
}

#[rstest]
#[case::r8(ChannelOrder::R, ChannelType::UnsignedInt8, 0x5a_u8)]
#[case::r16(ChannelOrder::R, ChannelType::SignedInt16, -7_i16)]
#[case::r32(ChannelOrder::R, ChannelType::Float, 1.5_f32)]
#[case::rgba8(ChannelOrder::Rgba, ChannelType::UnormInt8, [1_u8, 2, 3, 4])]
#[case::rgba16(ChannelOrder::Rgba, ChannelType::UnsignedInt16, [1_u16, 2, 3, 4])]
#[case::rgba32(ChannelOrder::Rgba, ChannelType::SignedInt32, [1_i32, -2, 3, -4])]
#[clmatrix_harness::test(requires(images))]
fn elements_have_the_size_of_a_pixel<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    on_device: OnDevice,
    #[case] order: ChannelOrder,
    #[case] channel_type: ChannelType,
    #[case] pixel: T,
) -> Result<()> {
    let format = ImageFormat::new(order, channel_type);
    let image = or_skip(Image::new(&on_device.context, MemFlags::READ_WRITE, format, [7, 5]))?;
    enqueue_copy(&on_device.queue, &image, &[T::zeroed(); 35], ..)?;
    let mut map = image.map_read_write::<T>(&on_device.queue, ..)?;
    map.pixels_mut()[[0, 3, 5]] = pixel;
    map.unmap()?;
    let mut expected = [T::zeroed(); 35];
    expected[26] = pixel;
    assert_eq!(image.to_vec::<T>(&on_device.queue)?, expected);
    assert_eq!(refusal(image.map_read::<[T; 2]>(&on_device.queue, ..)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn commands_on_mapped_rows_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let rows = |y: usize, rows: usize| ImageRegion::new([7, rows]).origin([0, y]);
    let invalid = "CL_INVALID_OPERATION";
    let map = image.map_read_write::<[u32; 4]>(queue, rows(1, 2))?;
    for y in [1, 2] {
        assert_eq!(refusal(enqueue_fill(queue, &image, [0_u32; 4], rows(y, 1))), invalid);
        let read = enqueue_copy(queue, &mut [[0_u32; 4]; 7], &image, rows(y, 1));
        assert_eq!(refusal(read), invalid);
    }
    assert_eq!(refusal(super::pixels(&on_device, &image)), invalid);
    assert_eq!(refusal(image.map_read::<[u32; 4]>(queue, rows(2, 2))), invalid);
    enqueue_fill(queue, &image, [0_u32; 4], rows(3, 2))?;
    enqueue_fill(queue, &image, [0_u32; 4], rows(0, 1))?;
    drop(map);
    enqueue_fill(queue, &image, words([5; 4]), ..)?;

    let map = image.map_read::<[u32; 4]>(queue, ..)?;
    assert_eq!(refusal(enqueue_fill(queue, &image, [0_u32; 4], ..)), invalid);
    assert_eq!(pixels(&on_device, &image)?, [words([5; 4]); 35], "both read");
    drop(map);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn two_regions_may_be_mapped_at_once(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let mut expected = places(&[7, 5]);
    enqueue_copy(&on_device.queue, &image, &expected, ..)?;
    let map = |y: usize| {
        let rows = ImageRegion::new([7, 2]).origin([0, y]);
        image.map_read_write::<[u32; 4]>(&on_device.queue, rows)
    };
    let (mut first, mut second) = (map(0)?, map(2)?);
    first.pixels_mut()[[0, 1, 6]] = words([8; 4]);
    second.pixels_mut()[[0, 0, 0]] = words([9; 4]);
    assert_eq!(first.pixels()[[0, 1, 5]], place(5, 1, 0));
    assert_eq!(second.pixels()[[0, 1, 6]], place(6, 3, 0));
    first.unmap()?;
    second.unmap()?;
    expected[13] = words([8; 4]);
    expected[14] = words([9; 4]);
    assert_eq!(seen(&on_device, &image)?, expected);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn maps_of_the_buffer_of_a_mapped_image_are_refused(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image1dBuffer, MemFlags::READ_WRITE)?;
    let buffer = image.buffer().expect("it shows one").clone();
    let part = ImageRegion::new([2]).origin([3]);
    let map = image.map_read_write::<[u32; 4]>(&on_device.queue, part)?;
    assert_eq!(refusal(buffer.map_read::<u32>(&on_device.queue, 10..13)), "CL_INVALID_OPERATION");
    drop(buffer.map_read::<u32>(&on_device.queue, 8..12)?);
    drop(map);
    drop(buffer.map_read::<u32>(&on_device.queue, ..)?);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn map_methods_use_the_mode_of_their_name(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    write_places(&on_device, &image)?;
    let column = |x: usize| ImageRegion::new([1, image.shape()[1]]).origin([x]);
    assert_eq!(image.map_read::<[u32; 4]>(queue, column(2))?.pixels()[[0, 1, 0]], place(2, 1, 0));
    image.map_write::<[u32; 4]>(queue, ..)?.pixels_mut()[[0, 1, 3]] = words([3; 4]);
    image.map_read_write::<[u32; 4]>(queue, column(4))?.pixels_mut()[[0, 1, 0]][3] = word(4);
    image.map_write_invalidate::<[u32; 4]>(queue, column(0))?.pixels_mut().fill(words([5; 4]));
    let mut expected = places(image.shape());
    for (pixel, [x, y, _]) in expected.iter_mut().zip(positions(image.shape())) {
        match [x, y] {
            [0, _] => *pixel = words([5; 4]),
            [3, 1] => *pixel = words([3; 4]),
            [4, 1] => pixel[3] = word(4),
            _ => {}
        }
    }
    assert_eq!(seen(&on_device, &image)?, expected);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_dropped_map_is_unmapped(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let map = image.map_read::<[u32; 4]>(&on_device.queue, ..)?;
    assert_eq!(image.map_count()?, 1);
    drop(map);
    on_device.queue.finish()?;
    assert!(soon(|| Ok(image.map_count()? == 0))?, "{}", image.map_count()?);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_map_outlives_the_handles_to_image_and_queue(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let image = image_of(&on_device, ImageType::Image3d, MemFlags::READ_ONLY)?;
    enqueue_copy(&queue, &image, &places(image.shape()), ..)?;
    let raw = image.as_raw();
    // SAFETY: the image is alive; the reference is given up below.
    unsafe { cl::retain_mem_object(raw) }.expect("a reference");
    let references = || -> u32 {
        cl::get_mem_object_info(raw, cl::CL_MEM_REFERENCE_COUNT).expect("the driver counts").into()
    };
    let map = image.map_read::<[u32; 4]>(&queue, ..)?;
    drop(image);
    drop(queue);
    assert!(references() > 1, "the image is gone");
    assert!(map.pixels().iter().eq(&places(&[7, 5, 3])));
    map.unmap()?.wait()?;
    assert!(soon(|| Ok(references() == 1))?, "the image stays");
    // SAFETY: the reference from above.
    unsafe { cl::release_mem_object(raw) }.expect("the last reference");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_map_need_not_block(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    enqueue_copy(&on_device.queue, &image, &places(&[7, 5]), ..)?;
    let rows = ImageRegion::default().origin([0, 3]);
    let pending = image.map_async::<[u32; 4], _>(&on_device.queue, MapReadWrite, rows)?;
    let mut map = pending.wait()?;
    assert!(map.pixels().iter().eq(&places(&[7, 5])[21..]));
    map.pixels_mut()[[0, 1, 6]] = words([8; 4]);
    let other_queue = on_device.another_queue();
    map.unmap_on(&other_queue)?.wait()?;
    assert_eq!(seen(&on_device, &image)?[34], words([8; 4]));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_non_blocking_map_runs_after_its_wait_list(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    enqueue_fill(&on_device.queue, &image, words([6; 4]), ..)?;
    on_device.queue.finish()?;
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    let pending = image.map_async::<[u32; 4], _>(queue.after(&gate), MapRead, ..)?;
    assert!(!pending.event().status()?.has_ended());
    open(&gate);
    assert!(pending.wait()?.pixels().iter().all(|pixel| *pixel == words([6; 4])));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn invalid_maps_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let new = |flags| Image::new(&on_device.context, flags, RGBA_U8, [4, 4]);
    let image = new(MemFlags::READ_WRITE)?;
    for part in [
        ImageRegion::new([5, 1]),
        ImageRegion::new([1, 0]),
        ImageRegion::new([1, 1]).origin([0, 4]),
        ImageRegion::new([1, 1, 2]),
        ImageRegion::default().pitches([16]),
    ] {
        assert_eq!(refusal(image.map_read::<[u8; 4]>(queue, part)), "CL_INVALID_VALUE", "{part:?}");
    }
    let bytes = image.map_read::<u8>(queue, ..);
    assert_eq!(refusal(bytes), "CL_INVALID_VALUE", "bytes are no pixels");
    let no_host = new(MemFlags::HOST_NO_ACCESS)?;
    assert_eq!(refusal(no_host.map_read::<u32>(queue, ..)), "CL_INVALID_OPERATION");
    let read_only = new(MemFlags::HOST_READ_ONLY)?;
    assert_eq!(refusal(read_only.map_write::<u32>(queue, ..)), "CL_INVALID_OPERATION");
    drop(read_only.map_read::<u32>(queue, ..)?);
    Ok(())
}

/// Ends a map before one of the same pixels that waits for a gate, which opens afterwards: neither call
/// waits on the host for the map that has not ended.
#[rstest]
#[clmatrix_harness::test(requires(images))]
fn overlapping_maps_for_reading_are_unmapped_in_any_order(
    on_device: OnDevice,
    #[values(false, true)] dropped: bool,
) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let other_queue = on_device.another_queue();
    enqueue_copy(&other_queue, &image, &places(image.shape()), ..)?;
    let elsewhere = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &elsewhere, &7_u32, ..)?;
    let first = image.map_async::<[u32; 4], _>(&on_device.queue, MapRead, ..)?;
    let rows = ImageRegion::new([7, 2]).origin([0, 1]);
    let second = image.map_read::<[u32; 4]>(&other_queue, rows)?;
    assert_eq!(second.pixels()[[0, 1, 6]], place(6, 2, 0));
    if dropped {
        drop(second);
    } else {
        second.unmap()?;
    }
    other_queue.finish()?;
    open(&gate);
    let first = first.wait()?;
    assert_eq!(first.pixels()[[0, 4, 6]], place(6, 4, 0));
    drop(first);
    enqueue_fill(&on_device.queue, &image, words([5; 4]), ..)?;
    assert_eq!(pixels(&on_device, &image)?, [words([5; 4]); 35]);
    Ok(())
}
