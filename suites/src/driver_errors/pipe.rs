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
    fn valid(bench: &Bench) -> Self {
        let flags = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;
        Self { context: bench.context, flags, packet_size: 4, max_packets: 16 }
    }

    fn answer(&self) -> Answer {
        let Self { context, flags, packet_size, max_packets } = *self;
        answer!(Memory clCreatePipe(context, flags, packet_size, max_packets, ptr::null()))
    }
}

cases! {
    #[clmatrix_harness::test(requires(pipes))]
    fn create_checks_its_arguments(bench, c: Create);
    valid() => CL_SUCCESS;
    packets_of_no_bytes(c.packet_size = 0) => CL_INVALID_PIPE_SIZE;
    no_packets(c.max_packets = 0) => CL_INVALID_PIPE_SIZE;
    read_only(c.flags = CL_MEM_READ_ONLY) => CL_INVALID_VALUE;
    write_only(c.flags = CL_MEM_WRITE_ONLY) => CL_INVALID_VALUE;
    host_read_only(c.flags = CL_MEM_HOST_READ_ONLY) => CL_INVALID_VALUE;
}

#[clmatrix_harness::test(requires(pipes))]
fn create_refuses_packets_over_the_maximum(bench: Bench) {
    let mut call = Create::valid(&bench);
    call.packet_size = bench.value::<u32>(named!(CL_DEVICE_PIPE_MAX_PACKET_SIZE)) + 1;
    assert_code(call.answer(), "CL_DEVICE_PIPE_MAX_PACKET_SIZE + 1", &[CL_INVALID_PIPE_SIZE]);
}

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn create_is_refused_on_a_device_without_pipes(bench: Bench) {
    if bench.value::<u32>(named!(CL_DEVICE_PIPE_SUPPORT)) != 0 {
        skip!("the device has pipes");
    }
    assert_code(Create::valid(&bench).answer(), "a device without pipes", &[CL_INVALID_OPERATION]);
}
