//! Samplers: creation (5.7.1).

use super::prelude::*;

#[rstest]
#[case::valid(CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, CL_SUCCESS)]
#[case::addressing_mode_0(0, CL_FILTER_NEAREST, CL_INVALID_VALUE)]
#[case::filter_mode_0(CL_ADDRESS_CLAMP, 0, CL_INVALID_VALUE)]
#[case::a_filter_for_an_addressing_mode(CL_FILTER_NEAREST, CL_FILTER_NEAREST, CL_INVALID_VALUE)]
#[case::an_addressing_mode_for_a_filter(CL_ADDRESS_CLAMP, CL_ADDRESS_CLAMP, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(images))]
fn create_checks_its_arguments(
    bench: Bench,
    #[case] mode: u32,
    #[case] filter: u32,
    #[case] named: cl_int,
) {
    let answer = answer!(Sampler clCreateSampler(bench.context, 0, mode, filter));
    assert_code(answer, format_args!("addressing mode {mode:#x}, filter {filter:#x}"), &[named]);
}

#[rstest]
#[case::valid(&[(CL_SAMPLER_NORMALIZED_COORDS, CL_TRUE)], CL_SUCCESS)]
#[case::an_unknown_name(&[(0x1234, 1)], CL_INVALID_VALUE)]
#[case::addressing_mode_0(&[(CL_SAMPLER_ADDRESSING_MODE, 0)], CL_INVALID_VALUE)]
#[case::filter_mode_0(&[(CL_SAMPLER_FILTER_MODE, 0)], CL_INVALID_VALUE)]
#[case::a_name_twice(&[(CL_SAMPLER_FILTER_MODE, CL_FILTER_NEAREST); 2], CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn create_with_properties_checks_its_arguments(
    bench: Bench,
    #[case] properties: &[(u32, u32)],
    #[case] named: cl_int,
) {
    let pairs = properties.iter().flat_map(|(name, value)| [*name, *value]);
    let list: Vec<_> = pairs.chain([0]).map(u64::from).collect();
    let answer = answer!(Sampler clCreateSamplerWithProperties(bench.context, list.as_ptr()));
    assert_code(answer, format_args!("the properties {list:x?}"), &[named]);
}
