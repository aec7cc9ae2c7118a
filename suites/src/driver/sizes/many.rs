//! Many commands at once, and the same call several times.

use super::*;

/// Adds one to bytes several times, to other bytes each time.
fn launches(target: &Target<'_>, model: &mut [u8]) -> Checked {
    add_one(target, &[(0, 500), (7, 500), (0, 3), (9, 1), (0, 1777), (7, 500)], model, false)
}

/// Does so many times, while an in-order queue waits for a gate, which opens at the end.
fn launches_in_flight(target: &Target<'_>, model: &mut [u8]) -> Checked {
    let count = if target.bench.is_simulated() { 500 } else { 5000 };
    let places: Vec<_> = (0..count).map(|n| (n % 777, 3)).collect();
    add_one(target, &places, model, true)
}

/// Creates the same sub-buffer several times, writes to each, and reads the first one.
fn sub_buffers(target: &Target<'_>, model: &mut [u8]) -> Checked {
    let (bench, at, mut all) = (target.bench, target.bench.alignment(), vec![]);
    for byte in 1..=3_u8 {
        let sub = bench.sub_buffer(target.raw(), 0, [at, 77]);
        model[at..at + 76].fill(byte);
        let from = model[at..].as_ptr().cast();
        // SAFETY: the sub-buffer and the model have the bytes, and the call blocks.
        unsafe { enqueued!(clEnqueueWriteBuffer(bench.queue, sub.raw(), 1, 0, 76, from)) };
        all.push(sub);
    }
    let first = bench.contents_of::<u8>(all[0].raw(), 76);
    // They are released in reverse: a driver crashes otherwise.
    while all.pop().is_some() {}
    same(&first, &model[at..at + 76], "the first sub-buffer")
}

/// Does the same to a target and its model.
type Steps = fn(&Target<'_>, &mut [u8]) -> Checked;

#[rstest]
#[case::launches("clEnqueueNDRangeKernel with other arguments", launches)]
#[case::launches_in_flight("clEnqueueNDRangeKernel before the first has ended", launches_in_flight)]
#[case::sub_buffers("clCreateSubBuffer and clEnqueueWriteBuffer", sub_buffers)]
#[clmatrix_harness::test(timeout = "5m")]
fn a_call_works_several_times(bench: Bench, #[case] call: &str, #[case] steps: Steps) {
    let target = Target::whole(&bench, PLAIN, bench.alignment() + 2048);
    let result = check([&target], |[model]| steps(&target, model));
    let rule = "each call is valid and does the same as the first one (5.2, 5.9.2, 5.10)";
    bench.check_result(result, format_args!("{call}, several times on one buffer"), rule);
}
