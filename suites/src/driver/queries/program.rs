//! Queries of programs (5.8.9).

use std::{array, collections::BTreeSet, ffi::CStr};

use super::*;

/// Two kernels, which do not compile with `-DBROKEN`, and with `-DHEADERS` only if each header has its name.
static STRINGS: [&CStr; 3] = [
    c"#ifdef BROKEN\n#error broken\n#endif\n\
      #ifdef HEADERS\n#include \"one.h\"\n#include \"two.h\"\n#if LAST != 2\n#error headers\n#endif\n#endif\n",
    c"kernel void second(global int *to) { to[0] = 2; }\n",
    c"kernel void first(global int *to) { to[0] = 1; }\n",
];

/// Creates a program of strings, of which the second one ends with its terminator.
fn create<const N: usize>(bench: &Bench, strings: [&CStr; N]) -> Object {
    let (context, mut texts) = (bench.context, strings.map(CStr::as_ptr));
    let lengths: [_; N] = array::from_fn(|n| if n == 1 { 0 } else { strings[n].count_bytes() });
    let (n, texts, lengths) = (N as u32, texts.as_mut_ptr(), lengths.as_ptr());
    // SAFETY: the strings have their lengths or a terminator.
    unsafe { created!(Program clCreateProgramWithSource(context, n, texts, lengths)) }
}

/// A program after its last step, with the options, the status and the type of its binary.
pub struct Last(pub Object, &'static CStr, Named<i32>, Query);

/// A step, with its options. The last one creates another program of the binary.
pub enum Step {
    Build(&'static CStr),
    Compile(&'static CStr),
    Link(&'static CStr),
    Load(&'static CStr),
}

use Step::{Build, Compile, Link, Load};

const NONE: Query = named!(CL_PROGRAM_BINARY_TYPE_NONE);
const EXECUTABLE: Query = named!(CL_PROGRAM_BINARY_TYPE_EXECUTABLE);

/// The headers, by their names.
const HEADERS: [[&CStr; 2]; 2] =
    [[c"one.h", c"#define LAST 1\n"], [c"two.h", c"#undef LAST\n#define LAST 2\n"]];

/// The options of a compilation with headers.
const WITH_HEADERS: &CStr = c"-DHEADERS";

/// The options with which a build fails: of a source with an error, and those that no compiler has.
const BROKEN: &CStr = c"-DBROKEN -DA=1";
const REFUSED: &CStr = c"-no-such-option";

/// Takes a step, and returns the program with the answers that it has then.
pub fn take(step: &Step, bench: &Bench, program: Object) -> Last {
    let (Build(options) | Compile(options) | Link(options) | Load(options)) = *step;
    let (raw, context, null) = (program.raw(), bench.context, ptr::null_mut());
    let (device, given) = (&raw const bench.device, options.as_ptr());
    let mut last = Last(program, options, named!(CL_BUILD_SUCCESS), EXECUTABLE);
    // SAFETY: the program, the device and the headers are valid, the driver must refuse unknown options, and the binary is
    // that of the driver.
    unsafe {
        match step {
            Build(_) if options == BROKEN || options == REFUSED => {
                _ = cl!(clBuildProgram(raw, 1, device, given, None, null));
                (last.2, last.3) = (named!(CL_BUILD_ERROR), NONE);
            }
            Build(_) => ok!(clBuildProgram(raw, 1, device, given, None, null)),
            Compile(_) => {
                let n = if options == WITH_HEADERS { HEADERS.len() } else { 0 };
                let made = HEADERS.map(|[_, text]| create(bench, [text]));
                let headers = made.each_ref().map(Object::raw);
                let names = HEADERS.map(|[name, _]| name.as_ptr());
                let (headers, names) = (pointer(&headers[..n]), pointer(&names[..n]));
                ok!(clCompileProgram(raw, 1, device, given, n as u32, headers, names, None, null));
                last.3 = named!(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
            }
            Link(_) => {
                last.0 = created!(Program
                    clLinkProgram(context, 1, device, given, 1, &raw const raw, None, null));
                if !options.is_empty() {
                    last.3 = named!(CL_PROGRAM_BINARY_TYPE_LIBRARY);
                }
            }
            Load(_) => {
                let binary = binary(&Asked(bench, Subject::Program(raw), "a program"));
                let (length, bytes, mut status) = (binary.len(), binary.as_ptr(), UNWRITTEN);
                last.0 = created!(Program clCreateProgramWithBinary(
                    context, 1, device, &raw const length, &raw const bytes, &raw mut status));
                let call = "clCreateProgramWithBinary(binary_status)";
                bench.check_code(status, CL_SUCCESS, call, "it is loaded (5.8.1)");
                last.2 = named!(CL_BUILD_NONE);
            }
        }
    }
    last
}

/// Returns the binary, and checks that the driver writes it and no further.
fn binary(asked: &Asked<'_>) -> Vec<u8> {
    let size: usize = asked.1.value(SIZES);
    let mut space = vec![UNTOUCHED; size + 64];
    let (mut place, mut needed) = (space.as_mut_ptr(), 0);
    let (query, to) = (named!(CL_PROGRAM_BINARIES), (&raw mut place).cast());
    // SAFETY: the place has as many bytes as the driver asks for, and more.
    let code = unsafe { asked.1.call(query.value, size_of::<usize>(), to, &raw mut needed) };
    succeeds("clGetProgramInfo(CL_PROGRAM_BINARIES)", code);
    let rule = "param_value_size_ret is the size of one pointer";
    asked.expect(needed == size_of::<usize>(), query, rule, needed);
    let written = space.iter().rposition(|byte| *byte != UNTOUCHED).map_or(0, |last| last + 1);
    let rule = format!("the {size} bytes of CL_PROGRAM_BINARY_SIZES, at least 1");
    let holds = (size / 2 + 1..=size).contains(&written);
    asked.expect(holds, query, rule, format_args!("{written} bytes are written"));
    space.truncate(size);
    space
}

/// Checks the status and the answer to one query, or to those that belong together.
fn check(last: &Last, bench: &Bench, query: Query) {
    let &Last(ref program, options, status, kind) = last;
    let (raw, device) = (program.raw(), bench.device);
    let name = format!("a program with {}, {} and {options:?}", status.name, kind.name);
    let of_program = Asked(bench, Subject::Program(raw), &name);
    let of_build = Asked(bench, Subject::Build(raw, device), &name);
    of_build.constant(named!(CL_PROGRAM_BUILD_STATUS), status);
    match query {
        STATE => answers!(bench, Program(raw), name; pointer CL_PROGRAM_CONTEXT bench.context,
            pointer CL_PROGRAM_DEVICES device, is CL_PROGRAM_NUM_DEVICES 1_u32,
            counted CL_PROGRAM_REFERENCE_COUNT (Class::Program, raw)),
        SOURCE => of_program.text(query, &STRINGS.map(CStr::to_string_lossy).concat()),
        OPTIONS => of_build.text(query, &options.to_string_lossy()),
        LOG if status.value == CL_BUILD_NONE => of_build.text(query, ""),
        LOG => answers!(bench, Build(raw, device), name;
            read CL_PROGRAM_BUILD_LOG ("the message of #error if the build has failed",
                |log: &str| status.value != CL_BUILD_ERROR || log.contains("broken"))),
        TYPE => of_build.constant(query, kind),
        SIZES if kind == NONE => of_program.is(query, 0_usize),
        SIZES => drop(binary(&of_program)),
        _ if kind == EXECUTABLE => answers!(bench, Program(raw), name;
            is CL_PROGRAM_NUM_KERNELS 2_usize,
            read CL_PROGRAM_KERNEL_NAMES ("`first` and `second`, with a semicolon between them",
                |found: &str| ["first;second", "second;first"].contains(&found))),
        _ => answers!(bench, Program(raw), name;
            refuses CL_PROGRAM_NUM_KERNELS CL_INVALID_PROGRAM_EXECUTABLE,
            refuses CL_PROGRAM_KERNEL_NAMES CL_INVALID_PROGRAM_EXECUTABLE),
    }
}

/// Builds the same source with options that others had before, and again with the first ones.
#[clmatrix_harness::test]
fn a_build_has_its_options(bench: Bench) {
    let all = ["-DN=1", "-DN=2", "-DN=1 -DM=4", "-DM=4  -DN=2", "-DN=1"];
    let source = "#ifndef M\n#define M 0\n#endif\n
        #define K(n) kernel void k##n(global int *to) { to[0] = N + M + 8 * n; }\nK(0) K(1) K(2)";
    let programs = all.map(|options| bench.build(source, options));
    for ((program, options), wanted) in programs.iter().zip(all).zip([1, 2, 5, 6, 1]) {
        for n in 0..3 {
            let kernel = bench.new_kernel(program, &format!("k{n}"));
            let found = bench.run(&kernel, &[0], [&[], &[1], &[]])[0] - 8 * n;
            let call = format!("kernel {n} after clBuildProgram({options:?}), one of {all:?}");
            bench.check(found == wanted, call, format!("N + M is {wanted} (5.8.6)"), found);
        }
    }
}

#[clmatrix_harness::test(own_worker)]
fn a_compiler_that_was_unloaded_builds(bench: Bench) {
    for _ in 0..2 {
        // SAFETY: the platform is valid.
        unsafe { ok!(clUnloadPlatformCompiler(bench.platform())) };
        bench.build("kernel void k() {}", "");
    }
}

/// Asks for the log of a build whose options were refused, and for the source of a binary.
#[clmatrix_harness::test]
fn queries_succeed_after_refused_options_and_for_a_binary(bench: Bench) {
    let refused = take(&Build(REFUSED), &bench, create(&bench, STRINGS)).0;
    let of_refused = Subject::Build(refused.raw(), bench.device);
    Asked(&bench, of_refused, "a program after refused options").answer(LOG);
    let loaded = take(&Load(c""), &bench, take(&Build(c""), &bench, create(&bench, STRINGS)).0).0;
    Asked(&bench, Subject::Program(loaded.raw()), "a program of a binary").answer(SOURCE);
}

/// A callback of a build. Passes on the status, for which it asks, or an error code; both without a sign.
extern "C" fn ask_status(program: cl_program, user_data: *mut c_void) {
    let status = || -> Result<cl_int, cl_int> {
        let device = Subject::Program(program).bytes(CL_PROGRAM_DEVICES)?;
        let device = bytemuck::try_pod_read_unaligned::<usize>(&device).unwrap_or(0);
        let of_build = Subject::Build(program, device as cl_device_id);
        let status = of_build.bytes(CL_PROGRAM_BUILD_STATUS)?;
        // A panic would end the process here.
        bytemuck::try_pod_read_unaligned(&status).map_err(|_| CL_INVALID_VALUE)
    };
    of_event(program, status().unwrap_or_else(|code| code).abs(), user_data);
}

/// A notification comes once, when a build has ended or has failed. A second reference does not hinder the build.
#[rstest]
#[case::built(c"", named!(CL_BUILD_SUCCESS))]
#[case::failed(BROKEN, named!(CL_BUILD_ERROR))]
#[clmatrix_harness::test]
fn the_end_of_a_build_is_notified(bench: Bench, #[case] options: &CStr, #[case] end: Named<i32>) {
    let program = create(&bench, STRINGS);
    let second = Object::retained(Class::Program, program.raw());
    let (raw, device, options) = (second.raw(), &raw const bench.device, options.as_ptr());
    let of = "clBuildProgram(pfn_notify) of a program with two references, whose callback passes \
              on CL_PROGRAM_BUILD_STATUS (5.8.9) without its sign";
    let call = format!("{of}: {} = {}", end.name, end.value);
    let callback = Callback::new(&call, "5.8.4", &[raw as usize, end.value.unsigned_abs() as _]);
    let (function, data) = (Some(ask_status as _), callback.data());
    // SAFETY: the program and the device are valid, and the callback makes no call that blocks.
    let code = unsafe { cl!(clBuildProgram(raw, 1, device, options, function, data)) };
    let is_right = code == CL_SUCCESS || end.value == CL_BUILD_ERROR;
    bench.check(is_right, call, "a valid call (5.8.4)", code_name(code));
    Callback::check_all(&[callback], &bench);
    answers!(bench, Build(raw, bench.device), "a program after its notification";
        constant CL_PROGRAM_BUILD_STATUS end);
}

#[clmatrix_harness::test]
fn all_kernels_of_a_program_are_created(bench: Bench) {
    let Last(program, ..) = take(&Build(c""), &bench, create(&bench, STRINGS));
    let (raw, mut counts, mut kernels) = (program.raw(), [0; 2], [ptr::null_mut(); 3]);
    // SAFETY: the program is built, and the list has as many places, or more.
    unsafe {
        ok!(clCreateKernelsInProgram(raw, 0, ptr::null_mut(), &raw mut counts[0]));
        ok!(clCreateKernelsInProgram(raw, 3, kernels.as_mut_ptr(), &raw mut counts[1]));
    }
    let kernels: BTreeSet<_> = kernels.into_iter().filter(|raw| !raw.is_null()).collect();
    // SAFETY: the call has created the references.
    let kernels = kernels.into_iter().map(|raw| unsafe { Object::new(Class::Kernel, raw) });
    let query = named!(CL_KERNEL_FUNCTION_NAME);
    let mut names: Vec<_> = kernels.map(|it| Subject::Kernel(it.raw()).text(query)).collect();
    names.sort();
    let call = "clCreateKernelsInProgram, first without a list";
    let rule = "num_kernels_ret is 2 each time, and a list of 3 gets `first` and `second` (5.9.1)";
    let holds = counts == [2; 2] && names == ["first", "second"];
    bench.check(holds, call, rule, format!("{counts:?}, {names:?}"));
}

/// The queries. The first one covers several that all drivers answer, and the last one covers two.
const STATE: Query = named!(CL_PROGRAM_CONTEXT);
const SOURCE: Query = named!(CL_PROGRAM_SOURCE);
const OPTIONS: Query = named!(CL_PROGRAM_BUILD_OPTIONS);
const LOG: Query = named!(CL_PROGRAM_BUILD_LOG);
const TYPE: Query = named!(CL_PROGRAM_BINARY_TYPE);
const SIZES: Query = named!(CL_PROGRAM_BINARY_SIZES);
const KERNELS: Query = named!(CL_PROGRAM_NUM_KERNELS);

/// The cases with one query are those that some drivers answer otherwise.
#[rstest]
#[case::unbuilt(&[], &[STATE, SOURCE])]
#[case::failed(&[Build(BROKEN)], &[STATE, SOURCE, LOG])]
#[case::built(&[Build(c"-cl-mad-enable")], &[STATE, SOURCE, OPTIONS, LOG, TYPE, SIZES, KERNELS])]
#[case::rebuilt(&[Build(BROKEN), Build(c"-DC=3")], &[STATE, OPTIONS, LOG, TYPE, SIZES, KERNELS])]
#[case::built_again(&[Build(c"-DA=1"), Build(c"-DC=3")], &[STATE, OPTIONS, LOG, TYPE, SIZES, KERNELS])]
#[case::compiled_again(&[Compile(c"-DA=1"), Compile(c"-DD=4")], &[STATE, OPTIONS, LOG, TYPE, SIZES])]
#[case::loaded(&[Build(c""), Load(c""), Build(c"")], &[STATE, OPTIONS, LOG, TYPE, SIZES, KERNELS])]
#[case::compiled(&[Compile(c"-DD=4")], &[STATE, OPTIONS, LOG, TYPE, SIZES])]
#[case::linked(&[Compile(c""), Link(c"")], &[STATE, OPTIONS, LOG, TYPE, SIZES, KERNELS])]
#[case::library(&[Compile(c""), Link(c"-create-library")], &[STATE, LOG, TYPE, SIZES])]
#[case::failed_again(&[Build(BROKEN), Build(BROKEN)], &[STATE, LOG])]
#[case::loaded_unbuilt(&[Build(c""), Load(c"")], &[STATE])]
#[case::options_of_failed(&[Build(BROKEN)], &[OPTIONS])]
#[case::options_of_library(&[Compile(c""), Link(c"-create-library")], &[OPTIONS])]
#[case::log_of_unbuilt(&[], &[LOG])]
#[case::type_of_unbuilt(&[], &[TYPE])]
#[case::type_of_failed(&[Build(BROKEN)], &[TYPE])]
#[case::size_of_unbuilt(&[], &[SIZES])]
#[case::size_of_failed(&[Build(BROKEN)], &[SIZES])]
#[case::kernels_of_unbuilt(&[], &[KERNELS])]
#[case::kernels_of_failed(&[Build(BROKEN)], &[KERNELS])]
#[case::kernels_of_compiled(&[Compile(c"")], &[KERNELS])]
#[case::compiled_with_headers(&[Compile(WITH_HEADERS)], &[STATE, OPTIONS, LOG, TYPE, SIZES])]
#[case::linked_with_headers(&[Compile(WITH_HEADERS), Link(c"")], &[STATE, LOG, TYPE, KERNELS])]
#[clmatrix_harness::test]
fn a_program_tells_its_last_step(bench: Bench, #[case] steps: &[Step], #[case] queries: &[Query]) {
    let first = Last(create(&bench, STRINGS), c"", named!(CL_BUILD_NONE), NONE);
    let last = steps.iter().fold(first, |last, step| take(step, &bench, last.0));
    queries.iter().for_each(|query| check(&last, &bench, *query));
}
