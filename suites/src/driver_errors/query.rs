//! Queries of devices, memory objects and samplers (4.2, 5.3.7, 5.4.2, 5.5.5, 5.7.2).

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

#[clmatrix_harness::test]
fn a_type_that_no_device_has_is_not_found(bench: Bench) {
    let (platform, mut devices, mut count) = (bench.platform(), [NULL; 256], 0);
    let list = devices.as_mut_ptr();
    // SAFETY: the platform is valid, and the list has as many places.
    unsafe { ok!(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 256, list, &raw mut count)) };
    let type_of =
        |device: &cl_device_id| Subject::Device(*device).value::<u64>(named!(CL_DEVICE_TYPE));
    let all = devices[..count as usize].iter().map(type_of).fold(0, |all, one| all | one);
    let types = named![CL_DEVICE_TYPE_CPU; CL_DEVICE_TYPE_GPU; CL_DEVICE_TYPE_ACCELERATOR];
    for Named { name, value } in types.into_iter().filter(|one| all & one.value == 0) {
        // SAFETY: as above.
        let code =
            unsafe { cl!(clGetDeviceIDs(platform, value, 0, ptr::null_mut(), &raw mut count)) };
        let case = format_args!("{name}, which no device has");
        assert_code(("clGetDeviceIDs", code), case, &[CL_DEVICE_NOT_FOUND]);
    }
}
