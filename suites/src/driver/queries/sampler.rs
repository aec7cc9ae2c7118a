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

/// Checks a sampler of this list of properties; without one, of the old function, or of a null list.
fn check(bench: &Bench, settings: [u32; 3], list: Option<&[u64]>, is_old: bool) {
    let findings = Findings::default();
    let [is_normalized, mode, filter] = settings;
    let (context, given) = (bench.context, list.map_or(ptr::null(), <[u64]>::as_ptr));
    // SAFETY: the context is valid; the list, if any, ends with 0.
    let sampler = unsafe {
        if is_old {
            object!(Sampler clCreateSampler(context, is_normalized, mode, filter))
        } else {
            object!(Sampler clCreateSamplerWithProperties(context, given))
        }
    };
    let name = format!("a sampler (old function: {is_old}) with {settings:x?}, list {list:x?}");
    let asked = Asked::new(&findings, Subject::Sampler(sampler.raw()), name);
    answers!(asked; is CL_SAMPLER_NORMALIZED_COORDS is_normalized,
        is CL_SAMPLER_ADDRESSING_MODE mode, is CL_SAMPLER_FILTER_MODE filter,
        pointer CL_SAMPLER_CONTEXT context);
    if bench.is(3, 0) {
        asked.list(named!(CL_SAMPLER_PROPERTIES), list.unwrap_or_default());
    }
}

const DEFAULTS: [u32; 3] = [1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST];

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_sampler_has_its_settings(bench: Bench) {
    settings().for_each(|settings| check(&bench, settings, None, true));
}

#[rstest]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_has_its_properties(bench: Bench) {
    for settings @ [is_normalized, mode, filter] in settings() {
        // The order is not that of the constants.
        let list = [
            [CL_SAMPLER_FILTER_MODE, filter],
            [CL_SAMPLER_NORMALIZED_COORDS, is_normalized],
            [CL_SAMPLER_ADDRESSING_MODE, mode],
        ];
        let list: Vec<u64> = list.concat().into_iter().chain([0]).map(u64::from).collect();
        check(&bench, settings, Some(&list), false);
    }
    check(&bench, DEFAULTS, Some(&[0]), false);
}

#[rstest]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_without_a_list_has_the_defaults(bench: Bench) {
    check(&bench, DEFAULTS, None, false);
}
