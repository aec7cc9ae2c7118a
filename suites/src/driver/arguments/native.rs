//! Arguments of native kernels (5.10).

use std::array;

use super::*;

/// The words of the arguments that are handles of buffers: the one that is read, and the one that is written.
const HANDLES: [usize; 2] = [1, 3];

/// The bytes of the arguments: five words, of which the last one is not whole.
const BYTES: usize = 4 * WORD + 5;

const WORD: usize = size_of::<usize>();

/// Inverts the bytes of a buffer into the other one, and adds its own arguments but for the pointers.
unsafe extern "C" fn invert(arguments: *mut c_void) {
    let (bytes, words) = (arguments.cast::<u8>(), arguments.cast::<*mut u8>());
    // SAFETY: the arguments are those of the test. OpenCL does not align the driver's copy of them.
    unsafe {
        let [from, to] = HANDLES.map(|word| words.add(word).read_unaligned());
        (0..SIZE).for_each(|n| to.add(n).write(!from.add(n).read()));
        (0..BYTES).filter(|n| !HANDLES.contains(&(n / WORD))).zip(SIZE..).for_each(
            |(from, place)| {
                to.add(place).write(bytes.add(from).read());
            },
        );
    }
}

/// The driver copies the arguments within the call, and replaces the handles of buffers and parts of buffers with
/// pointers to their bytes: the native kernel waits while the test spoils all that it passed.
#[rstest]
#[clmatrix_harness::test]
fn arguments_of_native_kernels_are_copied_and_handles_replaced(bench: Bench) {
    let capabilities = bench.value::<u64>(named!(CL_DEVICE_EXECUTION_CAPABILITIES));
    if capabilities & CL_EXEC_NATIVE_KERNEL == 0 {
        skip!("the device lacks native kernels");
    }
    let gap = bench.alignment().next_multiple_of(4);
    let contents: Vec<u8> = (0..gap + SIZE).map(|n| (n * 7 % 251) as u8).collect();
    let whole = bench.buffer_of(&contents);
    let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, [gap, SIZE]);
    let to = bench.buffer_of(&[0_u8; SIZE + BYTES - 2 * WORD]);
    let mut words: [usize; 5] = array::from_fn(|n| 0x1020_3040 + n);
    let mut handles = [part.raw(), to.raw()];
    for (word, handle) in HANDLES.into_iter().zip(handles) {
        words[word] = handle.addr();
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take(BYTES).collect();
    let own = bytes.iter().enumerate().filter(|(n, _)| !HANDLES.contains(&(n / WORD)));
    let own: Vec<u8> = own.map(|(_, byte)| *byte).collect();
    let gate = Gate::closed(bench.context);
    let (queue, function, gates) = (bench.queue, Some(invert as _), [gate.raw()]);
    let (n, gates) = wait_list(&gates);
    let (first, mut event) = (words.as_mut_ptr(), ptr::null_mut());
    let mut places: [*const c_void; 2] =
        HANDLES.map(|word| first.wrapping_add(word).cast_const().cast());
    // SAFETY: the arguments have `BYTES` bytes, and the handles in them are valid; the driver creates the event.
    let event = unsafe {
        let (all, list, at) = (first.cast(), handles.as_ptr(), places.as_mut_ptr());
        let event = &raw mut event;
        ok!(clEnqueueNativeKernel(queue, function, all, BYTES, 2, list, at, n, gates, event));
        Object::new(Class::Event, *event)
    };
    // The caller may use its arrays again (5.10).
    words.fill(0x5a);
    handles.fill(ptr::null_mut());
    places.fill(ptr::null());
    let kind = Subject::Event(event.raw()).value::<u32>(named!(CL_EVENT_COMMAND_TYPE));
    let call = "clEnqueueNativeKernel";
    bench.check(
        kind == CL_COMMAND_NATIVE_KERNEL,
        format_args!("clGetEventInfo(CL_EVENT_COMMAND_TYPE) after {call}"),
        "CL_COMMAND_NATIVE_KERNEL (5.11)",
        format_args!("{kind:#x}"),
    );
    gate.open();
    let found: Vec<u8> = bench.contents_of(to.raw(), SIZE + own.len());
    let (inverted, copied) = found.split_at(SIZE);
    bench.check(
        copied == own,
        format_args!("{call} of {BYTES} bytes"),
        "the native kernel gets the bytes as they were when the call was made (5.10)",
        format_args!("{copied:x?} in place of {own:x?}"),
    );
    bench.check(
        inverted.iter().zip(&contents[gap..]).all(|(found, byte)| *found == !byte),
        format_args!("{call} with a buffer and a part of one"),
        "each handle is replaced with a pointer to the first byte of its memory (5.10)",
        format_args!(
            "bytes {:x?}.., the inverted {:x?}.. wanted",
            &found[..8],
            &contents[gap..gap + 8]
        ),
    );
}
