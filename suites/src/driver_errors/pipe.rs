//! Pipes: creation (5.4.1).

use super::prelude::*;

/// The arguments of clCreatePipe.
struct Create {
    context: cl_context,
    flags: cl_mem_flags,
    packet_size: cl_uint,
    max_packets: cl_uint,
}

impl Create {
    fn valid(objects: &Objects) -> Self {
        let flags = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;
        Self { context: objects.context(), flags, packet_size: 4, max_packets: 16 }
    }

    fn code(&self) -> cl_int {
        let Self { context, flags, packet_size, max_packets } = *self;
        // SAFETY: the call takes numbers only.
        let created = unsafe { create_pipe(context, flags, packet_size, max_packets) };
        creation_code(created, release_mem_object)
    }
}

cases! {
    #[clmatrix_harness::test(requires(pipes))]
    fn create_checks_its_arguments(objects: Objects, c: Create);
    valid() => CL_SUCCESS;
    packets_of_no_bytes(c.packet_size = 0) => CL_INVALID_PIPE_SIZE;
    no_packets(c.max_packets = 0) => CL_INVALID_PIPE_SIZE;
    read_only(c.flags = CL_MEM_READ_ONLY) => CL_INVALID_VALUE;
    write_only(c.flags = CL_MEM_WRITE_ONLY) => CL_INVALID_VALUE;
    host_read_only(c.flags = CL_MEM_HOST_READ_ONLY) => CL_INVALID_VALUE;
}

#[clmatrix_harness::test(requires(pipes))]
fn create_refuses_packets_over_the_maximum(objects: Objects) -> Result<()> {
    let mut call = Create::valid(&objects);
    call.packet_size = objects.device().pipe_max_packet_size().map_err(unanswered)? + 1;
    assert_code(call.code(), CL_INVALID_PIPE_SIZE);
    Ok(())
}

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn create_is_refused_on_a_device_without_pipes(objects: Objects) -> Result<()> {
    if objects.device().pipe_support().map_err(unanswered)? {
        skip!("the device has pipes");
    }
    assert_code(Create::valid(&objects).code(), CL_INVALID_OPERATION);
    Ok(())
}
