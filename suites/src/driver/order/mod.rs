//! The order of commands (3.2, 5.12, 5.13).

pub mod setting;
pub mod stage;
pub mod work;

use std::{mem, ptr};

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use clmatrix::cl3::device::{
    CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
    CL_DEVICE_PARTITION_PROPERTIES,
};
use clmatrix::{CommandQueue, Context, Device, Partition};
use clmatrix_harness::skip;
use rstest::rstest;

use super::api::named;
use super::bench::{Bench, bench};
use super::command::{Call, Kind, Needs, per_kind};
use super::object::{Gate, Object};
use super::query::Subject;
use crate::support::on_device::OnDevice;

use setting::*;
use stage::{Held, Stage};
use work::Work;

/// The rule of wait lists.
pub const WAITS: &str = "a command runs when all events of its wait list have ended (3.2)";

per_kind! {
    fn an_in_order_queue_keeps_the_order(bench, kind) {
        check(&bench, &IN_ORDER, &pairs_after(&bench, kind));
    }
}

per_kind! {
    fn an_in_order_queue_keeps_the_order_without_events(bench, kind) {
        check(&bench, &WITHOUT_EVENT, &some_pairs_after(&bench, kind));
    }
}

per_kind! {
    fn an_in_order_queue_keeps_the_order_beside_wait_lists(bench, kind) {
        check(&bench, &IN_ORDER_WITH_LIST, &some_pairs_after(&bench, kind));
    }
}

per_kind! {
    fn a_barrier_keeps_the_order(bench, kind) {
        check(&bench, &BARRIER, &pairs_after(&bench, kind));
    }
}

per_kind! {
    fn a_wait_list_keeps_the_order(bench, kind) {
        check(&bench, &WAIT_LIST, &pairs_after(&bench, kind));
    }
}

per_kind! {
    fn a_wait_list_orders_two_queues(bench, kind) {
        check(&bench, &TWO_QUEUES, &some_pairs_after(&bench, kind));
    }
}

#[rstest]
#[case::buffers(&[Needs::Nothing])]
#[case::images(&[Needs::Images])]
#[case::svm(&[Needs::Svm, Needs::SvmMigration])]
#[clmatrix_harness::test]
fn a_wait_list_orders_two_sub_devices(bench: Bench, #[case] class: &[Needs]) {
    let parts = parts_of(&bench);
    let kinds: Vec<_> = parts.kinds().filter(|kind| class.contains(&kind.needs())).collect();
    if kinds.is_empty() {
        skip!("the device has no such commands: {class:?}");
    }
    let pairs = kinds.iter().flat_map(|first| kinds.iter().map(|second| vec![*first, *second]));
    check(&parts, &PARTS, &pairs.collect::<Vec<_>>());
}

/// Returns a bench with two sub-devices, with half of the compute units each.
fn parts_of(bench: &Bench) -> Bench {
    let device = Subject::Device(bench.device);
    let units: u32 = device.value(named!(CL_DEVICE_MAX_COMPUTE_UNITS));
    let most: u32 = device.value(named!(CL_DEVICE_PARTITION_MAX_SUB_DEVICES));
    let ways: Vec<isize> = device.list(named!(CL_DEVICE_PARTITION_PROPERTIES));
    if units < 2 || most < 2 || !ways.contains(&CL_DEVICE_PARTITION_EQUALLY) {
        skip!("the device has no two sub-devices of equal sizes");
    }
    // SAFETY: the device is valid.
    let device = unsafe { Device::from_raw(bench.device) }.expect("a device");
    let parts = device.partition(Partition::Equally(units / 2)).expect("two sub-devices");
    let context = Context::new(&parts).expect("a context of two sub-devices");
    let queue = CommandQueue::new(&context).expect("a queue of a sub-device");
    self::bench(OnDevice { context, queue })
}

/// Returns pairs of `first` and another kind. The pairs with a kernel are all those of `Kind::Kernel`, since
/// a program takes long to build.
fn pairs_after(bench: &Bench, first: Kind) -> Vec<Vec<Kind>> {
    bench.requires(first);
    let others = || bench.kinds().filter(|kind| *kind != Kind::Kernel);
    let pairs = others().map(|second| vec![first, second]);
    if first != Kind::Kernel {
        return pairs.collect();
    }
    pairs.chain(others().map(|kind| vec![kind, first])).chain([vec![first; 2]]).collect()
}

/// Returns every third pair, such that all kinds are the second one of some first ones.
fn some_pairs_after(bench: &Bench, first: Kind) -> Vec<Vec<Kind>> {
    pairs_after(bench, first).into_iter().skip(first as usize % 3).step_by(3).collect()
}

/// Enqueues commands, of which the first ones wait for a gate, and checks that the last ones wait for the
/// first ones.
fn check(bench: &Bench, setting: &Setting, works: &[Vec<Kind>]) {
    bench.requires_queues(setting.properties());
    println!("{} pairs of commands", works.len());
    let mut stage = Stage::new(bench);
    let mut queues = None;
    for kinds in works {
        let mut work = Work::new(bench, kinds);
        let [first_queue, queue] = *queues.insert(setting.queues(bench, queues));
        stage.queues.extend([first_queue, queue]);
        let (first, mut list) =
            setting.begin(&stage, (&mut work, kinds.len()), [first_queue, queue]);
        let event = work.enqueue(kinds.len() - 1, Call::on(queue).after(&list));
        // The caller may use the memory of the list again (5.10).
        list.fill(ptr::null_mut());
        let first = first.filter(|_| setting.event != FirstEvent::Released);
        let call = format!("{work} {}", setting.text);
        let earlier = first.iter().map(Object::raw).collect();
        let of_first = format!("{} with a user event in its wait list", kinds[0].function());
        stage.held.extend(first.map(|event| Held::new(of_first, WAITS, event)));
        stage.held.push(Held { earlier, ..Held::new(call.clone(), setting.rule, event) });
        stage.works.push((work, call, setting.rule));
    }
    stage.play();
}

/// Returns the kinds of commands without kernels, which take long to build.
fn kinds(bench: &Bench) -> impl Iterator<Item = Kind> {
    bench.kinds().filter(|kind| *kind != Kind::Kernel)
}

#[rstest]
#[case::of_opencl_1_1(OLD_BARRIER, None)]
#[case::with_a_wait_list(BARRIER_WITH_LIST, None)]
#[case::with_wait_lists_behind(BARRIER_AND_LIST, None)]
#[case::with_a_marker_with_a_wait_list_behind(BARRIER_AND_LIST, Some(Kind::Marker))]
#[case::with_a_barrier_with_a_wait_list_behind(BARRIER_AND_LIST, Some(Kind::Barrier))]
#[case::with_another_barrier_behind(TWO_BARRIERS, None)]
#[clmatrix_harness::test]
fn a_barrier_holds_all_kinds(bench: Bench, #[case] setting: Setting, #[case] only: Option<Kind>) {
    // Drivers treat markers and barriers in another way.
    let is_last = |kind: &Kind| {
        only.map_or(!matches!(kind, Kind::Marker | Kind::Barrier), |only| *kind == only)
    };
    let last = kinds(&bench).filter(is_last);
    let works: Vec<_> = last.map(|kind| vec![Kind::FillBuffer, kind]).collect();
    check(&bench, &setting, &works);
}

#[rstest]
#[case::marker(Kind::Marker)]
#[case::barrier(Kind::Barrier)]
#[clmatrix_harness::test]
fn markers_and_barriers_wait_for_all_kinds(bench: Bench, #[case] last: Kind) {
    let works: Vec<_> = kinds(&bench).map(|kind| vec![kind, last]).collect();
    check(&bench, &CLOSING, &works);
}

#[rstest]
#[case::without_a_wait_list(IN_ORDER)]
#[case::with_a_wait_list(IN_ORDER_WITH_LIST)]
#[clmatrix_harness::test]
fn no_kind_lets_later_commands_pass_earlier_ones(bench: Bench, #[case] setting: Setting) {
    let between = |kind| vec![Kind::FillBuffer, kind, Kind::CopyBuffer];
    check(&bench, &setting, &kinds(&bench).map(between).collect::<Vec<_>>());
}

/// The events of wait lists besides the one that has not ended.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    Ended,
    EndLater,
    Same,
}

#[rstest]
#[case::beside_events_that_have_ended(Others::Ended)]
#[case::beside_events_that_end_later(Others::EndLater)]
#[case::beside_the_same_event(Others::Same)]
#[clmatrix_harness::test]
fn a_command_waits_for_each_event_of_its_list(bench: Bench, #[case] others: Others) {
    let mut stage = Stage::new(&bench);
    let (gate, ended) = (stage.gate.raw(), stage.ended.raw());
    let later: Vec<_> = (0..64).map(|_| Gate::closed(bench.context)).collect();
    for length in [1, 2, 3, 17, 64] {
        for held in [0, length / 2, length - 1] {
            let event = |index: usize| match others {
                _ if index == held => gate,
                Others::Ended => ended,
                Others::EndLater => later[index].raw(),
                Others::Same => gate,
            };
            let queue = stage.new_queue();
            let list: Vec<_> = (0..length).map(event).collect();
            stage.hold(queue, &list, format!("number {held} of {length} events in its wait list"));
        }
    }
    // Opens these gates.
    drop(later);
    stage.play();
}

#[rstest]
#[clmatrix_harness::test]
fn commands_behind_one_event_all_run(bench: Bench) {
    let mut stage = Stage::new(&bench);
    let (gate, queue) = (stage.gate.raw(), stage.new_queue());
    let first = stage.hold(queue, &[gate], "a user event in its wait list".into());
    for index in 0..8 {
        let queue = if index % 2 == 0 { queue } else { stage.new_queue() };
        stage.hold(queue, &[first], format!("the event of another one, as {index} before it"));
    }
    stage.play();
}

#[rstest]
#[clmatrix_harness::test]
fn a_wait_list_and_its_events_may_be_given_up(bench: Bench) {
    let works: Vec<_> = kinds(&bench).map(|kind| vec![Kind::FillBuffer, kind]).collect();
    check(&bench, &RELEASED, &works);
}

#[rstest]
#[case::buffer(Kind::MapBuffer)]
#[case::image(Kind::MapImage)]
#[case::svm(Kind::SvmMap)]
#[clmatrix_harness::test]
fn an_unmap_waits_for_its_map(bench: Bench, #[case] map: Kind) {
    bench.requires(map);
    let mut stage = Stage::new(&bench);
    let queue = stage.new_queue();
    let mut operands = bench.operands(&[map]);
    let first = map.enqueue(&mut operands, Call::on(queue).after(&[stage.gate.raw()]));
    let unmap = map.unmap().expect("a map has an unmap");
    let event = unmap.enqueue(&mut operands, Call::on(queue));
    let call = format!("{} before {} of its pointer", map.function(), unmap.function());
    let earlier = vec![first.raw()];
    stage.held.push(Held { earlier, ..Held::new(call, IN_ORDER.rule, event) });
    stage.play();
}

#[rstest]
#[case::on_an_in_order_queue(1, 0, false)]
#[case::on_an_in_order_queue_with_wait_lists(1, 0, true)]
#[case::on_an_out_of_order_queue(1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true)]
#[case::on_two_queues(2, 0, true)]
#[case::on_three_queues(3, 0, true)]
#[clmatrix_harness::test]
fn a_chain_runs_in_order(
    bench: Bench,
    #[case] queues: usize,
    #[case] properties: u64,
    #[case] has_lists: bool,
) {
    bench.requires_queues(properties);
    let cycle = [Kind::FillBuffer, Kind::CopyBuffer, Kind::WriteBuffer, Kind::CopyRect];
    let kinds: Vec<_> = cycle.into_iter().cycle().take(32).collect();
    let mut stage = Stage::new(&bench);
    let mut work = Work::new(&bench, &kinds);
    stage.queues = (0..queues).map(|_| bench.new_queue(properties)).collect();
    let mut list = vec![stage.gate.raw()];
    for (step, kind) in kinds.iter().enumerate() {
        let queue = stage.queues[step % queues];
        let event = work.enqueue(step, Call::on(queue).after(&list));
        let place = if has_lists { "the event before it in its wait list" } else { "no wait list" };
        let call = format!(
            "{} as number {step} of a chain on {queues} queues, with {place}",
            kind.function()
        );
        let before = mem::replace(&mut list, vec![event.raw()]);
        let earlier = if step == 0 { Vec::new() } else { before };
        stage.held.push(Held { earlier, ..Held::new(call, WAITS, event) });
        if !has_lists {
            list.clear()
        }
    }
    stage.works.push((work, format!("a chain of commands on {queues} queues"), WAITS));
    stage.play();
}
