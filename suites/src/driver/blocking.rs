//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

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

/// Checks that a call has waited: until all gates were open, and all commands had ended. Opens the gates, and waits for
/// the commands. Returns whether the gates were open.
fn check_waited(told: Told<'_>, (was_open, gates): Opened, events: &[*mut c_void]) -> bool {
    let (findings, call, rule) = told;
    drop(gates);
    findings.check(was_open, call, rule, "it returned while a user event held a command");
    for event in events.iter().copied() {
        let found = status(event);
        let answer = format_args!("a command has the status {} then", status_name(found));
        findings.check(found == 0 || !was_open, call, rule, answer);
        let has_ended = eventually(|| status(event) <= 0);
        findings.check(has_ended, call, "the command ends (3.2)", "it has not ended within 5 s");
    }
    was_open
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
    let settings = [GATED, IN_ORDER, WITHOUT_EVENT, WAIT_LIST, BARRIER, TWO_QUEUES];
    for setting in settings.iter().filter(|setting| bench.has_queues(setting.properties)) {
        let mut work =
            Work::new(&bench, &[fill_and_copy(kind)[0], kind]).expect("a fill and a call");
        let stage = Stage::new(&bench);
        let queues @ [first_queue, queue] = setting.queues(&bench, None);
        let (first, list) = setting.begin(&stage, &mut work, queues);
        let call = Call::on(queue).after(&list).blocking();
        let (event, opened) = meanwhile(vec![stage.gate], A_MOMENT, || {
            if first_queue != queue {
                // SAFETY: the queue is valid.
                unsafe { ok!(clFlush(first_queue)) };
            }
            work.enqueue(1, call)
        });
        let text = format!("{}(CL_TRUE) {}", work.name, setting.text);
        let events: Vec<_> = first.iter().chain([&event]).map(Object::raw).collect();
        if check_waited((&findings, &text, BLOCKS), opened, &events) {
            work.overwrite();
            work.check((&findings, &text, BLOCKS));
        }
    }
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        let mut stage = Stage::new(&bench);
        let mut work = Work::new(&bench, &[kind]).expect("one command");
        let (queue, list) = (stage.new_queue(), [stage.gate.raw()]);
        let call = Call::on(queue).after(&list);
        let (event, (was_open, mut gates)) =
            meanwhile(vec![stage.gate], LONG, || work.enqueue(0, call));
        let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
        let call = format!("{}{flag} with a user event in its wait list", work.name);
        let rule = "the call returns when the command is enqueued (3.2)";
        stage.findings.check(!was_open, &call, rule, "it returned when the user event had ended");
        stage.gate = gates.remove(0);
        if !was_open {
            stage.held.push(Held { call: call.clone(), rule: WAITS, event, earlier: None });
            stage.works.push((work, call, WAITS));
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
    let kinds = [[Kind::FillBuffer, Kind::CopyBuffer], [Kind::CopyRect, Kind::ReadBuffer]];
    let mut works = kinds.map(|kinds| Work::new(&bench, &kinds).expect("two commands"));
    let mut gates: Vec<_> = works.iter().map(|_| Gate::closed(bench.context)).collect();
    let mut events = Vec::new();
    for (work, gate) in works.iter_mut().zip(&gates) {
        let first = work.enqueue(0, Call::on(other).after(&[gate.raw()]));
        let second = work.enqueue(1, Call::on(queue).after(&[first.raw()]));
        events.extend([first, second]);
    }
    // On an out-of-order queue the last commands end first.
    gates.reverse();
    let ((), opened) = meanwhile(gates, A_MOMENT, || {
        // SAFETY: the queues are valid.
        unsafe {
            if is_flushed {
                ok!(clFlush(other));
            }
            ok!(clFinish(queue));
        }
    });
    let findings = Findings::default();
    let order = if properties == 0 { "an in-order queue" } else { "an out-of-order queue" };
    let call = format!("{call}, on {order}");
    let rule = "it returns when all commands of the queue have ended (5.15)";
    let events: Vec<_> = events.iter().map(Object::raw).collect();
    check_waited((&findings, &call, rule), opened, &events);
    works.iter_mut().for_each(|work| work.check((&findings, &call, rule)));
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
    // SAFETY: the queue is valid.
    let ((), (was_open, gates)) = meanwhile(vec![gate], LONG, || unsafe { ok!(clFlush(queue)) });
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
    let findings = Findings::default();
    let queues: Vec<_> = (0..queues).map(|_| bench.new_queue(properties)).collect();
    for last in 0..length {
        let mut gates: Vec<_> = (0..length).map(|_| Gate::closed(bench.context)).collect();
        let fill = |(gate, queue): (&Gate, _)| {
            let mut work = Work::new(&bench, &[Kind::FillBuffer]).expect("one command");
            (work.enqueue(0, Call::on(queue).after(&[gate.raw()])), work)
        };
        let all = gates.iter().zip(queues.iter().copied().cycle());
        let (events, mut works): (Vec<_>, Vec<_>) = all.map(fill).unzip();
        let ended: Vec<_> = events.iter().map(Object::raw).collect();
        let list =
            if ended.is_empty() { gates.iter().map(Gate::raw).collect() } else { ended.clone() };
        gates.swap(last, length - 1);
        let (code, opened) = meanwhile(gates, A_MOMENT, || wait(&list));
        let of = if events.is_empty() { "user events" } else { "events of commands" };
        let call = format!("clWaitForEvents({length} {of}, of which number {last} ends last)");
        let rule = "it returns CL_SUCCESS when all have ended (5.11)";
        findings.check(code == 0, &call, rule, code_name(code));
        check_waited((&findings, &call, rule), opened, &ended);
        works.iter_mut().for_each(|work| work.check((&findings, &call, rule)));
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
