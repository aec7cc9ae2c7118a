//! Destructor callbacks, and objects that keep others.

use clmatrix::cl3::{context::*, memory::*};

use super::super::{bench::no_image, callback::of_end};
use super::*;

/// Creates a memory object, which uses a buffer if it is a part of one.
type Create = fn(&Bench, cl_mem) -> Object;

fn part(bench: &Bench, whole: cl_mem) -> Object {
    bench.sub_buffer(whole, CL_MEM_READ_WRITE, 0, SIZE)
}

fn of_host(bench: &Bench, host: *mut c_void) -> Object {
    let (context, flags) = (bench.context, CL_MEM_USE_HOST_PTR);
    // SAFETY: the host memory has the bytes, and outlives the buffer; the call creates a reference.
    unsafe { Object::new(Class::Memory, created!(clCreateBuffer(context, flags, SIZE, host))) }
}

fn image(bench: &Bench, _: cl_mem) -> Object {
    bench.requires(Kind::FillImage);
    bench.new_image(CL_MEM_READ_WRITE)
}

fn image_of_buffer(bench: &Bench, whole: cl_mem) -> Object {
    bench.requires(Kind::FillImage);
    let (image_type, context) = (CL_MEM_OBJECT_IMAGE1D_BUFFER, bench.context);
    let shape = cl_image_desc { image_type, image_width: 8, buffer: whole, ..no_image() };
    let (image_channel_order, image_channel_data_type) = (CL_RGBA, CL_UNSIGNED_INT8);
    let format = cl_image_format { image_channel_order, image_channel_data_type };
    let (format, shape) = (&raw const format, &raw const shape);
    // SAFETY: context and buffer are valid; the call creates a reference.
    unsafe {
        let raw = created!(clCreateImage(context, 0, format, shape, ptr::null_mut()));
        Object::new(Class::Memory, raw)
    }
}

/// Checks that callbacks for the end of an object are called once each, the last one first.
fn check_ends(set: &[Callback], call: &str, findings: &Findings) {
    Callback::check_all(set, findings);
    let order: Vec<_> = set.iter().map(Callback::position).collect();
    let is_reverse = order.is_sorted_by(|first, second| first > second);
    let rule = "the callbacks are called from the last to the first (4.4, 5.5.1)";
    findings.check(is_reverse, call, rule, format_args!("called at {order:?}"));
}

#[rstest]
#[case::buffer(|bench: &Bench, _| bench.new_buffer(CL_MEM_READ_WRITE, SIZE))]
#[case::host_memory(|bench: &Bench, _| bench.new_buffer(CL_MEM_ALLOC_HOST_PTR, SIZE))]
#[case::host_pointer(|bench: &Bench, _| of_host(bench, bench.new_host(SIZE)))]
#[case::sub_buffer(part)]
#[case::image_1d_buffer(image_of_buffer)]
#[case::image_2d(image)]
#[clmatrix_harness::test]
fn destructors_are_called_in_reverse_order(bench: Bench, #[case] create: Create) {
    let findings = Findings::default();
    let whole = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, SIZE));
    let object = create(&bench, whole);
    let (raw, call) = (object.raw(), "clSetMemObjectDestructorCallback");
    let set = [(); 3].map(|()| Callback::of_memory(raw, call));
    for reference in [object, retained(raw), retained(raw)] {
        set[0].check_none("before the last reference is released", &findings);
        reference.release();
    }
    check_ends(&set, call, &findings);
}

#[rstest]
#[case::sub_buffer(part)]
#[case::image(image_of_buffer)]
#[clmatrix_harness::test]
fn a_part_keeps_its_buffer(bench: Bench, #[case] create: Create) {
    let findings = Findings::default();
    let whole = bench.new_buffer(CL_MEM_READ_WRITE, 2 * SIZE);
    let call = "clReleaseMemObject of a sub-buffer or an image, and of its buffer";
    let end = [Callback::of_memory(whole.raw(), call)];
    let [first, part] = [(); 2].map(|()| create(&bench, whole.raw()));
    first.release();
    end[0].check_none("of the buffer, which is in use", &findings);
    whole.release();
    end[0].check_none("of the buffer before its last part is released", &findings);
    let (queue, raw, pattern) = (bench.queue, part.raw(), FILL.as_ptr().cast());
    if Subject::Memory(raw).value::<u32>(named!(CL_MEM_TYPE)) == CL_MEM_OBJECT_BUFFER {
        // SAFETY: the part has `SIZE` bytes.
        unsafe { enqueued!(clEnqueueFillBuffer(queue, raw, pattern, 4, 0, SIZE)) };
        let (found, rule) = (bench.contents_of::<u8>(raw, SIZE), "the part has its bytes (5.2.1)");
        let is_filled = found.chunks(4).all(|bytes| bytes == FILL);
        findings.check(is_filled, call, rule, format_args!("{found:x?} after a fill"));
    }
    part.release();
    Callback::check_all(&end, &findings);
}

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_does_not_keep_its_arguments(bench: Bench) {
    let findings = Findings::default();
    let kernel = bench.operands(&[Kind::Kernel]).kernel;
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    let call = "clReleaseMemObject of an argument of a kernel, which holds no reference (5.9.2)";
    let end = Callback::of_memory(buffer.raw(), call);
    set_arguments(kernel, &[buffer.raw()]);
    buffer.release();
    Callback::check_all(&[end], &findings);
}

#[rstest]
#[case::buffer(Class::Memory)]
#[case::queue(Class::Queue)]
#[case::user_event(Class::Event)]
#[case::sampler(Class::Sampler)]
#[case::program(Class::Program)]
#[clmatrix_harness::test(own_worker)]
fn an_object_keeps_its_context(bench: Bench, #[case] class: Class) {
    let (findings, device, null) = (Findings::default(), bench.device, ptr::null_mut());
    // SAFETY: the device is valid; each call creates a reference.
    let (context, object) = unsafe {
        let raw = created!(clCreateContext(ptr::null(), 1, &raw const device, None, null));
        let object = match class {
            Class::Memory => created!(clCreateBuffer(raw, 0, SIZE, null)),
            Class::Queue => created!(clCreateCommandQueue(raw, device, 0)),
            Class::Sampler => {
                bench.requires(Kind::FillImage);
                created!(clCreateSampler(raw, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST))
            }
            Class::Program => {
                let (mut text, length) = (SOURCE.as_ptr().cast(), SOURCE.len());
                created!(clCreateProgramWithSource(raw, 1, &raw mut text, &raw const length))
            }
            _ => created!(clCreateUserEvent(raw)),
        };
        (Object::new(Class::Context, raw), Object::new(class, object))
    };
    let (raw, call) =
        (context.raw(), format!("clReleaseContext before an object of it: {class:?}"));
    let callback = |_| Callback::new(&call, "4.4", &[raw as usize]);
    let set: Vec<_> = (0..2).filter(|_| bench.is(3, 0)).map(callback).collect();
    for callback in &set {
        // SAFETY: the context is valid, and the callback uses its arguments as numbers.
        unsafe { ok!(clSetContextDestructorCallback(raw, Some(of_end), callback.data())) };
    }
    context.release();
    set.iter().for_each(|callback| callback.check_none("before the object is released", &findings));
    let devices: u32 = Subject::Context(raw).value(named!(CL_CONTEXT_NUM_DEVICES));
    findings.check(devices == 1, &call, "CL_CONTEXT_NUM_DEVICES is 1 (4.4)", devices);
    object.release();
    check_ends(&set, &call, &findings);
}

/// Sets arguments of a kernel, which are objects.
fn set_arguments(kernel: *mut c_void, objects: &[*mut c_void]) {
    for (index, raw) in objects.iter().enumerate() {
        let (index, size, value) = (index as u32, size_of_val(raw), ptr::from_ref(raw).cast());
        // SAFETY: the kernel has an argument for each of the objects, which are valid.
        unsafe { ok!(clSetKernelArg(kernel, index, size, value)) };
    }
}

/// A kernel that reads beyond the edge of an image.
const SOURCE: &str = "
kernel void edge(global uchar *to, read_only image2d_t image, sampler_t sampler) {
    to[get_global_id(0)] = read_imageui(image, sampler, (int2)(100, 0)).x;
}";

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_launch_keeps_its_program_and_sampler(bench: Bench) {
    let findings = Findings::default();
    let mut operands = bench.operands(&[Kind::FillImage]);
    Kind::FillImage.enqueue_without_event(&mut operands, Call::on(bench.queue));
    finish(bench.queue);
    let program = bench.build(SOURCE, "");
    let kernel = bench.new_kernel(&program, "edge");
    program.release();
    let sampler = bench.sampler(false, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST);
    let (to, queue, one) = (bench.buffer_of(&[0_u8; SIZE]), bench.new_queue(0), 1_usize);
    let hold = Hold::on(&bench, queue);
    set_arguments(kernel.raw(), &[to.raw(), operands.images[1], sampler.raw()]);
    let (raw, one, null) = (kernel.raw(), &raw const one, ptr::null());
    // SAFETY: the kernel has its arguments, and writes one byte of the buffer.
    unsafe { enqueued!(clEnqueueNDRangeKernel(queue, raw, 1, null, one, null)) };
    kernel.release();
    sampler.release();
    // These take the place of a sampler that has been freed.
    let _others = [(); 4].map(|()| bench.sampler(false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST));
    drop(hold);
    finish(queue);
    let found = bench.contents_of::<u8>(to.raw(), 1)[0];
    let call = "clReleaseProgram before clEnqueueNDRangeKernel, and clReleaseSampler behind it";
    let rule = format_args!("the kernel reads {:#x} at the edge (5.7.1, 5.8.2)", FILL[0]);
    findings.check(found == FILL[0], call, rule, format_args!("{found:#x}"));
}
