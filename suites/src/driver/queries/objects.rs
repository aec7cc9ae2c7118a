//! Queries of events (5.11), queues (5.1), contexts (4.4) and samplers (5.7.2).

use super::*;
use crate::driver::events::profiles::names;

per_kind! {
    fn an_event_tells_its_command(bench, kind) {
        let event = kind.run(&bench, bench.queue);
        // OpenCL 3.0 has the first command type of a migration of shared memory.
        let has_type = kind != Kind::SvmMigrate || bench.is(3, 0);
        answers!(bench, Event(event.raw()), format!("the event of {}", kind.function());
            pointer CL_EVENT_COMMAND_QUEUE bench.queue, pointer CL_EVENT_CONTEXT bench.context,
            constant CL_EVENT_COMMAND_EXECUTION_STATUS named!(CL_COMPLETE),
            counted CL_EVENT_REFERENCE_COUNT (Class::Event, event.raw()),
            [has_type] constant CL_EVENT_COMMAND_TYPE kind.command_type());
    }
}

#[clmatrix_harness::test]
fn the_times_of_a_command_have_8_bytes(bench: Bench) {
    let event = Kind::FillBuffer.run(&bench, bench.new_queue(CL_QUEUE_PROFILING_ENABLE));
    let asked = Asked(&bench, Subject::Profile(event.raw()), "a fill that has ended");
    names(&bench).iter().for_each(|query| _ = asked.number(*query, 8));
}

#[clmatrix_harness::test]
fn a_user_event_has_a_context_but_no_queue(bench: Bench) {
    let gate = Gate::closed(bench.context);
    answers!(bench, Event(gate.raw()), "a user event";
        constant CL_EVENT_COMMAND_TYPE named!(CL_COMMAND_USER),
        pointer CL_EVENT_COMMAND_QUEUE ptr::null_mut(), pointer CL_EVENT_CONTEXT bench.context,
        constant CL_EVENT_COMMAND_EXECUTION_STATUS named!(CL_SUBMITTED));
}

#[rstest]
#[clmatrix_harness::test]
fn a_queue_answers_as_it_was_made(bench: Bench, #[values(false, true)] is_old: bool) {
    if !is_old && !bench.is(2, 0) {
        skip!("the version lacks the function");
    }
    let both = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let full = |properties| (properties, vec![u64::from(CL_QUEUE_PROPERTIES), properties, 0]);
    let rows = (0..=both).map(full).chain([(0, vec![]), (0, vec![0])]);
    for (properties, list) in rows.filter(|(properties, _)| bench.has_queues(*properties)) {
        let (queue, list) = if is_old {
            (bench.own_queue(bench.device, properties), vec![])
        } else {
            (bench.queue_of(bench.device, &list), list)
        };
        let name = format!("a queue (old function: {is_old}) with {properties:#x}, list {list:x?}");
        answers!(bench, Queue(queue.raw()), name; pointer CL_QUEUE_CONTEXT bench.context,
            pointer CL_QUEUE_DEVICE bench.device, is CL_QUEUE_PROPERTIES properties,
            counted CL_QUEUE_REFERENCE_COUNT (Class::Queue, queue.raw()),
            [bench.is(3, 0)] list CL_QUEUE_PROPERTIES_ARRAY &list);
    }
}

#[rstest]
#[case::null(|_| vec![])]
#[case::platform(|platform| vec![CL_CONTEXT_PLATFORM, platform, 0])]
#[case::more(|platform| vec![CL_CONTEXT_INTEROP_USER_SYNC, 1, CL_CONTEXT_PLATFORM, platform, 0])]
#[clmatrix_harness::test]
fn a_context_answers_as_it_was_made(bench: Bench, #[case] list: fn(isize) -> Vec<isize>) {
    let list = list(bench.platform() as isize);
    let (given, device, null) = (pointer(&list), &raw const bench.device, ptr::null_mut());
    // SAFETY: device and platform are valid; the list, if any, ends with 0.
    let context = unsafe { created!(Context clCreateContext(given, 1, device, None, null)) };
    // Without properties, an older driver may return a list of none.
    let may_be_empty = list.is_empty() && !bench.is(3, 0);
    let holds = |found: &[isize]| found == list || may_be_empty && found == [0];
    answers!(bench, Context(context.raw()), format!("a context with {list:x?}");
        is CL_CONTEXT_NUM_DEVICES 1_u32, pointer CL_CONTEXT_DEVICES bench.device,
        counted CL_CONTEXT_REFERENCE_COUNT (Class::Context, context.raw()),
        check CL_CONTEXT_PROPERTIES (shown(&list), holds));
}

#[clmatrix_harness::test]
fn an_object_releases_what_it_is_made_of(bench: Bench) {
    let (whole, queue) = (bench.new_buffer(CL_MEM_READ_WRITE, 64), bench.new_queue(0));
    let program = bench.build("kernel void k(global int *to) { to[0] = 1; }", "");
    let parents = [
        (Subject::Context(bench.context), named!(CL_CONTEXT_REFERENCE_COUNT)),
        (Subject::Queue(queue), named!(CL_QUEUE_REFERENCE_COUNT)),
        (Subject::Memory(whole.raw()), named!(CL_MEM_REFERENCE_COUNT)),
        (Subject::Program(program.raw()), named!(CL_PROGRAM_REFERENCE_COUNT)),
    ];
    let counts = || parents.map(|(subject, query)| subject.value::<u32>(query));
    let (mut before, mut after) = ([0; 4], [0; 4]);
    let mut attempt = || {
        before = counts();
        let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, [0, 32]);
        let kernel = bench.new_kernel(&program, "k");
        let event = Kind::Marker.enqueue(&mut bench.no_operands(), Call::on(queue));
        finish(queue);
        drop((part, kernel, event));
        soon(|| {
            after = counts();
            Ok(after == before)
        })
    };
    // A thread of the driver may keep an object for a moment, also before the first attempt.
    _ = matches!(attempt(), Ok(true)) || matches!(attempt(), Ok(true));
    for (n, (subject, query)) in parents.into_iter().enumerate() {
        let asked = Asked(&bench, subject, "an object after those made of it are released");
        asked.expect(after[n] == before[n], query, before[n], after[n]);
    }
}

const MODE: u32 = CL_SAMPLER_ADDRESSING_MODE;
const FILTER: u32 = CL_SAMPLER_FILTER_MODE;
const COORDS: u32 = CL_SAMPLER_NORMALIZED_COORDS;

/// Checks a sampler with normalized coordinates (0 or 1), an addressing mode and a filter. It is made with a list of
/// properties, which is null where it is empty, or with the older function.
fn check_sampler(bench: &Bench, settings: [u32; 3], list: Option<&[u64]>) {
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
    answers!(bench, Sampler(sampler.raw()), name; is CL_SAMPLER_NORMALIZED_COORDS normalized,
        is CL_SAMPLER_ADDRESSING_MODE mode, is CL_SAMPLER_FILTER_MODE filter,
        pointer CL_SAMPLER_CONTEXT context, [bench.is(3, 0)] list CL_SAMPLER_PROPERTIES given,
        counted CL_SAMPLER_REFERENCE_COUNT (Class::Sampler, sampler.raw()));
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
                check_sampler(&bench, [normalized, mode, filter], is_of_list.then_some(&list));
            }
        }
    }
}

#[rstest]
#[case::empty(&[0])]
#[case::null(&[])]
#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_without_properties_has_the_defaults(bench: Bench, #[case] list: &[u64]) {
    check_sampler(&bench, [1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST], Some(list));
}
