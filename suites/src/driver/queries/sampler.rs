//! Queries of samplers (5.7.2).

use super::*;

const MODE: u32 = CL_SAMPLER_ADDRESSING_MODE;
const FILTER: u32 = CL_SAMPLER_FILTER_MODE;
const COORDS: u32 = CL_SAMPLER_NORMALIZED_COORDS;

/// Checks a sampler with normalized coordinates (0 or 1), an addressing mode and a filter. It is made with a list of
/// properties, which is null where it is empty, or with the older function.
fn check(bench: &Bench, settings: [u32; 3], list: Option<&[u64]>) {
    let sampler = match list {
        None => bench.sampler(settings[0] == 1, settings[1], settings[2]),
        Some(list) => {
            let given = if list.is_empty() { ptr::null() } else { list.as_ptr() };
            // SAFETY: the context is valid; the list, if any, ends with 0.
            unsafe { created!(Sampler clCreateSamplerWithProperties(bench.context, given)) }
        }
    };
    let function = list.map_or("clCreateSampler", |_| "clCreateSamplerWithProperties");
    let list = list.unwrap_or_default();
    let name = format!("a sampler of {function} with {settings:x?}, list {list:x?}");
    let asked = Asked::new(Subject::Sampler(sampler.raw()), name);
    answers!(asked; is CL_SAMPLER_NORMALIZED_COORDS settings[0],
        is CL_SAMPLER_ADDRESSING_MODE settings[1], is CL_SAMPLER_FILTER_MODE settings[2],
        pointer CL_SAMPLER_CONTEXT bench.context);
    if bench.is(3, 0) {
        asked.list(named!(CL_SAMPLER_PROPERTIES), list);
    }
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
