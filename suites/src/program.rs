//! Programs (OpenCL 3.0, 5.8; `pyopencl.Program`).

use clmatrix::cl3::program::{CL_PROGRAM_BINARIES, get_program_info};
use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use clmatrix::{Class, Program, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use crate::buffer::refusal;
use crate::support::on_device::{OnDevice, on_device};

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

#[rstest]
#[clmatrix_harness::test]
fn empty_sources_are_refused(on_device: OnDevice) {
    // Without a check, drivers compile the text from there on.
    let empty = &FILL[..0];
    assert_eq!(refusal(Program::build(&on_device.context, empty)), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::build(&on_device.context, "")), "CL_INVALID_VALUE");
}

#[rstest]
#[clmatrix_harness::test]
fn zero_bytes_are_refused(on_device: OnDevice) {
    let context = &on_device.context;
    let source = format!("{FILL}\0 kernel void other() {{}}");
    assert_eq!(refusal(Program::build(context, &source)), "CL_INVALID_VALUE");
    assert_eq!(refusal(Program::build(context, "\0")), "CL_INVALID_VALUE");
    let result = Program::builder(context).source(FILL).options("-cl-std=CL1.2\0-D A").build();
    assert_eq!(refusal(result), "CL_INVALID_BUILD_OPTIONS");
}

#[rstest]
#[clmatrix_harness::test]
fn a_source_ends_with_its_slice(on_device: OnDevice) -> Result<()> {
    let longer = format!("{FILL} this is not OpenCL C");
    is_right(&on_device, &Program::build(&on_device.context, &longer[..FILL.len()])?)
}

#[rstest]
#[clmatrix_harness::test]
fn options_are_passed_on(on_device: OnDevice) -> Result<()> {
    let source = FILL.replace('7', "SEVEN");
    let builder = Program::builder(&on_device.context).source(&source);
    is_right(&on_device, &builder.options("-D OTHER").options("-D SEVEN=7").build()?)
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "1.2"))]
fn headers_are_found_by_their_names(on_device: OnDevice) -> Result<()> {
    let source = FILL.replace('7', "SEVEN");
    let builder =
        || Program::builder(&on_device.context).source("#include \"seven.h\"\n").source(&source);
    is_right(&on_device, &builder().header("seven.h", "#define SEVEN 7").build()?)?;
    let error = builder().header("other.h", "#define SEVEN 7").build().unwrap_err();
    assert_eq!(error.class(), Class::BuildFailure, "{error}");
    assert_eq!(refusal(builder().header("seven.h", "").build()), "CL_INVALID_VALUE");
    let two = builder().header("seven.h", "#define SEVEN 7").header("other.h", "int a;").build();
    assert_eq!(two.unwrap_err().class(), Class::Unsupported);
    assert_eq!(refusal(builder().header("seven\0.h", "int a;").build()), "CL_INVALID_VALUE");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "1.2"))]
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

#[rstest]
#[clmatrix_harness::test]
fn a_program_is_for_devices_of_its_context(on_device: OnDevice) -> Result<()> {
    let builder = || Program::builder(&on_device.context).source(FILL);
    is_right(&on_device, &builder().devices(on_device.context.devices()).build()?)?;
    assert_eq!(refusal(builder().devices(&[]).build()), "CL_INVALID_DEVICE");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_build_failure_has_the_log(on_device: OnDevice) {
    let result = Program::build(&on_device.context, "kernel void k() { undeclared_name = 1; }");
    let error = result.expect_err("a name is not declared");
    assert_eq!(error.code_name(), "CL_BUILD_PROGRAM_FAILURE");
    assert_eq!(error.class(), Class::BuildFailure);
    assert!(error.build_log().is_some_and(|log| log.contains("undeclared_name")), "{error}");
}

#[rstest]
#[clmatrix_harness::test]
fn binaries_are_built_and_empty_ones_refused(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let program = Program::build(context, FILL)?;
    let binaries = get_program_info(program.as_raw(), CL_PROGRAM_BINARIES);
    let binaries: Vec<Vec<u8>> = binaries.expect("the binaries of a live program").into();
    let [binary] = &binaries[..] else { panic!("{} binaries of one device", binaries.len()) };
    // SAFETY: it is a part of length 0 of a binary, and refused.
    let empty = unsafe { Program::build_binary(context, &binary[..0]) };
    assert_eq!(refusal(empty), "CL_INVALID_VALUE");
    // SAFETY: it is the driver's own binary.
    let built = unsafe { Program::build_binary(context, binary) }?;
    is_right(&on_device, &built)
}

#[rstest]
#[clmatrix_harness::test]
fn from_raw_retains_or_takes_over_a_reference(on_device: OnDevice) -> Result<()> {
    let program = Program::build(&on_device.context, FILL)?;
    let count = program.reference_count()?;
    // SAFETY: the handle is valid.
    let retained = unsafe { Program::from_raw(program.as_raw(), true) }?;
    assert_eq!((retained.reference_count()?, &retained), (count + 1, &program));
    assert_eq!(retained.context().as_raw(), on_device.context.as_raw());
    let raw = retained.as_raw();
    std::mem::forget(retained);
    // SAFETY: the handle is valid, and the reference is that of `retained`.
    drop(unsafe { Program::from_raw(raw, false) }?);
    assert_eq!(program.reference_count()?, count);
    is_right(&on_device, &program)
}
