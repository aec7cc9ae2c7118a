//! Many commands at once, and the same call several times.

use super::super::events::gated;
use super::*;

/// A kernel that adds a number to a counter.
const ADD: &str = "kernel void add(global uint *counter, uint n) { counter[0] += n; }";

#[clmatrix_harness::test(timeout = "5m")]
fn launches_in_flight_run_once_each(bench: Bench) {
    let types: u64 = bench.value(named!(CL_DEVICE_TYPE));
    // A simulator, which says that it is a device of every type, gets fewer.
    let count = if types & 0xf == 0xf { 500_u32 } else { 5000 };
    let kernel = bench.new_kernel(&bench.build(ADD, ""), "add");
    let counter = bench.buffer_of(&[0_u32]);
    set(kernel.raw(), 0, counter.raw());
    // An in-order queue waits until the gate opens.
    let (_, _marker, gate) = gated(&bench, Kind::Marker, bench.queue);
    for n in 0..count {
        set(kernel.raw(), 1, n);
        let code = launch(kernel.raw(), bench.queue, [&[], &[1], &[1]], &[]);
        if code != CL_SUCCESS {
            let call = format_args!("clEnqueueNDRangeKernel, while {n} launches have not ended");
            return bench.check_code(code, CL_SUCCESS, call, "valid, however many wait (5.10)");
        }
    }
    gate.open();
    let (sum, found) = ((0..count).sum::<u32>(), bench.contents_of::<u32>(counter.raw(), 1)[0]);
    let call = format_args!("{count} times clEnqueueNDRangeKernel, which add 0, 1, 2, ...");
    let rule = format_args!("each runs once with its argument; the sum is {sum} (5.9.2, 5.10)");
    bench.check(found == sum, call, rule, found);
}

/// Adds one to bytes several times, to other bytes each time.
fn launches(target: &Target<'_>, model: &mut [u8]) -> Checked {
    add_one(target, &[(0, 500), (7, 500), (0, 3), (9, 1), (0, 1777), (7, 500)], model)
}

/// Creates the same sub-buffer several times, and fills it.
fn sub_buffers(target: &Target<'_>, model: &mut [u8]) -> Checked {
    let (bench, at, mut all) = (target.bench, target.bench.alignment(), vec![]);
    for byte in 1..=3_u8 {
        let sub = bench.sub_buffer(target.raw(), 0, [at, 77]);
        model[at..at + 76].fill(byte);
        let (queue, raw, pattern) = (bench.queue, sub.raw(), (&raw const byte).cast());
        // SAFETY: the sub-buffer has the bytes.
        unsafe { enqueued!(clEnqueueFillBuffer(queue, raw, pattern, 1, 0, 76)) };
        all.push(sub);
    }
    finish(bench.queue);
    // They are released in reverse: a driver crashes otherwise.
    while all.pop().is_some() {}
    Ok(())
}

/// Does the same to a target and its model.
type Steps = fn(&Target<'_>, &mut [u8]) -> Checked;

#[rstest]
#[case::launches("clEnqueueNDRangeKernel with other arguments", launches)]
#[case::sub_buffers("clCreateSubBuffer and clEnqueueFillBuffer", sub_buffers)]
#[clmatrix_harness::test]
fn a_call_works_several_times(bench: Bench, #[case] call: &str, #[case] steps: Steps) {
    let target = Target::whole(&bench, PLAIN, bench.alignment() + 2048);
    let result = check([&target], |[model]| steps(&target, model));
    let rule = "each call does the same as the first one (5.2, 5.9.2)";
    bench.check_result(result, format_args!("{call}, several times on one buffer"), rule);
}
