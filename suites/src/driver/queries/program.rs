//! Queries of programs (5.8.9).

use std::ffi::CStr;

use super::*;

/// Two kernels, which do not compile with `-DBROKEN`.
static STRINGS: [&str; 3] = [
    "#ifdef BROKEN\n#error broken\n#endif\n",
    "kernel void second(global int *to) { to[0] = 2; }\n",
    "kernel void first(global int *to) { to[0] = 1; }\n",
];

/// Creates a program of strings, of which the second one ends with its terminator.
fn create(bench: &Bench) -> Object {
    let texts = STRINGS.map(|text| CString::new(text).expect("no zero"));
    let mut strings = texts.each_ref().map(|text| text.as_ptr());
    let lengths = [STRINGS[0].len(), 0, STRINGS[2].len()];
    let (context, strings, lengths) = (bench.context, strings.as_mut_ptr(), lengths.as_ptr());
    // SAFETY: the strings have their lengths or a terminator.
    unsafe { object!(Program clCreateProgramWithSource(context, 3, strings, lengths)) }
}

/// A program after its last step, with the options, the status and the type of its binary.
struct Last(Object, &'static CStr, Named<i32>, Named<u32>);

const NONE: Named<u32> = named!(CL_PROGRAM_BINARY_TYPE_NONE);
const EXECUTABLE: Named<u32> = named!(CL_PROGRAM_BINARY_TYPE_EXECUTABLE);

fn unbuilt(bench: &Bench) -> Vec<Last> {
    vec![Last(create(bench), c"", named!(CL_BUILD_NONE), NONE)]
}

fn build(bench: &Bench, program: Object, options: &'static CStr) -> Last {
    let (device, given) = (&raw const bench.device, options.as_ptr());
    // SAFETY: program, device and options are valid.
    let code =
        unsafe { cl!(clBuildProgram(program.raw(), 1, device, given, None, ptr::null_mut())) };
    if options == BROKEN {
        assert!(code == CL_BUILD_PROGRAM_FAILURE, "clBuildProgram of #error: {}", code_name(code));
        return Last(program, options, named!(CL_BUILD_ERROR), NONE);
    }
    succeeds("clBuildProgram", code);
    Last(program, options, named!(CL_BUILD_SUCCESS), EXECUTABLE)
}

const BROKEN: &CStr = c"-DBROKEN -DA=1";

fn failed(bench: &Bench) -> Vec<Last> {
    vec![build(bench, create(bench), BROKEN)]
}

/// A program that is built, and one of its binary.
fn built(bench: &Bench) -> Vec<Last> {
    let built = build(bench, create(bench), c"-D B=2 -cl-mad-enable");
    let binary = binary(&built, &Findings::default());
    let (length, bytes, mut status) = (binary.len(), binary.as_ptr(), 1);
    let (device, status) = (&raw const bench.device, &raw mut status);
    let (length, bytes) = (&raw const length, &raw const bytes);
    // SAFETY: the device is valid; the binary is the driver's.
    let loaded = unsafe {
        object!(Program clCreateProgramWithBinary(bench.context, 1, device, length, bytes, status))
    };
    vec![built, build(bench, loaded, c"")]
}

/// A program that is built after a build that has failed.
fn rebuilt(bench: &Bench) -> Vec<Last> {
    failed(bench).into_iter().map(|last| build(bench, last.0, c"-D C=3")).collect()
}

fn compiled(bench: &Bench) -> Vec<Last> {
    let (program, options) = (create(bench), c"-DD=4");
    let (raw, device, given) = (program.raw(), &raw const bench.device, options.as_ptr());
    let (headers, names, null) = (ptr::null(), ptr::null(), ptr::null_mut());
    // SAFETY: program, device and options are valid.
    unsafe { ok!(clCompileProgram(raw, 1, device, given, 0, headers, names, None, null)) };
    let kind = named!(CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    vec![Last(program, options, named!(CL_BUILD_SUCCESS), kind)]
}

/// An executable and a library.
fn linked(bench: &Bench) -> Vec<Last> {
    let parts = compiled(bench);
    let link = |(options, kind): (&'static CStr, Named<u32>)| {
        let (device, given) = (&raw const bench.device, options.as_ptr());
        let ([part], null) = ([parts[0].0.raw()], ptr::null_mut());
        let part = &raw const part;
        // SAFETY: the device, the options and the compiled program are valid.
        let program = unsafe {
            object!(Program clLinkProgram(bench.context, 1, device, given, 1, part, None, null))
        };
        Last(program, options, named!(CL_BUILD_SUCCESS), kind)
    };
    let library = named!(CL_PROGRAM_BINARY_TYPE_LIBRARY);
    [(c"", EXECUTABLE), (c"-create-library", library)].map(link).into()
}

/// Returns the binary, and checks that the driver writes it and no further.
fn binary(last: &Last, findings: &Findings) -> Vec<u8> {
    const UNTOUCHED: u8 = 0xa5;
    let subject = Subject::Program(last.0.raw());
    let size: usize = subject.value(named!(CL_PROGRAM_BINARY_SIZES));
    let mut space = vec![UNTOUCHED; size + 64];
    let mut place = space.as_mut_ptr();
    let (query, place) = (named!(CL_PROGRAM_BINARIES), (&raw mut place).cast());
    // SAFETY: the place has as many bytes as the driver asks for, and more.
    let code = unsafe { subject.call(query.value, size_of::<usize>(), place, ptr::null_mut()) };
    succeeds("clGetProgramInfo(CL_PROGRAM_BINARIES)", code);
    let written = space.iter().rposition(|byte| *byte != UNTOUCHED).map_or(0, |last| last + 1);
    if size == 0 || !(size - size / 2..=size).contains(&written) {
        let rule = format!("the {size} bytes of CL_PROGRAM_BINARY_SIZES, at least 1");
        let asked = Asked::new(findings, subject, last.3.name);
        asked.add(query, rule, format_args!("{written} bytes are written"));
    }
    space.truncate(size);
    space
}

fn asked<'a>(last: &Last, bench: &Bench, findings: &'a Findings) -> [Asked<'a>; 2] {
    let Last(program, options, status, kind) = last;
    let name = format!("a program with {}, {} and {options:?}", status.name, kind.name);
    [Subject::Program(program.raw()), Subject::Build(program.raw(), bench.device)]
        .map(|subject| Asked::new(findings, subject, &*name))
}

#[rstest]
#[clmatrix_harness::test]
fn a_program_tells_its_last_step(
    bench: Bench,
    #[values(unbuilt, failed, built, rebuilt, compiled, linked)] make: fn(&Bench) -> Vec<Last>,
) {
    let findings = Findings::default();
    for last in make(&bench) {
        let [asked, of_build] = asked(&last, &bench, &findings);
        let &Last(_, options, status, kind) = &last;
        answers!(asked; pointer CL_PROGRAM_CONTEXT bench.context, is CL_PROGRAM_NUM_DEVICES 1_u32,
            list CL_PROGRAM_DEVICES &[bench.device as usize]);
        of_build.constant(named!(CL_PROGRAM_BUILD_STATUS), status);
        if status.value == CL_BUILD_NONE {
            asked.text(named!(CL_PROGRAM_SOURCE), &STRINGS.concat());
        }
        if bench.is(2, 1) {
            asked.list::<u8>(named!(CL_PROGRAM_IL), &[]);
        }
        if status.value != CL_BUILD_SUCCESS {
            continue;
        }
        binary(&last, &findings);
        of_build.constant(named!(CL_PROGRAM_BINARY_TYPE), kind);
        of_build.read(named!(CL_PROGRAM_BUILD_LOG), "a text", |_| true);
        if kind.value != CL_PROGRAM_BINARY_TYPE_LIBRARY {
            of_build.text(named!(CL_PROGRAM_BUILD_OPTIONS), &options.to_string_lossy());
        }
        if kind == EXECUTABLE {
            asked.is(named!(CL_PROGRAM_NUM_KERNELS), 2_usize);
            let rule = "`first` and `second`, with a semicolon between them";
            let holds = |found: &str| ["first;second", "second;first"].contains(&found);
            asked.read(named!(CL_PROGRAM_KERNEL_NAMES), rule, holds);
        }
    }
}

/// Rules that some drivers break.
#[rstest]
#[case::options_of_failed(failed, named!(CL_PROGRAM_BUILD_OPTIONS))]
#[case::options_of_linked(linked, named!(CL_PROGRAM_BUILD_OPTIONS))]
#[case::log_of_unbuilt(unbuilt, named!(CL_PROGRAM_BUILD_LOG))]
#[case::log_of_failed(failed, named!(CL_PROGRAM_BUILD_LOG))]
#[case::type_of_unbuilt(unbuilt, named!(CL_PROGRAM_BINARY_TYPE))]
#[case::type_of_failed(failed, named!(CL_PROGRAM_BINARY_TYPE))]
#[case::size_of_unbuilt(unbuilt, named!(CL_PROGRAM_BINARY_SIZES))]
#[case::size_of_failed(failed, named!(CL_PROGRAM_BINARY_SIZES))]
#[case::kernels_of_unbuilt(unbuilt, named!(CL_PROGRAM_NUM_KERNELS))]
#[case::kernels_of_failed(failed, named!(CL_PROGRAM_NUM_KERNELS))]
#[case::kernels_of_compiled(compiled, named!(CL_PROGRAM_NUM_KERNELS))]
#[clmatrix_harness::test]
fn a_program_tells(bench: Bench, #[case] make: fn(&Bench) -> Vec<Last>, #[case] query: Named<u32>) {
    let findings = Findings::default();
    for last in make(&bench) {
        let [of_program, of_build] = asked(&last, &bench, &findings);
        let &Last(_, options, status, kind) = &last;
        match query.value {
            CL_PROGRAM_BUILD_OPTIONS => of_build.text(query, &options.to_string_lossy()),
            CL_PROGRAM_BINARY_TYPE => of_build.constant(query, kind),
            CL_PROGRAM_BINARY_SIZES => of_program.is(query, 0_usize),
            CL_PROGRAM_NUM_KERNELS => {
                of_program.refuses(query, CL_INVALID_PROGRAM_EXECUTABLE);
                let names = named!(CL_PROGRAM_KERNEL_NAMES);
                of_program.refuses(names, CL_INVALID_PROGRAM_EXECUTABLE);
            }
            _ if status.value == CL_BUILD_NONE => of_build.text(query, ""),
            _ => drop(of_build.read(query, "the message of #error", |log| log.contains("broken"))),
        }
    }
}
