//! Arguments of native kernels (5.10).

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::lives::{enqueue_native, has_native_kernels};
use super::*;

const WORD: usize = size_of::<usize>();

/// The bytes of the arguments: five words, of which the last one is not whole.
const BYTES: usize = 4 * WORD + 5;

/// The words that are handles of buffers: the one that is read, and the one that is written.
const HANDLES: [usize; 2] = [1, 3];

/// Inverts the bytes of a buffer into the other one, and adds its own arguments.
unsafe extern "C" fn invert(arguments: *mut c_void) {
    // SAFETY: the arguments are those of the test. OpenCL does not align the driver's copy of them.
    unsafe {
        let [from, to] = HANDLES.map(|word| arguments.cast::<*mut u8>().add(word).read_unaligned());
        (0..SIZE).for_each(|n| to.add(n).write(!from.add(n).read()));
        ptr::copy(arguments.cast::<u8>(), to.add(SIZE), BYTES);
    }
}

/// The driver copies the arguments within the call, and replaces the handles of buffers and parts of buffers with
/// pointers to their bytes: the native kernel waits while the test spoils all that it passed.
#[clmatrix_harness::test]
fn arguments_of_native_kernels_are_copied_and_handles_replaced(bench: Bench) {
    if !has_native_kernels(&bench) {
        skip!("the device lacks native kernels");
    }
    let gap = bench.alignment().next_multiple_of(4);
    let contents: Vec<u8> = (0..gap + SIZE).map(|n| (n * 7 % 251) as u8).collect();
    let whole = bench.buffer_of(&contents);
    let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, [gap, SIZE]);
    let to = bench.buffer_of(&[0_u8; SIZE + BYTES]);
    let mut handles = [part.raw(), to.raw()];
    let mut words = [0x1020_3040, handles[0].addr(), 0x5060_7080, handles[1].addr(), 0x3141_5926];
    let bytes = words.map(usize::to_ne_bytes).concat();
    let (first, gate) = (words.as_mut_ptr(), Gate::closed(bench.context));
    let mut places = HANDLES.map(|word| first.wrapping_add(word).cast_const().cast::<c_void>());
    let (function, gates, mut event) = (Some(invert as _), [gate.raw()], ptr::null_mut());
    // SAFETY: the arguments have `BYTES` bytes, and the handles in them are valid; the driver creates the event.
    let event = unsafe {
        let (all, list, at) = (first.cast(), handles.as_ptr(), places.as_mut_ptr());
        let (queue, waits, event) = (bench.queue, gates.as_ptr(), &raw mut event);
        ok!(clEnqueueNativeKernel(queue, function, all, BYTES, 2, list, at, 1, waits, event));
        Object::new(Class::Event, *event)
    };
    // The caller may use its arrays again (5.10).
    words.fill(0x5a);
    handles.fill(ptr::null_mut());
    places.fill(ptr::null());
    check_type(&bench, &event, named!(CL_COMMAND_NATIVE_KERNEL), "clEnqueueNativeKernel");
    gate.open();
    let found = bench.contents_of::<u8>(to.raw(), SIZE + BYTES);
    let is_own = |n: &usize| !HANDLES.contains(&(n / WORD));
    let [own, copied] = [&bytes[..], &found[SIZE..]]
        .map(|all| (0..BYTES).filter(is_own).map(|n| all[n]).collect::<Vec<_>>());
    let call = format!("clEnqueueNativeKernel of {BYTES} bytes");
    let rule = "the native kernel gets the bytes as they were when the call was made (5.10)";
    bench.check(copied == own, call, rule, format_args!("{copied:x?} in place of {own:x?}"));
    let inverted: Vec<_> = contents[gap..].iter().map(|byte| !byte).collect();
    let call = "clEnqueueNativeKernel with a buffer and a part of one";
    let rule = "each handle is replaced with a pointer to the first byte of its memory (5.10)";
    let answer = format!("bytes {:x?}.., in place of {:x?}..", &found[..8], &inverted[..8]);
    bench.check(found[..SIZE] == inverted, call, rule, answer);
}

/// The argument of the last call of [`note`].
static NOTED: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn note(argument: *mut c_void) {
    // SAFETY: the argument is that of the test.
    NOTED.store(unsafe { argument.cast::<u64>().read_unaligned() }, Ordering::Relaxed);
}

#[clmatrix_harness::test]
fn an_argument_without_handles_is_copied(bench: Bench) {
    if !has_native_kernels(&bench) {
        skip!("the device lacks native kernels");
    }
    let (gate, mut word) = (Gate::closed(bench.context), 0x1020_3040);
    NOTED.store(0, Ordering::Relaxed);
    enqueue_native(bench.queue, note, &mut word, &[gate.raw()]);
    let passed = std::mem::replace(&mut word, u64::MAX);
    gate.open();
    finish(bench.queue);
    let (found, call) = (NOTED.load(Ordering::Relaxed), "clEnqueueNativeKernel without handles");
    let rule = format_args!("it gets the argument {passed:#x} of the time of the call (5.10)");
    bench.check(found == passed, call, rule, format_args!("{found:#x}"));
}
