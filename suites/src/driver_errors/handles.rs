//! Null where a handle is expected. A loader may answer itself: it finds the driver by the first
//! handle of a call.

use super::prelude::*;

#[rstest]
#[case::retain_mem_object(|| answer!(clRetainMemObject(NULL)), CL_INVALID_MEM_OBJECT)]
#[case::release_mem_object(|| answer!(clReleaseMemObject(NULL)), CL_INVALID_MEM_OBJECT)]
#[case::retain_sampler(|| answer!(clRetainSampler(NULL)), CL_INVALID_SAMPLER)]
#[case::release_sampler(|| answer!(clReleaseSampler(NULL)), CL_INVALID_SAMPLER)]
#[case::retain_event(|| answer!(clRetainEvent(NULL)), CL_INVALID_EVENT)]
#[case::release_event(|| answer!(clReleaseEvent(NULL)), CL_INVALID_EVENT)]
#[case::retain_command_queue(|| answer!(clRetainCommandQueue(NULL)), CL_INVALID_COMMAND_QUEUE)]
#[case::release_command_queue(|| answer!(clReleaseCommandQueue(NULL)), CL_INVALID_COMMAND_QUEUE)]
#[clmatrix_harness::test]
fn null_handles_are_refused(
    #[from(on_device)] _on_device: OnDevice,
    #[case] call: fn() -> Answer,
    #[case] named: cl_int,
) {
    assert_code(call(), "null is no object", &[named]);
}
