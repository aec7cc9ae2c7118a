//! Commands on images: reads, writes, copies, fills and maps (5.3.3 to 5.3.6).

use super::image::new_image;
use super::map::check_second_map;
use super::prelude::*;

/// A buffer in place of an image.
fn buffer(bench: &Bench) -> cl_mem {
    bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, SIZE))
}

/// An array of 2D images.
fn array(bench: &Bench) -> cl_mem {
    new_image(bench, CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_UNSIGNED_INT8)
}

/// A 3D image.
fn volume(bench: &Bench) -> cl_mem {
    new_image(bench, CL_MEM_OBJECT_IMAGE3D, CL_UNSIGNED_INT8)
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn transfer_checks_its_arguments(bench, c: Arguments of ReadImage or WriteImage by direction);
    valid() => CL_SUCCESS;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    no_layers(c.region = Some([8, 4, 0])) => CL_INVALID_VALUE;
    null_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_host_memory(c.memory[1] = NULL) => CL_INVALID_VALUE;
    slice_pitch_of_a_2d_image(c.pitches[1][1] = 4 * 8 * 4) => CL_INVALID_VALUE;
    null_image(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
}

#[rstest]
#[clmatrix_harness::test(requires(images), own_worker)]
fn transfer_refuses_a_buffer(
    bench: Bench,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) {
    let kind = Kind::ReadImage.or(Kind::WriteImage, direction);
    check(&bench, kind, "a buffer", |c| c.memory[0] = buffer(&bench), CL_INVALID_MEM_OBJECT);
}

// With cl_khr_mipmap_image, the third number of an origin in a 2D image is a mip level.
cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn transfer_refuses_ranges_outside(bench, c: Arguments of ReadImage or WriteImage by direction)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origins[0] = Some([9, 1, 0]));
    past_the_last_row(c.origins[0] = Some([1, 5, 0]));
    an_origin_outside(c.origins[0] = Some([17, 1, 0]));
    a_layer_of_a_2d_image(c.origins[0] = Some([1, 1, 1]));
    layers_of_a_2d_image(c.region = Some([8, 4, 2]));
    past_the_last_layer_of_an_array(
        c.memory[0] = array(bench);
        c.origins[0] = Some([1, 1, 3]);
    );
    past_the_last_layer_of_a_volume(
        c.memory[0] = volume(bench);
        c.origins[0] = Some([1, 1, 3]);
    );
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn copy_checks_its_arguments(bench, c: Arguments of CopyImage);
    valid() => CL_SUCCESS;
    valid_within_one_image(c.within_one_to([8, 4, 0])) => CL_SUCCESS;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    null_source_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_target_origin(c.origins[1] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    another_format(c.memory[1] = new_image(bench, CL_MEM_OBJECT_IMAGE2D, CL_SIGNED_INT8))
        => CL_IMAGE_FORMAT_MISMATCH;
    onto_itself(c.within_one_to([0, 0, 0])) => CL_MEM_COPY_OVERLAP;
    overlap_of_columns(c.within_one_to([7, 0, 0])) => CL_MEM_COPY_OVERLAP;
    overlap_of_rows(c.within_one_to([0, 3, 0])) => CL_MEM_COPY_OVERLAP;
    null_source(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    null_target(c.memory[1] = NULL) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn copy_refuses_a_buffer(bench, c: Arguments of CopyImage) => [CL_INVALID_MEM_OBJECT];
    as_source(c.memory[0] = buffer(bench));
    as_target(c.memory[1] = buffer(bench));
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn copy_refuses_ranges_outside(bench, c: Arguments of CopyImage)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    a_source_past_the_end(c.origins[0] = Some([9, 0, 0]));
    a_target_past_the_end(c.origins[1] = Some([1, 5, 0]));
    a_layer_of_a_2d_source(c.origins[0] = Some([0, 0, 1]));
    a_layer_of_a_2d_target(c.origins[1] = Some([1, 1, 1]));
    layers_of_2d_images(c.region = Some([8, 4, 2]));
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn buffer_copy_checks_its_arguments(
        bench, c: Arguments of ImageToBuffer or BufferToImage by direction
    );
    valid() => CL_SUCCESS;
    valid_up_to_the_end(c.offsets[1] = SIZE - 4 * 8 * 4) => CL_SUCCESS;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    null_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_image(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    null_buffer(c.memory[1] = NULL) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn buffer_copy_refuses_the_other_kind(
        bench, c: Arguments of ImageToBuffer or BufferToImage by direction
    ) => [CL_INVALID_MEM_OBJECT];
    a_buffer_as_image(c.memory[0] = buffer(bench));
    an_image_as_buffer(c.memory[1] = new_image(bench, CL_MEM_OBJECT_IMAGE2D, CL_UNSIGNED_INT8));
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn buffer_copy_refuses_ranges_outside(
        bench, c: Arguments of ImageToBuffer or BufferToImage by direction
    ) => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_the_buffer(c.offsets[1] = SIZE - 4 * 8 * 4 + 4);
    behind_the_end_of_the_buffer(c.offsets[1] = SIZE + 4);
    past_the_end_of_a_row(c.origins[0] = Some([9, 1, 0]));
    past_the_last_row(c.origins[0] = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origins[0] = Some([1, 1, 1]));
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn fill_checks_its_arguments(bench, c: Arguments of FillImage);
    valid() => CL_SUCCESS;
    null_colour(c.colour = None) => CL_INVALID_VALUE;
    no_columns(c.region = Some([0, 4, 1])) => CL_INVALID_VALUE;
    null_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_image(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn fill_refuses_a_buffer(bench: Bench) {
    let change = |c: &mut Arguments| c.memory[0] = buffer(&bench);
    check(&bench, Kind::FillImage, "a buffer", change, CL_INVALID_MEM_OBJECT);
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn fill_refuses_ranges_outside(bench, c: Arguments of FillImage)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origins[0] = Some([9, 1, 0]));
    past_the_last_row(c.origins[0] = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origins[0] = Some([1, 1, 1]));
    layers_of_a_2d_image(c.region = Some([8, 4, 2]));
    past_the_last_layer_of_an_array(
        c.memory[0] = array(bench);
        c.origins[0] = Some([1, 1, 3]);
    );
}

cases! {
    #[clmatrix_harness::test(requires(images))]
    fn map_checks_its_arguments(bench, c: Arguments of MapImage);
    valid() => CL_SUCCESS;
    valid_without_a_slice_pitch(c.mapped_pitches[1] = None) => CL_SUCCESS;
    no_rows(c.region = Some([8, 0, 1])) => CL_INVALID_VALUE;
    null_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_row_pitch(c.mapped_pitches[0] = None) => CL_INVALID_VALUE;
    null_slice_pitch_of_an_array(c.memory[0] = array(bench); c.mapped_pitches[1] = None)
        => CL_INVALID_VALUE;
    null_slice_pitch_of_a_volume(c.memory[0] = volume(bench); c.mapped_pitches[1] = None)
        => CL_INVALID_VALUE;
    an_unknown_flag(c.flags |= 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
    null_image(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn map_refuses_a_buffer(bench: Bench) {
    let change = |c: &mut Arguments| c.memory[0] = buffer(&bench);
    check(&bench, Kind::MapImage, "a buffer", change, CL_INVALID_MEM_OBJECT);
}

cases! {
    #[clmatrix_harness::test(requires(images), own_worker)]
    fn map_refuses_ranges_outside(bench, c: Arguments of MapImage)
        => [CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL];
    past_the_end_of_a_row(c.origins[0] = Some([9, 1, 0]));
    past_the_last_row(c.origins[0] = Some([1, 5, 0]));
    a_layer_of_a_2d_image(c.origins[0] = Some([1, 1, 1]));
}

#[rstest]
#[case::valid_beside_the_map([1, 5, 0], CL_SUCCESS)]
#[case::the_same_pixels([1, 1, 0], CL_INVALID_OPERATION)]
#[case::a_pixel_of_it([8, 3, 0], CL_INVALID_OPERATION)]
#[clmatrix_harness::test(requires(images))]
fn a_map_for_writing_refuses_mapped_pixels(
    bench: Bench,
    #[case] origin: [usize; 3],
    #[case] named: cl_int,
) {
    let mut first = Arguments::valid(&bench, Kind::MapImage);
    first.region = Some([8, 3, 1]);
    check_second_map(first, |c| c.origins[0] = Some(origin), named);
}
