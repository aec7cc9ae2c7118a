//! The order of commands (3.2, 5.12, 5.13).

pub mod setting;
pub mod stage;
pub mod work;

use clmatrix::cl3::{command_queue::*, device::*};
use clmatrix::{CommandQueue, Context, Device, Partition};
use clmatrix_harness::skip;

use super::prelude::*;
use crate::support::on_device::OnDevice;

use setting::*;
use stage::*;
use work::*;

/// The rule of wait lists.
pub const WAITS: &str = "a command runs when all events of its wait list have ended (3.2)";

per_kind! {
    fn an_in_order_queue_keeps_the_order(bench, kind) {
        check(&bench, &IN_ORDER, &pairs_after(&bench, kind));
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

/// Returns the kinds of commands without kernels, which take long to build.
fn kinds(bench: &Bench) -> impl Iterator<Item = Kind> {
    bench.kinds().filter(|kind| *kind != Kind::Kernel)
}

/// Returns pairs of `first` and another kind. The pairs with a kernel are all those of `Kind::Kernel`.
fn pairs_after(bench: &Bench, first: Kind) -> Vec<Vec<Kind>> {
    let pairs = kinds(bench).map(|second| vec![first, second]);
    if first != Kind::Kernel {
        return pairs.collect();
    }
    pairs.chain(kinds(bench).map(|kind| vec![kind, first])).chain([vec![first; 2]]).collect()
}

/// Returns pairs of each kind behind a fill, and of each kind before a copy.
fn some_pairs(kinds: impl Iterator<Item = Kind>) -> Vec<Vec<Kind>> {
    kinds
        .flat_map(|kind| {
            let [fill, copy] = fill_and_copy(kind);
            [vec![fill, kind], vec![kind, copy]]
        })
        .collect()
}

/// Enqueues commands, of which the first ones wait for a gate, and checks that the last ones wait for the
/// first ones.
fn check(bench: &Bench, setting: &Setting, works: &[Vec<Kind>]) {
    bench.requires_queues(setting.properties);
    let mut stage = Stage::new(bench);
    let mut queues = None;
    for kinds in works {
        let Some(mut work) = Work::new(bench, kinds) else { continue };
        let [first_queue, queue] = *queues.insert(setting.queues(bench, queues));
        stage.queues.extend([first_queue, queue]);
        let (first, mut list) = setting.begin(&stage, &mut work, [first_queue, queue]);
        let event = work.enqueue(kinds.len() - 1, Call::on(queue).after(&list));
        // The caller may use the memory of the list again (5.10).
        list.fill(ptr::null_mut());
        let first = first.filter(|_| setting.event != FirstEvent::Released);
        let call = format!("{work} {}", setting.text);
        let earlier = first.iter().map(Object::raw).collect();
        if let Some(event) = first {
            let call = format!("{} with a user event in its wait list", kinds[0].function());
            stage.held.push(Held { call, rule: WAITS, event, earlier: vec![] });
        }
        stage.held.push(Held { call: call.clone(), rule: setting.rule, event, earlier });
        stage.works.push((work, call, setting.rule));
    }
    stage.play();
}

#[rstest]
#[case::on_an_in_order_queue_without_events(WITHOUT_EVENT)]
#[case::on_an_in_order_queue_beside_wait_lists(IN_ORDER_WITH_LIST)]
#[case::with_wait_lists_on_two_queues(TWO_QUEUES)]
#[case::with_wait_lists_and_events_that_are_given_up(RELEASED)]
#[clmatrix_harness::test]
fn commands_keep_the_order(bench: Bench, #[case] setting: Setting) {
    check(&bench, &setting, &some_pairs(kinds(&bench)));
}

#[rstest]
#[case::buffers(&[Needs::Nothing])]
#[case::images(&[Needs::Images])]
#[case::svm(&[Needs::Svm, Needs::SvmMigration])]
#[clmatrix_harness::test]
fn a_wait_list_orders_two_sub_devices(bench: Bench, #[case] class: &[Needs]) {
    let parts = parts_of(&bench);
    let of_class: Vec<_> = kinds(&parts).filter(|kind| class.contains(&kind.needs())).collect();
    if of_class.is_empty() {
        skip!("the device has no such commands: {class:?}");
    }
    check(&parts, &PARTS, &some_pairs(of_class.into_iter()));
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

/// Markers and barriers are tried apart from other kinds, since drivers treat them in another way.
#[rstest]
#[case::with_a_wait_list(BARRIER_WITH_LIST, None)]
#[case::with_wait_lists_behind(BARRIER_AND_LIST, None)]
#[case::with_a_marker_with_a_wait_list_behind(BARRIER_AND_LIST, Some(Kind::Marker))]
#[case::with_a_barrier_with_a_wait_list_behind(BARRIER_AND_LIST, Some(Kind::Barrier))]
#[case::with_another_barrier_behind(TWO_BARRIERS, None)]
#[clmatrix_harness::test]
fn a_barrier_holds_all_kinds(bench: Bench, #[case] setting: Setting, #[case] only: Option<Kind>) {
    let is_other = |kind: &Kind| !matches!(kind, Kind::Marker | Kind::Barrier);
    let last = kinds(&bench).filter(|kind| only.map_or(is_other(kind), |only| *kind == only));
    check(&bench, &setting, &last.map(|kind| vec![Kind::FillBuffer, kind]).collect::<Vec<_>>());
}

#[rstest]
#[case::marker(Kind::Marker)]
#[case::barrier(Kind::Barrier)]
#[clmatrix_harness::test]
fn markers_and_barriers_wait_for_all_kinds(bench: Bench, #[case] last: Kind) {
    check(&bench, &CLOSING, &kinds(&bench).map(|kind| vec![kind, last]).collect::<Vec<_>>());
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
    // A kernel takes long to build.
    let kinds = [Kind::FillBuffer, Kind::Kernel, Kind::Marker];
    for kind in kinds.into_iter().filter(|kind| *kind == kinds[0] || others == Others::Ended) {
        for (length, held) in [(1, 0), (2, 0), (2, 1), (17, 8), (17, 16), (64, 0), (64, 63)] {
            let event = |index: usize| match others {
                _ if index == held => gate,
                Others::Ended => ended,
                Others::EndLater => later[index].raw(),
                Others::Same => gate,
            };
            let list: Vec<_> = (0..length).map(event).collect();
            let with = format!("number {held} of {length} events in its wait list");
            stage.hold(kind, &list, &with);
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
    let first = stage.hold(Kind::FillBuffer, &[stage.gate.raw()], "a user event in its wait list");
    for index in 0..6 {
        let with = format!("the event of another one, as {index} before it");
        stage.hold(Kind::FillBuffer, &[first], &with);
    }
    stage.play();
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
    stage.held.push(Held { call, rule: IN_ORDER.rule, event, earlier: vec![first.raw()] });
    stage.play();
}

#[rstest]
#[case::on_an_in_order_queue(1, 0, false)]
#[case::on_an_out_of_order_queue(1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true)]
#[case::on_two_queues(2, 0, true)]
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
    let mut work = Work::new(&bench, &kinds).expect("commands that may use the same buffers");
    stage.queues = (0..queues).map(|_| bench.new_queue(properties)).collect();
    let (place, rule) = if has_lists {
        ("the event before it in its wait list", WAITS)
    } else {
        ("no wait list", IN_ORDER.rule)
    };
    let mut list = vec![stage.gate.raw()];
    for (step, kind) in kinds.iter().enumerate() {
        let event = work.enqueue(step, Call::on(stage.queues[step % queues]).after(&list));
        let name = kind.function();
        let call = format!("{name} as number {step} of a chain on {queues} queues, with {place}");
        let earlier = stage.held.last().map(|held| held.event.raw()).into_iter().collect();
        list = if has_lists { vec![event.raw()] } else { vec![] };
        stage.held.push(Held { call, rule, event, earlier });
    }
    stage.works.push((work, format!("a chain of commands on {queues} queues"), rule));
    stage.play();
}
