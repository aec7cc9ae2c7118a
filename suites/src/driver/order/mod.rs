//! The order of commands (3.2, 5.12, 5.13).

pub mod setting;
pub mod stage;
pub mod work;

use clmatrix::{CommandQueue, Context};

use super::prelude::*;

use setting::*;
use stage::*;
use work::*;

/// The rule of wait lists.
pub const WAITS: &str = "a command runs when all events of its wait list have ended (3.2)";

per_kind! {
    fn an_in_order_queue_keeps_the_order(bench, kind) {
        check(&bench, &IN_ORDER, pairs_with(&bench, kind));
        for setting in [WITHOUT_EVENT, IN_ORDER_WITH_LIST] {
            check(&bench, &setting, around(kind));
        }
    }
}

per_kind! {
    fn a_wait_list_orders_two_queues(bench, kind) {
        check(&bench, &TWO_QUEUES, around(kind));
    }
}

per_kind! {
    fn an_out_of_order_queue_keeps_the_order(bench, kind) {
        for setting in [BARRIER, WAIT_LIST] {
            check(&bench, &setting, pairs_with(&bench, kind));
        }
        check(&bench, &CLOSING, [[kind, Kind::Marker], [kind, Kind::Barrier]]);
        // Drivers treat markers and barriers in another way.
        if !matches!(kind, Kind::Marker | Kind::Barrier) {
            check(&bench, &BARRIER_AND_LIST, [[Kind::FillBuffer, kind]]);
            check(&bench, &BARRIER_WITH_LIST, [[Kind::FillBuffer, kind]]);
        }
    }
}

#[rstest]
#[case::marker(Kind::Marker)]
#[case::barrier(Kind::Barrier)]
#[clmatrix_harness::test]
fn a_barrier_holds_those_with_a_wait_list(bench: Bench, #[case] kind: Kind) {
    check(&bench, &BARRIER_AND_LIST, [[Kind::FillBuffer, kind]]);
}

/// Returns whether a kind is paired with others in its own cases only: kernels take long to build, and NVIDIA's driver
/// crashes in migrations that wait.
fn is_apart(kind: Kind) -> bool {
    matches!(kind, Kind::Kernel | Kind::Migrate)
}

/// Returns the other kinds of commands.
fn kinds(bench: &Bench) -> impl Iterator<Item = Kind> {
    bench.kinds().filter(|kind| !is_apart(*kind))
}

/// Returns pairs that begin with a kind, or all with a kind that is apart.
fn pairs_with(bench: &Bench, kind: Kind) -> Vec<[Kind; 2]> {
    let pairs = kinds(bench).map(|other| [kind, other]);
    let others = kinds(bench).map(|other| [other, kind]).chain([[kind; 2]]);
    pairs.chain(others.filter(|_| is_apart(kind))).collect()
}

/// Returns a kind behind a fill, and before a copy, of memory of its class.
pub fn around(kind: Kind) -> [[Kind; 2]; 2] {
    let [fill, copy] = match kind.needs() {
        Needs::Nothing => [Kind::FillBuffer, Kind::CopyBuffer],
        Needs::Images => [Kind::FillImage, Kind::CopyImage],
        Needs::Svm => [Kind::SvmFill, Kind::SvmCopy],
    };
    [[fill, kind], [kind, copy]]
}

/// Enqueues pairs of commands, of which the first one waits for a gate, and checks that the second one waits for it.
fn check(bench: &Bench, setting: &Setting, pairs: impl IntoIterator<Item = [Kind; 2]>) {
    bench.requires_queues(setting.properties);
    SETTING.set(setting.text);
    let mut stage = Stage::new(bench);
    for kinds in pairs {
        let mut work = Work::new(bench, kinds);
        let (earlier, queue, mut list) = setting.begin(&mut stage, &mut work);
        let event = work.enqueue(1, Call::on(queue).after(&list));
        // The caller may use the memory of the list again (5.10).
        list.fill(ptr::null_mut());
        let held = stage.add(format!("{} {}", work.name, setting.text), setting.rule, event);
        (held.earlier, held.work) = (earlier, Some(work));
    }
    stage.play();
    SETTING.set("");
}

#[rstest]
#[case::buffers(Kind::FillBuffer)]
#[case::images(Kind::FillImage)]
#[case::svm(Kind::SvmFill)]
#[clmatrix_harness::test]
fn a_wait_list_orders_two_sub_devices(on_device: OnDevice, #[case] class: Kind) {
    let device = on_device.context.default_device();
    let units: u32 = Subject::Device(device.as_raw()).value(named!(CL_DEVICE_MAX_COMPUTE_UNITS));
    let parts = parts(device, Partition::Equally(units.div_ceil(2))).expect("two sub-devices");
    let context = Context::new(&parts).expect("a context of two sub-devices");
    let queue = CommandQueue::new(&context).expect("a queue of a sub-device");
    let bench = bench(OnDevice { context, queue });
    bench.requires(class);
    let of_class = kinds(&bench).filter(|kind| class.needs() == kind.needs());
    check(&bench, &PARTS, of_class.flat_map(around));
}

#[clmatrix_harness::test]
fn a_command_waits_for_each_event(bench: Bench) {
    let mut stage = Stage::new(&bench);
    for kind in [Kind::Kernel, Kind::FillBuffer, Kind::Marker] {
        for (length, held) in [(1, 0), (2, 0), (2, 1), (17, 8), (17, 16), (64, 0), (64, 63)] {
            let mut list = vec![stage.ended.raw(); length];
            list[held] = stage.gate.raw();
            let mut work = Work::new(&bench, [kind]);
            let event = work.enqueue(0, Call::on(bench.new_queue(0)).after(&list));
            let with = format!("number {held} of {length} events in its wait list");
            let call = format!("{} with {with}", work.name);
            stage.add(call, WAITS, event).work = Some(work);
        }
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
    let (queue, mut operands) = (bench.new_queue(0), bench.operands(&[map]));
    let first = map.enqueue(&mut operands, Call::on(queue).after(&[stage.gate.raw()]));
    let unmap = map.unmap().expect("a map has an unmap");
    let event = unmap.enqueue(&mut operands, Call::on(queue));
    let call = format!("{} before {} of its pointer", map.function(), unmap.function());
    stage.add(call, IN_ORDER.rule, event).earlier = Some(first.raw());
    stage.play();
}
