//! Queries of memory objects and samplers (5.3.7, 5.4.2, 5.5.5, 5.7.2).

use super::prelude::*;

/// A query that no object has.
pub const UNKNOWN: Named<u32> = Named { name: "query 0x1234", value: 0x1234 };

/// Checks the code of a query.
#[track_caller]
pub fn check_query(subject: Subject, query: Named<u32>, named: cl_int) {
    let code = subject.bytes(query.value).err().unwrap_or(CL_SUCCESS);
    assert_code((subject.names()[0], code), query.name, &[named]);
}

#[clmatrix_harness::test]
fn an_unknown_query_of_a_buffer_is_refused(bench: Bench) {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    check_query(Subject::Memory(buffer.raw()), UNKNOWN, CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_unknown_query_of_an_image_is_refused(bench: Bench) {
    let image = bench.new_image(CL_MEM_READ_WRITE);
    check_query(Subject::Image(image.raw()), UNKNOWN, CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_unknown_query_of_a_sampler_is_refused(bench: Bench) {
    let sampler = bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
    check_query(Subject::Sampler(sampler.raw()), UNKNOWN, CL_INVALID_VALUE);
}

#[clmatrix_harness::test(requires(images))]
fn an_image_query_of_a_buffer_is_refused(bench: Bench) {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    check_query(Subject::Image(buffer.raw()), named!(CL_IMAGE_WIDTH), CL_INVALID_MEM_OBJECT);
}

#[clmatrix_harness::test(requires(pipes))]
fn a_pipe_query_of_a_buffer_is_refused(bench: Bench) {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    check_query(Subject::Pipe(buffer.raw()), named!(CL_PIPE_PACKET_SIZE), CL_INVALID_MEM_OBJECT);
}
