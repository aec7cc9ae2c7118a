//! Reference counts of objects of all kinds.

use super::*;

/// Checks that the count soon is this one.
fn becomes(findings: &Findings, subject: Subject, query: Named<u32>, wanted: u32, when: &str) {
    let now = || subject.value::<u32>(query);
    if !soon(|| Ok(now() == wanted)).unwrap_or_default() {
        Asked::new(findings, subject, when).add(query, wanted, now());
    }
}

/// Checks the count of an object while the program has another reference, and afterwards. Returns what tells
/// later whether the count is the same.
macro_rules! counted {
    ($findings:ident, $class:ident $raw:expr, $query:ident, $retain:ident) => {{
        let (raw, query) = ($raw, named!($query));
        let subject = Subject::$class(raw);
        let before: u32 = subject.value(query);
        // SAFETY: the object is valid; the call creates a reference.
        let other = unsafe {
            ok!($retain(raw));
            Object::new(Class::$class, raw)
        };
        let when = concat!("an object after ", stringify!($retain));
        becomes($findings, subject, query, before.max(1) + 1, when);
        other.release();
        becomes(
            $findings,
            subject,
            query,
            before,
            "an object after the other reference is released",
        );
        (subject, query, before)
    }};
}

#[rstest]
#[clmatrix_harness::test]
fn references_are_counted(bench: Bench) {
    let findings = &Findings::default();
    let program = bench.build("kernel void k(global int *to) { to[0] = 1; }", "");
    let (whole, mut operands) = (bench.new_buffer(CL_MEM_READ_WRITE, 64), bench.operands(&[]));
    let (context, device, parent) = (bench.context, bench.device, bench.new_queue(0));
    let of_context =
        counted!(findings, Context context, CL_CONTEXT_REFERENCE_COUNT, clRetainContext);
    let of_queue = counted!(findings, Queue parent, CL_QUEUE_REFERENCE_COUNT, clRetainCommandQueue);
    let of_whole =
        counted!(findings, Memory whole.raw(), CL_MEM_REFERENCE_COUNT, clRetainMemObject);
    let of_program =
        counted!(findings, Program program.raw(), CL_PROGRAM_REFERENCE_COUNT, clRetainProgram);
    let region = cl_buffer_region { origin: 0, size: 32 };
    let (region, kind) = ((&raw const region).cast(), CL_BUFFER_CREATE_TYPE_REGION);
    let flags = CL_MEM_READ_WRITE;
    // SAFETY: context and device are valid, and the buffer has the region.
    let (queue, part, user_event) = unsafe {
        let event = object!(Event clCreateUserEvent(context));
        ok!(clSetUserEventStatus(event.raw(), 0));
        let queue = object!(Queue clCreateCommandQueue(context, device, 0));
        (queue, object!(Memory clCreateSubBuffer(whole.raw(), flags, kind, region)), event)
    };
    counted!(findings, Queue queue.raw(), CL_QUEUE_REFERENCE_COUNT, clRetainCommandQueue);
    counted!(findings, Memory part.raw(), CL_MEM_REFERENCE_COUNT, clRetainMemObject);
    counted!(findings, Event user_event.raw(), CL_EVENT_REFERENCE_COUNT, clRetainEvent);
    if bench.has_images {
        let (mode, filter) = (CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
        // SAFETY: the context is valid.
        let sampler = unsafe { object!(Sampler clCreateSampler(context, 0, mode, filter)) };
        counted!(findings, Sampler sampler.raw(), CL_SAMPLER_REFERENCE_COUNT, clRetainSampler);
    }
    let kernel = bench.new_kernel(&program, "k");
    counted!(findings, Kernel kernel.raw(), CL_KERNEL_REFERENCE_COUNT, clRetainKernel);
    let event = Kind::Marker.enqueue(&mut operands, Call::on(parent));
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(parent)) };
    counted!(findings, Event event.raw(), CL_EVENT_REFERENCE_COUNT, clRetainEvent);
    drop((queue, part, user_event, kernel, event));
    for (subject, query, before) in [of_queue, of_whole, of_program, of_context] {
        let when = "an object after those that were made of it are released";
        becomes(findings, subject, query, before, when);
    }
}
