//! A kernel keeps its arguments until they are set again; launches and copies keep those that they began with (5.9.2,
//! 5.9.3).

use Setting::{Bytes, Local, Svm};

use super::*;
use crate::driver::api::enqueued;

/// Writes a number for each argument but the last one. A device may have no more arguments.
const SOURCE: &str = "
typedef struct { uchar a; uint b[3]; } Structure;
typedef struct { global uint *element; } Shared;
kernel void probe(uint value, Structure structure, global uint *from, constant uint *fixed, global uint *part,
                  uint n, local uchar *x, local float4 *y, PARAMETERS global ulong *to) {
    local uint z[3];
    size_t at_x = (size_t)x, at_y = (size_t)y;
    bool is_apart = at_x + n <= at_y || at_y + 16 * n <= at_x;
    for (uint i = 0; i < n && is_apart; i++) { x[i] = i; y[i] = 1000 + i; z[i % 3] = i; }
    to[0] = value;
    to[1] = structure.a + structure.b[2];
    to[2] = from ? *from : 0;
    to[3] = fixed ? *fixed : 0;
    to[4] = part ? *part : 0;
    to[5] = n;
    for (uint i = 0; i < n && is_apart; i++) to[6] += x[i] == (uchar)i;
    for (uint i = 0; i < n && is_apart; i++) to[7] += y[i].w == 1000 + i && (size_t)y % 16 == 0 && z[(n - 1) % 3] == n - 1;
    to += 8;
    BODY
}";

/// The value of an argument: its bytes, the size of local memory, or a pointer with the pointer that lies there.
enum Setting {
    Bytes(Vec<u8>),
    Local(usize),
    Svm(*mut c_void, *mut c_void),
}

/// An argument with two values, and the number that the kernel finds for each.
struct Argument(&'static str, [Setting; 2], [u64; 2]);

/// The kernel with its arguments.
struct Probe<'a>(&'a Bench, Object, Vec<Argument>, Findings);

fn word(n: u32) -> Setting {
    Bytes(n.to_ne_bytes().into())
}

/// The handle of an object, which the bench keeps.
fn handle(bench: &Bench, object: Object) -> Setting {
    Bytes((bench.keep(object) as usize).to_ne_bytes().into())
}

/// The second half of a buffer.
fn part(bench: &Bench, n: u32) -> Setting {
    let size = bench.alignment();
    let whole = bench.keep(bench.buffer_of(&[vec![7; size / 4], vec![n; size / 4]].concat()));
    handle(bench, bench.sub_buffer(whole, CL_MEM_READ_WRITE, size, size))
}

/// An image of one colour.
fn image(bench: &Bench, red: u32) -> Setting {
    let (image, pixel) = (bench.new_image(CL_MEM_READ_WRITE), [red, 99, 0, 0]);
    let (pixel, zero, all) = (pixel.as_ptr().cast(), [0; 3].as_ptr(), SHAPE.as_ptr());
    // SAFETY: the image has this shape.
    unsafe { enqueued!(clEnqueueFillImage(bench.queue, image.raw(), pixel, zero, all)) };
    handle(bench, image)
}

/// A sampler for coordinates in pixels, which finds 0 or the last pixel beyond the edge.
fn sampler(bench: &Bench, found: u32) -> Setting {
    let mode = if found == 0 { CL_ADDRESS_CLAMP } else { CL_ADDRESS_CLAMP_TO_EDGE };
    handle(bench, bench.sampler(false, mode, CL_FILTER_NEAREST))
}

/// The second element of an allocation, a pointer to the third element of another one.
fn shared(bench: &Bench, n: u32) -> Setting {
    let element = |contents: [u64; 3], index: usize| {
        let (memory, from) = (bench.new_svm(24), contents.as_ptr().cast());
        // SAFETY: both have as many bytes, and the call blocks.
        unsafe { enqueued!(clEnqueueSVMMemcpy(bench.queue, 1, memory, from, 24)) };
        memory.wrapping_byte_add(8 * index)
    };
    let inner = element([0, 0, n.into()], 2);
    Svm(element([0, inner as u64, 0], 1), inner)
}

impl<'a> Probe<'a> {
    fn new(bench: &'a Bench) -> Self {
        let buffer = |n| handle(bench, bench.buffer_of(&[n]));
        let structure = |n| Bytes([n / 4, 1, 2, n / 4 * 3].map(u32::to_ne_bytes).concat());
        let argument = |name, results: [u32; 2], setting: &dyn Fn(u32) -> Setting| {
            Argument(name, results.map(setting), results.map(u64::from))
        };
        let mut arguments = vec![
            argument("uint", [21, 22], &word),
            argument("structure", [400, 800], &structure),
            argument("global buffer", [31, 32], &buffer),
            argument("constant buffer", [41, 42], &buffer),
            argument("sub-buffer", [51, 52], &|n| part(bench, n)),
            argument("number of elements in local memory", [11, 203], &word),
            argument("size of local uchar memory", [11, 203], &|n| Local(n as usize)),
            argument("size of local float4 memory", [11, 203], &|n| Local(16 * n as usize)),
        ];
        let (mut parameters, mut body) = (String::new(), String::new());
        if bench.has_svm() {
            parameters += "global Shared *shared,";
            body += "*to++ = shared ? *shared->element : 0;";
            arguments.push(argument("SVM pointer", [71, 72], &|n| shared(bench, n)));
        }
        if bench.has_images {
            parameters += "read_only image2d_t image, sampler_t sampler,";
            body += "*to++ = read_imageui(image, sampler, (int2)(1, 1)).x;";
            body += "*to++ = read_imageui(image, sampler, (int2)(-1, 0)).y;";
            arguments.push(argument("image", [61, 62], &|n| image(bench, n)));
            arguments.push(argument("sampler", [99, 0], &|n| sampler(bench, n)));
        }
        let source = SOURCE.replace("PARAMETERS", &parameters).replace("BODY", &body);
        Self(bench, bench.build(&source, OPTIONS), arguments, Findings::default())
    }

    /// A kernel with the arguments of a version, without the buffer.
    fn kernel(&self, version: usize) -> Object {
        let kernel = self.0.new_kernel(&self.1, "probe");
        self.set(&kernel, 0..self.2.len(), version);
        kernel
    }

    /// Sets these arguments to their values of a version.
    fn set(&self, kernel: &Object, which: std::ops::Range<usize>, version: usize) {
        for index in which {
            let Argument(name, settings, _) = &self.2[index];
            let (raw, n) = (kernel.raw(), index as u32);
            // SAFETY: the value is one of this argument.
            let code = unsafe {
                match &settings[version] {
                    Bytes(bytes) => cl!(clSetKernelArg(raw, n, bytes.len(), bytes.as_ptr().cast())),
                    Local(size) => cl!(clSetKernelArg(raw, n, *size, ptr::null())),
                    Svm(pointer, inner) => {
                        let inner = (&raw const *inner).cast();
                        ok!(clSetKernelExecInfo(raw, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, inner));
                        cl!(clSetKernelArgSVMPointer(raw, n, *pointer))
                    }
                }
            };
            succeeds(&format!("clSetKernelArg(argument {index}, {name})"), code);
        }
    }

    /// Launches the kernel with a buffer of its own for the results.
    fn launch(&self, kernel: &Object, queue: *mut c_void, waits: &[*mut c_void]) -> Object {
        let results = self.0.buffer_of(&vec![0_u64; self.2.len()]);
        set(kernel, self.2.len() as u32, results.raw());
        succeeds("clEnqueueNDRangeKernel", launch(kernel, queue, ONE, waits));
        results
    }

    /// Checks the numbers that the kernel found: those of the first or the second value, or 0.
    fn check(&self, call: &str, results: &Object, version: impl Fn(usize) -> usize) {
        let found = self.0.contents_of::<u64>(results.raw(), self.2.len());
        for (index, (Argument(name, _, results), found)) in self.2.iter().zip(found).enumerate() {
            let expected = results.get(version(index)).copied().unwrap_or(0);
            let rule = format!("argument {index} ({name}) gives the kernel {expected}");
            self.3.check(found == expected, call, rule, found);
        }
    }
}

/// Changes each argument between two launches, also behind a user event; those of local memory change together.
#[rstest]
#[clmatrix_harness::test]
fn a_launch_keeps_the_arguments_of_its_enqueue(bench: Bench) {
    let probe = Probe::new(&bench);
    let indices = (0..probe.2.len()).filter(|index| ![6, 7].contains(index));
    for (index, waits) in indices.flat_map(|index| [(index, true), (index, false)]) {
        let changed = if index == 5 { 5..8 } else { index..index + 1 };
        let kernel = probe.kernel(0);
        let gate = Gate::closed(bench.context);
        let list = &[gate.raw()][..usize::from(waits)];
        let first = probe.launch(&kernel, bench.queue, list);
        probe.set(&kernel, changed.clone(), 1);
        let second = probe.launch(&kernel, bench.queue, list);
        gate.open();
        let (name, when) =
            (probe.2[changed.end - 1].0, if waits { "which waits" } else { "at once" });
        let call = format!("clSetKernelArg({name}) after clEnqueueNDRangeKernel, {when} (5.9.2)");
        probe.check(&format!("{call}, in that launch"), &first, |_| 0);
        let version = |index| usize::from(changed.contains(&index));
        probe.check(&format!("{call}, in the next launch"), &second, version);
    }
}

/// Two kernels of one function, on one queue and another, with the arguments of the same calls.
#[rstest]
#[clmatrix_harness::test]
fn a_kernel_has_arguments_of_its_own_until_they_are_set_again(bench: Bench) {
    let probe = Probe::new(&bench);
    let kernels = [probe.kernel(0), probe.kernel(1)];
    for (name, queue) in [("first", bench.queue), ("second", bench.new_queue(0))] {
        let results = kernels.each_ref().map(|kernel| probe.launch(kernel, queue, &[]));
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(queue)) };
        for (version, results) in results.iter().enumerate() {
            let call =
                format!("kernel {version} of 2 of one function, on the {name} queue (5.9.1)");
            probe.check(&call, results, |_| version);
        }
    }
}

/// Sets arguments of a kernel and of its clones in turn.
#[rstest]
#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn a_clone_has_a_copy_of_the_arguments(bench: Bench) {
    let probe = Probe::new(&bench);
    let clone_of = |kernel: &Object| {
        // SAFETY: the kernel is valid; the call creates a reference.
        unsafe { Object::new(Class::Kernel, created!(clCloneKernel(kernel.raw()))) }
    };
    let check = |call: &str, kernel: &Object, version| {
        let results = probe.launch(kernel, bench.queue, &[]);
        probe.check(&format!("clCloneKernel (5.9.3), {call}"), &results, |_| version);
        // Copies have this argument, too.
        bench.keep(results);
    };
    let all = 0..probe.2.len();
    let kernel = probe.kernel(0);
    let [clone, other] = [clone_of(&kernel), clone_of(&kernel)];
    check("a launch of the clone", &clone, 0);
    probe.set(&kernel, all.clone(), 1);
    check("clSetKernelArg of the source, a launch of the clone", &clone, 0);
    check("clSetKernelArg of the source, a launch of the source", &kernel, 1);
    probe.set(&clone, all.clone(), 1);
    check("clSetKernelArg of a clone, a launch of another one", &other, 0);
    probe.set(&clone, all, 0);
    check("clSetKernelArg of a clone, a launch of the source", &kernel, 1);
    let last = clone_of(&clone);
    drop((kernel, clone, other));
    check("a launch of a clone's clone, all others are released", &last, 0);
}

/// Leaves out each argument in turn, and then sets it.
#[rstest]
#[clmatrix_harness::test]
fn a_launch_without_an_argument_is_refused(bench: Bench) {
    let probe = Probe::new(&bench);
    let (count, to) = (probe.2.len(), bench.buffer_of(&[0_u64; 16]));
    for (missing, Argument(name, ..)) in probe.2.iter().enumerate() {
        let kernel = bench.new_kernel(&probe.1, "probe");
        probe.set(&kernel, 0..missing, 0);
        probe.set(&kernel, missing + 1..count, 0);
        set(&kernel, count as u32, to.raw());
        let code = launch(&kernel, bench.queue, ONE, &[]);
        let call = format!("clEnqueueNDRangeKernel, argument {missing} ({name}) is not set");
        let is_refused = code == CL_INVALID_KERNEL_ARGS;
        probe.3.check(is_refused, &call, "CL_INVALID_KERNEL_ARGS (5.10)", code_name(code));
        probe.set(&kernel, missing..missing + 1, 0);
        let results = probe.launch(&kernel, bench.queue, &[]);
        probe.check(&format!("{call}, and later set"), &results, |_| 0);
    }
}

/// A null pointer, a pointer to a null handle, and one to a buffer.
const NULL: Option<bool> = None;
const HANDLE: Option<bool> = Some(false);
const BUFFER: Option<bool> = Some(true);

/// Makes unusual calls of clSetKernelArg. Index 99 lies behind the last argument, and size 9999 is nearly all local
/// memory. Refused calls leave the arguments as they are; global and constant pointers become null.
#[rstest]
#[case::null(&[(2, 8, NULL), (3, 8, NULL), (4, 8, NULL)], CL_SUCCESS)]
#[case::null_instead_of_svm(&[(8, 8, NULL)], CL_SUCCESS)]
#[case::null_handles(&[(2, 8, HANDLE), (3, 8, HANDLE), (4, 8, HANDLE)], CL_SUCCESS)]
#[case::all_local_memory(&[(6, 9999, NULL)], CL_SUCCESS)]
#[case::index(&[(99, 8, BUFFER), (100, 4, BUFFER)], CL_INVALID_ARG_INDEX)]
#[case::size_of_a_handle(&[(2, 4, BUFFER), (2, 9, BUFFER), (3, 7, BUFFER), (3, 16, BUFFER)], CL_INVALID_ARG_SIZE)]
#[case::local_memory_with_a_value(&[(6, 4, BUFFER)], CL_INVALID_ARG_VALUE)]
#[case::local_memory_of_0_bytes(&[(6, 0, NULL)], CL_INVALID_ARG_SIZE)]
#[clmatrix_harness::test]
fn an_unusual_value_is_taken_or_refused(
    bench: Bench,
    #[case] calls: &[(usize, usize, Option<bool>)],
    #[case] code: cl_int,
) {
    if calls[0].0 == 8 && !bench.has_svm() {
        clmatrix_harness::skip!("the device has no shared virtual memory");
    }
    let probe = Probe::new(&bench);
    let all: u64 = Subject::Device(bench.device).value(named!(CL_DEVICE_LOCAL_MEM_SIZE));
    // OpenCL 3.1 allows local memory of 0 bytes.
    let is_tried = |size| size > 0 || !bench.is(3, 1);
    for &(index, size, given) in calls.iter().filter(|call| is_tried(call.1)) {
        let kernel = probe.kernel(1);
        let buffer = bench.keep(bench.buffer_of(&[1]));
        let memory = [if given == HANDLE { ptr::null_mut() } else { buffer }; 2];
        let value = given.map_or(ptr::null(), |_| memory.as_ptr().cast());
        let name = probe.2.get(index).map_or("behind the last one", |argument| argument.0);
        let at = if index < 99 { index } else { index - 98 + probe.2.len() };
        let size = if size == 9999 { all as usize - 4096 } else { size };
        // SAFETY: the value has as many bytes.
        let found = unsafe { try_set(&kernel, at as u32, size, value) };
        let what = given.map_or("null", |given| if given { "a buffer" } else { "a null handle" });
        let call = format!("clSetKernelArg(argument {at} ({name}), {size} bytes, {what}) (5.9.2)");
        probe.3.check(found == code, &call, code_name(code), code_name(found));
        let results = probe.launch(&kernel, bench.queue, &[]);
        let is_null = |n| n == index && n != 6 && code == CL_SUCCESS;
        let version = |n| if is_null(n) { 2 } else { 1 };
        probe.check(&format!("a launch after {call}"), &results, version);
        probe.set(&kernel, index.min(probe.2.len() - 1)..probe.2.len().min(index + 1), 1);
        let results = probe.launch(&kernel, bench.queue, &[]);
        probe.check(&format!("{call}, and then an argument as before"), &results, |_| 1);
    }
}
