//! Many commands at once, and the same call several times.

use clmatrix::cl3::device::CL_DEVICE_TYPE;
use clmatrix::cl3::event::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS};
use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_FALSE, cl_int};

use crate::driver::api::enqueued;
use crate::driver::memory::commands::set_argument;
use crate::driver::memory::model::{check, touch};
use crate::driver::memory::target::{PLAIN, Target};
use crate::driver::prelude::*;

/// Kernels that add a number to a counter, and one to bytes.
const SOURCE: &str = "
    kernel void add(global uint *counter, uint n) { counter[0] += n; }
    kernel void next(global uchar *bytes, uint at) { bytes[at + get_global_id(0)] += 1; }";

static ONE: usize = 1;

/// How many commands are in flight: a simulator, which says that it is a device of every type, gets fewer.
fn in_flight(bench: &Bench, most: usize) -> usize {
    const ALL_TYPES: u64 = 0xf;
    let types: u64 = Subject::Device(bench.device).value(named!(CL_DEVICE_TYPE));
    if types & ALL_TYPES == ALL_TYPES { most / 10 } else { most }
}

/// Enqueues kernels with so many work groups of one work item: a driver compiles a kernel for each size of groups.
fn launch(queue: *mut c_void, kernel: *mut c_void, count: usize, event: *mut *mut c_void) {
    let (one, none, list, count) = (&raw const ONE, ptr::null(), ptr::null(), &raw const count);
    // SAFETY: the kernel has its arguments.
    unsafe { ok!(clEnqueueNDRangeKernel(queue, kernel, 1, none, count, one, 0, list, event)) };
}

/// Enqueues a command that keeps an in-order queue waiting until the gate opens.
fn close(bench: &Bench) -> Gate {
    let gate = Gate::closed(bench.context);
    let event = gate.raw();
    // SAFETY: queue and event are valid.
    unsafe { ok!(clEnqueueMarkerWithWaitList(bench.queue, 1, &raw const event, ptr::null_mut())) };
    gate
}

#[rstest]
#[clmatrix_harness::test]
fn launches_in_flight_run_once_each(bench: Bench) {
    let (findings, count) = (Findings::default(), in_flight(&bench, 5000) as u32);
    let (kernel, counter) =
        (bench.new_kernel(&bench.build(SOURCE, ""), "add"), bench.buffer_of(&[0_u32]));
    set_argument(kernel.raw(), 0, &counter.raw());
    let gate = close(&bench);
    let events: Vec<Object> = (0..count)
        .map(|n| {
            set_argument(kernel.raw(), 1, &n);
            let mut event = ptr::null_mut();
            launch(bench.queue, kernel.raw(), 1, &raw mut event);
            // SAFETY: the call has created the reference.
            unsafe { Object::new(Class::Event, event) }
        })
        .collect();
    let raw: Vec<_> = events.iter().map(Object::raw).collect();
    gate.open();
    // SAFETY: the events are valid.
    unsafe { ok!(clWaitForEvents(count, raw.as_ptr())) };
    let status = named!(CL_EVENT_COMMAND_EXECUTION_STATUS);
    let is_late = |event| Subject::Event(event).value::<cl_int>(status) != CL_COMPLETE;
    let late = raw.into_iter().filter(|event| is_late(*event)).count();
    let (call, rule) =
        (format_args!("clWaitForEvents({count} events of kernels)"), "all are CL_COMPLETE (5.11)");
    findings.check(late == 0, call, rule, format_args!("{late} are not"));
    let (sum, found) = ((0..count).sum::<u32>(), bench.contents_of::<u32>(counter.raw(), 1)[0]);
    let call = format_args!("{count} times clEnqueueNDRangeKernel, which add 0, 1, 2, ...");
    let rule =
        format_args!("each one runs once with its argument, and the sum is {sum} (5.9.2, 5.10)");
    findings.check(found == sum, call, rule, found);
}

#[rstest]
#[clmatrix_harness::test]
fn transfers_in_flight_move_their_own_bytes(bench: Bench) {
    let (findings, count, queue) = (Findings::default(), in_flight(&bench, 1000), bench.queue);
    let from: Vec<u32> = (0..count as u32).map(|n| n.wrapping_mul(0x0101_0203) + 1).collect();
    let mut to = vec![0_u32; count];
    let buffer = bench.buffer_of(&to);
    let (b, gate) = (buffer.raw(), close(&bench));
    for (n, word) in from.iter().enumerate() {
        let from = ptr::from_ref(word).cast_mut().cast();
        // SAFETY: the buffer has the word; the test keeps both arrays until the queue has finished.
        unsafe { enqueued!(clEnqueueWriteBuffer(queue, b, CL_FALSE, 4 * n, 4, from)) };
    }
    for (n, word) in to.iter_mut().enumerate().rev() {
        let to = ptr::from_mut(word).cast();
        // SAFETY: as above.
        unsafe { enqueued!(clEnqueueReadBuffer(queue, b, CL_FALSE, 4 * n, 4, to)) };
    }
    gate.open();
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(queue)) };
    if let Some(n) = to.iter().zip(&from).position(|(to, from)| to != from) {
        let call = format_args!("{count} writes and {count} reads of 4 bytes in flight");
        let rule = format_args!("read {n} has the bytes of write {n}, {:#x} (5.2.2)", from[n]);
        findings.add(call, rule, format_args!("{:#x}", to[n]));
    }
}

/// Adds one to bytes several times, with other bytes each time.
fn launches(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    let bench = target.bench;
    let kernel = bench.new_kernel(&bench.build(SOURCE, ""), "next");
    set_argument(kernel.raw(), 0, &target.raw());
    for (at, size) in [(0, 500), (7, 500), (0, 3), (9, 1), (0, 1777), (7, 500)] {
        model[at..at + size].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        set_argument(kernel.raw(), 1, &(at as u32));
        launch(bench.queue, kernel.raw(), size, ptr::null_mut());
    }
    Ok(())
}

/// Maps bytes several times, and inverts them.
fn maps(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    [5..705, 5..705, 5..706, 5..705].into_iter().try_for_each(|range| {
        let flags = named!(CL_MAP_READ | CL_MAP_WRITE);
        let map = target.map(flags, range.clone())?;
        touch(flags.value, map, &mut model[range])?;
        target.unmap(map)
    })
}

/// Creates the same sub-buffer several times, and fills it.
fn sub_buffers(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    let (bench, at, mut all) = (target.bench, target.bench.alignment(), vec![]);
    for byte in 1..=3_u8 {
        let sub = bench.sub_buffer(target.raw(), 0, at, 77);
        model[at..at + 76].fill(byte);
        let (queue, raw, pattern) = (bench.queue, sub.raw(), (&raw const byte).cast());
        // SAFETY: the sub-buffer has the bytes.
        unsafe { enqueued!(clEnqueueFillBuffer(queue, raw, pattern, 1, 0, 76)) };
        all.push(sub);
    }
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(bench.queue)) };
    // They are released in reverse: a driver crashes otherwise.
    while all.pop().is_some() {}
    Ok(())
}

#[rstest]
#[case::launches("clEnqueueNDRangeKernel with other arguments", launches)]
#[case::maps("clEnqueueMapBuffer", maps)]
#[case::sub_buffers("clCreateSubBuffer and clEnqueueFillBuffer", sub_buffers)]
#[clmatrix_harness::test]
fn a_call_works_several_times(
    bench: Bench,
    #[case] call: &str,
    #[case] steps: fn(&Target<'_>, &mut [u8]) -> Result<(), String>,
) {
    let (findings, target) = (Findings::default(), Target::whole(&bench, PLAIN, 2048));
    if let Err(answer) = check([&target], |[model]| steps(&target, model)) {
        let rule = "each call does the same as the first one (5.2, 5.9.2)";
        findings.add(format_args!("{call}, several times on one buffer"), rule, answer);
    }
}
