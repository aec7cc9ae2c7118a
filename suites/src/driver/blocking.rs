//! Calls that wait for commands, and calls that must not (3.2, 5.2, 5.3, 5.6, 5.11, 5.15).

use super::order::*;
use super::prelude::*;

per_kind! {
    fn a_blocking_call_waits(bench, kind) {
        let all = [IN_ORDER, IN_ORDER_OF_FEW, IN_ORDER_WITH_LIST, WAIT_LIST, BARRIER, TWO_QUEUES];
        for setting in all.iter().filter(|setting| bench.has_queues(setting.queues.1)) {
            let stage = Stage::new(&bench);
            let (mut work, queue, list) = setting.begin(&stage, around(kind)[0]);
            let has_flag = kind.has_blocking_flag();
            work.name += if has_flag { ", as a call with CL_TRUE" } else { ", and clFinish" };
            work.rule = "it returns when all that it waits for has ended (3.2, 5.15)";
            stage.end_by(&work.name.clone(), work.rule, |held| {
                bench.queues().into_iter().filter(|other| *other != queue).for_each(flush);
                // Drivers may leave out the event of such a call.
                work.enqueue(1, Call::on(queue).after(&list).blocking(), !list.is_empty());
                if !has_flag {
                    finish(queue);
                }
                held.push(work);
            });
        }
    }
}

per_kind! {
    fn a_call_that_does_not_block_returns_at_once(bench, kind) {
        // The function checks it.
        let (mut operands, _event, gate) = gated(&bench, kind, bench.queue);
        gate.open();
        kind.finish(&mut operands, bench.queue);
    }
}

#[rstest]
#[case::finish("clFinish", &[OUT_OF_ORDER])]
#[case::finish_after_a_flush("clFinish after clFlush", &[0])]
#[case::finish_out_of_order_after_a_flush("clFinish after clFlush", &[OUT_OF_ORDER])]
#[case::wait_for_user_events("clWaitForEvents", &[])]
#[case::wait_for_an_in_order_queue("clWaitForEvents", &[0])]
#[case::wait_for_an_out_of_order_queue("clWaitForEvents", &[OUT_OF_ORDER])]
#[case::wait_for_four_queues("clWaitForEvents", &[0; 4])]
#[clmatrix_harness::test]
fn a_call_waits_for_all_commands(bench: Bench, #[case] call: &str, #[case] properties: &[u64]) {
    properties.iter().for_each(|properties| bench.requires_queues(*properties));
    let queues: Vec<_> = properties.iter().map(|properties| bench.new_queue(*properties)).collect();
    let rule = "it returns when all of the queue or the list have ended (5.11, 5.15)";
    // On an out-of-order queue the last commands end first.
    for (count, last) in [(1, 0), (4, 0), (4, 1), (4, 2), (4, 3)] {
        let name = format!("{call}, number {last} of {count} ends last, on queues {properties:x?}");
        let mut stage = Stage::new(&bench);
        let (mut list, gate) = (vec![stage.ended.raw(); count], [stage.gate.raw()]);
        list[last] = gate[0];
        for ((n, event), queue) in list.iter_mut().enumerate().zip(queues.iter().cycle()) {
            // Drivers treat kernels apart.
            let kind = [Kind::Kernel, Kind::FillBuffer][(count + last + n) % 2];
            let mut work = Work::new(&bench, [kind], Kind::whole);
            (work.name, work.rule) = (format!("{}, number {n}, before {name}", work.name), rule);
            *event = work.enqueue(0, Call::on(*queue).after(&gate[..usize::from(n == last)]), true);
            stage.held.push(work);
        }
        stage.end_by(&name, rule, |_| {
            if call == "clWaitForEvents" {
                return bench.check_code(wait(&list), CL_SUCCESS, &name, "a valid call (5.11)");
            }
            if call.ends_with("clFlush") {
                flush(queues[0]);
            }
            finish(queues[0]);
        });
    }
}

#[clmatrix_harness::test]
fn clwaitforevents_fails_with_an_event_of_its_list(bench: Bench) {
    let (_operands, event, gate) = gated(&bench, Kind::FillBuffer, bench.new_queue(0));
    let ended = Kind::Marker.run(&bench, bench.queue);
    // Drivers survive this, if no command ends and no thread waits at the same time (POCL-2, POCL-10).
    gate.fail(CL_OUT_OF_RESOURCES);
    let [ended, failed, behind] = [ended.raw(), gate.raw(), event.raw()];
    for list in [vec![behind], vec![failed], vec![ended, failed]] {
        let of = if list == [behind] { "a command behind a user event" } else { "a user event" };
        let call = format!("clWaitForEvents({} events, of which {of} has failed)", list.len());
        let (code, wanted) = (wait(&list), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        bench.check_code(code, wanted, call, "an event of the list has failed (5.11)");
    }
}

per_kind! {
    fn a_command_fails_with_an_event_of_its_wait_list(bench, kind) {
        let (mut operands, event, gate) = gated(&bench, kind, bench.new_queue(0));
        // The host memory is zero.
        Kind::WriteBuffer.enqueue_without_event(&mut operands, Call::on(bench.queue).blocking());
        gate.fail(CL_OUT_OF_RESOURCES);
        _ = wait(&[event.raw()]);
        let call = format!("{} with a user event that fails in its wait list", kind.function());
        let byte = bench.contents_of::<u8>(operands.buffers[1], 1)[0];
        let answer = format_args!("a byte is {byte:#x}");
        bench.check(byte == 0, &call, "the command does not run (5.11)", answer);
        let found = status(event.raw());
        bench.check(found < 0, call, "the status is negative (5.11)", status_name(found));
    }
}
