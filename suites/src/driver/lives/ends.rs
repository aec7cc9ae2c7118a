//! Destructor callbacks, and objects that keep others.

use super::super::{bench::BYTES, order::of_two_parts};
use super::*;

/// Creates an object, which uses a buffer if it is a part of one.
pub type Create = fn(&Bench, cl_mem) -> Object;

pub fn part(bench: &Bench, whole: cl_mem) -> Object {
    bench.sub_buffer(whole, CL_MEM_READ_WRITE, [0, SIZE])
}

pub fn image_of_buffer(bench: &Bench, whole: cl_mem) -> Object {
    bench.requires(Kind::FillImage);
    let image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    let shape = cl_image_desc { image_type, image_width: 8, buffer: whole, ..no_image() };
    bench.image(0, BYTES, &shape, ptr::null_mut())
}

fn user_event(bench: &Bench, _: cl_mem) -> Object {
    // SAFETY: the context is valid; the call creates a reference.
    unsafe { created!(Event clCreateUserEvent(bench.context)) }
}

/// A queue on which a kernel has run.
fn queue_of_a_kernel(bench: &Bench, _: cl_mem) -> Object {
    let queue = bench.own_queue(bench.device, 0);
    let kernel = bench.new_kernel(&bench.build("kernel void k() {}", ""), "k");
    wait_for(&launched(&kernel, queue.raw(), [&[], &[1], &[]], &[]));
    queue
}

/// Releases the last reference to an object, and checks that callbacks for its end, or that of another object which it
/// keeps, are called then, once each, the last one first.
fn release_last(last: Object, set: &[Callback], call: &str, bench: &Bench) {
    set.iter().for_each(|end| end.check_none("before the last reference is released", bench));
    last.release();
    Callback::check_all(set, bench);
    let order: Vec<_> = set.iter().map(Callback::position).collect();
    let is_reverse = order.is_sorted_by(|first, second| first > second);
    let rule = "the callbacks are called from the last to the first (4.4, 5.5.1)";
    bench.check(is_reverse, call, rule, format_args!("called at {order:?}"));
}

#[rstest]
#[case::buffer(|bench: &Bench, _| bench.new_buffer(CL_MEM_READ_WRITE, SIZE))]
#[case::host_memory(|bench: &Bench, _| bench.new_buffer(CL_MEM_ALLOC_HOST_PTR, SIZE))]
#[case::host_pointer(|bench: &Bench, _| bench.buffer(CL_MEM_USE_HOST_PTR, SIZE, bench.new_host(SIZE)))]
#[case::sub_buffer(part)]
#[case::image_1d_buffer(image_of_buffer)]
#[clmatrix_harness::test]
fn destructors_are_called_in_reverse_order(bench: Bench, #[case] create: Create) {
    let object = create(&bench, bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, SIZE)));
    let (raw, call) = (object.raw(), "clSetMemObjectDestructorCallback");
    let set = [(); 3].map(|()| Callback::of_memory(raw, call));
    let [second, third] = [(); 2].map(|()| Object::retained(Class::Memory, raw));
    drop([object, second]);
    release_last(third, &set, call, &bench);
}

/// Fills a buffer with a pattern, and checks its bytes.
fn check_fill(bench: &Bench, buffer: cl_mem, pattern: [u8; 4], call: &str, rule: &str) {
    let mut operands = Operands { buffers: [buffer; 2], ..bench.no_operands() };
    let span = Kind::FillBuffer.whole().fill(&pattern);
    Kind::FillBuffer.enqueue_without_event(&mut operands, Call::on(bench.queue).of(span));
    let found = bench.contents_of::<u8>(buffer, SIZE);
    let is_filled = found.chunks(4).all(|bytes| bytes == pattern);
    bench.check(is_filled, call, rule, format_args!("{found:x?}"));
}

#[rstest]
#[case::sub_buffer(part)]
#[case::image(image_of_buffer)]
#[clmatrix_harness::test]
fn a_part_keeps_its_buffer(bench: Bench, #[case] create: Create) {
    let whole = bench.new_buffer(CL_MEM_READ_WRITE, 2 * SIZE);
    let call = "clReleaseMemObject of a sub-buffer or an image, and of its buffer";
    let end = Callback::of_memory(whole.raw(), call);
    let [first, part] = [(); 2].map(|()| create(&bench, whole.raw()));
    let rule = "the part takes a fill (5.2.1)";
    let of: u32 = Subject::Memory(part.raw()).value(named!(CL_MEM_TYPE));
    if of == CL_MEM_OBJECT_BUFFER {
        check_fill(&bench, part.raw(), FILL, call, rule);
    }
    drop([first, whole]);
    if of == CL_MEM_OBJECT_BUFFER {
        let found = bench.contents_of::<u8>(part.raw(), 4);
        let kept = "the part has the bytes from before the release (5.2.1)";
        bench.check(found == FILL, call, kept, format_args!("{found:x?}.."));
        check_fill(&bench, part.raw(), [1, 2, 3, 4], call, rule);
    }
    release_last(part, &[end], call, &bench);
}

#[clmatrix_harness::test]
fn a_buffer_of_two_devices_has_one_reference(bench: Bench) {
    let bench = of_two_parts(&bench);
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    let call = "clReleaseMemObject of a buffer in a context of two sub-devices";
    let end = Callback::of_memory(buffer.raw(), call);
    release_last(buffer, &[end], call, &bench);
}

#[clmatrix_harness::test]
fn a_buffer_outlives_another_of_its_host_memory(bench: Bench) {
    let host = bench.new_host(SIZE);
    let [first, second] = [(); 2].map(|()| bench.buffer(CL_MEM_USE_HOST_PTR, SIZE, host));
    first.release();
    let call =
        "clReleaseMemObject of one of two buffers with CL_MEM_USE_HOST_PTR of the same memory";
    check_fill(&bench, second.raw(), FILL, call, "the other one takes a fill (5.5.1)");
}

#[clmatrix_harness::test]
fn a_kernel_does_not_keep_its_arguments(bench: Bench) {
    let kernel = bench.operands(&[Kind::Kernel]).kernel;
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    let call = "clReleaseMemObject of an argument of a kernel, which holds no reference (5.9.2)";
    let end = Callback::of_memory(buffer.raw(), call);
    set(kernel, 0, buffer.raw());
    release_last(buffer, &[end], call, &bench);
}

#[rstest]
#[case::buffer(|bench: &Bench, _| bench.new_buffer(0, SIZE))]
#[case::queue(|bench: &Bench, _| bench.own_queue(bench.device, 0))]
#[case::queue_of_a_kernel(queue_of_a_kernel)]
#[case::user_event(user_event)]
#[case::sampler(|bench: &Bench, _| {
    bench.requires(Kind::FillImage);
    bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST)
})]
#[case::program(|bench: &Bench, _| bench.build("kernel void k() {}", ""))]
#[clmatrix_harness::test(own_worker)]
fn an_object_keeps_its_context(mut bench: Bench, #[case] create: Create) {
    let (none, device, null) = (ptr::null(), &raw const bench.device, ptr::null_mut());
    // SAFETY: the device is valid; the call creates a reference.
    let context = unsafe { created!(Context clCreateContext(none, 1, device, None, null)) };
    let raw = context.raw();
    // The bench creates objects in this context for now.
    let own = std::mem::replace(&mut bench.context, raw);
    bench.devices.truncate(1);
    let object = create(&bench, null);
    bench.context = own;
    let call = format!("clReleaseContext, then the release of its last {:?}", object.class);
    let callback = |_| Callback::new(&call, "4.4", &[raw as usize]);
    let set: Vec<_> = (0..2).filter(|_| bench.is(3, 0)).map(callback).collect();
    for callback in &set {
        // SAFETY: the context is valid, and the callback uses its arguments as numbers.
        unsafe { ok!(clSetContextDestructorCallback(raw, Some(of_end), callback.data())) };
    }
    context.release();
    let devices: u32 = Subject::Context(raw).value(named!(CL_CONTEXT_NUM_DEVICES));
    bench.check(devices == 1, &call, "CL_CONTEXT_NUM_DEVICES is 1 (4.4)", devices);
    release_last(object, &set, &call, &bench);
}

#[clmatrix_harness::test]
fn an_event_does_not_keep_its_kernel(bench: Bench) {
    let program = bench.build("kernel void k() {}", "");
    let kernel = bench.new_kernel(&program, "k");
    let event = launched(&kernel, bench.queue, [&[], &[1], &[]], &[]);
    wait_for(&event);
    finish(bench.queue);
    kernel.release();
    let (raw, device, null) = (program.raw(), &raw const bench.device, ptr::null_mut());
    let mut code = CL_SUCCESS;
    // A thread of the driver may keep the kernel for a moment.
    _ = soon(|| {
        // SAFETY: the program and the device are valid.
        code = unsafe { cl!(clBuildProgram(raw, 1, device, c"".as_ptr(), None, null)) };
        Ok(code == CL_SUCCESS)
    });
    let call = "clBuildProgram after the release of a kernel that has run, and whose event lives";
    bench.check_code(code, CL_SUCCESS, call, "the program has no kernel (5.8.4, 5.9.1)");
}

/// A kernel that reads beyond the edge of an image.
const SOURCE: &str = "kernel void edge(global uchar *to, read_only image2d_t image, sampler_t s) {
    to[get_global_id(0)] = read_imageui(image, s, (int2)(100, 0)).x;
}";

#[clmatrix_harness::test(requires(images))]
fn a_launch_keeps_its_program_and_sampler(bench: Bench) {
    let mut operands = bench.operands(&[Kind::FillImage]);
    Kind::FillImage.enqueue_without_event(&mut operands, Call::on(bench.queue));
    finish(bench.queue);
    // The program is released at the end of this statement.
    let kernel = bench.new_kernel(&bench.build(SOURCE, ""), "edge");
    let sampler = bench.sampler(false, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
    let (to, queue) = (bench.buffer_of(&[0_u8; SIZE]), bench.new_queue(0));
    let hold = hold(&bench, queue);
    for (index, object) in (0..).zip([to.raw(), operands.images[1], sampler.raw()]) {
        set(kernel.raw(), index, object);
    }
    succeeds("clEnqueueNDRangeKernel", launch(&kernel, queue, [&[], &[1], &[]], &[]));
    kernel.release();
    sampler.release();
    // These take the place of a sampler that has been freed.
    let _others = [(); 4].map(|()| bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST));
    drop(hold);
    finish(queue);
    let found = bench.contents_of::<u8>(to.raw(), 1)[0];
    let call = "clReleaseProgram before clEnqueueNDRangeKernel, and clReleaseSampler behind it";
    let rule = format_args!("the kernel reads {:#x} at the edge (5.7.1, 5.8.2)", FILL[0]);
    bench.check(found == FILL[0], call, rule, format_args!("{found:#x}"));
}
