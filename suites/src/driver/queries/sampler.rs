//! Queries of samplers (5.7.2).

use super::*;

const MODE: u32 = CL_SAMPLER_ADDRESSING_MODE;
const FILTER: u32 = CL_SAMPLER_FILTER_MODE;
const COORDS: u32 = CL_SAMPLER_NORMALIZED_COORDS;

/// Checks a sampler with normalized coordinates (0 or 1), an addressing mode and a filter. It is made with a list of
/// properties, which is null where it is empty, or with the older function.
fn check(bench: &Bench, settings: [u32; 3], list: Option<&[u64]>) {
    let [normalized, mode, filter] = settings;
    let (context, given) = (bench.context, list.unwrap_or_default());
    let (function, sampler) = match list {
        None => ("clCreateSampler", bench.sampler(normalized == 1, mode, filter)),
        // SAFETY: the context is valid; the list, if any, ends with 0.
        Some(list) => ("clCreateSamplerWithProperties", unsafe {
            created!(Sampler clCreateSamplerWithProperties(context, pointer(list)))
        }),
    };
    let name = format!("a sampler of {function} with {settings:x?}, list {given:x?}");
    answers!(bench.asked(Subject::Sampler(sampler.raw()), name);
        is CL_SAMPLER_NORMALIZED_COORDS normalized, is CL_SAMPLER_ADDRESSING_MODE mode,
        is CL_SAMPLER_FILTER_MODE filter, pointer CL_SAMPLER_CONTEXT context,
        [3, 0] list CL_SAMPLER_PROPERTIES given);
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_sampler_has_its_settings(bench: Bench, #[values(false, true)] is_of_list: bool) {
    if is_of_list && !bench.is(2, 0) {
        skip!("the version lacks lists of properties");
    }
    for mode in CL_ADDRESS_NONE..=CL_ADDRESS_MIRRORED_REPEAT {
        // An image repeats in normalized coordinates alone.
        for normalized in u32::from(mode >= CL_ADDRESS_REPEAT)..=1 {
            for filter in [CL_FILTER_NEAREST, CL_FILTER_LINEAR] {
                // The order is not that of the constants.
                let list = [FILTER, filter, COORDS, normalized, MODE, mode, 0].map(u64::from);
                check(&bench, [normalized, mode, filter], is_of_list.then_some(&list));
            }
        }
    }
}

#[rstest]
#[case::empty(&[0])]
#[case::null(&[])]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_without_properties_has_the_defaults(bench: Bench, #[case] list: &[u64]) {
    check(&bench, [1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST], Some(list));
}
