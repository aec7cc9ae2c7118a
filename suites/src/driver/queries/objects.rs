//! Queries of events (5.11), queues (5.1) and contexts (4.4).

use super::*;
use crate::driver::events::profiles::names;

per_kind! {
    fn an_event_tells_its_command(bench, kind) {
        let mut operands = bench.operands(&[kind]);
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        kind.finish(&mut operands, bench.queue);
        let name = format!("the event of {}", kind.function());
        let asked = bench.asked(Subject::Event(event.raw()), name);
        answers!(asked; pointer CL_EVENT_COMMAND_QUEUE bench.queue,
            pointer CL_EVENT_CONTEXT bench.context,
            constant CL_EVENT_COMMAND_EXECUTION_STATUS named!(CL_COMPLETE));
        // OpenCL 3.0 has the first command type of a migration of shared memory.
        if kind != Kind::SvmMigrate || bench.is(3, 0) {
            asked.constant(named!(CL_EVENT_COMMAND_TYPE), kind.command_type());
        }
    }
}

#[clmatrix_harness::test]
fn the_times_of_a_command_have_8_bytes(bench: Bench) {
    let queue = bench.new_queue(CL_QUEUE_PROFILING_ENABLE);
    let event = Kind::FillBuffer.enqueue(&mut bench.operands(&[]), Call::on(queue));
    finish(queue);
    let asked = bench.asked(Subject::Profile(event.raw()), "a fill that has ended");
    names(&bench).iter().for_each(|query| _ = asked.number(*query, 8));
}

#[clmatrix_harness::test]
fn a_user_event_has_a_context_but_no_queue(bench: Bench) {
    let gate = Gate::closed(bench.context);
    answers!(bench.asked(Subject::Event(gate.raw()), "a user event");
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
    for (properties, mut list) in rows.filter(|(properties, _)| bench.has_queues(*properties)) {
        let queue = if is_old {
            list.clear();
            bench.own_queue(bench.device, properties)
        } else {
            bench.queue_of(bench.device, &list)
        };
        let name = format!("a queue (old function: {is_old}) with {properties:#x}, list {list:x?}");
        answers!(bench.asked(Subject::Queue(queue.raw()), name);
            pointer CL_QUEUE_CONTEXT bench.context, pointer CL_QUEUE_DEVICE bench.device,
            is CL_QUEUE_PROPERTIES properties, [3, 0] list CL_QUEUE_PROPERTIES_ARRAY &list);
    }
}

#[rstest]
#[case::null(|_| vec![])]
#[case::platform(|platform| vec![CL_CONTEXT_PLATFORM, platform, 0])]
#[case::more(|platform| vec![CL_CONTEXT_INTEROP_USER_SYNC, 1, CL_CONTEXT_PLATFORM, platform, 0])]
#[clmatrix_harness::test]
fn a_context_answers_as_it_was_made(bench: Bench, #[case] list: fn(isize) -> Vec<isize>) {
    let list = list(bench.platform() as isize);
    let (given, device) = (pointer(&list), &raw const bench.device);
    // SAFETY: device and platform are valid; the list, if any, ends with 0.
    let context =
        unsafe { created!(Context clCreateContext(given, 1, device, None, ptr::null_mut())) };
    let asked = bench.asked(Subject::Context(context.raw()), format!("a context with {list:x?}"));
    answers!(asked; is CL_CONTEXT_NUM_DEVICES 1_u32,
        list CL_CONTEXT_DEVICES &[bench.device as usize]);
    // Without properties, an older driver may return a list of none.
    let may_be_empty = list.is_empty() && !bench.is(3, 0);
    let holds = |found: &[isize]| found == list || may_be_empty && found == [0];
    asked.check(named!(CL_CONTEXT_PROPERTIES), shown(&list), holds);
}
