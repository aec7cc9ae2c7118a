//! Many commands at once, and many objects.

use std::ffi::c_void;
use std::{ptr, thread};

use clmatrix::cl3::device::{CL_DEVICE_MEM_BASE_ADDR_ALIGN, CL_DEVICE_TYPE};
use clmatrix::cl3::event::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS};
use clmatrix::cl3::memory::{CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_READ_WRITE};
use clmatrix::cl3::types::{CL_FALSE, CL_TRUE, cl_buffer_region, cl_int};
use rstest::rstest;

use crate::driver::api::{created, enqueued, named, ok};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::kernels::set_argument;
use crate::driver::object::{Class, Gate, Object};
use crate::driver::query::Subject;

/// Kernels that add a number to a counter, and that write numbers to words of their own.
const ADD: &str = "kernel void add(global uint *counter, uint n) { counter[0] += n; }";
const SET: &str = "kernel void set(global uint *words, uint n) { words[n] = 3 * n + 1; }";
const CONSTANT: &str = "kernel void set(global uint *words) { words[N] = 3 * N + 1; }";

/// How many commands are in flight: a simulator, which says that it is a device of every type, gets fewer.
fn in_flight(bench: &Bench, most: usize) -> usize {
    let all_types = 0xf;
    let types: u64 = Subject::Device(bench.device).value(named!(CL_DEVICE_TYPE));
    if types & all_types == all_types { most / 10 } else { most }
}

/// Reads words of a buffer.
fn words(bench: &Bench, buffer: *mut c_void, count: usize) -> Vec<u32> {
    let mut words = vec![0_u32; count];
    let (queue, to) = (bench.queue, words.as_mut_ptr().cast());
    // SAFETY: buffer and memory have the words; the call blocks.
    unsafe { enqueued!(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4 * count, to)) };
    words
}

/// Fills all words of a buffer.
fn fill(queue: *mut c_void, buffer: *mut c_void, word: u32, at: usize, count: usize) {
    let pattern = ptr::from_ref(&word).cast();
    // SAFETY: the buffer has the words.
    unsafe { enqueued!(clEnqueueFillBuffer(queue, buffer, pattern, 4, 4 * at, 4 * count)) };
}

fn finish(queue: *mut c_void) {
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(queue)) };
}

/// Enqueues a kernel with one work item.
fn launch(queue: *mut c_void, kernel: &Object) -> Object {
    let (kernel, one, mut event) = (kernel.raw(), 1, ptr::null_mut());
    let (one, none, event_space) = (&raw const one, ptr::null(), &raw mut event);
    // SAFETY: the kernel has its arguments.
    unsafe {
        let list = ptr::null();
        ok!(clEnqueueNDRangeKernel(queue, kernel, 1, none, one, one, 0, list, event_space));
        Object::new(Class::Event, event)
    }
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
    let findings = Findings::default();
    let (count, counter) = (in_flight(&bench, 5000), bench.new_buffer(CL_MEM_READ_WRITE, 4));
    let kernel = bench.new_kernel(&bench.build(ADD, ""), "add");
    fill(bench.queue, counter.raw(), 0, 0, 1);
    set_argument(&kernel, 0, &counter.raw());
    let gate = close(&bench);
    let events: Vec<Object> = (0..count as u32)
        .map(|n| {
            set_argument(&kernel, 1, &n);
            launch(bench.queue, &kernel)
        })
        .collect();
    let raw: Vec<_> = events.iter().map(Object::raw).collect();
    gate.open();
    // SAFETY: the events are valid.
    unsafe { ok!(clWaitForEvents(count as u32, raw.as_ptr())) };
    let status = named!(CL_EVENT_COMMAND_EXECUTION_STATUS);
    let late =
        raw.iter().filter(|event| Subject::Event(**event).value::<cl_int>(status) != CL_COMPLETE);
    let late = late.count();
    let call = format_args!("clWaitForEvents({count} events of kernels)");
    findings.check(
        late == 0,
        call,
        "all of them are CL_COMPLETE (5.11)",
        format_args!("{late} are not"),
    );
    let (sum, found) = ((0..count as u32).sum::<u32>(), words(&bench, counter.raw(), 1)[0]);
    let call =
        format_args!("{count} times clEnqueueNDRangeKernel in flight, which add 0, 1, 2, ...");
    let rule =
        format_args!("each one runs once with its argument, and the sum is {sum} (5.9.2, 5.10)");
    findings.check(found == sum, call, rule, found);
}

#[rstest]
#[clmatrix_harness::test]
fn transfers_in_flight_move_their_own_bytes(bench: Bench) {
    let findings = Findings::default();
    let (count, queue) = (in_flight(&bench, 1000), bench.queue);
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, 4 * count);
    fill(queue, buffer.raw(), 0, 0, count);
    let from: Vec<u32> = (0..count as u32).map(|n| n.wrapping_mul(0x0101_0203) + 1).collect();
    let mut to = vec![0_u32; count];
    let gate = close(&bench);
    for (n, word) in from.iter().enumerate() {
        let (buffer, word) = (buffer.raw(), ptr::from_ref(word).cast_mut().cast());
        // SAFETY: the buffer has the word; the test keeps both arrays until the queue has finished.
        unsafe { enqueued!(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 4 * n, 4, word)) };
    }
    let target = to.as_mut_ptr();
    for n in (0..count).rev() {
        let (buffer, word) = (buffer.raw(), target.wrapping_add(n).cast());
        // SAFETY: as above.
        unsafe { enqueued!(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 4 * n, 4, word)) };
    }
    gate.open();
    finish(queue);
    let wrong = to.iter().zip(&from).position(|(to, from)| to != from);
    let call = format_args!("{count} writes and {count} reads of 4 bytes in flight");
    if let Some(n) = wrong {
        let rule = format_args!("read {n} has the bytes of write {n}, {:#x} (5.2.2)", from[n]);
        findings.add(call, rule, format_args!("{:#x}", to[n]));
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_wait_list_may_be_long(bench: Bench) {
    let findings = Findings::default();
    let (count, gate) = (in_flight(&bench, 1000), Gate::closed(bench.context));
    let (queue, event, buffer) =
        (bench.queue, gate.raw(), bench.new_buffer(CL_MEM_READ_WRITE, 4 * count));
    let pattern = ptr::from_ref(&7_u32).cast();
    let events: Vec<Object> = (0..count)
        .map(|n| {
            let (mut filled, buffer) = (ptr::null_mut(), buffer.raw());
            // SAFETY: the buffer has the word, and the event is valid.
            unsafe {
                ok!(clEnqueueFillBuffer(
                    queue,
                    buffer,
                    pattern,
                    4,
                    4 * n,
                    4,
                    1,
                    &raw const event,
                    &raw mut filled
                ));
                Object::new(Class::Event, filled)
            }
        })
        .collect();
    let raw: Vec<_> = events.iter().map(Object::raw).collect();
    let (other, mut found) = (bench.new_queue(0), vec![0_u32; count]);
    thread::scope(|scope| {
        scope.spawn(move || gate.open());
        let to = found.as_mut_ptr().cast();
        let (raw, buffer, none) = (raw.as_ptr(), buffer.raw(), ptr::null_mut());
        // SAFETY: the queue of the events is flushed; buffer and memory have the words.
        unsafe {
            ok!(clFlush(queue));
            ok!(clEnqueueReadBuffer(
                other,
                buffer,
                CL_TRUE,
                0,
                4 * count,
                to,
                count as u32,
                raw,
                none
            ));
        }
    });
    let early = found.iter().filter(|word| **word != 7).count();
    let call =
        format_args!("clEnqueueReadBuffer on another queue, with {count} events in its wait list");
    let rule = "the command runs after the commands of all events (5.11)";
    findings.check(early == 0, call, rule, format_args!("{early} words are older"));
}

/// Creates many objects first, uses each of them to write a number, and returns what they have written.
type Many = fn(&Bench, u32) -> Vec<u32>;

fn buffers(bench: &Bench, count: u32) -> Vec<u32> {
    let all: Vec<_> = (0..count).map(|_| bench.new_buffer(CL_MEM_READ_WRITE, 4)).collect();
    (0..).zip(&all).for_each(|(n, buffer)| fill(bench.queue, buffer.raw(), 3 * n + 1, 0, 1));
    all.iter().map(|buffer| words(bench, buffer.raw(), 1)[0]).collect()
}

fn sub_buffers(bench: &Bench, count: u32) -> Vec<u32> {
    let bits: u32 = Subject::Device(bench.device).value(named!(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
    let size = (bits as usize / 8).max(4);
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, size * count as usize);
    let regions = (0..count as usize).map(|n| cl_buffer_region { origin: n * size, size });
    let all: Vec<_> = regions
        .map(|region| {
            let (kind, region) = (CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast());
            // SAFETY: the region lies in the buffer.
            let raw = unsafe { created!(clCreateSubBuffer(buffer.raw(), 0, kind, region)) };
            // SAFETY: the call has created the reference.
            unsafe { Object::new(Class::Memory, raw) }
        })
        .collect();
    (0..).zip(&all).for_each(|(n, sub)| fill(bench.queue, sub.raw(), 3 * n + 1, 0, size / 4));
    words(bench, buffer.raw(), size * count as usize / 4)
        .chunks(size / 4)
        .map(|sub| sub[0])
        .collect()
}

fn queues(bench: &Bench, count: u32) -> Vec<u32> {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, 4 * count as usize);
    let all: Vec<_> = (0..count).map(|_| bench.new_queue(0)).collect();
    (0..).zip(&all).for_each(|(n, queue)| fill(*queue, buffer.raw(), 3 * n + 1, n as usize, 1));
    all.iter().for_each(|queue| finish(*queue));
    words(bench, buffer.raw(), count as usize)
}

fn kernels(bench: &Bench, count: u32) -> Vec<u32> {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, 4 * count as usize);
    let program = bench.build(SET, "");
    let all: Vec<_> = (0..count).map(|_| bench.new_kernel(&program, "set")).collect();
    for (n, kernel) in (0..count).zip(&all) {
        set_argument(kernel, 0, &buffer.raw());
        set_argument(kernel, 1, &n);
    }
    all.iter().for_each(|kernel| drop(launch(bench.queue, kernel)));
    words(bench, buffer.raw(), count as usize)
}

fn programs(bench: &Bench, count: u32) -> Vec<u32> {
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, 4 * count as usize);
    let all: Vec<_> = (0..count).map(|n| bench.build(CONSTANT, &format!("-D N={n}"))).collect();
    for program in &all {
        let kernel = bench.new_kernel(program, "set");
        set_argument(&kernel, 0, &buffer.raw());
        launch(bench.queue, &kernel);
        finish(bench.queue);
    }
    words(bench, buffer.raw(), count as usize)
}

#[rstest]
#[case::buffers(buffers, 500)]
#[case::sub_buffers(sub_buffers, 100)]
#[case::queues(queues, 50)]
#[case::kernels(kernels, 200)]
#[case::programs(programs, 3)]
#[clmatrix_harness::test]
fn many_objects_are_used_at_once(bench: Bench, #[case] many: Many, #[case] count: u32) {
    let findings = Findings::default();
    let found = many(&bench, count);
    let wrong = (0..count).zip(&found).find(|(n, word)| 3 * n + 1 != **word);
    if let Some((n, word)) = wrong {
        let call = format_args!("{count} objects, each of which writes a number of its own");
        let rule = format_args!("object {n} writes {} (5.1, 5.2.1, 5.8, 5.9)", 3 * n + 1);
        findings.add(call, rule, word);
    }
}
