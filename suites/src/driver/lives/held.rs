//! Objects that the caller releases while commands use them.

use super::super::order::Work;
use super::ends::{Create, image_of_buffer, part};
use super::*;

per_kind! {
    fn a_held_command_outlives_its_objects(bench, kind) {
        check_held(&bench, kind, false);
        let has_target = objects(kind, bench.no_operands())[1].is_some();
        // A second program takes long to build, and the test keeps the object of a map.
        if has_target && kind != Kind::Kernel && kind.unmap().is_none() {
            check_held(&bench, kind, true);
        }
    }
}

/// Returns the buffer or image that a command reads, and the one that it writes or maps.
fn objects(kind: Kind, Operands { buffers, images, .. }: Operands) -> [Option<cl_mem>; 2] {
    use Kind::*;
    let [from, to] = [buffers, images][usize::from(kind.needs() == Needs::Images)].map(Some);
    match kind {
        ReadBuffer | ReadRect | ReadImage | Migrate | UnmapBuffer | UnmapImage => [from, None],
        WriteBuffer | WriteRect | WriteImage | FillBuffer | FillImage => [None, to],
        MapBuffer | MapImage => [None, from],
        CopyBuffer | CopyRect | CopyImage | Kernel => [from, to],
        ImageToBuffer => [from, Some(buffers[1])],
        BufferToImage => [Some(buffers[0]), to],
        _ => [None; 2],
    }
}

/// Checks that a command has its effect although the caller releases its queue and objects before it runs, and that the
/// object which it reads, or writes, lives as long. The test keeps the object of a map, and the target where the source
/// is watched.
fn check_held(bench: &Bench, kind: Kind, of_target: bool) {
    let mut work = Work::new(bench, [kind], Kind::whole);
    work.rule = "writes the same bytes as with references (5.1, 5.5.1, 5.8)";
    let queue = bench.own_queue(bench.device, 0);
    let call = format!("clReleaseMemObject while {} waits, without and with an event", work.name);
    work.name += ", its queue and objects released before it runs";
    let operands = work.steps[0].1;
    let [from, to] = objects(kind, operands);
    let [watched, kept] = if of_target { [to, None] } else { [from, to] };
    let _kept = kept.map(|object| Object::retained(Class::Memory, object));
    let all = [operands.buffers, operands.images].concat();
    work.expected.retain(|(_, raw), _| Some(*raw) == kept || !all.contains(raw));
    let end = watched.map(|object| Callback::of_memory(object, call));
    let hold = hold(bench, queue.raw());
    if !kind.is_of_map() {
        work.enqueue(0, Call::on(queue.raw()), false);
    }
    let event = work.enqueue(0, Call::on(queue.raw()), true);
    bench.release_objects();
    check_not_ended(end.as_slice(), event, bench);
    thread::scope(|scope| {
        // Oclgrind's call returns after the commands.
        scope.spawn(|| queue.release());
        thread::sleep(Duration::from_millis(1));
        drop(hold);
    });
    work.events.drain(..).for_each(|event| wait_for(&event));
    Callback::check_all(end.as_slice(), bench);
    work.check();
}

#[clmatrix_harness::test]
fn an_event_does_not_keep_memory(bench: Bench) {
    let (mut events, mut ends) = (vec![], vec![]);
    // The pointer of a map is used until its unmap has ended.
    for kind in bench.kinds().filter(|kind| !kind.is_of_map()) {
        let mut operands = bench.operands(&[kind]);
        events.push(kind.enqueue(&mut operands, Call::on(bench.queue)));
        let call = format!("clReleaseMemObject after {}, whose event lives", kind.function());
        let objects = objects(kind, operands).into_iter().flatten();
        ends.extend(objects.map(|object| Callback::of_memory(object, &call)));
    }
    finish(bench.queue);
    bench.release_objects();
    Callback::check_all(&ends, &bench);
}

#[clmatrix_harness::test]
fn a_command_without_a_flush_outlives_its_queue(bench: Bench) {
    for kind in bench.kinds() {
        let mut work = Work::new(&bench, [kind], Kind::whole);
        work.name += ", and clReleaseCommandQueue without a flush";
        work.rule = "the release of the last reference flushes the queue (5.1)";
        let queue = bench.own_queue(bench.device, 0);
        work.enqueue(0, Call::on(queue.raw()), true);
        queue.release();
        wait_for(&work.events[0]);
        work.check();
    }
}

/// Checks that a callback for the end of an object has not been called if a command that uses the object has not ended.
fn check_not_ended(end: &[Callback], event: cl_event, bench: &Bench) {
    for end in end.iter().filter(|end| end.position().is_some()) {
        // Without native kernels, the command may have ended, and its status be late.
        thread::sleep(Duration::from_millis(10));
        if status(event) != CL_COMPLETE {
            end.check_none("before the command has ended", bench);
        }
    }
}

#[rstest]
#[case::host_memory(|bench: &Bench, _| bench.new_buffer(CL_MEM_ALLOC_HOST_PTR, SIZE))]
#[case::host_pointer(|bench: &Bench, _| bench.buffer(CL_MEM_USE_HOST_PTR, SIZE, bench.new_host(SIZE)))]
#[case::copied_host_memory(|bench: &Bench, _| bench.buffer_of(&[0_u8; SIZE]))]
#[case::sub_buffer(part)]
#[case::image_1d_buffer(image_of_buffer)]
#[clmatrix_harness::test]
fn a_held_command_outlives_other_memory(bench: Bench, #[case] create: Create) {
    let object = create(&bench, bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, SIZE)));
    let (memory, queue) = ([object.raw(); 2], bench.new_queue(0));
    let of: u32 = Subject::Memory(memory[0]).value(named!(CL_MEM_TYPE));
    let kind = if of == CL_MEM_OBJECT_BUFFER { Kind::FillBuffer } else { Kind::FillImage };
    let mut operands = Operands { buffers: memory, images: memory, ..bench.no_operands() };
    let call = format!("clReleaseMemObject while {} waits", kind.function());
    let end = [Callback::of_memory(memory[0], call)];
    let hold = hold(&bench, queue);
    let event = kind.enqueue(&mut operands, Call::on(queue).of(kind.few()));
    object.release();
    // The driver runs the native kernel, unless it waits for a flush.
    thread::sleep(Duration::from_millis(1));
    check_not_ended(&end, event.raw(), &bench);
    drop(hold);
    wait_for(&event);
    event.release();
    // Drivers may look at the ended commands in it.
    finish(queue);
    Callback::check_all(&end, &bench);
}

#[clmatrix_harness::test]
fn an_svm_free_calls_its_function(bench: Bench) {
    bench.requires(Kind::SvmFree);
    let memory = [(); 2].map(|()| bench.new_svm(SIZE));
    let (gate, queue, none) = (Gate::closed(bench.context), bench.new_queue(0), ptr::null_mut());
    let (gates, mut pointers) = ([gate.raw()], memory.map(|pointer| pointer.cast_const()));
    let arguments = [queue, 2 as _, memory[0], memory[1]].map(|argument| argument as usize);
    let call = "clEnqueueSVMFree with a function, after a user event";
    let callback = Callback::new(call, "5.6.1", &arguments);
    let (place, data, list) = (pointers.as_mut_ptr(), callback.data(), gates.as_ptr());
    // SAFETY: queue, event and pointers are valid; the function frees nothing.
    unsafe { ok!(clEnqueueSVMFree(queue, 2, place, Some(of_free as _), data, 1, list, none)) };
    pointers.fill(ptr::null());
    before_opening(&bench, &gate, || callback.check_none("before the wait list has ended", &bench));
    finish(queue);
    Callback::check_all(&[callback], &bench);
    let mut operands = Operands { svm: memory, ..bench.no_operands() };
    // The function has not freed the memory.
    Kind::SvmFill.enqueue_without_event(&mut operands, Call::on(queue));
}
