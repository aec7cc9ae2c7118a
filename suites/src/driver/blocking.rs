//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

use std::ffi::c_void;
use std::thread;

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use clmatrix::cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_OUT_OF_RESOURCES,
};
use clmatrix::cl3::types::cl_int;
use rstest::rstest;

use super::api::{cl, code_name, ok};
use super::bench::{Bench, bench};
use super::command::{Call, Kind, Needs, per_kind};
use super::findings::Findings;
use super::object::{Gate, Object};
use super::order::WAITS;
use super::order::setting::*;
use super::order::stage::{Held, Stage, at_once, eventually, meanwhile, status, status_name};
use super::order::work::Work;

/// The rule of calls with a blocking flag.
const BLOCKS: &str = "a call with CL_TRUE returns when its command has ended, which is after all that it \
                      waits for (3.2)";

/// Checks that a call has waited: until all gates were open, and all commands had ended.
fn check_waited<'a>(
    findings: &Findings,
    was_open: bool,
    events: impl IntoIterator<Item = &'a Object>,
    call: &str,
    rule: &str,
) {
    findings.check(was_open, call, rule, "it returned while a user event held a command");
    for status in events.into_iter().map(|event| status(event.raw())).filter(|_| was_open) {
        let answer = format_args!("a command has the status {} then", status_name(status));
        findings.check(status == 0, call, rule, answer);
    }
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
fn a_blocking_call_waits(
    bench: Bench,
    #[case] kind: Kind,
    #[values(GATED, IN_ORDER, WITHOUT_EVENT, IN_ORDER_WITH_LIST, WAIT_LIST, BARRIER, TWO_QUEUES)]
    setting: Setting,
) {
    bench.requires(kind);
    bench.requires_queues(setting.properties());
    let fill = match kind.needs() {
        Needs::Images => Kind::FillImage,
        Needs::Svm => Kind::SvmFill,
        _ => Kind::FillBuffer,
    };
    let mut work = Work::new(&bench, &[fill, kind]);
    let stage = Stage::new(&bench);
    let queues @ [first_queue, queue] = setting.queues(&bench, None);
    let (first, list) = setting.begin(&stage, (&mut work, 2), queues);
    let call = Call::on(queue).after(&list).blocking();
    let (event, was_open) = meanwhile(vec![stage.gate], || {
        if first_queue != queue {
            // SAFETY: the queue is valid.
            unsafe { ok!(clFlush(first_queue)) };
        }
        if setting.event == FirstEvent::Absent {
            work.enqueue_without_event(1, call);
            return None;
        }
        Some(work.enqueue(1, call))
    });
    let text = format!("{work}(CL_TRUE) {}", setting.text);
    check_waited(&stage.findings, was_open, first.iter().chain(&event), &text, BLOCKS);
    if was_open {
        work.overwrite();
        work.check(&bench, &stage.findings, &text, BLOCKS);
    }
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        let mut stage = Stage::new(&bench);
        let mut work = Work::new(&bench, &[kind]);
        let (queue, list) = (stage.new_queue(), [stage.gate.raw()]);
        let call = Call::on(queue).after(&list);
        let (event, is_early) = at_once(&mut stage.gate, || work.enqueue(0, call));
        let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
        let text = format!("{work}{flag} with a user event in its wait list");
        let rule = "the call returns when the command is enqueued (3.2)";
        stage.findings.check(is_early, &text, rule, "it returned when the user event had ended");
        if is_early {
            stage.held.push(Held::new(text.clone(), WAITS, event));
            stage.works.push((work, text, WAITS));
            stage.play();
        }
    }
}

/// How clFinish is called.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Plainly,
    AfterFlush,
    OnAnotherThread,
    /// The commands wait for those of another queue.
    BehindAnotherQueue,
}

#[rstest]
#[case::plainly(Way::Plainly)]
#[case::after_a_flush(Way::AfterFlush)]
#[case::on_another_thread(Way::OnAnotherThread)]
#[case::behind_another_queue(Way::BehindAnotherQueue)]
#[clmatrix_harness::test]
fn finish_waits_for_all_commands(
    bench: Bench,
    #[case] way: Way,
    #[values(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)] properties: u64,
) {
    bench.requires_queues(properties);
    let queue = bench.new_queue(properties);
    let other = if way == Way::BehindAnotherQueue { bench.new_queue(0) } else { queue };
    let mut works = [
        [Kind::FillBuffer, Kind::CopyBuffer],
        [Kind::WriteBuffer, Kind::Migrate],
        [Kind::CopyRect, Kind::ReadBuffer],
    ]
    .map(|kinds| Work::new(&bench, &kinds));
    let mut gates: Vec<_> = works.iter().map(|_| Gate::closed(bench.context)).collect();
    let mut events = Vec::new();
    for (work, gate) in works.iter_mut().zip(&gates) {
        let first = work.enqueue(0, Call::on(other).after(&[gate.raw()]));
        let second = work.enqueue(1, Call::on(queue).after(&[first.raw()]));
        events.extend([first, second]);
    }
    // On an out-of-order queue the last commands end first.
    gates.reverse();
    let place = queue as usize;
    // SAFETY: the queues are valid.
    let finish = move || unsafe { ok!(clFinish(place as *mut c_void)) };
    let ((), was_open) = meanwhile(gates, || {
        if matches!(way, Way::AfterFlush | Way::BehindAnotherQueue) {
            // SAFETY: as above.
            unsafe { ok!(clFlush(other)) };
        }
        if way == Way::OnAnotherThread {
            thread::spawn(finish).join().expect("clFinish returns");
        } else {
            finish();
        }
    });
    let findings = Findings::default();
    let call = format!("clFinish {way:?} with the properties {properties:#x}");
    let rule = "it returns when all commands of the queue have ended (5.15)";
    check_waited(&findings, was_open, &events, &call, rule);
    finish();
    works.iter_mut().for_each(|work| work.check(&bench, &findings, &call, rule));
}

#[rstest]
#[case::of_an_in_order_queue(0)]
#[case::of_an_out_of_order_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)]
#[clmatrix_harness::test]
fn flush_submits_commands_and_does_not_wait(bench: Bench, #[case] properties: u64) {
    bench.requires_queues(properties);
    let (mut stage, queue) = (Stage::new(&bench), bench.new_queue(properties));
    let gate = stage.gate.raw();
    let event = stage.hold(queue, &[gate], "a user event in its wait list".into());
    // SAFETY: the queue is valid.
    let ((), is_early) = at_once(&mut stage.gate, || unsafe { ok!(clFlush(queue)) });
    let rule = "it does not wait for the commands of the queue (5.15)";
    stage.findings.check(is_early, "clFlush", rule, "it returned when the user event had ended");
    stage.gate.open();
    let has_ended = eventually(|| status(event) <= 0);
    let rule = "the commands before it run without another call (5.15)";
    stage.findings.check(has_ended, "clFlush", rule, "a command has not ended within 5 s");
}

#[rstest]
#[case::of_one_command(1, 1, 0)]
#[case::of_an_in_order_queue(4, 1, 0)]
#[case::of_an_out_of_order_queue(4, 1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)]
#[case::of_two_queues(4, 2, 0)]
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
        let mut works: Vec<_> =
            (0..length).map(|_| Work::new(&bench, &[Kind::FillBuffer])).collect();
        let mut gates: Vec<_> = works.iter().map(|_| Gate::closed(bench.context)).collect();
        let calls = works.iter_mut().zip(&gates).zip(queues.iter().cycle());
        let events: Vec<_> = calls
            .map(|((work, gate), queue)| work.enqueue(0, Call::on(*queue).after(&[gate.raw()])))
            .collect();
        gates.swap(last, length - 1);
        let (code, was_open) = meanwhile(gates, || wait(events.iter().map(Object::raw)));
        let call = format!("clWaitForEvents({length} events, of which number {last} ends last)");
        let rule = "it returns CL_SUCCESS when all commands have ended (5.11)";
        findings.check(code == 0, &call, rule, code_name(code));
        check_waited(&findings, was_open, &events, &call, rule);
        works.iter_mut().for_each(|work| work.check(&bench, &findings, &call, rule));
    }
}

/// Calls clWaitForEvents.
fn wait(events: impl Iterator<Item = *mut c_void>) -> cl_int {
    let list: Vec<_> = events.collect();
    // SAFETY: the events are valid.
    unsafe { cl!(clWaitForEvents(list.len() as u32, list.as_ptr())) }
}

#[rstest]
#[clmatrix_harness::test]
fn wait_for_events_waits_for_user_events(bench: Bench) {
    let findings = Findings::default();
    let gates = vec![Gate::closed(bench.context), Gate::closed(bench.context)];
    let list: Vec<_> = gates.iter().rev().map(Gate::raw).collect();
    let (code, was_open) = meanwhile(gates, || wait(list.into_iter()));
    let call = "clWaitForEvents(2 user events)";
    let rule = "it returns CL_SUCCESS when all have the status CL_COMPLETE (5.11)";
    findings.check(code == 0, call, rule, code_name(code));
    check_waited(&findings, was_open, [], call, rule);
}

/// The effects of a failed event in the wait list of a command.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Code,
    Status,
    Memory,
}

#[rstest]
#[case::so_does_clwaitforevents(Effect::Code)]
#[case::its_status_is_negative(Effect::Status)]
#[case::it_does_not_run(Effect::Memory)]
#[clmatrix_harness::test]
fn a_command_fails_with_an_event_of_its_wait_list(bench: Bench, #[case] effect: Effect) {
    let (findings, gate) = (Findings::default(), Gate::closed(bench.context));
    let mut work = Work::new(&bench, &[Kind::FillBuffer]);
    let event = work.enqueue(0, Call::on(bench.new_queue(0)).after(&[gate.raw()]));
    // Drivers survive this, if no command ends and no thread waits at the same time (POCL-2, POCL-10).
    gate.fail(CL_OUT_OF_RESOURCES);
    let code = wait([event.raw()].into_iter());
    let call = "clEnqueueFillBuffer with a user event that fails in its wait list";
    match effect {
        Effect::Code => check_failure(&findings, call, code),
        Effect::Status => {
            let status = status(event.raw());
            let rule = "the status is negative (5.11)";
            findings.check(status < 0, call, rule, status_name(status));
        }
        Effect::Memory => {
            work.undo();
            work.check(&bench, &findings, call, "the command does not run (5.11)");
        }
    }
}

/// Adds a finding unless clWaitForEvents has told that an event has failed.
fn check_failure(findings: &Findings, call: &str, code: cl_int) {
    let name = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    let is_right = code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    let rule = format_args!("clWaitForEvents returns {name} (5.11)");
    findings.check(is_right, call, rule, code_name(code));
}

#[rstest]
#[clmatrix_harness::test]
fn wait_for_events_tells_that_a_user_event_has_failed(bench: Bench) {
    let (stage, failed) = (Stage::new(&bench), Gate::closed(bench.context));
    failed.fail(CL_OUT_OF_RESOURCES);
    let [ended, failed] = [stage.ended.raw(), failed.raw()];
    for list in [vec![failed], vec![ended, failed], vec![failed, ended]] {
        let call = format!("{} events, of which a user event has failed", list.len());
        check_failure(&stage.findings, &call, wait(list.into_iter()));
    }
}
