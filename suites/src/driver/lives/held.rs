//! Objects that the caller releases while commands use them.

use super::super::{callback::of_free, order::work::Work};
use super::*;

per_kind! {
    fn a_held_command_outlives_its_objects(bench, kind) {
        check_held(&bench, kind, 0);
        // A second program takes long to build.
        if kind != Kind::Kernel {
            check_held(&bench, kind, 1);
        }
    }
}

/// Returns the buffers or images that a command reads, or maps, and writes.
fn objects(kind: Kind, operands: &Operands) -> [Option<cl_mem>; 2] {
    let own = match kind.needs() {
        Needs::Nothing => operands.buffers,
        Needs::Images => operands.images,
        Needs::Svm => return [None; 2],
    };
    let ([from, to], is_map) = (own.map(Some), kind.unmap().is_some() || kind.map().is_some());
    match kind {
        Kind::Marker | Kind::Barrier => [None, None],
        Kind::ReadBuffer | Kind::ReadRect | Kind::ReadImage | Kind::Migrate => [from, None],
        Kind::WriteBuffer | Kind::WriteRect | Kind::WriteImage => [None, to],
        Kind::FillBuffer | Kind::FillImage => [None, to],
        Kind::ImageToBuffer => [from, Some(operands.buffers[1])],
        Kind::BufferToImage => [Some(operands.buffers[0]), to],
        _ => [from, to.filter(|_| !is_map)],
    }
}

/// Checks that a command has its effect although the caller releases its queue and objects before it runs,
/// and that the object which it reads (side 0) or writes (side 1) lives as long. The test keeps the object
/// of a map, and the target where the source is watched.
fn check_held(bench: &Bench, kind: Kind, side: usize) {
    let (of, queue) = (kind.function(), bench.own_queue(bench.device, 0));
    let mut work = Work::new(bench, [kind]);
    let (operands, is_map) = (work.steps[0].1, kind.unmap().is_some());
    let objects = objects(kind, &operands);
    let watched = objects[side].filter(|_| !is_map);
    if side == 1 && watched.is_none() {
        return;
    }
    let kept = objects[usize::from(!is_map)].filter(|_| side == 0);
    let _kept = kept.map(|object| Object::retained(Class::Memory, object));
    let all = [operands.buffers, operands.images].concat();
    all.into_iter().filter(|object| Some(*object) != kept).for_each(|object| work.forget(object));
    let call = format!("clReleaseMemObject while {of} waits, without and with an event");
    let end = watched.map(|object| Callback::of_memory(object, call));
    let hold = Hold::on(bench, queue.raw());
    if !is_map && kind.map().is_none() {
        kind.enqueue_without_event(&mut work.steps[0].1, Call::on(queue.raw()));
    }
    let event = work.enqueue(0, Call::on(queue.raw()));
    bench.release_objects();
    if let Some(end) = end.as_ref().filter(|end| end.position().is_some()) {
        // Without native kernels, the command may have ended, and its status be late.
        thread::sleep(Duration::from_millis(10));
        if status(event.raw()) != CL_COMPLETE {
            end.check_none("before the command has ended", bench);
        }
    }
    thread::scope(|scope| {
        // Oclgrind's call returns after the commands.
        scope.spawn(|| queue.release());
        thread::sleep(Duration::from_millis(1));
        drop(hold);
    });
    wait_for(&event);
    event.release();
    Callback::check_all(end.as_slice(), bench);
    let call = format!("{of}, its queue and objects released before it runs");
    work.check(bench, &call, "writes the same bytes as with references (5.1, 5.5.1, 5.8)");
}

#[clmatrix_harness::test]
fn an_svm_free_calls_its_function(bench: Bench) {
    bench.requires(Kind::SvmFree);
    let memory = [(); 2].map(|()| bench.new_svm(SIZE));
    let (gate, queue) = (Gate::closed(bench.context), bench.new_queue(0));
    let (list, mut pointers) = ([gate.raw()], memory.map(|pointer| pointer.cast_const()));
    let arguments = [queue, 2 as _, memory[0], memory[1]].map(|argument| argument as usize);
    let call = "clEnqueueSVMFree with a function, after a user event";
    let callback = Callback::new(call, "5.6.1", &arguments);
    let (data, place, none) = (callback.data(), pointers.as_mut_ptr(), ptr::null_mut());
    let (function, list) = (Some(of_free as _), list.as_ptr());
    // SAFETY: queue, event and pointers are valid; the function frees nothing.
    unsafe { ok!(clEnqueueSVMFree(queue, 2, place, function, data, 1, list, none)) };
    pointers.fill(ptr::null());
    thread::sleep(Duration::from_millis(3));
    callback.check_none("before the wait list has ended", &bench);
    gate.open();
    finish(queue);
    Callback::check_all(&[callback], &bench);
    let mut operands = Operands { svm: memory, ..bench.operands(&[Kind::SvmFill]) };
    // The function has not freed the memory.
    let _fill = Kind::SvmFill.enqueue(&mut operands, Call::on(queue));
}
