//! Queries of memory objects and samplers (5.3.7, 5.4.2, 5.5.5, 5.7.2).

use clmatrix::Result;
use clmatrix::cl3::error_codes::{CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_SUCCESS};
use clmatrix::cl3::memory::{
    CL_IMAGE_WIDTH, CL_PIPE_PACKET_SIZE, get_image_data, get_mem_object_data, get_pipe_data,
};
use clmatrix::cl3::sampler::get_sampler_data;
use clmatrix::cl3::types::cl_int;
use clmatrix::memory::{AddressingMode, FilterMode, Sampler};

use super::images::Images;
use super::objects::Objects;
use super::{Answer, assert_code};

const UNKNOWN: u32 = 0x1234;

fn code(answer: Answer<Vec<u8>>) -> cl_int {
    answer.err().unwrap_or(CL_SUCCESS)
}

#[clmatrix_harness::test]
fn an_unknown_query_of_a_buffer_is_refused(objects: Objects) {
    assert_code(code(get_mem_object_data(objects.buffer(), UNKNOWN)), CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_unknown_query_of_an_image_is_refused(images: Images) {
    assert_code(code(get_image_data(images.image(), UNKNOWN)), CL_INVALID_VALUE);
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
    let found = get_image_data(objects.buffer(), CL_IMAGE_WIDTH);
    assert_code(code(found), CL_INVALID_MEM_OBJECT);
}

#[clmatrix_harness::test(requires(pipes))]
fn a_pipe_query_of_a_buffer_is_refused(objects: Objects) {
    let found = get_pipe_data(objects.buffer(), CL_PIPE_PACKET_SIZE);
    assert_code(code(found), CL_INVALID_MEM_OBJECT);
}
