//! Pixels between images, host memory and buffers (OpenCL 3.0, 5.3.3 and 5.3.5;
//! `pyopencl.enqueue_copy`).

use clmatrix::enqueue_barrier;
use clmatrix::pool::{DeferredAllocator, MemoryPool, SlabAllocator};

use super::*;

/// Three rows of four pixels.
fn letters(on_device: &OnDevice) -> Result<Image> {
    let builder = Image::builder(&on_device.context, GREY).shape([4, 3]);
    or_skip(builder.copy_from(b"abcdefghijkl").build())
}

fn text(on_device: &OnDevice, image: &Image) -> Result<String> {
    let letters = seen(on_device, image)?;
    Ok(letters.iter().map(|pixel| pixel[0] as u8 as char).collect())
}

/// Reads a part into `len` bytes that were dots.
fn dots(on_device: &OnDevice, image: &Image, part: ImageRegion, len: usize) -> Result<String> {
    let mut bytes = vec![b'.'; len];
    enqueue_copy(&on_device.queue, &mut bytes, image, part)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_returned_as_elements_of_their_size(on_device: OnDevice) -> Result<()> {
    let (context, queue) = (&on_device.context, &on_device.queue);
    let text = (0..96).collect::<Vec<u8>>();
    let image = Image::builder(context, RGBA_U32).shape([3, 2]).copy_from(&text).build()?;
    let pixels: Vec<[u8; 16]> = image.to_vec(queue)?;
    assert_eq!(pixels.as_flattened(), text);
    assert_eq!(bytemuck::cast_slice::<[u64; 2], u8>(&image.to_vec(queue)?), text);
    let error = image.to_vec::<u32>(queue).unwrap_err();
    assert_eq!(error.code_name(), "CL_INVALID_VALUE");
    assert!(error.detail().contains("16 bytes; elements of 4 bytes"), "{error}");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn methods_move_all_pixels(on_device: OnDevice) -> Result<()> {
    let image = letters(&on_device)?;
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[b'.'; 14])?;
    image.copy_to(&on_device.queue, &buffer)?;
    assert_eq!(buffer.to_vec::<u8>(&on_device.queue)?, b"abcdefghijkl..");
    image.write_async(&on_device.queue, b"ABCDEFGHIJKL".to_vec())?.wait()?;
    let other = Image::new(&on_device.context, MemFlags::READ_WRITE, GREY, [4, 3])?;
    image.copy_to(&on_device.queue, &other)?;
    let mut found = [0; 12];
    other.read(&on_device.queue, &mut found)?;
    assert_eq!(&found, b"ABCDEFGHIJKL");
    buffer.copy_to(&on_device.queue, &other)?;
    assert_eq!(other.read_async(&on_device.queue, vec![0_u8; 12])?.wait()?, b"abcdefghijkl");
    other.fill(&on_device.queue, [7_u32, 0, 0, 0])?;
    other.read(&on_device.queue, &mut found)?;
    assert_eq!(found, [7; 12]);
    image.write(&on_device.queue, &found)?;
    assert_eq!(text(&on_device, &image)?, "\u{7}".repeat(12));
    Ok(())
}

for_each_type! {
    fn a_kernel_sees_what_the_host_wrote(on_device, image_type) {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let places = places(image.shape());
        enqueue_copy(&on_device.queue, &image, &vec![words([9; 4]); places.len()], ..)?;
        enqueue_copy(&on_device.queue, &image, &places, ..)?;
        assert_eq!(seen(&on_device, &image)?, places);
        Ok(())
    }
}

for_each_type! {
    fn regions_are_in_pixels_rows_and_slices(on_device, image_type) {
        let queue = &on_device.queue;
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        enqueue_copy(queue, &image, &places(image.shape()), ..)?;
        // The last two pixels of the last two rows of the last two slices, where there are so many.
        let lens: Vec<usize> = image.shape().iter().map(|_| 2).collect();
        let mut region = [1; 3];
        region[..lens.len()].copy_from_slice(&lens);
        let mut origin = [0; 3];
        origin.iter_mut().zip(image.shape()).for_each(|(origin, pixels)| *origin = pixels - 2);
        let corner = ImageRegion::new(region).origin(origin);
        let mut found = vec![[0_u32; 4]; region.iter().product()];
        enqueue_copy(queue, &mut found, &image, corner)?;
        let expected = places_from(image.shape(), origin);
        assert_eq!(found, expected);
        assert_eq!(corner, ImageRegion::new(region).origin(origin));

        // Without a region: from the origin on.
        let mut rest = vec![[0_u32; 4]; region.iter().product()];
        enqueue_copy(queue, &mut rest, &image, ImageRegion::default().origin(origin))?;
        assert_eq!(rest, expected);

        let colors: Vec<[u32; 4]> = (0..found.len() as u32).map(|i| words([20 + i; 4])).collect();
        enqueue_copy(queue, &image, &colors, corner)?;
        let changed = changed_from(image.shape(), origin, &colors);
        assert_eq!(seen(&on_device, &image)?, changed);
        assert_eq!(pixels(&on_device, &image)?, changed);
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn gaps_between_host_rows_are_unchanged(on_device: OnDevice) -> Result<()> {
    let image = letters(&on_device)?;
    let read = |part| dots(&on_device, &image, part, 16);
    assert_eq!(read(ImageRegion::new([2, 3]).origin([1]))?, "bcfgjk..........");
    assert_eq!(read(ImageRegion::new([2, 3]).origin([1]).pitches([5]))?, "bc...fg...jk....");
    assert_eq!(read(ImageRegion::default().pitches([6]))?, "abcd..efgh..ijkl");
    let rows = ImageRegion::new([2, 2]).origin([2, 1]).pitches([5]);
    enqueue_copy(&on_device.queue, &image, b"12...34", rows)?;
    assert_eq!(text(&on_device, &image)?, "abcdef12ij34");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn slices_and_layers_may_have_gaps(
    on_device: OnDevice,
    #[values(true, false)] is_array: bool,
) -> Result<()> {
    let builder = Image::builder(&on_device.context, GREY).flags(MemFlags::READ_ONLY);
    let builder = builder.shape([2, 2, 2]).copy_from(b"abcdefgh");
    let image = or_skip(if is_array { builder.array() } else { builder }.build())?;
    let pitches = ImageRegion::default().pitches([3, 9]);
    assert_eq!(dots(&on_device, &image, pitches, 16)?, "ab.cd....ef.gh..");
    enqueue_copy(&on_device.queue, &image, b"12.34....56.78", pitches)?;
    assert_eq!(text(&on_device, &image)?, "12345678");
    let slices = ImageRegion::new([1, 1, 2]).origin([1, 1]).pitches([0, 4]);
    assert_eq!(dots(&on_device, &image, slices, 6)?, "4...8.");
    Ok(())
}

/// The distance of the layers of 1D images is a slice pitch in OpenCL; either will do here.
#[clmatrix_harness::test(requires(images))]
fn layers_of_rows_may_have_gaps(on_device: OnDevice) -> Result<()> {
    let builder = Image::builder(&on_device.context, GREY).shape([2, 3]).array();
    let image = or_skip(builder.copy_from(b"abcdef").build())?;
    for pitches in [[5, 0], [0, 5], [2, 5], [5, 5]] {
        let layers = ImageRegion::default().pitches(pitches);
        assert_eq!(dots(&on_device, &image, layers, 13)?, "ab...cd...ef.", "{pitches:?}");
    }
    enqueue_copy(&on_device.queue, &image, b"12..34", ImageRegion::new([2, 2]).pitches([0, 4]))?;
    assert_eq!(text(&on_device, &image)?, "1234ef");
    Ok(())
}

/// An array's element `[[y, x]]` is the pixel (x, y), also where rows have gaps.
#[clmatrix_harness::test(requires(images))]
fn arrays_are_copied_in_memory_order(on_device: OnDevice) -> Result<()> {
    let image = letters(&on_device)?;
    let mut plane = Array2::from_elem((5, 6), b'.');
    enqueue_copy(&on_device.queue, plane.slice_mut(s![1..4, 1..5]), &image, ..)?;
    let expected = "......|.abcd.|.efgh.|.ijkl.|......";
    let rows: Vec<_> = plane
        .rows()
        .into_iter()
        .map(|row| String::from_utf8(row.to_vec()).expect("text"))
        .collect();
    assert_eq!(rows.join("|"), expected);
    plane.swap([1, 1], [3, 4]);
    enqueue_copy(&on_device.queue, &image, plane.slice(s![1..4, 1..5]), ..)?;
    assert_eq!(text(&on_device, &image)?, "lbcdefghijka");
    let two_rows = ImageRegion::new([4, 2]).origin([0, 1]);
    let every_other = Array2::from_shape_fn((4, 4), |(y, x)| b'1' + (4 * y + x) as u8 / 2);
    enqueue_copy(&on_device.queue, &image, every_other.slice(s![..;2, ..]), two_rows)?;
    assert_eq!(text(&on_device, &image)?, "lbcd11225566");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn boxes_of_an_array_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let image = or_skip(Image::new(&on_device.context, MemFlags::READ_ONLY, GREY, [3, 2, 2]))?;
    let solid = Array3::from_shape_fn((4, 4, 5), |(z, y, x)| (25 * z + 5 * y + x) as u8);
    for (z, y, x) in [(1, 1, 1), (0, 2, 0), (2, 0, 2)] {
        let view = solid.slice(s![z..z + 2, y..y + 2, x..x + 3]);
        enqueue_copy(&on_device.queue, &image, view, ..)?;
        let expected: Vec<u32> = view.iter().map(|value| u32::from(*value)).collect();
        let found: Vec<u32> = seen(&on_device, &image)?.iter().map(|pixel| pixel[0]).collect();
        assert_eq!(found, expected, "from {:?} on", [z, y, x]);
        let mut back = Array3::<u8>::zeros((3, 4, 4));
        enqueue_copy(&on_device.queue, back.slice_mut(s![1.., ..2, 1..]), &image, ..)?;
        assert_eq!(back.slice(s![1.., ..2, 1..]), view);
        assert_eq!(
            back.iter().filter(|value| **value == 0).count(),
            48 - expected.iter().filter(|value| **value != 0).count()
        );
    }
    // x first in memory.
    let fortran = Array3::from_shape_fn((3, 2, 2).f(), |(x, y, z)| (25 * z + 5 * y + x) as u8);
    enqueue_copy(&on_device.queue, &image, &fortran, ..)?;
    let found: Vec<u32> = seen(&on_device, &image)?.iter().map(|pixel| pixel[0]).collect();
    assert_eq!(found, [0, 1, 2, 5, 6, 7, 25, 26, 27, 30, 31, 32]);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn owned_host_memory_is_returned(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let vector = enqueue_copy(&on_device.queue, &image, places(&[7, 5]), ..)?.wait()?;
    assert_eq!(vector, places(&[7, 5]));
    assert_eq!(seen(&on_device, &image)?, vector);
    let array = Array2::<[u32; 4]>::default((5, 7));
    let array = enqueue_copy(&on_device.queue, array, &image, ..)?.wait()?;
    assert_eq!(array.as_slice().expect("rows"), vector);
    let row = vec![[0_u32; 4]; 7].into_boxed_slice();
    let last_row = ImageRegion::default().origin([0, 4]);
    let row = enqueue_copy(&on_device.queue, row, &image, last_row)?.wait()?;
    assert_eq!(*row, vector[28..]);
    let too_small = enqueue_copy(&on_device.queue, vec![[0_u32; 4]; 34], &image, ..);
    let returned = too_small.expect_err("one pixel is missing");
    assert_eq!(returned.memory.map(|memory| memory.len()), Some(34));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn a_non_blocking_copy_runs_after_its_wait_list(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    enqueue_copy(&on_device.queue, &image, &places(&[7, 5]), ..)?;
    let gate = gate(&on_device.context);
    let other_queue = on_device.another_queue();
    let transfer = enqueue_copy(other_queue.after(&gate), vec![[0_u32; 4]; 35], &image, ..)?;
    enqueue_copy(&on_device.queue, &image, &[words([5; 4]); 35], ..)?;
    open(&gate);
    assert_eq!(transfer.wait()?, [words([5; 4]); 35]);
    Ok(())
}

/// Copies the pixels of one image to `region` and from there to another image.
fn through_region(on_device: &OnDevice, region: &Buffer) -> Result<()> {
    let [from, to] = [1, 2].map(|_| image_of(on_device, ImageType::Image2d, MemFlags::READ_WRITE));
    let (from, to) = (from?, to?);
    let places = places(from.shape());
    enqueue_copy(&on_device.queue, &from, &places, ..)?;
    enqueue_copy(&on_device.queue, region, &from, ImageBufferRegion::default().offset(16))?;
    enqueue_copy(&on_device.queue, &to, region, ImageBufferRegion::default().offset(16))?;
    assert_eq!(pixels(on_device, &to)?, places);
    let mut found = vec![[0_u32; 4]; places.len()];
    enqueue_copy(&on_device.queue, &mut found, region, Linear::default().src_offset(16))?;
    assert_eq!(found, places);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn pixels_are_copied_to_and_from_regions(on_device: OnDevice) -> Result<()> {
    let start = region_offset(on_device.device(), 1024)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, start + 3072)?;
    enqueue_fill(&on_device.queue, &buffer, &9_u32, ..)?;
    through_region(&on_device, &buffer.sub_buffer(start..start + 1024)?)?;
    let around = buffer.to_vec::<u32>(&on_device.queue)?;
    let pixels = start / 4 + 4..start / 4 + 4 + 4 * 35;
    assert!(around[..pixels.start].iter().all(|word| *word == 9));
    assert!(around[pixels.end..].iter().all(|word| *word == 9));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn pixels_are_copied_to_and_from_parts_of_slabs(on_device: OnDevice) -> Result<()> {
    let allocator = DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?;
    let pool = MemoryPool::new(SlabAllocator::new(allocator, 1 << 16))?;
    let blocks = [pool.allocate(1024)?, pool.allocate(1024)?];
    assert!(blocks.iter().all(|block| block.parent().is_some()));
    blocks.iter().try_for_each(|block| through_region(&on_device, block))
}

for_each_type! {
    fn buffers_have_pixels_without_gaps(on_device, image_type) {
        let queue = &on_device.queue;
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let all = places(image.shape());
        enqueue_copy(queue, &image, &vec![words([9; 4]); all.len()], ..)?;
        let source = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &all)?;
        enqueue_copy(queue, &image, &source, ..)?;
        assert_eq!(seen(&on_device, &image)?, all);

        // One pixel less along each axis, from the second pixel of the buffer on.
        let [origin, region] = all_but_the_first(image.shape());
        let part = places_from(image.shape(), origin);
        let target = Buffer::from_slice(
            &on_device.context,
            MemFlags::READ_WRITE,
            &vec![words([9; 4]); all.len()],
        )?;
        let args = ImageBufferRegion::new(region).origin(origin);
        if part.len() < all.len() {
            enqueue_copy(queue, &target, &image, args.offset(16))?;
            let found = target.to_vec::<[u32; 4]>(queue)?;
            assert_eq!(found[0], words([9; 4]));
            assert_eq!(found[1..=part.len()], part);
            assert!(found[part.len() + 1..].iter().all(|pixel| *pixel == words([9; 4])));
        }
        let colors: Vec<[u32; 4]> =
            (0..pixel_count(&image) as u32).map(|i| words([20 + i % 40; 4])).collect();
        let colored = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &colors)?;
        enqueue_copy(queue, &image, &colored, args.offset(16))?;
        assert_eq!(seen(&on_device, &image)?, changed_from(image.shape(), origin, &colors[1..]));
        Ok(())
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn pixels_are_copied_between_types(
    on_device: OnDevice,
    #[values(
        ImageType::Image1dArray,
        ImageType::Image2d,
        ImageType::Image2dArray,
        ImageType::Image3d
    )]
    from_type: ImageType,
    #[values(
        ImageType::Image1dArray,
        ImageType::Image2d,
        ImageType::Image2dArray,
        ImageType::Image3d
    )]
    to_type: ImageType,
) -> Result<()> {
    let from = image_of(&on_device, from_type, MemFlags::READ_ONLY)?;
    let to = image_of(&on_device, to_type, MemFlags::READ_ONLY)?;
    enqueue_copy(&on_device.queue, &from, &places(from.shape()), ..)?;
    enqueue_copy(&on_device.queue, &to, &vec![words([9; 4]); positions(to.shape()).len()], ..)?;
    let part = ImageCopy::new([2, 2]).src_origin([1, 1]).dst_origin([0, 1]);
    enqueue_copy(&on_device.queue, &to, &from, part)?;
    let moved = |[x, y, z]: [usize; 3]| match (x, y, z) {
        (0..2, 1..3, 0) => place(x + 1, y, 0),
        _ => words([9; 4]),
    };
    let expected: Vec<_> = positions(to.shape()).into_iter().map(moved).collect();
    assert_eq!(seen(&on_device, &to)?, expected);
    Ok(())
}

for_each_type! {
    fn pixels_are_copied_between_images(on_device, image_type) {
        let queue = &on_device.queue;
        let from = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let to = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let all = places(from.shape());
        enqueue_copy(queue, &from, &all, ..)?;
        enqueue_copy(queue, &to, &vec![words([9; 4]); all.len()], ..)?;
        enqueue_copy(queue, &to, &from, ..)?;
        assert_eq!(seen(&on_device, &to)?, all);

        let [second, region] = all_but_the_first(from.shape());
        enqueue_copy(queue, &to, &vec![words([9; 4]); all.len()], ..)?;
        enqueue_copy(queue, &to, &from, ImageCopy::new(region).src_origin(second))?;
        let moved = |[x, y, z]: [usize; 3]| {
            let is_within = x < region[0] && y < region[1] && z < region[2];
            let [dx, dy, dz] = second;
            if is_within { place(x + dx, y + dy, z + dz) } else { words([9; 4]) }
        };
        let expected: Vec<_> = positions(from.shape()).into_iter().map(moved).collect();
        assert_eq!(seen(&on_device, &to)?, expected);
        assert_eq!(seen(&on_device, &from)?, all, "the source stays as it is");
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn pixels_are_copied_between_images_of_different_types(on_device: OnDevice) -> Result<()> {
    let solid = image_of(&on_device, ImageType::Image3d, MemFlags::READ_ONLY)?;
    let plane = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    let layers = image_of(&on_device, ImageType::Image2dArray, MemFlags::READ_WRITE)?;
    let all = places(&[7, 5, 3]);
    enqueue_copy(&on_device.queue, &solid, &all, ..)?;
    enqueue_copy(&on_device.queue, &plane, &solid, ImageCopy::new([7, 5]).src_origin([0, 0, 1]))?;
    assert_eq!(seen(&on_device, &plane)?, all[35..70]);
    enqueue_copy(&on_device.queue, &layers, &[words([9; 4]); 105], ..)?;
    enqueue_copy(&on_device.queue, &layers, &plane, ImageCopy::new([7, 5]).dst_origin([0, 0, 2]))?;
    let found = seen(&on_device, &layers)?;
    assert_eq!(found[..70], [words([9; 4]); 70]);
    assert_eq!(found[70..], all[35..70]);
    Ok(())
}

/// Pixels between a 1D image array and a 2D image go by way of temporary buffers, which have at most 64 MiB.
#[clmatrix_harness::test(requires(images))]
fn temporary_buffers_do_not_pile_up(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let layers = Image::builder(context, RGBA_U32).shape([512, 256]).array().build()?;
    let image = Image::builder(context, RGBA_U32).shape([512, 256]).build()?;
    enqueue_fill(queue, &layers, [7_u32; 4], ..)?;
    let gate = gate(context);
    enqueue_barrier(queue.after(&gate))?;
    let copy = |_| enqueue_copy(queue, &image, &layers, ..);
    // Each has 2 MiB.
    (0..32).try_for_each(|number| copy(number).map(drop))?;
    meanwhile(&gate, open, || copy(32))?.wait()?;
    assert!(image.to_vec::<[u32; 4]>(queue)?.iter().all(|pixel| *pixel == [7; 4]));
    Ok(())
}

for_each_type! {
    fn the_first_layer_is_copied_to_the_last(on_device, image_type) {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        let mut all = places(image.shape());
        enqueue_copy(&on_device.queue, &image, &all, ..)?;
        let (mut layer, mut origin, last) = ([1; 3], [0; 3], image.shape().len() - 1);
        layer[..=last].copy_from_slice(image.shape());
        origin[last] = std::mem::replace(&mut layer[last], 1) - 1;
        enqueue_copy(&on_device.queue, &image, &image, ImageCopy::new(layer).dst_origin(origin))?;
        let pixels = all.len() / (origin[last] + 1);
        all.copy_within(..pixels, pixels * origin[last]);
        assert_eq!(seen(&on_device, &image)?, all);
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn pixels_are_copied_within_one_image(on_device: OnDevice) -> Result<()> {
    let image = letters(&on_device)?;
    let columns = ImageCopy::new([2, 3]).dst_origin([2]);
    enqueue_copy(&on_device.queue, &image, &image, columns)?;
    assert_eq!(text(&on_device, &image)?, "ababefefijij");
    // Side by side, also where the rows are in each other's way.
    enqueue_copy(&on_device.queue, &image, &image, ImageCopy::new([1, 2]).dst_origin([1, 1]))?;
    assert_eq!(text(&on_device, &image)?, "abab".to_owned() + "eaef" + "ieij");
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_host_reads_what_a_kernel_wrote(on_device: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::WRITE_ONLY, RGBA_U32, [7, 5])?;
    write_places(&on_device, &image)?;
    let mut row = [[0_u32; 4]; 7];
    enqueue_copy(&on_device.queue, &mut row, &image, ImageRegion::new([7]).origin([0, 3]))?;
    assert_eq!(row[..], places(&[7, 5])[21..28]);
    Ok(())
}
