//! Samplers: creation (5.7.1).

use clmatrix::cl3::error_codes::{CL_INVALID_VALUE, CL_SUCCESS};
use clmatrix::cl3::memory::{CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
use clmatrix::cl3::sampler::{
    CL_SAMPLER_ADDRESSING_MODE, CL_SAMPLER_FILTER_MODE, CL_SAMPLER_NORMALIZED_COORDS,
    create_sampler, create_sampler_with_properties, release_sampler,
};
use clmatrix::cl3::types::{CL_FALSE, CL_TRUE, cl_int, cl_sampler};
use rstest::rstest;

use super::{Answer, assert_code};
use crate::support::on_device::{OnDevice, on_device};

/// The code of a call that creates a sampler, which is released.
fn code(created: Answer<cl_sampler>) -> cl_int {
    match created {
        Ok(sampler) => {
            // SAFETY: nothing else has the sampler.
            unsafe { release_sampler(sampler) }.expect("the driver releases what it created");
            CL_SUCCESS
        }
        Err(code) => code,
    }
}

#[rstest]
#[case::valid(CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, CL_SUCCESS)]
#[case::addressing_mode_0(CL_FALSE, 0, CL_FILTER_NEAREST, CL_INVALID_VALUE)]
#[case::filter_mode_0(CL_FALSE, CL_ADDRESS_CLAMP, 0, CL_INVALID_VALUE)]
#[case::a_filter_for_an_addressing_mode(
    CL_FALSE,
    CL_FILTER_NEAREST,
    CL_FILTER_NEAREST,
    CL_INVALID_VALUE
)]
#[case::an_addressing_mode_for_a_filter(
    CL_FALSE,
    CL_ADDRESS_CLAMP,
    CL_ADDRESS_CLAMP,
    CL_INVALID_VALUE
)]
#[clmatrix_harness::test(requires(images))]
fn create_checks_its_arguments(
    on_device: OnDevice,
    #[case] normalized: u32,
    #[case] addressing: u32,
    #[case] filter: u32,
    #[case] expected: cl_int,
) {
    let context = on_device.context.as_raw();
    assert_code(code(create_sampler(context, normalized, addressing, filter)), expected);
}

#[rstest]
#[case::valid(&[(CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE)], CL_SUCCESS)]
#[case::an_unknown_name(&[(0x1234, 1)], CL_INVALID_VALUE)]
#[case::addressing_mode_0(&[(CL_SAMPLER_ADDRESSING_MODE, 0)], CL_INVALID_VALUE)]
#[case::filter_mode_0(&[(CL_SAMPLER_FILTER_MODE, 0)], CL_INVALID_VALUE)]
#[case::a_name_twice(
    &[(CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST), (CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST)],
    CL_INVALID_VALUE
)]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn create_with_properties_checks_its_arguments(
    on_device: OnDevice,
    #[case] properties: &[(u32, u32)],
    #[case] expected: cl_int,
) {
    let pairs = properties.iter().flat_map(|(name, value)| [*name, *value]);
    let list: Vec<_> = pairs.chain([0]).map(u64::from).collect();
    let context = on_device.context.as_raw();
    assert_code(code(create_sampler_with_properties(context, list.as_ptr())), expected);
}
