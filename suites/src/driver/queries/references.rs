//! Reference counts of objects of all kinds.

use super::*;

/// Checks that the count soon is this one.
fn becomes(bench: &Bench, subject: Subject, query: Query, wanted: u32, when: &str) {
    let now = || subject.value::<u32>(query);
    let holds = soon(|| Ok(now() == wanted)).unwrap_or_default();
    bench.asked(subject, when).expect(holds, query, wanted, now());
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
    ($bench:expr; $($class:ident $raw:expr, $query:ident);+) => {[$({
        let (subject, query) = (Subject::$class($raw), named!($query));
        let before = stable(subject, query);
        let other = Object::retained(Class::$class, $raw);
        becomes(&$bench, subject, query, before.max(1) + 1, "an object with another reference");
        other.release();
        let when = "an object after the other reference is released";
        becomes(&$bench, subject, query, before, when);
        (subject, query, before)
    }),+]};
}

#[clmatrix_harness::test]
fn references_to_a_part_of_a_device_are_counted(bench: Bench) {
    let parts = parts(bench.on_device.context.default_device(), Partition::Equally(1));
    let part = parts.expect("parts of one compute unit").swap_remove(0);
    let [(subject, query, n)] = counted![bench; Device part.as_raw(), CL_DEVICE_REFERENCE_COUNT];
    bench.asked(subject, "a part of a device").expect(n > 0, query, "at least 1", n);
}

#[clmatrix_harness::test]
fn references_are_counted(bench: Bench) {
    let program = bench.build("kernel void k(global int *to) { to[0] = 1; }", "");
    let (whole, mut operands) = (bench.new_buffer(CL_MEM_READ_WRITE, 64), bench.operands(&[]));
    let (context, parent) = (bench.context, bench.new_queue(0));
    let of_first = counted![bench; Context context, CL_CONTEXT_REFERENCE_COUNT;
        Queue parent, CL_QUEUE_REFERENCE_COUNT;
        Memory whole.raw(), CL_MEM_REFERENCE_COUNT;
        Program program.raw(), CL_PROGRAM_REFERENCE_COUNT];
    let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, [0, 32]);
    let kernel = bench.new_kernel(&program, "k");
    let event = Kind::Marker.enqueue(&mut operands, Call::on(parent));
    finish(parent);
    counted![bench; Memory part.raw(), CL_MEM_REFERENCE_COUNT;
        Event event.raw(), CL_EVENT_REFERENCE_COUNT;
        Kernel kernel.raw(), CL_KERNEL_REFERENCE_COUNT];
    if bench.has_images {
        let sampler = bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
        counted![bench; Sampler sampler.raw(), CL_SAMPLER_REFERENCE_COUNT];
    }
    drop((part, kernel, event));
    for (subject, query, before) in of_first {
        becomes(&bench, subject, query, before, "an object after those made of it are released");
    }
}
