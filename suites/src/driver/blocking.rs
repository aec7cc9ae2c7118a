//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

use std::sync::mpsc;

use super::events::gated;
use super::order::{WAITS, around, setting::*, stage::*, work::*};
use super::prelude::*;

/// The rule of calls with a blocking flag.
const BLOCKS: &str = "a call with CL_TRUE returns when all that it waits for has ended (3.2)";

/// How long a call that does not wait has to return.
const LONG: Duration = Duration::from_secs(5);

/// Makes a call while another thread opens the gate at this time, unless the call has returned. Returns whether the gate
/// was open when the call returned.
fn meanwhile<T>(gate: &Gate, at: Duration, call: impl FnOnce() -> T) -> (T, bool) {
    let (returned, waits) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || waits.recv_timeout(at).is_err().then(|| gate.open()));
        let (result, was_open) = (call(), gate.is_open());
        _ = returned.send(());
        (result, was_open)
    })
}

/// Checks that a call waits for commands on the queues of the bench, of which number `last` waits for a user event. The
/// call gets their events; without queues, it gets the user event, and that of a command that has ended.
fn check_call(
    bench: &Bench,
    (length, last): (usize, usize),
    (text, rule): (&str, &str),
    call: impl FnOnce(&[*mut c_void]) -> cl_int,
) {
    let (mut stage, queues) = (Stage::new(bench), bench.queues());
    let (mut list, gate) = (vec![stage.ended.raw(); length], [stage.gate.raw()]);
    list[last] = gate[0];
    for ((n, event), queue) in list.iter_mut().enumerate().zip(queues.iter().cycle()) {
        let mut work = Work::new(bench, [Kind::FillBuffer]);
        let waits = if n == last { &gate[..] } else { &[] };
        let object = work.enqueue(0, Call::on(*queue).after(waits));
        *event = object.raw();
        stage.add(format!("command {n} before {text}"), WAITS, object).work = Some(work);
    }
    let (code, was_open) = meanwhile(&stage.gate, A_MOMENT, || call(&list));
    bench.check_code(code, CL_SUCCESS, text, "a valid call (3.2)");
    stage.end_after(text, rule, was_open);
}

#[rstest]
#[case::read_buffer(Kind::ReadBuffer)]
#[case::write_buffer(Kind::WriteBuffer)]
#[case::read_rect(Kind::ReadRect)]
#[case::write_rect(Kind::WriteRect)]
#[case::map_buffer(Kind::MapBuffer)]
#[case::read_image(Kind::ReadImage)]
#[case::write_image(Kind::WriteImage)]
#[case::map_image(Kind::MapImage)]
#[case::svm_copy(Kind::SvmCopy)]
#[case::svm_map(Kind::SvmMap)]
#[clmatrix_harness::test]
fn a_blocking_call_waits(bench: Bench, #[case] kind: Kind) {
    bench.requires(kind);
    let settings = [IN_ORDER, WITHOUT_EVENT, WAIT_LIST, BARRIER, TWO_QUEUES];
    for setting in settings.iter().filter(|setting| bench.has_queues(setting.properties)) {
        let mut work = Work::new(&bench, around(kind)[0]);
        let mut stage = Stage::new(&bench);
        let (_, queue, list) = setting.begin(&mut stage, &mut work);
        let call = Call::on(queue).after(&list).blocking();
        let (event, was_open) = meanwhile(&stage.gate, A_MOMENT, || {
            bench.queues().into_iter().filter(|other| *other != queue).for_each(flush);
            work.enqueue(1, call)
        });
        let text = format!("{}(CL_TRUE) {}", work.name, setting.text);
        stage.add(text.clone(), BLOCKS, event).work = Some(work);
        stage.end_after(&text, BLOCKS, was_open);
    }
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        let mut stage = Stage::new(&bench);
        let (mut work, queue) = (Work::new(&bench, [kind]), bench.new_queue(0));
        let list = [stage.gate.raw()];
        let call = Call::on(queue).after(&list);
        let (event, was_open) = meanwhile(&stage.gate, LONG, || work.enqueue(0, call));
        let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
        let call = format!("{}{flag} with a user event in its wait list", work.name);
        let rule = "the call returns when the command is enqueued (3.2)";
        bench.check(!was_open, &call, rule, "it returned when the user event had ended");
        if !was_open {
            stage.add(call, WAITS, event).work = Some(work);
            stage.play();
        }
    }
}

#[rstest]
#[case::plainly(false)]
#[case::after_a_flush(true)]
#[clmatrix_harness::test]
fn finish_waits_for_all_commands(
    bench: Bench,
    #[case] is_flushed: bool,
    #[values(0, OUT_OF_ORDER)] properties: u64,
) {
    bench.requires_queues(properties);
    let queue = bench.new_queue(properties);
    let order = if properties == 0 { "an in-order queue" } else { "an out-of-order queue" };
    let text = format!("clFinish{} on {order}", if is_flushed { " after clFlush" } else { "" });
    let rule = "it returns when all commands of the queue have ended (5.15)";
    // On an out-of-order queue the last commands end first.
    check_call(&bench, (3, 0), (&text, rule), |_| {
        if is_flushed {
            flush(queue);
        }
        // SAFETY: the queue is valid.
        unsafe { cl!(clFinish(queue)) }
    });
}

#[rstest]
#[case::of_user_events(2, &[])]
#[case::of_one_command(1, &[0])]
#[case::of_an_in_order_queue(4, &[0])]
#[case::of_an_out_of_order_queue(4, &[OUT_OF_ORDER])]
#[case::of_four_queues(4, &[0; 4])]
#[clmatrix_harness::test]
fn wait_for_events_waits_for_each(bench: Bench, #[case] length: usize, #[case] queues: &[u64]) {
    for properties in queues {
        bench.requires_queues(*properties);
        bench.new_queue(*properties);
    }
    for last in 0..length {
        let of = if queues.is_empty() { "user events" } else { "commands" };
        let text = format!("clWaitForEvents({length} {of}, of which number {last} ends last)");
        let rule = "it returns when all have ended (5.11)";
        check_call(&bench, (length, last), (&text, rule), wait);
    }
}

#[rstest]
#[case::so_does_clwaitforevents(0)]
#[case::its_status_is_negative(1)]
#[case::it_does_not_run(2)]
#[clmatrix_harness::test]
fn a_command_fails_with_an_event_of_its_wait_list(bench: Bench, #[case] effect: usize) {
    let (stage, gate) = (Stage::new(&bench), Gate::closed(bench.context));
    let buffer = bench.keep(bench.buffer_of(&[0_u8; SIZE]));
    let mut operands = Operands { buffers: [buffer; 2], ..bench.operands(&[]) };
    let call = Call::on(bench.new_queue(0));
    let event = Kind::FillBuffer.enqueue(&mut operands, call.after(&[gate.raw()]));
    // Drivers survive this, if no command ends and no thread waits at the same time (POCL-2, POCL-10).
    gate.fail(CL_OUT_OF_RESOURCES);
    let [ended, failed, behind] = [stage.ended.raw(), gate.raw(), event.raw()];
    for list in [vec![behind], vec![failed], vec![ended, failed]] {
        let of = if list == [behind] { "a command behind a user event" } else { "a user event" };
        let call = format!("clWaitForEvents({} events, of which {of} has failed)", list.len());
        let code = wait(&list);
        if effect == 0 {
            let wanted = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
            bench.check_code(code, wanted, call, "an event of the list has failed (5.11)");
        }
    }
    let call = "clEnqueueFillBuffer with a user event that fails in its wait list";
    let (found, byte) = (status(behind), bench.contents_of::<u8>(buffer, 1)[0]);
    let (is_right, answer) = (found < 0 || effect != 1, status_name(found));
    bench.check(is_right, call, "the status is negative (5.11)", answer);
    let (is_right, answer) = (byte == 0 || effect != 2, format!("a byte is {byte:#x}"));
    bench.check(is_right, call, "the command does not run (5.11)", answer);
}

per_kind! {
    fn a_command_has_the_failure_of_its_wait_list(bench, kind) {
        let (_operands, event, gate) = gated(&bench, kind, bench.new_queue(0));
        // As above: nothing else runs meanwhile.
        gate.fail(CL_OUT_OF_RESOURCES);
        _ = wait(&[event.raw()]);
        let call = format!("{} with a user event that fails in its wait list", kind.function());
        let found = status(event.raw());
        bench.check(found < 0, call, "the status is negative (5.11)", status_name(found));
    }
}
