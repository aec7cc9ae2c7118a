//! Commands on images: reads, writes, copies, fills and maps (5.3.3 to 5.3.6).

use super::map::unmap;
use super::prelude::*;

/// The first pixel of a command, and the pixels in each dimension.
const ORIGIN: Option<[usize; 3]> = Some([1, 1, 0]);
const REGION: Option<[usize; 3]> = Some([8, 4, 1]);

command! {
    /// The arguments of clEnqueueReadImage or clEnqueueWriteImage, which block.
    Transfer(images: &Images, direction) {
        image: cl_mem = images.image.as_raw(),
        origin: Option<[usize; 3]> = ORIGIN,
        region: Option<[usize; 3]> = REGION,
        slice_pitch: usize = 0,
        host: *mut c_void = images.host(),
    }
    // SAFETY: the host memory, if any, has room for all pixels of an image.
    unsafe |c| match c.direction {
        Direction::Read => call!(c, enqueue_read_image(
            c.image, CL_TRUE, pointer(&c.origin), pointer(&c.region), 0, c.slice_pitch, c.host
        )),
        Direction::Write => call!(c, enqueue_write_image(
            c.image, CL_TRUE, pointer(&c.origin), pointer(&c.region), 0, c.slice_pitch, c.host
        )),
    }
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn transfer_checks_its_arguments(images: Images, c: Transfer, direction);
    valid() => CL_SUCCESS;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    no_layers(c.region = Some([8, 4, 0])) => CL_INVALID_VALUE;
    null_origin(c.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_host_memory(c.host = ptr::null_mut()) => CL_INVALID_VALUE;
    slice_pitch_of_a_2d_image(c.slice_pitch = 4 * 8 * 4) => CL_INVALID_VALUE;
    null_image(c.image = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

#[rstest]
#[clmatrix_harness::test(requires(images), own_worker)]
fn transfer_refuses_a_buffer(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) {
    let call = Transfer::valid(&images, direction);
    check(call, |c| c.image = images.buffer.as_raw(), CL_INVALID_MEM_OBJECT);
}

// With cl_khr_mipmap_image, the third number of an origin in a 2D image is a mip level.
cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn transfer_refuses_ranges_outside(images: Images, c: Transfer, direction)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origin = Some([9, 1, 0]));
    past_the_last_row(c.origin = Some([1, 5, 0]));
    an_origin_outside(c.origin = Some([17, 1, 0]));
    a_layer_of_a_2d_image(c.origin = Some([1, 1, 1]));
    layers_of_a_2d_image(c.region = Some([8, 4, 2]));
    past_the_last_layer_of_an_array(
        c.image = images.array.as_raw();
        c.origin = Some([1, 1, 3]);
    );
    past_the_last_layer_of_a_volume(
        c.image = images.volume.as_raw();
        c.origin = Some([1, 1, 3]);
    );
}

command! {
    /// The arguments of clEnqueueCopyImage.
    Copy(images: &Images) {
        source: cl_mem = images.image.as_raw(),
        target: cl_mem = images.other.as_raw(),
        from: Option<[usize; 3]> = Some([0; 3]),
        to: Option<[usize; 3]> = ORIGIN,
        region: Option<[usize; 3]> = REGION,
    }
    // SAFETY: origins and region are null or three numbers each.
    unsafe |c| call!(c, enqueue_copy_image(
        c.source, c.target, pointer(&c.from), pointer(&c.to), pointer(&c.region)
    ))
}

impl Copy {
    fn within_one(&mut self, to: [usize; 3]) {
        (self.target, self.to) = (self.source, Some(to));
    }
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn copy_checks_its_arguments(images: Images, c: Copy);
    valid() => CL_SUCCESS;
    valid_within_one_image(c.within_one([8, 4, 0])) => CL_SUCCESS;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    null_source_origin(c.from = None) => CL_INVALID_VALUE;
    null_target_origin(c.to = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    another_format(c.target = images.of_another_format.as_raw()) => CL_IMAGE_FORMAT_MISMATCH;
    onto_itself(c.within_one([0, 0, 0])) => CL_MEM_COPY_OVERLAP;
    overlap_of_columns(c.within_one([7, 0, 0])) => CL_MEM_COPY_OVERLAP;
    overlap_of_rows(c.within_one([0, 3, 0])) => CL_MEM_COPY_OVERLAP;
    null_source(c.source = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    null_target(c.target = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn copy_refuses_a_buffer(images: Images, c: Copy) => [CL_INVALID_MEM_OBJECT];
    as_source(c.source = images.buffer.as_raw());
    as_target(c.target = images.buffer.as_raw());
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn copy_refuses_ranges_outside(images: Images, c: Copy)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    a_source_past_the_end(c.from = Some([9, 0, 0]));
    a_target_past_the_end(c.to = Some([1, 5, 0]));
    a_layer_of_a_2d_source(c.from = Some([0, 0, 1]));
    a_layer_of_a_2d_target(c.to = Some([1, 1, 1]));
    layers_of_2d_images(c.region = Some([8, 4, 2]));
}

command! {
    /// The arguments of clEnqueueCopyImageToBuffer, and of clEnqueueCopyBufferToImage with `Write`.
    BufferCopy(images: &Images, direction) {
        image: cl_mem = images.image.as_raw(),
        buffer: cl_mem = images.buffer.as_raw(),
        origin: Option<[usize; 3]> = ORIGIN,
        region: Option<[usize; 3]> = REGION,
        offset: usize = 64,
    }
    // SAFETY: origin and region are null or three numbers each.
    unsafe |c| match c.direction {
        Direction::Read => call!(c, enqueue_copy_image_to_buffer(
            c.image, c.buffer, pointer(&c.origin), pointer(&c.region), c.offset
        )),
        Direction::Write => call!(c, enqueue_copy_buffer_to_image(
            c.buffer, c.image, c.offset, pointer(&c.origin), pointer(&c.region)
        )),
    }
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn buffer_copy_checks_its_arguments(images: Images, c: BufferCopy, direction);
    valid() => CL_SUCCESS;
    valid_up_to_the_end(c.offset = SIZE - 4 * 8 * 4) => CL_SUCCESS;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    null_origin(c.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_image(c.image = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    null_buffer(c.buffer = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn buffer_copy_refuses_the_other_kind(images: Images, c: BufferCopy, direction)
        => [CL_INVALID_MEM_OBJECT];
    a_buffer_as_image(c.image = images.buffer.as_raw());
    an_image_as_buffer(c.buffer = images.other.as_raw());
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn buffer_copy_refuses_ranges_outside(images: Images, c: BufferCopy, direction)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_the_buffer(c.offset = SIZE - 4 * 8 * 4 + 4);
    behind_the_end_of_the_buffer(c.offset = SIZE + 4);
    past_the_end_of_a_row(c.origin = Some([9, 1, 0]));
    past_the_last_row(c.origin = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origin = Some([1, 1, 1]));
}

command! {
    /// The arguments of clEnqueueFillImage.
    Fill(images: &Images) {
        image: cl_mem = images.image.as_raw(),
        colour: Option<[u32; 4]> = Some([1, 2, 3, 4]),
        origin: Option<[usize; 3]> = ORIGIN,
        region: Option<[usize; 3]> = REGION,
    }
    // SAFETY: the colour is null or four integers, and the image has integers.
    unsafe |c| call!(c, enqueue_fill_image(
        c.image, pointer(&c.colour), pointer(&c.origin), pointer(&c.region)
    ))
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn fill_checks_its_arguments(images: Images, c: Fill);
    valid() => CL_SUCCESS;
    null_colour(c.colour = None) => CL_INVALID_VALUE;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    null_origin(c.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_image(c.image = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn fill_refuses_a_buffer(images: Images) {
    check(Fill::valid(&images), |c| c.image = images.buffer.as_raw(), CL_INVALID_MEM_OBJECT);
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn fill_refuses_ranges_outside(images: Images, c: Fill)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origin = Some([9, 1, 0]));
    past_the_last_row(c.origin = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origin = Some([1, 1, 1]));
    layers_of_a_2d_image(c.region = Some([8, 4, 2]));
    past_the_last_layer_of_an_array(
        c.image = images.array.as_raw();
        c.origin = Some([1, 1, 3]);
    );
}

command! {
    /// The arguments of clEnqueueMapImage, which blocks.
    Map(images: &Images) {
        image: cl_mem = images.image.as_raw(),
        flags: cl_map_flags = CL_MAP_READ | CL_MAP_WRITE,
        origin: Option<[usize; 3]> = ORIGIN,
        region: Option<[usize; 3]> = REGION,
        row_pitch: Option<usize> = Some(0),
        slice_pitch: Option<usize> = Some(0),
        mapped: *mut c_void = ptr::null_mut(),
        // Unless set, the command also unmaps the memory that the driver maps.
        stays: bool = false,
    }
    // SAFETY: origin, region and the places for pitches are null or numbers.
    unsafe |c| {
        let event = call!(c, enqueue_map_image(
            c.image, CL_TRUE, c.flags, pointer(&c.origin), pointer(&c.region),
            place(&mut c.row_pitch), place(&mut c.slice_pitch), &mut c.mapped
        ))?;
        if !c.stays {
            unmap(c.common.queue, c.image, c.mapped);
        }
        Ok(event)
    }
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn map_checks_its_arguments(images: Images, c: Map);
    valid() => CL_SUCCESS;
    valid_without_a_slice_pitch(c.slice_pitch = None) => CL_SUCCESS;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    null_origin(c.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_row_pitch(c.row_pitch = None) => CL_INVALID_VALUE;
    null_slice_pitch_of_an_array(c.image = images.array.as_raw(); c.slice_pitch = None)
        => CL_INVALID_VALUE;
    null_slice_pitch_of_a_volume(c.image = images.volume.as_raw(); c.slice_pitch = None)
        => CL_INVALID_VALUE;
    an_unknown_flag(c.flags = 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
    null_image(c.image = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn map_refuses_a_buffer(images: Images) {
    check(Map::valid(&images), |c| c.image = images.buffer.as_raw(), CL_INVALID_MEM_OBJECT);
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn map_refuses_ranges_outside(images: Images, c: Map)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origin = Some([9, 1, 0]));
    past_the_last_row(c.origin = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origin = Some([1, 1, 1]));
}

#[rstest]
#[case::valid_beside_the_map([1, 5, 0], CL_SUCCESS)]
#[case::the_same_pixels([1, 1, 0], CL_INVALID_OPERATION)]
#[case::a_pixel_of_it([8, 3, 0], CL_INVALID_OPERATION)]
#[clmatrix_harness::test(requires(images))]
fn a_map_for_writing_refuses_mapped_pixels(
    images: Images,
    #[case] origin: [usize; 3],
    #[case] expected: cl_int,
) {
    let map = || Map { region: Some([8, 3, 1]), ..Map::valid(&images) };
    let mut first = Map { stays: true, ..map() };
    first.succeed();
    check(map(), |c| c.origin = Some(origin), expected);
    assert_code(unmap(images.queue(), first.image, first.mapped), CL_SUCCESS);
}
