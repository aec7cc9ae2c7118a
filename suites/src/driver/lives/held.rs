//! Objects that the caller releases while commands use them.

use super::super::callback::of_free;
use super::super::order::work::{BUFFER, HOST, IMAGE, SVM, memory};
use super::*;

/// The byte of the sources, and of the host memory that commands read.
const OF_SOURCES: u8 = 0x11;
const OF_HOST: u8 = 0x22;

/// Returns one of the two buffers or images.
fn object(memory: Option<usize>, side: usize, operands: &Operands) -> Option<cl_mem> {
    match memory? {
        BUFFER => Some(operands.buffers[side]),
        IMAGE => Some(operands.images[side]),
        _ => None,
    }
}

/// Sets all bytes of host memory of the bench.
fn set_bytes(host: *mut c_void, byte: u8) {
    // SAFETY: the memory has `SIZE` bytes, and no command uses it.
    unsafe { ptr::write_bytes(host.cast::<u8>(), byte, SIZE) };
}

per_kind! {
    fn a_held_command_outlives_its_objects(bench, kind) {
        check_held(&bench, kind, 0);
        // A second program takes long to build.
        if kind != Kind::Kernel {
            check_held(&bench, kind, 1);
        }
    }
}

/// Writes or reads the objects of a class, if any, and waits for it. A call that blocks would do, but Intel's
/// returns before it has written.
fn transfer(memory: Option<usize>, kinds: [Kind; 2], mut operands: Operands, bench: &Bench) {
    let kind = match memory {
        Some(BUFFER) => kinds[0],
        Some(IMAGE) => kinds[1],
        _ => return,
    };
    kind.enqueue_without_event(&mut operands, Call::on(bench.queue));
    finish(bench.queue);
}

/// Checks that a command has its effect although the caller releases its queue and objects before it runs,
/// and that the object which it reads (side 0) or writes (side 1) lives as long. The test keeps the object
/// of a map, and the target where the source is watched.
fn check_held(bench: &Bench, kind: Kind, side: usize) {
    let findings = Findings::default();
    let (of, [from, to], is_map) = (kind.function(), memory(kind), kind.unmap().is_some());
    let mut operands = bench.operands(&[kind]);
    let watched = object([from, to][side], side, &operands).filter(|_| !is_map);
    if side == 1 && watched.is_none() {
        return;
    }
    set_bytes(operands.host[1], OF_SOURCES);
    transfer(from, [Kind::WriteBuffer, Kind::WriteImage], operands.reversed(), bench);
    set_bytes(operands.host[1], 0);
    set_bytes(operands.host[0], OF_HOST);
    let queue = bench.own_queue(bench.device, 0);
    kind.prepare(&mut operands, queue.raw());
    let kept = if is_map { object(from, 0, &operands) } else { object(to, 1, &operands) };
    let _kept = kept.filter(|_| side == 0).map(retained);
    let end = watched.map(UserData::of_the_end_of);
    let hold = Hold::on(bench, queue.raw());
    if !is_map && kind.map().is_none() {
        kind.enqueue_without_event(&mut operands, Call::on(queue.raw()));
    }
    let event = kind.enqueue(&mut operands, Call::on(queue.raw()));
    bench.release_objects();
    let call = format!("clReleaseMemObject while {of} waits, without and with an event");
    if let Some(end) = end {
        let rule = "no destructor callback before the command has ended (5.5.1)";
        end.check_none(&findings, &call, rule);
    }
    thread::scope(|scope| {
        // Oclgrind's call returns after the commands.
        scope.spawn(|| queue.release());
        thread::sleep(Duration::from_millis(1));
        drop(hold);
    });
    wait(&event);
    let rule = "the command ends after the release of its queue and objects (5.1, 5.5.1)";
    check_complete(&event, of, rule, &findings);
    event.release();
    if let (Some(end), Some(memory)) = (end, watched) {
        UserData::wait(bench, &[end]);
        let rule = "one destructor callback after the command, with the object (5.5.1)";
        end.check_once(&findings, |call| call == [memory as usize], &call, rule);
    }
    if side == 0 && to.is_some_and(|to| to != SVM) {
        transfer(to, [Kind::ReadBuffer, Kind::ReadImage], operands.reversed(), bench);
        let bytes = match from {
            None => FILL,
            Some(HOST) => [OF_HOST; 4],
            Some(_) if kind == Kind::Kernel => [!OF_SOURCES; 4],
            Some(_) => [OF_SOURCES; 4],
        };
        let host = operands.host[usize::from(to == Some(HOST))].cast::<[u8; 4]>();
        // SAFETY: the memory has `SIZE` bytes, and the commands have ended.
        let found = unsafe { std::slice::from_raw_parts(host, SIZE / 4) };
        let wrong = found.iter().find(|found| **found != bytes);
        let call = format_args!("{of}, its queue and objects released before it ran");
        let rule = format_args!("writes {bytes:x?}, as with references (5.1, 5.5.1, 5.8, 5.9)");
        findings.check(wrong.is_none(), call, rule, format_args!("{wrong:x?}"));
    }
    kind.finish(&mut operands, bench.queue);
}

#[rstest]
#[clmatrix_harness::test]
fn an_svm_free_calls_its_function(bench: Bench) {
    let findings = Findings::default();
    bench.requires(Kind::SvmFree);
    let memory = [(); 2].map(|()| bench.new_svm(SIZE));
    let gate = Gate::closed(bench.context);
    let (list, mut pointers) = ([gate.raw()], memory.map(|pointer| pointer.cast_const()));
    let (data, queue) = (UserData::new(), bench.new_queue(0));
    let (user_data, place, none) = (data.pointer(), pointers.as_mut_ptr(), ptr::null_mut());
    let (function, list) = (Some(of_free as _), list.as_ptr());
    // SAFETY: queue, event and pointers are valid; the function frees nothing.
    unsafe { ok!(clEnqueueSVMFree(queue, 2, place, function, user_data, 1, list, none)) };
    pointers.fill(ptr::null());
    thread::sleep(Duration::from_millis(3));
    let call = "clEnqueueSVMFree with a function, after a user event";
    data.check_none(&findings, call, "no call before the wait list has ended (5.6.1)");
    gate.open();
    finish(queue);
    UserData::wait(&bench, &[data]);
    let expected = [queue, 2 as _, memory[0], memory[1]].map(|argument| argument as usize);
    let rule = format_args!("one call, with (queue, count, pointers) {expected:x?} (5.6.1)");
    data.check_once(&findings, |call| call == expected, call, rule);
    let mut operands = Operands { svm: memory, ..bench.operands(&[Kind::SvmFill]) };
    // The function has not freed the memory.
    let _fill = Kind::SvmFill.enqueue(&mut operands, Call::on(queue));
}
