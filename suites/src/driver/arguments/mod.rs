//! Arguments of kernels (5.9.2, 5.9.3) and their launches (5.10).

mod native;
mod probe;
mod ranges;
mod values;

use std::hint;

use Setting::{Memory, Svm};

use super::prelude::*;

/// The options of programs. With these a driver keeps what it knows of arguments, and may use it.
const OPTIONS: &str = "-cl-kernel-arg-info";

/// The beginning of programs, which may use 16-bit numbers.
const HALF: &str = "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n";

/// One work item.
const ONE: Range<'static> = [&[], &[1], &[]];

/// The numbers of which there is room in the results of a kernel.
const MOST: usize = 256;

/// Calls clSetKernelArg with bytes, or null where there are none, and returns its code.
fn try_set(kernel: &Object, index: u32, size: usize, mut value: Vec<u8>) -> cl_int {
    assert!(value.is_empty() || size <= value.len(), "a value of {size} bytes has as many");
    // SAFETY: the kernel is valid. The value is null or has as many bytes, which suit the argument, or the driver must
    // refuse them.
    let code = unsafe { cl!(clSetKernelArg(kernel.raw(), index, size, pointer(&value).cast())) };
    // The caller may use the memory of a value again (5.9.2).
    value.fill(0xee);
    // The compiler leaves out writes to memory that is freed.
    hint::black_box(&value);
    code
}

#[clmatrix_harness::test]
fn arguments_that_the_kernel_does_not_use_are_set(bench: Bench) {
    let source =
        "kernel void k(global uint *to, uint a, local int *b, global int *c) { to[0] = 7; }";
    let kernel = bench.new_kernel(&bench.build(source, ""), "k");
    let (buffer, raw) = (bench.new_buffer(CL_MEM_READ_WRITE, SIZE), kernel.raw());
    SETTING.set("of an argument that the kernel does not use (5.9.2)");
    set(raw, 1, 5_u32);
    succeeds("clSetKernelArg", try_set(&kernel, 2, 64, vec![]));
    set(raw, 3, buffer.raw());
    SETTING.set("");
    let found = bench.run(&kernel, &[0_u32], ONE)[0];
    let call = "clEnqueueNDRangeKernel of a kernel that uses the first of four arguments";
    bench.check(found == 7, call, "the kernel writes 7 (5.10)", found);
}

/// Checks the type of the event of a launch or a native kernel.
fn check_type(bench: &Bench, event: &Object, wanted: Named<cl_command_type>, call: &str) {
    let found: u32 = Subject::Event(event.raw()).value(named!(CL_EVENT_COMMAND_TYPE));
    let call = format_args!("clGetEventInfo(CL_EVENT_COMMAND_TYPE) after {call}");
    let rule = format_args!("{} (5.11)", wanted.name);
    bench.check(found == wanted.value, call, rule, format_args!("{found:#x}"));
}

/// The value of an argument: its size and its bytes, which local memory lacks, or a pointer.
enum Setting {
    Memory(usize, Vec<u8>),
    Svm(*mut c_void),
}

/// An argument: its declaration, the numbers that the kernel finds in it, and its values. A number has an expression, and
/// what that is for each value; for null it is 0. `@` stands for the name. The declaration may begin with that of the type.
struct Argument(String, Vec<(String, Vec<u64>)>, Vec<Setting>);

/// A kernel that writes the numbers of its arguments to a buffer, which is its last argument.
struct Probe<'a>(&'a Bench, Object, Vec<Argument>);

impl<'a> Probe<'a> {
    /// Builds the kernel, which runs these statements first.
    fn build(bench: &'a Bench, statements: &str, arguments: Vec<Argument>) -> Self {
        let (mut types, mut parameters) = (HALF.to_owned(), String::new());
        let mut body = statements.to_owned();
        for (n, Argument(declaration, numbers, _)) in arguments.iter().enumerate() {
            let name = format!("a{n}");
            let at = declaration.rfind(';').map_or(0, |at| at + 1);
            types += &declaration[..at];
            parameters += &format!("{}, ", declaration[at..].replace('@', &name));
            for (number, _) in numbers {
                body += &format!("*to++ = {};", number.replace('@', &name));
            }
        }
        let source = format!("{types}kernel void probe({parameters}global ulong *to) {{ {body} }}");
        Self(bench, bench.build(&source, OPTIONS), arguments)
    }

    /// A kernel with the arguments of a version, without the buffer.
    fn kernel(&self, version: usize) -> Object {
        let kernel = self.0.new_kernel(&self.1, "probe");
        self.set(&kernel, 0..self.2.len(), version);
        kernel
    }

    /// Sets these arguments to their values of a version.
    fn set(&self, kernel: &Object, which: impl IntoIterator<Item = usize>, version: usize) {
        for index in which {
            let Argument(name, _, settings) = &self.2[index];
            let (raw, n) = (kernel.raw(), index as u32);
            let code = match &settings[version] {
                Memory(size, bytes) => try_set(kernel, n, *size, bytes.clone()),
                // SAFETY: kernel and pointer are valid.
                Svm(pointer) => unsafe {
                    let all = ptr::from_ref(pointer).cast();
                    ok!(clSetKernelExecInfo(raw, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, all));
                    cl!(clSetKernelArgSVMPointer(raw, n, *pointer))
                },
            };
            succeeds(&format!("clSetKernelArg(argument {index}, {name})"), code);
        }
    }

    /// Launches the kernel with a buffer of its own for the results, which outlives a gate.
    fn launch(&self, kernel: &Object, queue: *mut c_void, waits: &[*mut c_void]) -> *mut c_void {
        let results = self.0.keep(self.0.buffer_of(&[0_u64; MOST]));
        set(kernel.raw(), self.2.len() as u32, results);
        succeeds("clEnqueueNDRangeKernel", launch(kernel, queue, ONE, waits));
        results
    }

    /// Checks the numbers that the kernel has found: those of a version of each argument.
    fn check(&self, call: &str, results: *mut c_void, version: impl Fn(usize) -> usize) {
        let mut found = self.0.contents_of::<u64>(results, MOST).into_iter();
        for (index, Argument(name, numbers, _)) in self.2.iter().enumerate() {
            for ((number, values), found) in numbers.iter().zip(&mut found) {
                let expected = values.get(version(index)).copied().unwrap_or(0);
                let rule = format!("argument {index} ({name}): {number} is {expected:#x}");
                self.0.check(found == expected, call, rule, format_args!("{found:#x}"));
            }
        }
    }

    /// Launches the kernel, and checks the numbers that it finds.
    fn expect(&self, call: &str, kernel: &Object, version: impl Fn(usize) -> usize) {
        self.check(call, self.launch(kernel, self.0.queue, &[]), version);
    }
}
