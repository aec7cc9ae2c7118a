//! Queries of memory objects and samplers (5.3.7, 5.4.2, 5.5.5, 5.7.2).

use clmatrix::memory::{AddressingMode, FilterMode, Sampler};

use super::prelude::*;

const UNKNOWN: u32 = 0x1234;

#[clmatrix_harness::test]
fn an_unknown_query_of_a_buffer_is_refused(objects: Objects) {
    let answer = get_mem_object_data(objects.buffer.as_raw(), UNKNOWN);
    assert_code(code(answer), CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_unknown_query_of_an_image_is_refused(images: Images) {
    assert_code(code(get_image_data(images.image.as_raw(), UNKNOWN)), CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_unknown_query_of_a_sampler_is_refused(objects: Objects) -> Result<()> {
    let context = &objects.on_device.context;
    let sampler = Sampler::new(context, false, AddressingMode::Clamp, FilterMode::Nearest)?;
    assert_code(code(get_sampler_data(sampler.as_raw(), UNKNOWN)), CL_INVALID_VALUE);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_query_of_a_buffer_is_refused(objects: Objects) {
    let answer = get_image_data(objects.buffer.as_raw(), CL_IMAGE_WIDTH);
    assert_code(code(answer), CL_INVALID_MEM_OBJECT);
}

#[clmatrix_harness::test(requires(pipes))]
fn a_pipe_query_of_a_buffer_is_refused(objects: Objects) {
    let answer = get_pipe_data(objects.buffer.as_raw(), CL_PIPE_PACKET_SIZE);
    assert_code(code(answer), CL_INVALID_MEM_OBJECT);
}
