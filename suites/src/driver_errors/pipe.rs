//! Pipes: creation (5.4.1).

use crate::support::unanswered;
use clmatrix::cl3::error_codes::{
    CL_INVALID_OPERATION, CL_INVALID_PIPE_SIZE, CL_INVALID_VALUE, CL_SUCCESS,
};
use clmatrix::cl3::memory::{
    CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE,
    CL_MEM_WRITE_ONLY, create_pipe,
};
use clmatrix::cl3::types::{cl_context, cl_int, cl_mem_flags, cl_uint};
use clmatrix::{Device, Result};
use clmatrix_harness::skip;
use rstest::rstest;

use super::objects::{Objects, objects};
use super::{assert_code, creation_code};

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
        // SAFETY: the call takes numbers only.
        creation_code(unsafe {
            create_pipe(self.context, self.flags, self.packet_size, self.max_packets)
        })
    }
}

#[rstest]
#[case::valid(|_: &mut Create| (), CL_SUCCESS)]
#[case::packets_of_no_bytes(|c: &mut Create| c.packet_size = 0, CL_INVALID_PIPE_SIZE)]
#[case::no_packets(|c: &mut Create| c.max_packets = 0, CL_INVALID_PIPE_SIZE)]
#[case::read_only(|c: &mut Create| c.flags = CL_MEM_READ_ONLY, CL_INVALID_VALUE)]
#[case::write_only(|c: &mut Create| c.flags = CL_MEM_WRITE_ONLY, CL_INVALID_VALUE)]
#[case::host_read_only(|c: &mut Create| c.flags = CL_MEM_HOST_READ_ONLY, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(pipes))]
fn create_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Create),
    #[case] expected: cl_int,
) {
    let mut call = Create::valid(&objects);
    change(&mut call);
    assert_code(call.code(), expected);
}

#[clmatrix_harness::test(requires(pipes))]
fn create_refuses_packets_over_the_maximum(objects: Objects, device: Device) -> Result<()> {
    let mut call = Create::valid(&objects);
    call.packet_size = device.opencl3().pipe_max_packet_size().map_err(unanswered)? + 1;
    assert_code(call.code(), CL_INVALID_PIPE_SIZE);
    Ok(())
}

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn create_is_refused_on_a_device_without_pipes(objects: Objects, device: Device) -> Result<()> {
    if device.opencl3().pipe_support().map_err(unanswered)? {
        skip!("the device has pipes");
    }
    assert_code(Create::valid(&objects).code(), CL_INVALID_OPERATION);
    Ok(())
}
