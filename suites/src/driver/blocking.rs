//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE as OUT_OF_ORDER;
use clmatrix::cl3::{error_codes::*, types::cl_int};

use super::events::{status, status_name};
use super::order::{WAITS, setting::*, stage::*, work::*};
use super::prelude::*;

/// The rule of calls with a blocking flag.
const BLOCKS: &str = "a call with CL_TRUE returns when its command has ended, which is after all that it \
                      waits for (3.2)";

/// How long a call that does not wait has to return.
const LONG: Duration = Duration::from_secs(5);

/// True if a call returned when all gates were open, and the gates.
type Opened = (bool, Vec<Gate>);

/// Makes a call while another thread opens the gates one after the other, beginning at this time, unless the call has
/// returned. Returns whether all were open when the call returned, and the gates.
fn meanwhile<T>(gates: Vec<Gate>, at: Duration, call: impl FnOnce() -> T) -> (T, Opened) {
    let (is_open, (returned, waits)) = (&AtomicBool::new(false), mpsc::channel());
    thread::scope(|scope| {
        let opener = scope.spawn(move || {
            let has_returned = waits.recv_timeout(at).is_ok();
            for (n, gate) in gates.iter().enumerate().filter(|_| !has_returned) {
                is_open.store(n + 1 == gates.len(), SeqCst);
                gate.open();
                thread::sleep(A_MOMENT / 4);
            }
            gates
        });
        let (result, was_open) = (call(), is_open.load(SeqCst));
        _ = returned.send(());
        (result, (was_open, opener.join().expect("the thread ends")))
    })
}

/// Checks that a call has waited: until all gates were open, and all commands had ended. Then opens the gates, and
/// checks the bytes.
fn check_waited(told: Told<'_>, (was_open, gates): Opened, events: &[Object], works: &mut [Work]) {
    let (findings, call, rule) = told;
    drop(gates);
    findings.check(was_open, call, rule, "it returned while a user event held a command");
    for event in events.iter().map(Object::raw) {
        let found = status(event);
        let answer = format_args!("a command has the status {} then", status_name(found));
        findings.check(found == 0 || !was_open, call, rule, answer);
        let has_ended = eventually(|| status(event) <= 0);
        findings.check(has_ended, call, "the command ends (3.2)", "it has not ended within 5 s");
    }
    works.iter_mut().for_each(|work| work.check(told));
}

/// Checks that a call waits for commands behind as many gates, of which gate `last` opens last. The commands are pairs on
/// these queues, if any. The call gets their events, or else the gates.
fn check_call(
    bench: &Bench,
    (length, last): (usize, usize),
    queues: &[[*mut c_void; 2]],
    (text, rule): (&str, &str),
    call: impl FnOnce(&[*mut c_void]) -> cl_int,
) {
    let findings = Findings::default();
    let mut gates: Vec<_> = (0..length).map(|_| Gate::closed(bench.context)).collect();
    let (mut events, mut works) = (Vec::new(), Vec::new());
    for (gate, [first_queue, queue]) in gates.iter().zip(queues.iter().cycle()) {
        let kinds = [Kind::FillBuffer, Kind::CopyBuffer];
        let mut work = Work::new(bench, &kinds).expect("two commands");
        let first = work.enqueue(0, Call::on(*first_queue).after(&[gate.raw()]));
        let second = work.enqueue(1, Call::on(*queue).after(&[first.raw()]));
        events.extend([first, second]);
        works.push(work);
    }
    let of_gates = gates.iter().map(Gate::raw).filter(|_| queues.is_empty());
    let list: Vec<_> = events.iter().map(Object::raw).chain(of_gates).collect();
    gates.swap(last, length - 1);
    let (code, opened) = meanwhile(gates, A_MOMENT, || call(&list));
    findings.check(code == CL_SUCCESS, text, "it returns CL_SUCCESS", code_name(code));
    check_waited((&findings, text, rule), opened, &events, &mut works);
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
    let findings = Findings::default();
    let settings = [IN_ORDER, WITHOUT_EVENT, WAIT_LIST, BARRIER, TWO_QUEUES];
    for setting in settings.iter().filter(|setting| bench.has_queues(setting.properties)) {
        let mut work =
            Work::new(&bench, &[fill_and_copy(kind)[0], kind]).expect("a fill and a call");
        let mut stage = Stage::new(&bench);
        let (first, queue, list) = setting.begin(&mut stage, &mut work);
        let call = Call::on(queue).after(&list).blocking();
        let (event, opened) = meanwhile(vec![stage.gate], A_MOMENT, || {
            stage.queues[1..].iter().for_each(|queue| flush(*queue));
            work.enqueue(1, call)
        });
        let text = format!("{}(CL_TRUE) {}", work.name, setting.text);
        let events: Vec<_> = first.into_iter().chain([event]).collect();
        check_waited((&findings, &text, BLOCKS), opened, &events, &mut [work]);
    }
}

/// Calls clFlush.
fn flush(queue: *mut c_void) {
    // SAFETY: the queue is valid.
    unsafe { ok!(clFlush(queue)) };
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        let mut stage = Stage::new(&bench);
        let mut work = Work::new(&bench, &[kind]).expect("one command");
        let (queue, list) = (stage.new_queue(0), [stage.gate.raw()]);
        let call = Call::on(queue).after(&list);
        let (event, (was_open, mut gates)) =
            meanwhile(vec![stage.gate], LONG, || work.enqueue(0, call));
        let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
        let call = format!("{}{flag} with a user event in its wait list", work.name);
        let rule = "the call returns when the command is enqueued (3.2)";
        stage.findings.check(!was_open, &call, rule, "it returned when the user event had ended");
        stage.gate = gates.remove(0);
        if !was_open {
            stage.add(call, WAITS, event).work = Some(work);
            stage.play();
        }
    }
}

#[rstest]
#[case::plainly("clFinish", false, false)]
#[case::after_a_flush("clFinish after clFlush", true, false)]
#[case::behind_another_queue("clFinish of commands behind another queue", true, true)]
#[clmatrix_harness::test]
fn finish_waits_for_all_commands(
    bench: Bench,
    #[case] call: &str,
    #[case] is_flushed: bool,
    #[case] has_other: bool,
    #[values(0, OUT_OF_ORDER)] properties: u64,
) {
    bench.requires_queues(properties);
    let queue = bench.new_queue(properties);
    let other = if has_other { bench.new_queue(0) } else { queue };
    let order = if properties == 0 { "an in-order queue" } else { "an out-of-order queue" };
    let text = format!("{call}, on {order}");
    let rule = "it returns when all commands of the queue have ended (5.15)";
    // On an out-of-order queue the last commands end first.
    check_call(&bench, (2, 0), &[[other, queue]], (&text, rule), |_| {
        if is_flushed {
            flush(other);
        }
        // SAFETY: the queue is valid.
        unsafe { cl!(clFinish(queue)) }
    });
}

#[rstest]
#[case::of_an_in_order_queue(0)]
#[case::of_an_out_of_order_queue(OUT_OF_ORDER)]
#[clmatrix_harness::test]
fn flush_submits_commands_and_does_not_wait(bench: Bench, #[case] properties: u64) {
    bench.requires_queues(properties);
    let (gate, queue) = (Gate::closed(bench.context), bench.new_queue(properties));
    let mut operands = bench.operands(&[]);
    let event = Kind::FillBuffer.enqueue(&mut operands, Call::on(queue).after(&[gate.raw()]));
    let ((), (was_open, gates)) = meanwhile(vec![gate], LONG, || flush(queue));
    drop(gates);
    let has_ended = eventually(|| status(event.raw()) <= 0);
    let findings = Findings::default();
    let rule = "it does not wait for the commands of the queue (5.15)";
    findings.check(!was_open, "clFlush", rule, "it returned when the user event had ended");
    let rule = "the commands before it run without another call (5.15)";
    findings.check(has_ended, "clFlush", rule, "a command has not ended within 5 s");
}

#[rstest]
#[case::of_user_events(2, 0, 0)]
#[case::of_one_command(1, 1, 0)]
#[case::of_an_in_order_queue(4, 1, 0)]
#[case::of_an_out_of_order_queue(4, 1, OUT_OF_ORDER)]
#[case::of_four_queues(4, 4, 0)]
#[clmatrix_harness::test]
fn wait_for_events_waits_for_each(
    bench: Bench,
    #[case] length: usize,
    #[case] queues: usize,
    #[case] properties: u64,
) {
    bench.requires_queues(properties);
    let queues: Vec<_> = (0..queues).map(|_| [bench.new_queue(properties); 2]).collect();
    for last in 0..length {
        let of = if queues.is_empty() { "user events" } else { "pairs of commands" };
        let text = format!("clWaitForEvents({length} {of}, of which number {last} ends last)");
        let rule = "it returns when all have ended (5.11)";
        check_call(&bench, (length, last), &queues, (&text, rule), wait);
    }
}

/// Calls clWaitForEvents.
fn wait(list: &[*mut c_void]) -> cl_int {
    // SAFETY: the events are valid.
    unsafe { cl!(clWaitForEvents(list.len() as u32, list.as_ptr())) }
}

#[rstest]
#[case::so_does_clwaitforevents(0)]
#[case::its_status_is_negative(1)]
#[case::it_does_not_run(2)]
#[clmatrix_harness::test]
fn a_command_fails_with_an_event_of_its_wait_list(bench: Bench, #[case] effect: usize) {
    let (stage, gate) = (Stage::new(&bench), Gate::closed(bench.context));
    let mut work = Work::new(&bench, &[Kind::FillBuffer]).expect("one command");
    let event = work.enqueue(0, Call::on(bench.new_queue(0)).after(&[gate.raw()]));
    // Drivers survive this, if no command ends and no thread waits at the same time (POCL-2, POCL-10).
    gate.fail(CL_OUT_OF_RESOURCES);
    let [ended, failed, behind] = [stage.ended.raw(), gate.raw(), event.raw()];
    for list in [vec![behind], vec![failed], vec![ended, failed], vec![failed, ended]] {
        let what = if list == [behind] { "a command behind a user event" } else { "a user event" };
        let call = format!("clWaitForEvents({} events, of which {what} has failed)", list.len());
        let code = wait(&list);
        let is_right = code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || effect > 0;
        let rule = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (5.11)";
        stage.findings.check(is_right, call, rule, code_name(code));
    }
    let (call, found) =
        ("clEnqueueFillBuffer with a user event that fails in its wait list", status(behind));
    let (is_right, answer) = (found < 0 || effect != 1, status_name(found));
    stage.findings.check(is_right, call, "the status is negative (5.11)", answer);
    if effect == 2 {
        work.contents = work.initial;
        work.check((&stage.findings, call, "the command does not run (5.11)"));
    }
}
