//! The order of commands (3.2, 5.12, 5.13).

mod setting;
mod stage;
mod work;

use clmatrix::{CommandQueue, Context};

use super::prelude::*;

pub use {setting::*, stage::*, work::*};

per_kind! {
    fn an_in_order_queue_keeps_the_order(bench, kind) {
        check(&bench, &[IN_ORDER], &pairs_with(&bench, kind));
        check(&bench, &[IN_ORDER_OF_FEW, IN_ORDER_WITH_LIST], &around(kind));
    }
}

per_kind! {
    fn a_wait_list_orders_two_queues(bench, kind) {
        let [first, last] = around(kind);
        check(&bench, &[TWO_QUEUES], &[first, last, [kind; 2]]);
    }
}

per_kind! {
    fn an_out_of_order_queue_keeps_the_order(bench, kind) {
        check(&bench, &[BARRIER, WAIT_LIST], &pairs_with(&bench, kind));
        check(&bench, &[CLOSING], &[[kind, Kind::Marker], [kind, Kind::Barrier]]);
    }
}

#[clmatrix_harness::test]
fn a_command_changes_nothing_before_its_wait_list_has_ended(bench: Bench) {
    let queue = bench.new_queue(0);
    for kind in bench.kinds().filter(|kind| !kind.is_of_map() && *kind != Kind::Migrate) {
        let (gate, mut work) =
            (Gate::closed(bench.context), Work::new(&bench, [kind], Kind::whole));
        work.name += " with a user event in its wait list (5.11)";
        let mut before = work.contents();
        // The host looks at its memory when no command may use it (5.2.2).
        before.retain(|(class, _), _| *class > 0);
        if before.iter().all(|(place, bytes)| work.expected[place] == *bytes) {
            continue;
        }
        work.enqueue(0, Call::on(queue).after(&[gate.raw()]), true);
        let after = std::mem::replace(&mut work.expected, before);
        work.rule = "nothing changes before the event has ended";
        before_opening(&bench, &gate, || work.check());
        work.expected = after;
        work.rule = "the command runs when the event has ended";
        wait_for(&work.events[0]);
        work.check();
    }
}

// These stand apart, as markers and barriers fail here alone on some drivers.
per_kind! {
    fn a_barrier_holds_those_with_a_wait_list(bench, kind) {
        check(&bench, &[BARRIER_AND_LIST, BARRIER_WITH_LIST], &[[Kind::FillBuffer, kind]]);
    }
}

/// Kinds that are paired with others in their own cases only: kernels take long to build, and NVIDIA's driver crashes
/// in migrations that wait.
const APART: [Kind; 2] = [Kind::Kernel, Kind::Migrate];

/// Returns pairs that begin with a kind, or all with a kind that is apart.
fn pairs_with(bench: &Bench, kind: Kind) -> Vec<[Kind; 2]> {
    let others = bench.kinds().filter(|other| *other == kind || !APART.contains(other));
    let count = |other| if APART.contains(&kind) && other != kind { 2 } else { 1 };
    others.flat_map(|other| [[kind, other], [other, kind]].into_iter().take(count(other))).collect()
}

/// Returns a kind behind a fill, and before a copy, of memory of its class.
pub fn around(kind: Kind) -> [[Kind; 2]; 2] {
    use Kind::*;
    let all = [[FillBuffer, CopyBuffer], [FillImage, CopyImage], [SvmFill, SvmCopy]];
    let [fill, copy] = all[kind.needs() as usize];
    [[fill, kind], [kind, copy]]
}

/// Enqueues pairs of commands, of which the first one waits for a gate, and checks that the second one waits for it.
fn check(bench: &Bench, settings: &[Setting], pairs: &[[Kind; 2]]) {
    for setting in settings {
        bench.requires_queues(setting.queues.1);
        SETTING.set(setting.text);
        let (mut stage, other) = (Stage::new(bench), bench.new_queue(0));
        for kinds in pairs {
            let (mut work, queue, mut list) = setting.begin(&stage, *kinds);
            // Another command waits for the same events in every second pair, before this one does.
            if stage.held.len() % 2 == 1 && !list.is_empty() {
                let call = Call::on(other).after(&list);
                Kind::FillBuffer.enqueue_without_event(&mut bench.operands(&[]), call);
            }
            work.enqueue(1, Call::on(queue).after(&list), true);
            // The caller may use the memory of the list again (5.10), and release events that commands wait for (5.11).
            list.fill(ptr::null_mut());
            if stage.held.len() % 4 == 2 {
                work.events.drain(..work.events.len() - 1);
            }
            stage.held.push(work);
        }
        stage.play();
    }
    SETTING.set("");
}

/// Returns a bench with a context of two parts of the device.
pub fn of_two_parts(bench: &Bench) -> Bench {
    let ways = Subject::Device(bench.device).list::<isize>(named!(CL_DEVICE_PARTITION_PROPERTIES));
    let half = (bench.value::<u32>(named!(CL_DEVICE_MAX_COMPUTE_UNITS)) / 2).max(1);
    let by_counts = ways.contains(&CL_DEVICE_PARTITION_BY_COUNTS);
    let partition = if by_counts { Partition::ByCounts(&[1, 1]) } else { Partition::Equally(half) };
    let parts = parts(bench.on_device.device(), partition).expect("two sub-devices");
    let context = Context::new(&parts).expect("a context of two sub-devices");
    let queue = CommandQueue::new(&context).expect("a queue of a sub-device");
    super::bench::bench(OnDevice { context, queue })
}

#[rstest]
#[case::buffers(Kind::FillBuffer)]
#[case::images(Kind::FillImage)]
#[case::svm(Kind::SvmFill)]
#[clmatrix_harness::test]
fn a_wait_list_orders_two_sub_devices(bench: Bench, #[case] fill: Kind) {
    bench.requires(fill);
    let kinds = bench.kinds().filter(|kind| kind.needs() == fill.needs());
    let pairs: Vec<_> = kinds.flat_map(around).collect();
    check(&of_two_parts(&bench), &[TWO_QUEUES], &pairs);
}

#[rstest]
#[case::buffer(Kind::MapBuffer)]
#[case::image(Kind::MapImage)]
#[case::svm(Kind::SvmMap)]
#[clmatrix_harness::test]
fn an_unmap_waits_for_its_map(bench: Bench, #[case] map: Kind) {
    bench.requires(map);
    let (mut stage, mut operands) = (Stage::new(&bench), bench.operands(&[map]));
    let (queue, unmap) = (bench.new_queue(0), map.unmap().expect("a map has an unmap"));
    let first = map.enqueue(&mut operands, Call::on(queue).after(&[stage.gate.raw()]));
    let events = vec![first, unmap.enqueue(&mut operands, Call::on(queue))];
    let (map, unmap) = (map.function(), unmap.function());
    let name = format!("{map} before {unmap} of its pointer on an in-order queue (5.13)");
    stage.held.push(Work { name, events, ..Work::new(&bench, [], Kind::whole) });
    stage.play();
}
