//! Queries of samplers (5.7.2).

use super::*;

/// All settings: normalized coordinates, addressing mode and filter. An image repeats in normalized coordinates
/// alone.
fn settings() -> impl Iterator<Item = [u32; 3]> {
    let modes = CL_ADDRESS_NONE..=CL_ADDRESS_MIRRORED_REPEAT;
    let filters = [CL_FILTER_NEAREST, CL_FILTER_LINEAR];
    let of_mode = move |mode| filters.map(|filter| [[0, mode, filter], [1, mode, filter]]);
    let is_valid =
        |[is_normalized, mode, _]: &[u32; 3]| *is_normalized == 1 || *mode < CL_ADDRESS_REPEAT;
    modes.flat_map(of_mode).flatten().filter(is_valid)
}

/// Checks a sampler, and its list of properties.
fn check(bench: &Bench, sampler: &Object, settings: [u32; 3], list: &[u64], function: &str) {
    let findings = Findings::default();
    let name = format!("a sampler of {function} with {settings:x?}, list {list:x?}");
    let asked = Asked::new(&findings, Subject::Sampler(sampler.raw()), name);
    answers!(asked; is CL_SAMPLER_NORMALIZED_COORDS settings[0], is CL_SAMPLER_ADDRESSING_MODE settings[1],
        is CL_SAMPLER_FILTER_MODE settings[2], pointer CL_SAMPLER_CONTEXT bench.context);
    if bench.is(3, 0) {
        asked.list(named!(CL_SAMPLER_PROPERTIES), list);
    }
}

/// Checks a sampler of a list, which is null where it is empty.
fn check_list(bench: &Bench, settings: [u32; 3], list: &[u64]) {
    let given = if list.is_empty() { ptr::null() } else { list.as_ptr() };
    // SAFETY: the context is valid; the list, if any, ends with 0.
    let sampler = unsafe { object!(Sampler clCreateSamplerWithProperties(bench.context, given)) };
    check(bench, &sampler, settings, list, "clCreateSamplerWithProperties");
}

const DEFAULTS: [u32; 3] = [1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST];

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_sampler_has_its_settings(bench: Bench) {
    for settings @ [is_normalized, mode, filter] in settings() {
        let sampler = bench.sampler(is_normalized == 1, mode, filter);
        check(&bench, &sampler, settings, &[], "clCreateSampler");
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_has_its_properties(bench: Bench) {
    for settings @ [is_normalized, mode, filter] in settings() {
        // The order is not that of the constants.
        let list = [CL_SAMPLER_FILTER_MODE, filter, CL_SAMPLER_NORMALIZED_COORDS, is_normalized];
        let list = [&list[..], &[CL_SAMPLER_ADDRESSING_MODE, mode, 0]].concat();
        check_list(&bench, settings, &list.into_iter().map(u64::from).collect::<Vec<_>>());
    }
    check_list(&bench, DEFAULTS, &[0]);
}

#[rstest]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_without_a_list_has_the_defaults(bench: Bench) {
    check_list(&bench, DEFAULTS, &[]);
}
