//! A kernel keeps its arguments until they are set again; launches and copies keep those that they began with (5.9.2,
//! 5.9.3).

use super::*;

/// Writes to local memory, and counts the elements of two of its arguments that keep their values. A device may have no
/// more arguments.
const STATEMENTS: &str = "
    local uint z[3];
    size_t at_x = (size_t)x, at_y = (size_t)y;
    bool is_apart = at_x + n <= at_y || at_y + 16 * n <= at_x;
    uint in_x = 0, in_y = 0;
    for (uint i = 0; i < n && is_apart; i++) { x[i] = i; y[i] = 1000 + i; z[i % 3] = i; }
    for (uint i = 0; i < n && is_apart; i++) {
        in_x += x[i] == (uchar)i;
        in_y += y[i].w == 1000 + i && at_y % 16 == 0 && z[(n - 1) % 3] == n - 1;
    }
";

/// The places of the arguments `n` and `x`, and of an SVM pointer.
const NUMBER: usize = 3;
const LOCAL: usize = 4;
const SHARED: usize = 6;

/// The kernel with arguments of all kinds that the device has.
fn probe(bench: &Bench) -> Probe<'_> {
    let word = |n: u32| Memory(4, n.to_ne_bytes().into());
    let handle = |new| Memory(size_of::<usize>(), bench.keep(new).addr().to_ne_bytes().into());
    let buffer = |n: u32| handle(bench.buffer_of(&[n]));
    // Its pointer in the kernel may be one that is not const.
    let read_only = |n: u32| {
        let (flags, from) = (CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, ptr::from_ref(&n));
        handle(bench.buffer(flags, 4, from.cast_mut().cast()))
    };
    // An image of one colour.
    let image = |red: u32| {
        let (image, pixel) = (bench.new_image(CL_MEM_READ_WRITE), [red, 99, 0, 0]);
        let (pixel, zero, all) = (pixel.as_ptr().cast(), [0; 3].as_ptr(), SHAPE.as_ptr());
        // SAFETY: the image has this shape.
        unsafe { enqueued!(clEnqueueFillImage(bench.queue, image.raw(), pixel, zero, all)) };
        // Launches run on other queues, too.
        finish(bench.queue);
        handle(image)
    };
    // A sampler for coordinates in pixels, which finds 0 or the last pixel beyond the edge.
    let sampler = |found: u32| {
        let mode = if found == 0 { CL_ADDRESS_CLAMP } else { CL_ADDRESS_CLAMP_TO_EDGE };
        handle(bench.sampler(false, mode, CL_FILTER_NEAREST))
    };
    // Elements 1 and 2 of one allocation: a driver may look at the allocation alone.
    let allocation = if bench.has_svm() { bench.new_svm(SIZE) } else { ptr::null_mut() };
    let shared = |n: u32| {
        let memory = allocation.wrapping_byte_add(4 * (n as usize - 70));
        // SAFETY: both have as many bytes, and the call blocks.
        unsafe { enqueued!(clEnqueueSVMMemcpy(bench.queue, 1, memory, (&raw const n).cast(), 4)) };
        Svm(memory)
    };
    let argument = |name: &str, number: &str, values: [u32; 2], of: &dyn Fn(u32) -> Setting| {
        let numbers = vec![(number.into(), values.map(u64::from).into())];
        Argument(name.into(), numbers, values.map(of).into())
    };
    let local: u64 = bench.value(named!(CL_DEVICE_LOCAL_MEM_SIZE));
    let counts = if local < 4096 { [11, 23] } else { [11, 203] };
    let mut all = vec![
        argument("uint value", "value", [21, 22], &word),
        argument("global uint *from", "from ? *from : 0", [31, 32], &read_only),
        argument("constant uint *fixed", "fixed ? *fixed : 0", [41, 42], &buffer),
        argument("uint n", "n", counts, &word),
        argument("local uchar *x", "in_x", counts, &|n| Memory(n as usize, vec![])),
        argument("local float4 *y", "in_y", counts, &|n| Memory(16 * n as usize, vec![])),
    ];
    if bench.has_svm() {
        all.push(argument("global uint *svm", "svm ? *svm : 0", [71, 72], &shared));
    }
    if bench.has_images {
        let pixel = "read_imageui(image, sampler, (int2)(1, 1)).x";
        all.push(argument("read_only image2d_t image", pixel, [61, 62], &image));
        let beyond = "read_imageui(image, sampler, (int2)(-1, 0)).y";
        all.push(argument("sampler_t sampler", beyond, [99, 0], &sampler));
    }
    Probe::build(bench, STATEMENTS, all)
}

/// Changes each argument between a launch and two others, of which the last one is on another queue, also behind a user
/// event; those of local memory change together.
#[clmatrix_harness::test]
fn a_launch_keeps_the_arguments_of_its_enqueue(bench: Bench) {
    let (probe, other) = (probe(&bench), bench.new_queue(0));
    let second = probe.kernel(1);
    let indices = (0..probe.2.len()).filter(|index| ![LOCAL, LOCAL + 1].contains(index));
    for (index, waits) in indices.flat_map(|index| [(index, true), (index, false)]) {
        let changed = if index == NUMBER { index..index + 3 } else { index..index + 1 };
        let kernel = probe.kernel(0);
        let gate = Gate::closed(bench.context);
        let list = &[gate.raw()][..usize::from(waits)];
        let first = probe.launch(&kernel, bench.queue, list);
        probe.set(&kernel, changed.clone(), 1);
        let next = [bench.queue, other].map(|queue| probe.launch(&kernel, queue, list));
        gate.open();
        finish(other);
        let name = &probe.2[changed.end - 1].0;
        let when = if waits { "which waits" } else { "at once" };
        let call = format!("clSetKernelArg({name}) after clEnqueueNDRangeKernel, {when} (5.9.2)");
        probe.check(&format!("{call}, in that launch"), first, |_| 0);
        let version = |index| usize::from(changed.contains(&index));
        for (n, results) in next.into_iter().enumerate() {
            probe.check(&format!("{call}, in the next launch on queue {n}"), results, version);
        }
    }
    probe.expect("clSetKernelArg of other kernels of the same function (5.9.2)", &second, |_| 1);
}

/// Sets arguments of a kernel and of its clones in turn.
#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn a_clone_has_a_copy_of_the_arguments(bench: Bench) {
    let probe = probe(&bench);
    // SAFETY: the kernel is valid; the call creates a reference.
    let clone_of = |kernel: &Object| unsafe { created!(Kernel clCloneKernel(kernel.raw())) };
    let (all, kernel) = (0..probe.2.len(), probe.kernel(0));
    let clone = clone_of(&kernel);
    probe.set(&kernel, all.clone(), 1);
    probe.expect("clCloneKernel (5.9.3), the source is set again, the clone", &clone, |_| 0);
    probe.expect("clCloneKernel (5.9.3), the source is set again, the source", &kernel, |_| 1);
    let last = clone_of(&clone);
    probe.set(&clone, all, 1);
    drop((kernel, clone));
    probe.expect("clCloneKernel (5.9.3) of a clone, all others are released", &last, |_| 0);
}

/// Leaves out each of these arguments in turn, and then sets it.
#[rstest]
#[case::number(&[0, NUMBER])]
#[case::buffer(&[1, 2])]
#[case::local_memory(&[LOCAL, LOCAL + 1])]
#[case::others(&[SHARED, 7, 8])]
#[clmatrix_harness::test]
fn a_launch_without_an_argument_is_refused(bench: Bench, #[case] arguments: &[usize]) {
    let probe = probe(&bench);
    let (count, to) = (probe.2.len(), bench.buffer_of(&[0_u64; 16]));
    for missing in arguments.iter().copied().filter(|missing| *missing < count) {
        let kernel = bench.new_kernel(&probe.1, "probe");
        probe.set(&kernel, (0..count).filter(|n| *n != missing), 0);
        set(kernel.raw(), count as u32, to.raw());
        let code = launch(&kernel, bench.queue, ONE, &[]);
        let name = &probe.2[missing].0;
        let call = format!("clEnqueueNDRangeKernel, argument {missing} ({name}) is not set");
        bench.check_code(code, CL_INVALID_KERNEL_ARGS, &call, "it needs all arguments (5.10)");
        probe.set(&kernel, [missing], 0);
        probe.expect(&format!("{call}, and later set"), &kernel, |_| 0);
    }
}

/// Calls of clSetKernelArg, or with `SVM_NULL` of clSetKernelArgSVMPointer: the argument, the size and the value.
type Calls = &'static [(usize, usize, &'static str)];

const SVM_NULL: &str = "null by clSetKernelArgSVMPointer";

/// Makes unusual calls of clSetKernelArg. Size 9999 is nearly all local memory. Refused calls leave the arguments as they
/// are; global and constant pointers become null.
#[rstest]
#[case::null(&[(1, 8, "null"), (2, 8, "null")], CL_SUCCESS)]
#[case::null_instead_of_svm(&[(SHARED, 8, "null")], CL_SUCCESS)]
#[case::null_svm(&[(SHARED, 8, SVM_NULL)], CL_SUCCESS)]
#[case::null_handles(&[(1, 8, "a null handle"), (2, 8, "a null handle")], CL_SUCCESS)]
#[case::all_local_memory(&[(LOCAL, 9999, "null")], CL_SUCCESS)]
#[case::size_of_a_handle(
    &[(1, 4, "a buffer"), (1, 9, "a buffer"), (2, 16, "a buffer")], CL_INVALID_ARG_SIZE)]
#[case::local_memory_with_a_value(&[(LOCAL, 4, "a buffer")], CL_INVALID_ARG_VALUE)]
#[case::local_memory_of_0_bytes(&[(LOCAL, 0, "null")], CL_INVALID_ARG_SIZE)]
#[clmatrix_harness::test]
fn an_unusual_value_is_taken_or_refused(bench: Bench, #[case] calls: Calls, #[case] code: cl_int) {
    let probe = probe(&bench);
    let (first, size, _) = calls[0];
    // OpenCL 3.1 allows local memory of 0 bytes.
    if first == SHARED && !bench.has_svm() || size == 0 && bench.is(3, 1) {
        skip!("the device has no shared virtual memory, or is of OpenCL 3.1");
    }
    let all: u64 = bench.value(named!(CL_DEVICE_LOCAL_MEM_SIZE));
    for &(index, size, given) in calls {
        let (kernel, buffer) = (probe.kernel(1), bench.keep(bench.buffer_of(&[1])));
        let handle = if given == "a buffer" { buffer.addr() } else { 0 };
        let handles = vec![handle; if given == "null" { 0 } else { 2 }];
        // The local memory of a kernel with all arguments; some drivers count none.
        let of_kernel = Subject::WorkGroup(kernel.raw(), bench.device);
        let used = of_kernel.value::<u64>(named!(CL_KERNEL_LOCAL_MEM_SIZE)).max(17 * 203);
        let most = all.saturating_sub(used + 1024).max(256) as usize;
        let (name, size) = (&probe.2[index].0, if size == 9999 { most } else { size });
        let (is_svm, n) = (given == SVM_NULL, index as u32);
        let (found, call) = if is_svm {
            // SAFETY: the kernel is valid; the driver may refuse a null pointer.
            let found = unsafe { cl!(clSetKernelArgSVMPointer(kernel.raw(), n, ptr::null())) };
            (found, format!("clSetKernelArgSVMPointer({index}: {name}, null) (5.9.2)"))
        } else {
            let call = format!("clSetKernelArg({index}: {name}, {size} bytes, {given}) (5.9.2)");
            (try_set(&kernel, n, size, bytemuck::cast_slice(&handles).to_vec()), call)
        };
        // OpenCL names no code for a null pointer to shared memory.
        let is_any = (is_svm || code == CL_INVALID_ARG_VALUE) && found != CL_SUCCESS;
        bench.check(found == code || is_any, &call, code_name(code), code_name(found));
        let is_null = index != LOCAL && code == CL_SUCCESS && found == code;
        let version = |n| if n == index && is_null { 2 } else { 1 };
        probe.expect(&format!("a launch after {call}"), &kernel, version);
        probe.set(&kernel, [index], 1);
        probe.expect(&format!("{call}, and then an argument as before"), &kernel, |_| 1);
    }
}
