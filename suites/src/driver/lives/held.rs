//! Objects that the caller releases while commands use them.

use std::thread;
use std::time::Duration;

use clmatrix::cl3::types::cl_mem;

use super::super::callback::{UserData, of_free};
use super::super::events::{check_complete, finish, status, wait};
use super::super::prelude::*;
use super::{Hold, retained};

/// The byte of the sources, and of the host memory that commands read.
const OF_SOURCES: u8 = 0x11;
const OF_HOST: u8 = 0x22;

/// The bytes that a command writes, and the command that reads them; none where it writes host memory.
fn written(kind: Kind) -> Option<([u8; 4], Option<Kind>)> {
    let (from_buffer, from_image) = (Some(Kind::ReadBuffer), Some(Kind::ReadImage));
    match kind {
        Kind::ReadBuffer | Kind::ReadRect | Kind::ReadImage => Some(([OF_SOURCES; 4], None)),
        Kind::WriteBuffer | Kind::WriteRect => Some(([OF_HOST; 4], from_buffer)),
        Kind::CopyBuffer | Kind::CopyRect | Kind::ImageToBuffer => {
            Some(([OF_SOURCES; 4], from_buffer))
        }
        Kind::Kernel => Some(([!OF_SOURCES; 4], from_buffer)),
        Kind::FillBuffer => Some((FILL, from_buffer)),
        Kind::WriteImage => Some(([OF_HOST; 4], from_image)),
        Kind::CopyImage | Kind::BufferToImage => Some(([OF_SOURCES; 4], from_image)),
        Kind::FillImage => Some((FILL, from_image)),
        _ => None,
    }
}

/// The object that a command uses and does not write, unless it is mapped.
fn source(kind: Kind, operands: &Operands) -> Option<cl_mem> {
    match kind {
        Kind::ReadBuffer
        | Kind::ReadRect
        | Kind::CopyBuffer
        | Kind::CopyRect
        | Kind::UnmapBuffer => Some(operands.buffers[0]),
        Kind::Kernel | Kind::Migrate | Kind::BufferToImage => Some(operands.buffers[0]),
        Kind::ReadImage | Kind::CopyImage | Kind::ImageToBuffer | Kind::UnmapImage => {
            Some(operands.images[0])
        }
        _ => None,
    }
}

/// The object that a command writes.
fn target(kind: Kind, operands: &Operands) -> Option<cl_mem> {
    match written(kind)?.1? {
        Kind::ReadImage => Some(operands.images[1]),
        _ => Some(operands.buffers[1]),
    }
}

/// Writes bytes to host memory of the bench.
fn set_bytes(host: *mut c_void, byte: u8) {
    // SAFETY: the memory has `SIZE` bytes, and no command uses it.
    unsafe { ptr::write_bytes(host.cast::<u8>(), byte, SIZE) };
}

per_kind! {
    fn a_held_command_outlives_its_objects(bench, kind) {
        check_held(&bench, kind, source);
        // A second program takes long to build.
        if kind != Kind::Kernel && written(kind).is_some_and(|(_, read)| read.is_some()) {
            check_held(&bench, kind, target);
        }
    }
}

/// Checks that a command has its effect although the caller releases its queue and objects before it runs,
/// and that the object which `watched` tells lives as long. The object of a map is kept, and so is the target
/// unless it is watched.
fn check_held(bench: &Bench, kind: Kind, watched: fn(Kind, &Operands) -> Option<cl_mem>) {
    let findings = Findings::default();
    let of = kind.function();
    let mut operands = bench.operands(&[kind]);
    let watched = watched(kind, &operands).map(|memory| (memory, UserData::of_the_end_of(memory)));
    let has_images = !operands.images[0].is_null();
    set_bytes(operands.host[1], OF_SOURCES);
    for write in [Some(Kind::WriteBuffer), has_images.then_some(Kind::WriteImage)] {
        let call = Call::on(bench.queue).blocking();
        write.map(|write| write.enqueue(&mut operands.reversed(), call));
    }
    set_bytes(operands.host[1], 0);
    set_bytes(operands.host[0], OF_HOST);
    let queue = bench.own_queue(bench.device, 0);
    kind.prepare(&mut operands, queue.raw());
    let kept = usize::from(kind.unmap().is_none());
    let kept = [operands.buffers[kept], operands.images[kept]].into_iter();
    let is_kept = |memory: &cl_mem| {
        !memory.is_null() && watched.is_none_or(|(watched, _)| watched != *memory)
    };
    let kept: Vec<_> = kept.filter(is_kept).map(retained).collect();
    let hold = Hold::on(bench, queue.raw());
    if kind.map().is_none() && kind.unmap().is_none() {
        kind.enqueue_without_event(&mut operands, Call::on(queue.raw()));
    }
    let event = kind.enqueue(&mut operands, Call::on(queue.raw()));
    bench.release_objects();
    let call = format!("clReleaseMemObject while {of} waits in a queue");
    if let Some((_, end)) = watched {
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
    if let Some((memory, end)) = watched {
        UserData::wait([end]);
        let rule = "one destructor callback after the command, with the object (5.5.1)";
        end.check_once(&findings, |call| call == [memory as usize], &call, rule);
    }
    let is_target_kept = kept.len() > usize::from(has_images);
    if let (Some((bytes, read)), true) = (written(kind), is_target_kept) {
        let read = read
            .map(|read| read.enqueue(&mut operands.reversed(), Call::on(bench.queue).blocking()));
        let host = operands.host[usize::from(read.is_none())].cast::<[u8; 4]>();
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
fn a_wait_list_keeps_its_events(bench: Bench) {
    let findings = Findings::default();
    let mut operands = bench.operands(&[]);
    let gate = Gate::closed(bench.context);
    let list = [gate.raw()];
    let other = bench.new_queue(0);
    let first = Kind::FillBuffer.enqueue(&mut operands, Call::on(other).after(&list));
    let list = [first.raw()];
    let last = Kind::Marker.enqueue(&mut operands, Call::on(bench.queue).after(&list));
    first.release();
    let found = status(last.raw());
    let call = "clReleaseEvent of an event in the wait list of clEnqueueMarkerWithWaitList";
    let rule = "the marker still waits (5.11)";
    findings.check(found > 1, call, rule, format_args!("the marker has status {found}"));
    gate.open();
    finish(other);
    wait(&last);
}

#[rstest]
#[clmatrix_harness::test]
fn an_svm_free_calls_its_function(bench: Bench) {
    let findings = Findings::default();
    bench.requires(Kind::SvmFree);
    let memory = [(); 2].map(|()| bench.new_svm(SIZE));
    let gate = Gate::closed(bench.context);
    let (list, mut pointers) = ([gate.raw()], memory.map(|pointer| pointer.cast_const()));
    let (data, n, queue) = (UserData::new(), 2, bench.new_queue(0));
    let (function, user_data) = (Some(of_free as extern "C" fn(_, _, _, _)), data.pointer());
    let function = function.map(|function| function as unsafe extern "C" fn(_, _, _, _));
    let (none, place) = (ptr::null_mut(), pointers.as_mut_ptr());
    // SAFETY: queue, event and pointers are valid; the function frees nothing.
    unsafe { ok!(clEnqueueSVMFree(queue, n, place, function, user_data, 1, list.as_ptr(), none)) };
    pointers.fill(ptr::null());
    thread::sleep(Duration::from_millis(3));
    let call = "clEnqueueSVMFree with a function, after a user event";
    data.check_none(&findings, call, "no call before the wait list has ended (5.6.1)");
    gate.open();
    finish(queue);
    UserData::wait([data]);
    let expected = [queue, 2 as _, memory[0], memory[1]].map(|argument| argument as usize);
    let rule = format_args!("one call, with (queue, count, pointers) {expected:x?} (5.6.1)");
    data.check_once(&findings, |call| call == expected, call, rule);
    let mut operands = Operands { svm: memory, ..bench.operands(&[Kind::SvmFill]) };
    // The function has not freed the memory.
    let _fill = Kind::SvmFill.enqueue(&mut operands, Call::on(queue));
}
