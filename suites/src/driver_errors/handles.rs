//! Null where a handle is expected. A loader may answer itself: it finds the driver by the first
//! handle of a call.

use super::prelude::*;

/// A function that takes a handle of any kind.
type OfHandle = unsafe fn(*mut c_void) -> Answer<()>;

#[rstest]
#[case::retain_mem_object(retain_mem_object, CL_INVALID_MEM_OBJECT)]
#[case::release_mem_object(release_mem_object, CL_INVALID_MEM_OBJECT)]
#[case::retain_sampler(retain_sampler, CL_INVALID_SAMPLER)]
#[case::release_sampler(release_sampler, CL_INVALID_SAMPLER)]
#[case::retain_event(retain_event, CL_INVALID_EVENT)]
#[case::release_event(release_event, CL_INVALID_EVENT)]
#[case::retain_command_queue(retain_command_queue, CL_INVALID_COMMAND_QUEUE)]
#[case::release_command_queue(release_command_queue, CL_INVALID_COMMAND_QUEUE)]
#[clmatrix_harness::test]
fn null_handles_are_refused(
    #[from(on_device)] _on_device: OnDevice,
    #[case] call: OfHandle,
    #[case] expected: cl_int,
) {
    // SAFETY: null is no object.
    let answer = unsafe { call(ptr::null_mut()) };
    assert_code(code(answer), expected);
}
