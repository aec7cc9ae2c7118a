//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE as OUT_OF_ORDER;
use clmatrix::cl3::{error_codes::*, types::cl_int};

use super::order::{WAITS, setting::*, stage::*, work::*};
use super::prelude::*;

/// The rule of calls with a blocking flag.
const BLOCKS: &str = "a call with CL_TRUE returns when its command has ended, which is after all that it \
                      waits for (3.2)";

/// Checks that a call has waited: until all gates were open, and all commands had ended. All have ended when the
/// function returns.
fn check_waited<'a>(
    findings: &Findings,
    was_open: bool,
    events: impl IntoIterator<Item = &'a Object>,
    call: &str,
    rule: &str,
) {
    findings.check(was_open, call, rule, "it returned while a user event held a command");
    for event in events.into_iter().map(Object::raw) {
        let found = status(event);
        let answer = format_args!("a command has the status {} then", status_name(found));
        findings.check(found == 0 || !was_open, call, rule, answer);
        let has_ended = found <= 0 || eventually(|| status(event) <= 0);
        findings.check(has_ended, call, "the command ends (3.2)", "it has not ended within 5 s");
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
        check_waited(&findings, was_open, first.iter().chain(&event), &text, BLOCKS);
        if was_open {
            work.overwrite();
            work.check(&bench, &findings, &text, BLOCKS);
        }
    }
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        let mut stage = Stage::new(&bench);
        let mut work = Work::new(&bench, &[kind]).expect("one command");
        let (queue, list) = (stage.new_queue(), [stage.gate.raw()]);
        let call = Call::on(queue).after(&list);
        let (event, is_early) = at_once(&mut stage.gate, || work.enqueue(0, call));
        let flag = if kind.has_blocking_flag() { "(CL_FALSE)" } else { "" };
        let call = format!("{work}{flag} with a user event in its wait list");
        let rule = "the call returns when the command is enqueued (3.2)";
        stage.findings.check(is_early, &call, rule, "it returned when the user event had ended");
        if is_early {
            stage.held.push(Held { call: call.clone(), rule: WAITS, event, earlier: vec![] });
            stage.works.push((work, call, WAITS));
            stage.play();
        }
    }
}

#[rstest]
#[case::plainly(false, false)]
#[case::after_a_flush(true, false)]
#[case::behind_another_queue(false, true)]
#[clmatrix_harness::test]
fn finish_waits_for_all_commands(
    bench: Bench,
    #[case] is_flushed: bool,
    #[case] has_other: bool,
    #[values(0, OUT_OF_ORDER)] properties: u64,
) {
    bench.requires_queues(properties);
    let queue = bench.new_queue(properties);
    let other = if has_other { bench.new_queue(0) } else { queue };
    let mut works = [
        [Kind::FillBuffer, Kind::CopyBuffer],
        [Kind::WriteBuffer, Kind::Migrate],
        [Kind::CopyRect, Kind::ReadBuffer],
    ]
    .map(|kinds| Work::new(&bench, &kinds).expect("commands that may use the same buffers"));
    let mut gates: Vec<_> = works.iter().map(|_| Gate::closed(bench.context)).collect();
    let mut events = Vec::new();
    for (work, gate) in works.iter_mut().zip(&gates) {
        events.push(work.enqueue(0, Call::on(other).after(&[gate.raw()])));
        let list = [events[events.len() - 1].raw()];
        events.push(work.enqueue(1, Call::on(queue).after(&list)));
    }
    // On an out-of-order queue the last commands end first.
    gates.reverse();
    let ((), was_open) = meanwhile(gates, || {
        // SAFETY: the queues are valid.
        unsafe {
            if is_flushed || has_other {
                ok!(clFlush(other));
            }
            ok!(clFinish(queue));
        }
    });
    let findings = Findings::default();
    let way = [["", " after clFlush"], [" of commands behind another queue"; 2]]
        [usize::from(has_other)][usize::from(is_flushed)];
    let order = if properties == 0 { "an in-order" } else { "an out-of-order" };
    let call = format!("clFinish{way}, {order} queue");
    let rule = "it returns when all commands of the queue have ended (5.15)";
    check_waited(&findings, was_open, &events, &call, rule);
    works.iter_mut().for_each(|work| work.check(&bench, &findings, &call, rule));
}

#[rstest]
#[case::of_an_in_order_queue(0)]
#[case::of_an_out_of_order_queue(OUT_OF_ORDER)]
#[clmatrix_harness::test]
fn flush_submits_commands_and_does_not_wait(bench: Bench, #[case] properties: u64) {
    bench.requires_queues(properties);
    let (mut gate, queue) = (Gate::closed(bench.context), bench.new_queue(properties));
    let mut operands = bench.operands(&[]);
    let event = Kind::FillBuffer.enqueue(&mut operands, Call::on(queue).after(&[gate.raw()]));
    // SAFETY: the queue is valid.
    let ((), is_early) = at_once(&mut gate, || unsafe { ok!(clFlush(queue)) });
    gate.open();
    let has_ended = eventually(|| status(event.raw()) <= 0);
    let findings = Findings::default();
    let rule = "it does not wait for the commands of the queue (5.15)";
    findings.check(is_early, "clFlush", rule, "it returned when the user event had ended");
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
        let list: Vec<_> = match events[..] {
            [] => gates.iter().map(Gate::raw).collect(),
            _ => events.iter().map(Object::raw).collect(),
        };
        gates.swap(last, length - 1);
        let (code, was_open) = meanwhile(gates, || wait(&list));
        let of = if events.is_empty() { "user events" } else { "events of commands" };
        let call = format!("clWaitForEvents({length} {of}, of which number {last} ends last)");
        let rule = "it returns CL_SUCCESS when all have ended (5.11)";
        findings.check(code == 0, &call, rule, code_name(code));
        check_waited(&findings, was_open, &events, &call, rule);
        works.iter_mut().for_each(|work| work.check(&bench, &findings, &call, rule));
    }
}

/// Calls clWaitForEvents.
fn wait(list: &[*mut c_void]) -> cl_int {
    // SAFETY: the events are valid.
    unsafe { cl!(clWaitForEvents(list.len() as u32, list.as_ptr())) }
}

#[rstest]
#[case::its_status_is_negative(true)]
#[case::it_does_not_run(false)]
#[clmatrix_harness::test]
fn a_command_fails_with_an_event_of_its_wait_list(bench: Bench, #[case] is_status: bool) {
    let (findings, gate) = (Findings::default(), Gate::closed(bench.context));
    let mut work = Work::new(&bench, &[Kind::FillBuffer]).expect("one command");
    let event = work.enqueue(0, Call::on(bench.new_queue(0)).after(&[gate.raw()]));
    // Drivers survive this, if no command ends and no thread waits at the same time (POCL-2, POCL-10).
    gate.fail(CL_OUT_OF_RESOURCES);
    wait(&[event.raw()]);
    let call = "clEnqueueFillBuffer with a user event that fails in its wait list";
    if is_status {
        let found = status(event.raw());
        findings.check(found < 0, call, "the status is negative (5.11)", status_name(found));
    } else {
        work.undo();
        work.check(&bench, &findings, call, "the command does not run (5.11)");
    }
}

#[rstest]
#[clmatrix_harness::test]
fn wait_for_events_tells_that_an_event_has_failed(bench: Bench) {
    let (stage, gate) = (Stage::new(&bench), Gate::closed(bench.context));
    let mut operands = bench.operands(&[]);
    let call = Call::on(bench.new_queue(0));
    let behind = Kind::FillBuffer.enqueue(&mut operands, call.after(&[gate.raw()]));
    gate.fail(CL_OUT_OF_RESOURCES);
    let [ended, failed, behind] = [stage.ended.raw(), gate.raw(), behind.raw()];
    for list in [vec![failed], vec![ended, failed], vec![failed, ended], vec![behind]] {
        let what = if list == [behind] { "command behind a user event" } else { "user event" };
        let call = format!("clWaitForEvents({} events, of which a {what} has failed)", list.len());
        let code = wait(&list);
        let is_right = code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        let rule = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (5.11)";
        stage.findings.check(is_right, call, rule, code_name(code));
    }
}
