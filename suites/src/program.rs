//! Programs (OpenCL 3.0, 5.8; `pyopencl.Program`).

use std::iter;
use std::thread;

use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use clmatrix::select::Version;
use clmatrix::{Class, Device, Program, ProgramBuilder, Result};
use clmatrix_harness::CtxFactory;
use rstest::rstest;

use crate::buffer::{buffer_of, contents, refusal};
use crate::support::on_device::{OnDevice, on_device, soon};
use crate::support::property::samples;

const FILL: &str = "kernel void k(global uint *out) { out[get_global_id(0)] = 7; }";

/// Runs the kernel of [`FILL`].
fn is_right(on_device: &OnDevice, program: &Program) -> Result<()> {
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[0_u32; 4])?;
    let mut fill = program.kernel("k")?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { fill.launch().arg(&buffer).global(4).enqueue(&on_device.queue)? };
    let mut found = [0_u32; 4];
    enqueue_copy(&on_device.queue, &mut found, &buffer, ..)?;
    assert_eq!(found, [7; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn empty_sources_are_refused(on_device: OnDevice) {
    // Without a check, drivers compile the text from there on.
    let empty = &FILL[..0];
    assert_eq!(refusal(Program::build(&on_device.context, empty)), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::build(&on_device.context, "")), "CL_INVALID_VALUE");
}

#[clmatrix_harness::test]
fn zero_bytes_are_refused(on_device: OnDevice) {
    let context = &on_device.context;
    let source = format!("{FILL}\0 kernel void other() {{}}");
    assert_eq!(refusal(Program::build(context, &source)), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::build(context, "\0")), "CL_INVALID_VALUE");
    let result = Program::builder(context).source(FILL).options("-cl-std=CL1.2\0-D A").build();
    assert_eq!(refusal(result), "CL_INVALID_BUILD_OPTIONS");
}

#[clmatrix_harness::test]
fn a_source_ends_with_its_slice(on_device: OnDevice) -> Result<()> {
    let longer = format!("{FILL} this is not OpenCL C");
    is_right(&on_device, &Program::build(&on_device.context, &longer[..FILL.len()])?)
}

#[clmatrix_harness::test]
fn options_are_passed_on(on_device: OnDevice) -> Result<()> {
    let source = FILL.replace('7', "SEVEN");
    let builder = Program::builder(&on_device.context).source(&source);
    is_right(&on_device, &builder.options("-D OTHER").options("-D SEVEN=7").build()?)
}

/// Drivers crash on them (DRIVER-18).
#[clmatrix_harness::test]
fn words_that_are_no_options_are_refused(on_device: OnDevice) -> Result<()> {
    const WRONG: [&str; 7] =
        ["-I /my kernels", "kernel.cl", "@file", "-", "-I", "-D", "-D A\n-D B"];
    let builder = || Program::builder(&on_device.context).source(FILL);
    for options in WRONG {
        let code = |result: Result<()>| result.expect_err("the options are wrong").code_name();
        let refusals = [
            code(builder().options(options).build().map(drop)),
            code(builder().options(options).compile().map(drop)),
            code(builder().options(options).header("a.h", "int a;").compile().map(drop)),
            code(Program::link([&builder().compile()?], options).map(drop)),
        ];
        let expected = ["BUILD", "COMPILER", "COMPILER", "LINKER"]
            .map(|of| format!("CL_INVALID_{of}_OPTIONS"));
        assert_eq!(refusals.map(str::to_owned), expected, "options {options:?}");
    }
    Ok(())
}

#[clmatrix_harness::test(timeout = "60s")]
fn no_options_crash_the_driver(on_device: OnDevice) {
    const PIECES: [&str; 20] = [
        "-D",
        "-I",
        "-DA",
        "A=1",
        " ",
        " ",
        " ",
        "\"",
        "\\",
        "'",
        "-",
        "-w",
        "/tmp",
        "@",
        "x y",
        "\t",
        "\n",
        "=",
        "-x",
        "-cl-opt-disable",
    ];
    let choices = proptest::collection::vec(proptest::sample::select(PIECES.as_slice()), 1..8);
    for pieces in samples(&choices, 20) {
        let options = pieces.concat();
        // The result is free: only a crash fails the test.
        eprintln!("options {options:?}");
        _ = Program::builder(&on_device.context).source(FILL).options(&options).build();
    }
}

#[clmatrix_harness::test]
fn headers_are_found_by_their_names(on_device: OnDevice) -> Result<()> {
    let source = FILL.replace('7', "SEVEN");
    let builder =
        || Program::builder(&on_device.context).source("#include \"seven.h\"\n").source(&source);
    is_right(&on_device, &builder().header("seven.h", "#define SEVEN 7").build()?)?;
    let error = builder().header("other.h", "#define SEVEN 7").build().unwrap_err();
    assert_eq!(error.class(), Class::BuildFailure, "{error}");
    assert_eq!(refusal(builder().header("seven.h", "").build()), "CL_INVALID_VALUE");
    let two = builder()
        .header("other.h", "#define A 7")
        .header("seven.h", "#include \"other.h\"\n#define SEVEN A");
    is_right(&on_device, &two.build()?)?;
    let long = "a".repeat(1000);
    for name in ["seven\0.h", "", ".", "a/", "/seven.h", "../seven.h", "a/../../seven.h", &long] {
        assert_eq!(refusal(builder().header(name, "int a;").build()), "CL_INVALID_VALUE", "{name}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn compiled_programs_are_linked(on_device: OnDevice, ctx_factory: CtxFactory) -> Result<()> {
    let compile = |context, source| Program::builder(context).source(source).compile();
    let context = &on_device.context;
    let seven = compile(context, "uint seven(void) { return 7; }")?;
    let source = format!("uint seven(void);\n{}", FILL.replace('7', "seven()"));
    let fill = compile(context, &source)?;
    is_right(&on_device, &Program::link([&fill, &seven], "")?)?;
    let other = compile(&ctx_factory()?, "uint seven(void) { return 7; }")?;
    assert_eq!(refusal(Program::link([&fill, &other], "")), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(Program::link([], "")), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::link([&fill, &seven, &fill], "")), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::link([&fill, &seven], "\0")), "CL_INVALID_LINKER_OPTIONS");
    Ok(())
}

#[clmatrix_harness::test]
fn a_failed_link_has_the_log(on_device: OnDevice) -> Result<()> {
    let source = format!("uint missing(void);\n{}", FILL.replace('7', "missing()"));
    let compiled = Program::builder(&on_device.context).source(&source).compile()?;
    let error = Program::link([&compiled], "")
        .expect_err("clLinkProgram linked a program without a function");
    assert_eq!(error.code_name(), "CL_LINK_PROGRAM_FAILURE", "clLinkProgram without a function");
    let Some(log) = error.build_log() else {
        panic!(
            "clLinkProgram returned no program that has the log, although the link began (5.8.5)"
        );
    };
    assert!(log.contains("missing"), "CL_PROGRAM_BUILD_LOG: {log}");
    Ok(())
}

/// The number of a specialization constant, and its value where none is set.
const CONSTANT: (u32, u32) = (7, 5);

/// A kernel `k` that stores the specialization constant at its argument, in SPIR-V 1.0 for 64-bit addresses.
fn spir_v() -> Vec<u32> {
    const HEADER: [u32; 5] = [0x0723_0203, 0x0001_0000, 0, 9, 0];
    // Codes and operands.
    let instructions: [(u32, &[u32]); 16] = [
        (17, &[4]),                     // OpCapability Addresses
        (17, &[6]),                     // OpCapability Kernel
        (14, &[2, 2]),                  // OpMemoryModel Physical64 OpenCL
        (15, &[6, 6, u32::from(b'k')]), // OpEntryPoint Kernel %6 "k"
        (71, &[3, 1, CONSTANT.0]),      // OpDecorate %3 SpecId
        (19, &[1]),                     // %1 = OpTypeVoid
        (21, &[2, 32, 0]),              // %2 = OpTypeInt 32 0
        (50, &[2, 3, CONSTANT.1]),      // %3 = OpSpecConstant %2
        (32, &[4, 5, 2]),               // %4 = OpTypePointer CrossWorkgroup %2
        (33, &[5, 1, 4]),               // %5 = OpTypeFunction %1 %4
        (54, &[1, 6, 0, 5]),            // %6 = OpFunction %1 None %5
        (55, &[4, 7]),                  // %7 = OpFunctionParameter %4
        (248, &[8]),                    // %8 = OpLabel
        (62, &[7, 3, 2, 4]),            // OpStore %7 %3 Aligned 4
        (253, &[]),                     // OpReturn
        (56, &[]),                      // OpFunctionEnd
    ];
    let words = instructions.iter().flat_map(|(code, operands)| {
        let first = (1 + operands.len() as u32) << 16 | code;
        iter::once(first).chain(operands.iter().copied())
    });
    HEADER.into_iter().chain(words).collect()
}

#[clmatrix_harness::test]
fn a_program_of_spir_v_is_built(on_device: OnDevice, device: Device) -> Result<()> {
    let (context, il) = (&on_device.context, spir_v());
    let il = bytemuck::cast_slice(&il);
    // SAFETY: the program is valid SPIR-V, and its constant has 32 bits.
    let build = |builder: ProgramBuilder<'_>, il| unsafe { builder.build_il(il) };
    let stored = |builder: ProgramBuilder<'_>| -> Result<u32> {
        let mut kernel = build(builder, il)?.kernel("k")?;
        let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &[0_u32])?;
        // SAFETY: the kernel stores a number.
        unsafe { kernel.launch().arg(&buffer).global(1).enqueue(&on_device.queue)? };
        Ok(buffer.to_vec::<u32>(&on_device.queue)?[0])
    };
    let plain = || Program::builder(context);
    let of_source = plain().source(FILL).specialization_constant(CONSTANT.0, 9_u32);
    assert_eq!(refusal(of_source.build()), "CL_INVALID_PROGRAM");
    // cl_khr_il_program gives older devices another function for it.
    let has_spir_v = device.opencl3().il_version().is_ok_and(|version| version.contains("SPIR-V"));
    if !has_spir_v || device.version() < (Version { major: 2, minor: 1 }) {
        assert_eq!(stored(plain()).unwrap_err().class(), Class::Unsupported);
        return Ok(());
    }
    assert_eq!(stored(plain())?, CONSTANT.1);
    assert_eq!(refusal(build(plain(), &[])), "CL_INVALID_VALUE");
    assert_eq!(refusal(build(plain().source(FILL), il)), "CL_INVALID_VALUE");
    let set = stored(plain().specialization_constant(CONSTANT.0, 9_u32));
    if device.version() < (Version { major: 2, minor: 2 }) {
        assert_eq!(set.unwrap_err().class(), Class::Unsupported);
        return Ok(());
    }
    assert_eq!(set?, 9);
    let other = plain().specialization_constant(CONSTANT.0 + 1, 9_u32);
    assert_eq!(build(other, il).unwrap_err().code_name(), "CL_INVALID_SPEC_ID");
    Ok(())
}

#[clmatrix_harness::test]
fn a_program_is_for_devices_of_its_context(on_device: OnDevice) -> Result<()> {
    let builder = || Program::builder(&on_device.context).source(FILL);
    is_right(&on_device, &builder().devices(on_device.context.devices()).build()?)?;
    assert_eq!(refusal(builder().devices(&[]).build()), "CL_INVALID_DEVICE");
    Ok(())
}

/// PoCL aborts when it launches a kernel with a name that is too long for a file.
#[rstest]
#[clmatrix_harness::test]
fn a_kernel_with_a_long_name_runs_or_is_refused(
    on_device: OnDevice,
    #[values(249, 250, 300)] len: usize,
) -> Result<()> {
    let name = "k".repeat(len);
    let source = format!("kernel void {name}(global int *to) {{ *to = 7; }}");
    let program = Program::build(&on_device.context, &source)?;
    let mut kernel = match program.kernel(&name) {
        Err(error) if len > 249 => {
            assert_eq!(error.code_name(), "CL_INVALID_KERNEL_NAME");
            assert!(error.detail().contains("249 bytes"), "{error}");
            return Ok(());
        }
        kernel => kernel?,
    };
    let to = buffer_of(&on_device, &[0])?;
    // SAFETY: the argument is what the kernel declares.
    unsafe { kernel.launch().arg(&to).global(1).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &to)?, [7]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_build_failure_has_the_log(on_device: OnDevice) {
    let result = Program::build(&on_device.context, "kernel void k() { undeclared_name = 1; }");
    let error = result.expect_err("a name is not declared");
    assert_eq!(error.code_name(), "CL_BUILD_PROGRAM_FAILURE");
    assert_eq!(error.class(), Class::BuildFailure);
    assert!(error.detail().contains("undeclared_name"), "CL_PROGRAM_BUILD_LOG of {error}");
}

/// Each program is asked for the first time.
#[clmatrix_harness::test]
fn threads_ask_for_one_binary(on_device: OnDevice) -> Result<()> {
    for _ in 0..24 {
        let program = Program::build(&on_device.context, FILL)?;
        let binaries: Vec<_> = thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| program.binaries()));
            threads.map(|thread| thread.join().unwrap()).into_iter().collect::<Result<_>>()
        })?;
        assert!(binaries.iter().all(|binary| *binary == binaries[0] && !binary[0].is_empty()));
    }
    Ok(())
}

#[clmatrix_harness::test]
fn binaries_are_built_and_empty_ones_refused(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let program = Program::build(context, FILL)?;
    let binaries = program.binaries()?;
    let [binary] = &binaries[..] else { panic!("{} binaries of one device", binaries.len()) };
    // SAFETY: it is a part of length 0 of a binary, and refused.
    let empty = unsafe { Program::build_binary(context, &binary[..0]) };
    assert_eq!(refusal(empty), "CL_INVALID_VALUE");
    // SAFETY: it is the driver's own binary.
    let built = unsafe { Program::build_binary(context, binary) }?;
    is_right(&on_device, &built)
}

#[clmatrix_harness::test]
fn from_raw_retains_or_takes_over_a_reference(on_device: OnDevice) -> Result<()> {
    let program = Program::build(&on_device.context, FILL)?;
    let count = program.reference_count()?;
    // SAFETY: the handle is valid.
    let retained = unsafe { Program::retain_raw(program.as_raw()) }?;
    assert_eq!((retained.reference_count()?, &retained), (count + 1, &program));
    assert_eq!(retained.context().as_raw(), on_device.context.as_raw());
    let raw = retained.as_raw();
    std::mem::forget(retained);
    // SAFETY: the handle is valid, and the reference is that of `retained`.
    drop(unsafe { Program::from_raw(raw) }?);
    assert!(soon(|| Ok(program.reference_count()? <= count))?, "{}", program.reference_count()?);
    is_right(&on_device, &program)
}
