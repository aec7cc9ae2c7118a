//! Programs (OpenCL 3.0, 5.8; `pyopencl.Program`).

use std::ffi::{CStr, CString};
use std::ptr;

use cl3::error_codes::{
    CL_BUILD_PROGRAM_FAILURE, CL_COMPILE_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS,
    CL_INVALID_COMPILER_OPTIONS, CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_LINKER_OPTIONS,
    CL_INVALID_OPERATION, CL_INVALID_VALUE,
};
use cl3::program as cl;
use cl3::types::{cl_context, cl_device_id, cl_program};

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result, in_call};
use crate::handle::{ProgramRef, by_handle};
use crate::launch::Kernel;
use crate::select::Version;

const WITH_SOURCE: &str = "clCreateProgramWithSource";
const WITH_BINARY: &str = "clCreateProgramWithBinary";
const BUILD: &str = "clBuildProgram";
const COMPILE: &str = "clCompileProgram";
const LINK: &str = "clLinkProgram";

/// A program that has been built for all devices of its context (`pyopencl.Program`).
///
/// ```
/// use clmatrix::{Class, Program};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let program = Program::build(&context, "kernel void k(global int *a) { a[0] = 1; }")?;
/// let kernel = program.kernel("k")?;
/// let error = Program::build(&context, "kernel void k() { oops; }").unwrap_err();
/// assert_eq!(error.class(), Class::BuildFailure);
/// assert!(error.build_log().is_some_and(|log| log.contains("oops")));
/// # Ok(())
/// # }
/// ```
///
/// Programs are compared by the driver's handle.
pub struct Program {
    raw: ProgramRef,
    /// Released after the program.
    context: Context,
}

impl Program {
    /// Builds `source` for all devices of `context` (`clCreateProgramWithSource`, `clBuildProgram`).
    ///
    /// # Errors
    /// The errors of [`ProgramBuilder::build`].
    pub fn build(context: &Context, source: &str) -> Result<Self> {
        Self::builder(context).source(source).build()
    }

    /// Returns a builder of programs in `context`.
    pub fn builder(context: &Context) -> ProgramBuilder<'_> {
        let devices = context.devices();
        let (source, options) = (String::new(), String::new());
        ProgramBuilder { context, source, options, headers: Vec::new(), devices }
    }

    /// Builds a program of a binary for the device of `context` (`clCreateProgramWithBinary`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for an empty binary and for a context of several devices, CL_INVALID_BINARY for a binary
    /// that the device does not take, CL_BUILD_PROGRAM_FAILURE with the log of the device, and the driver's
    /// other errors.
    ///
    /// # Safety
    /// The binary comes from the driver of this device, unchanged: drivers do not check what they load.
    pub unsafe fn build_binary(context: &Context, binary: &[u8]) -> Result<Self> {
        let devices = context.raw_devices();
        let reason = match (binary.len(), devices.len()) {
            (0, _) => "the binary is empty",
            (_, 1) => "",
            _ => "a binary is for one device, and the context has another number of devices",
        };
        if !reason.is_empty() {
            return Err(Error::refused(WITH_BINARY, CL_INVALID_VALUE, reason));
        }
        // SAFETY: the device is the context's; the caller vouches for the binary.
        let raw = unsafe { cl::create_program_with_binary(context.as_raw(), devices, &[binary]) }
            .map_err(in_call(WITH_BINARY))?;
        // SAFETY: the driver has just created it, with one reference.
        let raw = unsafe { ProgramRef::owned(raw) };
        let built = cl::build_program(raw.get(), devices, c"", None, ptr::null_mut());
        checked(BUILD, raw.get(), devices, built)?;
        Ok(Self { raw, context: context.clone() })
    }

    /// Links programs that were compiled in one context, for the same devices (`clLinkProgram`, OpenCL 1.2;
    /// `pyopencl.link_program`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for no programs and for one that is given twice, CL_INVALID_CONTEXT for programs of two
    /// contexts, CL_INVALID_DEVICE for programs of different devices, CL_INVALID_LINKER_OPTIONS for options with a zero byte, CL_LINK_PROGRAM_FAILURE, and the driver's other
    /// errors.
    pub fn link<'a>(
        programs: impl IntoIterator<Item = &'a CompiledProgram>,
        options: &str,
    ) -> Result<Self> {
        let programs: Vec<&CompiledProgram> = programs.into_iter().collect();
        let refused = |code, reason| Err(Error::refused(LINK, code, reason));
        let Some(CompiledProgram { program: first, devices }) = programs.first() else {
            return refused(CL_INVALID_VALUE, "there are no programs to link");
        };
        let context = first.context.clone();
        if programs.iter().any(|compiled| compiled.program.context != context) {
            return refused(CL_INVALID_CONTEXT, "the programs belong to different contexts");
        }
        if programs.iter().any(|compiled| compiled.devices != *devices) {
            return refused(CL_INVALID_DEVICE, "the programs were compiled for different devices");
        }
        // Drivers hang or end the process.
        if (1..programs.len()).any(|number| programs[..number].contains(&programs[number])) {
            return refused(CL_INVALID_VALUE, "a program is given twice");
        }
        let options = without_zero(LINK, CL_INVALID_LINKER_OPTIONS, "the options", options)?;
        let raw: Vec<cl_program> = programs.iter().map(|one| one.program.as_raw()).collect();
        let devices: Vec<cl_device_id> = devices.iter().map(Device::as_raw).collect();
        let in_context = context.as_raw();
        // SAFETY: the handles are alive and of one context.
        let linked = unsafe {
            cl::link_program(in_context, &devices, &options, &raw, None, ptr::null_mut())
        };
        // SAFETY: the driver has just created it, with one reference.
        let raw = unsafe { ProgramRef::owned(linked.map_err(in_call(LINK))?) };
        Ok(Self { raw, context })
    }

    /// Wraps a driver's handle. With `retain`, a reference is added; without, the caller's reference is
    /// taken over, unless this fails.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid program, and without `retain` the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_program, retain: bool) -> Result<Self> {
        let context = isize::from(info(raw, cl::CL_PROGRAM_CONTEXT)?) as cl_context;
        // SAFETY: the driver says that it is the context of a valid program.
        let context = unsafe { Context::from_raw(context, true) }?;
        // SAFETY: the caller vouches for the handle, and without `retain` for its reference.
        let raw = unsafe { ProgramRef::from_raw(raw, retain) }?;
        Ok(Self { raw, context })
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    pub fn as_raw(&self) -> cl_program {
        self.raw.get()
    }

    /// Returns the context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Creates the kernel `name` (`clCreateKernel`; PyOpenCL's `Program.kernel_name`).
    ///
    /// # Errors
    /// CL_INVALID_KERNEL_NAME, with the names of all kernels, where the program has no such kernel; and the
    /// driver's other errors.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        Kernel::create(self, name)
    }

    /// Returns CL_PROGRAM_REFERENCE_COUNT, for debugging.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_PROGRAM_REFERENCE_COUNT)?.into())
    }
}

/// Asks a live program.
fn info(raw: cl_program, name: u32) -> Result<cl3::info_type::InfoType> {
    cl::get_program_info(raw, name).map_err(in_call("clGetProgramInfo"))
}

/// Returns the error of a build, with the log of each device.
fn checked(
    call: &'static str,
    raw: cl_program,
    devices: &[cl_device_id],
    built: std::result::Result<(), i32>,
) -> Result<()> {
    let Err(code) = built else { return Ok(()) };
    if !matches!(code, CL_BUILD_PROGRAM_FAILURE | CL_COMPILE_PROGRAM_FAILURE) {
        return Err(Error::from_call(call, code));
    }
    let log = |&device: &_| {
        let log = cl::get_program_build_info(raw, device, cl::CL_PROGRAM_BUILD_LOG);
        log.map_or_else(|_| "no build log".to_owned(), String::from)
    };
    let logs: Vec<String> = devices.iter().map(log).collect();
    Err(Error::refused(call, code, logs.join("\n")))
}

/// Returns `text` as C has it.
fn without_zero(call: &'static str, code: i32, what: &str, text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::refused(call, code, format!("{what} may have no zero byte: {text:?}")))
}

/// Creates a program of a source that is not compiled.
fn with_source(context: &Context, source: &str) -> Result<ProgramRef> {
    // OpenCL takes a length of 0 for a text that a zero byte ends.
    if source.is_empty() || source.contains('\0') {
        let what = if source.is_empty() { "is empty" } else { "has a zero byte" };
        return Err(Error::refused(WITH_SOURCE, CL_INVALID_VALUE, format!("the source {what}")));
    }
    let raw = cl::create_program_with_source(context.as_raw(), &[source])
        .map_err(in_call(WITH_SOURCE))?;
    // SAFETY: the driver has just created it, with one reference.
    Ok(unsafe { ProgramRef::owned(raw) })
}

/// Says what a program is to be made of: [`Program::builder`].
///
/// ```
/// use clmatrix::Program;
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let program = Program::builder(&context)
///     .header("types.h", "typedef float real;")
///     .source("#include \"types.h\"\n")
///     .source("kernel void k(global real *x) { x[get_global_id(0)] *= FACTOR; }")
///     .options("-D FACTOR=2")
///     .build()?;
/// assert_eq!(program.kernel("k")?.num_args(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ProgramBuilder<'a> {
    context: &'a Context,
    source: String,
    options: String,
    headers: Vec<(&'a str, &'a str)>,
    devices: &'a [Device],
}

impl<'a> ProgramBuilder<'a> {
    /// Adds a source, behind the sources that were added before.
    pub fn source(mut self, source: &str) -> Self {
        self.source += source;
        self
    }

    /// Adds options of OpenCL and the driver, such as `-cl-std=CL3.0`.
    pub fn options(mut self, options: &str) -> Self {
        self.options += options;
        self.options.push(' ');
        self
    }

    /// Adds a header, which the source includes by this name (OpenCL 1.2). There may be one: cl3 passes the names of
    /// several as Rust's slices, which the driver takes for pointers.
    pub fn header(mut self, name: &'a str, source: &'a str) -> Self {
        self.headers.push((name, source));
        self
    }

    /// Compiles for these devices of the context only.
    pub fn devices(mut self, devices: &'a [Device]) -> Self {
        self.devices = devices;
        self
    }

    /// Builds the program (`clBuildProgram`; with headers `clCompileProgram` and `clLinkProgram`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a source or header that is empty or has a zero byte, CL_INVALID_DEVICE for no
    /// devices and for a device of another context, CL_INVALID_BUILD_OPTIONS for options with a zero byte,
    /// CL_BUILD_PROGRAM_FAILURE and CL_COMPILE_PROGRAM_FAILURE with the log of each device, an error of class
    /// [`Unsupported`](crate::Class::Unsupported) for headers before OpenCL 1.2 and for several headers, and the
    /// driver's other errors, such as CL_LINK_PROGRAM_FAILURE.
    pub fn build(self) -> Result<Program> {
        if !self.headers.is_empty() {
            return Program::link([&self.compile()?], "");
        }
        let devices = self.checked_devices(BUILD)?;
        let options = without_zero(BUILD, CL_INVALID_BUILD_OPTIONS, "the options", &self.options)?;
        let raw = with_source(self.context, &self.source)?;
        let built = cl::build_program(raw.get(), &devices, &options, None, ptr::null_mut());
        checked(BUILD, raw.get(), &devices, built)?;
        Ok(Program { raw, context: self.context.clone() })
    }

    /// Compiles the program, to be linked with others (`clCompileProgram`, OpenCL 1.2).
    ///
    /// # Errors
    /// The errors of [`build`](Self::build), and CL_INVALID_COMPILER_OPTIONS for options with a zero byte.
    pub fn compile(self) -> Result<CompiledProgram> {
        let devices = self.checked_devices(COMPILE)?;
        // quirk: LOADER-2
        let oldest = self.devices.iter().map(Device::version).min().unwrap_or_default();
        if oldest < (Version { major: 1, minor: 2 }) {
            let reason = format!("a device has OpenCL {oldest}, headers and links need 1.2");
            return Err(Error::unsupported(COMPILE, CL_INVALID_OPERATION, reason));
        }
        if self.headers.len() > 1 {
            let reason = "cl3 passes one header only";
            return Err(Error::unsupported(COMPILE, CL_INVALID_OPERATION, reason));
        }
        let options =
            without_zero(COMPILE, CL_INVALID_COMPILER_OPTIONS, "the options", &self.options)?;
        let raw = with_source(self.context, &self.source)?;
        let name =
            |name: &str| without_zero(COMPILE, CL_INVALID_VALUE, "the name of a header", name);
        let names = self.headers.iter().map(|header| name(header.0)).collect::<Result<Vec<_>>>()?;
        let names: Vec<&CStr> = names.iter().map(|name| &**name).collect();
        let headers = self.headers.iter().map(|header| with_source(self.context, header.1));
        let headers = headers.collect::<Result<Vec<_>>>()?;
        let headers: Vec<cl_program> = headers.iter().map(ProgramRef::get).collect();
        let (program, end) = (raw.get(), ptr::null_mut());
        let compiled =
            cl::compile_program(program, &devices, &options, &headers, &names, None, end);
        checked(COMPILE, program, &devices, compiled)?;
        let program = Program { raw, context: self.context.clone() };
        Ok(CompiledProgram { program, devices: self.devices.to_vec() })
    }

    fn checked_devices(&self, call: &'static str) -> Result<Vec<cl_device_id>> {
        let of_context = |device: &Device| self.context.devices().contains(device);
        if self.devices.is_empty() || !self.devices.iter().all(of_context) {
            let reason = "a program is compiled for devices of its context, and for at least one";
            return Err(Error::refused(call, CL_INVALID_DEVICE, reason));
        }
        Ok(self.devices.iter().map(Device::as_raw).collect())
    }
}

/// A program that has been compiled and not linked: [`ProgramBuilder::compile`], [`Program::link`].
#[derive(Debug, PartialEq, Eq)]
pub struct CompiledProgram {
    program: Program,
    devices: Vec<Device>,
}

by_handle!(Program);
