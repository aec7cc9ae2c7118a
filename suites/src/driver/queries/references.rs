//! Reference counts of objects of all kinds.

use std::thread;
use std::time::Duration;

use clmatrix::Partition;

use super::*;
use crate::support::on_device::{OnDevice, on_device};
use crate::support::parts::parts;

/// Checks that the count soon is this one.
fn becomes(subject: Subject, query: Query, wanted: u32, when: &str) {
    let now = || subject.value::<u32>(query);
    let holds = soon(|| Ok(now() == wanted)).unwrap_or_default();
    Asked::new(subject, when).expect(holds, query, wanted, now());
}

/// The count, when a thread of the driver no longer changes it.
fn stable(subject: Subject, query: Query) -> u32 {
    let mut last: u32 = subject.value(query);
    _ = soon(|| {
        thread::sleep(Duration::from_millis(1));
        let now = subject.value(query);
        Ok(std::mem::replace(&mut last, now) == now)
    });
    last
}

/// Checks the count of each object while the program has another reference, and afterwards. Returns the objects.
macro_rules! counted {
    ($($class:ident $raw:expr, $query:ident, $retain:ident);+) => {[$({
        let (subject, query) = (Subject::$class($raw), named!($query));
        let before = stable(subject, query);
        // SAFETY: the object is valid; the call creates a reference.
        let other = unsafe {
            ok!($retain($raw));
            Object::new(Class::$class, $raw)
        };
        let when = concat!("an object after ", stringify!($retain));
        becomes(subject, query, before.max(1) + 1, when);
        other.release();
        becomes(subject, query, before, "an object after the other reference is released");
        (subject, query, before)
    }),+]};
}

#[rstest]
#[clmatrix_harness::test]
fn references_to_a_part_of_a_device_are_counted(on_device: OnDevice) {
    let parts = parts(on_device.context.default_device(), Partition::Equally(1));
    let parts = parts.expect("parts of one compute unit");
    let part = parts[0].as_raw();
    let (subject, query) = (Subject::Device(part), named!(CL_DEVICE_REFERENCE_COUNT));
    let before = stable(subject, query);
    Asked::new(subject, "a part of a device").expect(before > 0, query, "at least 1", before);
    // SAFETY: the part is valid; the call creates a reference.
    unsafe { ok!(clRetainDevice(part)) };
    becomes(subject, query, before + 1, "a part of a device after clRetainDevice");
    // SAFETY: the reference is that of the call above.
    unsafe { ok!(clReleaseDevice(part)) };
    becomes(subject, query, before, "a part of a device after clReleaseDevice");
}

#[rstest]
#[clmatrix_harness::test]
fn references_are_counted(bench: Bench) {
    let program = bench.build("kernel void k(global int *to) { to[0] = 1; }", "");
    let (whole, mut operands) = (bench.new_buffer(CL_MEM_READ_WRITE, 64), bench.operands(&[]));
    let (context, parent) = (bench.context, bench.new_queue(0));
    let of_first = counted![Context context, CL_CONTEXT_REFERENCE_COUNT, clRetainContext;
        Queue parent, CL_QUEUE_REFERENCE_COUNT, clRetainCommandQueue;
        Memory whole.raw(), CL_MEM_REFERENCE_COUNT, clRetainMemObject;
        Program program.raw(), CL_PROGRAM_REFERENCE_COUNT, clRetainProgram];
    let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, 0, 32);
    let kernel = bench.new_kernel(&program, "k");
    let event = Kind::Marker.enqueue(&mut operands, Call::on(parent));
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(parent)) };
    counted![Memory part.raw(), CL_MEM_REFERENCE_COUNT, clRetainMemObject;
        Event event.raw(), CL_EVENT_REFERENCE_COUNT, clRetainEvent;
        Kernel kernel.raw(), CL_KERNEL_REFERENCE_COUNT, clRetainKernel];
    if bench.has_images {
        let sampler = bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
        counted![Sampler sampler.raw(), CL_SAMPLER_REFERENCE_COUNT, clRetainSampler];
    }
    drop((part, kernel, event));
    for (subject, query, before) in of_first {
        becomes(subject, query, before, "an object after those made of it are released");
    }
}
