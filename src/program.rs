//! Programs (OpenCL 3.0, 5.8; `pyopencl.Program`).

use std::ffi::{CString, c_char};
use std::path::{Component, Path};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::device::CL_DEVICE_IL_VERSION;
use cl3::error_codes::{
    CL_BUILD_PROGRAM_FAILURE, CL_COMPILE_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS,
    CL_INVALID_COMPILER_OPTIONS, CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_LINKER_OPTIONS,
    CL_INVALID_OPERATION, CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_LINK_PROGRAM_FAILURE,
    CL_SUCCESS, DLOPEN_FUNCTION_NOT_AVAILABLE,
};
use cl3::program as cl;
use cl3::types::{cl_device_id, cl_program};
use parking_lot::Mutex;

use crate::build_options;
use crate::context::Context;
use crate::create::{create, loaded};
use crate::device::{Device, check_versions};
use crate::driver::Driver;
use crate::error::{Error, NO_CODE, Result, in_call};
use crate::handle::{ProgramRef, by_handle, retain_raw};
use crate::launch::Kernel;
use crate::mem_context::MemContext;
use crate::select::Version;

const WITH_SOURCE: &str = "clCreateProgramWithSource";
const WITH_BINARY: &str = "clCreateProgramWithBinary";
const WITH_IL: &str = "clCreateProgramWithIL";
const SET_CONSTANT: &str = "clSetProgramSpecializationConstant";
const BUILD: &str = "clBuildProgram";
const COMPILE: &str = "clCompileProgram";
const LINK: &str = "clLinkProgram";

/// The longest name of a header, in bytes.
const LONGEST_NAME: usize = 255;

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
/// Programs are compared by the driver's handle. Clones are handles to the same program.
#[derive(Clone)]
pub struct Program {
    raw: Arc<ProgramRef>,
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
        let (source, options, headers) = (String::new(), String::new(), Vec::new());
        ProgramBuilder { context, source, options, headers, devices, constants: Vec::new() }
    }

    /// Builds a program from a binary for the device of `context` (`clCreateProgramWithBinary`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for an empty binary and for a context of several devices, CL_INVALID_BINARY for a binary
    /// that the device does not take, CL_BUILD_PROGRAM_FAILURE with the log of the device, and the driver's
    /// other errors.
    ///
    /// # Safety
    /// The binary comes from the driver of this device, unchanged: drivers do not check what they load.
    pub unsafe fn build_binary(context: &Context, binary: &[u8]) -> Result<Self> {
        let reason = "the binary is empty";
        Error::refuse_if(binary.is_empty(), WITH_BINARY, CL_INVALID_VALUE, || reason)?;
        let [device] = context.devices() else {
            let reason =
                "a binary is for one device, and the context has another number of devices";
            return Err(Error::refused(WITH_BINARY, CL_INVALID_VALUE, reason));
        };
        let (raw, device, size) = (context.as_raw(), device.as_raw(), binary.len());
        let (bytes, mut status) = (binary.as_ptr(), 0);
        // SAFETY: the device is the context's; the caller vouches for the binary.
        let raw = unsafe {
            create!(
                ProgramRef,
                clCreateProgramWithBinary(raw, 1, &device, &size, &bytes, &mut status)
            )
        }?;
        build(raw, context, context.devices(), c"".into())
    }

    /// Links programs that were compiled in one context, for the same devices (`clLinkProgram`, OpenCL 1.2;
    /// `pyopencl.link_program`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for no programs and for one that is passed twice, CL_INVALID_CONTEXT for programs of two
    /// contexts, CL_INVALID_DEVICE for programs of different devices, CL_INVALID_LINKER_OPTIONS for a word that is
    /// not an option, CL_LINK_PROGRAM_FAILURE with the log of each device where the driver has one, and the driver's
    /// other errors.
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
        // Drivers hang or terminate the process.
        if (1..programs.len()).any(|number| programs[..number].contains(&programs[number])) {
            return refused(CL_INVALID_VALUE, "a program is passed twice");
        }
        let options = options_for(LINK, CL_INVALID_LINKER_OPTIONS, options, devices)?;
        let raw: Vec<cl_program> = programs.iter().map(|one| one.program.as_raw()).collect();
        let handles = handles(devices);
        let (count, programs) = (handles.len() as u32, raw.len() as u32);
        let mut code = NO_CODE;
        // Not cl3's function, which drops a program that was not linked, and its log.
        // SAFETY: the handles are alive and of one context, and there are so many.
        let linked = unsafe { loaded() }.map_err(in_call(LINK))?.clLinkProgram(
            context.as_raw(),
            count,
            handles.as_ptr(),
            options.as_ptr(),
            programs,
            raw.as_ptr(),
            None,
            ptr::null_mut(),
            &raw mut code,
        );
        let linked = linked.ok_or_else(|| Error::from_call(LINK, DLOPEN_FUNCTION_NOT_AVAILABLE))?;
        if linked.is_null() {
            let code = if code == CL_SUCCESS { CL_LINK_PROGRAM_FAILURE } else { code };
            return Err(Error::from_call(LINK, code));
        }
        // SAFETY: the driver has just created it, with one reference.
        let raw = unsafe { ProgramRef::owned(linked) };
        checked(LINK, raw.get(), devices, code)?;
        Ok(Self { raw: Arc::new(raw), context })
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid program, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_program) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { MemContext::retain_answer(info(raw, cl::CL_PROGRAM_CONTEXT)?) }?;
        // SAFETY: the caller vouches for the handle and its reference.
        let raw = unsafe { ProgramRef::owned(raw) };
        Ok(Self { raw: Arc::new(raw), context: Context(context) })
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
    /// CL_INVALID_KERNEL_NAME, with the names of all kernels, where the program has no such kernel, and on drivers that
    /// crash on it for a name of 250 bytes or more; and the
    /// driver's other errors.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        Kernel::create(self, name)
    }

    /// Returns CL_PROGRAM_BINARIES: the binary for each device, empty where the program was not built for it
    /// (PyOpenCL's `program_info.BINARIES`).
    ///
    /// # Errors
    /// The driver's errors.
    // quirk: POCL-21
    pub fn binaries(&self) -> Result<Vec<Vec<u8>>> {
        static ASKED: Mutex<()> = Mutex::new(());
        let _one_thread = ASKED.lock();
        Ok(info(self.as_raw(), cl::CL_PROGRAM_BINARIES)?.into())
    }

    /// Returns CL_PROGRAM_REFERENCE_COUNT, for debugging.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_PROGRAM_REFERENCE_COUNT)?.into())
    }
}

/// Queries a live program.
fn info(raw: cl_program, name: u32) -> Result<cl3::info_type::InfoType> {
    cl::get_program_info(raw, name).map_err(in_call("clGetProgramInfo"))
}

/// Builds a program that has been created.
fn build(
    raw: ProgramRef,
    context: &Context,
    devices: &[Device],
    options: CString,
) -> Result<Program> {
    let built =
        cl::build_program(raw.get(), &handles(devices), &options, None, ptr::null_mut()).err();
    checked(BUILD, raw.get(), devices, built.unwrap_or(CL_SUCCESS))?;
    Ok(Program { raw: Arc::new(raw), context: context.clone() })
}

fn handles(devices: &[Device]) -> Vec<cl_device_id> {
    devices.iter().map(Device::as_raw).collect()
}

/// Returns the error of a build, with the log of each device.
fn checked(call: &'static str, raw: cl_program, devices: &[Device], code: i32) -> Result<()> {
    match code {
        CL_SUCCESS => return Ok(()),
        CL_BUILD_PROGRAM_FAILURE | CL_COMPILE_PROGRAM_FAILURE | CL_LINK_PROGRAM_FAILURE => {}
        _ => return Err(Error::from_call(call, code)),
    }
    let log = |(position, device): (usize, &Device)| {
        let log = cl::get_program_build_info(raw, device.as_raw(), cl::CL_PROGRAM_BUILD_LOG);
        let log = log.map_or_else(|_| "no build log".to_owned(), String::from);
        match devices.len() {
            1 => log,
            _ => format!("device {position}, {}:\n{log}", device.name()),
        }
    };
    let logs: Vec<String> = devices.iter().enumerate().map(log).collect();
    Err(Error::refused(call, code, logs.join("\n")))
}

/// Returns options without the words that are known to crash drivers of these devices.
fn options_for(
    call: &'static str,
    code: i32,
    options: &str,
    devices: &[Device],
) -> Result<CString> {
    build_options::checked(call, code, options, Driver::of_devices(devices))
}

/// Creates a program from a source, without compiling it.
fn with_source(context: &Context, source: &str) -> Result<ProgramRef> {
    // OpenCL takes a length of 0 for a text that a zero byte ends.
    if source.is_empty() || source.contains('\0') {
        let what = if source.is_empty() { "is empty" } else { "has a zero byte" };
        return Err(Error::refused(WITH_SOURCE, CL_INVALID_VALUE, format!("the source {what}")));
    }
    let (raw, text, size) = (context.as_raw(), source.as_ptr().cast(), source.len());
    // SAFETY: the context is alive, and the text has so many bytes.
    unsafe { create!(ProgramRef, clCreateProgramWithSource(raw, 1, &text, &size)) }
}

/// The sources and settings of a new program: [`Program::builder`].
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
    /// Numbers and values.
    constants: Vec<(u32, Vec<u8>)>,
}

impl<'a> ProgramBuilder<'a> {
    /// Adds a source, behind the sources that were added before.
    pub fn source(mut self, source: &str) -> Self {
        self.source += source;
        self
    }

    /// Adds options of OpenCL and the driver, such as `-cl-std=CL3.0`. A value with blanks has quotes:
    /// `-I "/my kernels"`. Words that are neither options nor their values are refused.
    pub fn options(mut self, options: &str) -> Self {
        // Apple's driver refuses two blanks in a row, to which an empty text would lead.
        if !options.is_empty() {
            self.options += options;
            self.options.push(' ');
        }
        self
    }

    /// Adds a header, which the source includes by this name: a relative path without `..`, of at most 255
    /// bytes.
    pub fn header(mut self, name: &'a str, source: &'a str) -> Self {
        self.headers.push((name, source));
        self
    }

    /// Compiles for these devices of the context only.
    pub fn devices(mut self, devices: &'a [Device]) -> Self {
        self.devices = devices;
        self
    }

    /// Sets the specialization constant number `id` of an intermediate language to `value`
    /// (`clSetProgramSpecializationConstant`, OpenCL 2.2; PyOpenCL's `set_specialization_constant`). A boolean is a
    /// byte.
    pub fn specialization_constant(mut self, id: u32, value: impl Pod) -> Self {
        self.constants.push((id, bytemuck::bytes_of(&value).to_vec()));
        self
    }

    /// Builds a program from SPIR-V, or another intermediate language that the devices have, in place of sources and
    /// headers (`clCreateProgramWithIL`, OpenCL 2.1; `pyopencl.Program(context, il)`).
    ///
    /// # Errors
    /// An error of class [`Unsupported`](crate::Class::Unsupported) where a device has no intermediate language
    /// (CL_DEVICE_IL_VERSION), no OpenCL 2.1, or with specialization constants no OpenCL 2.2; CL_INVALID_VALUE for an
    /// empty program, and for sources and headers; CL_INVALID_SPEC_ID for a constant that the program does not have;
    /// the errors of [`build`](Self::build).
    ///
    /// # Safety
    /// The program is valid in its language, and the values are of the types of its constants: drivers do not check
    /// all of it.
    pub unsafe fn build_il(self, il: &[u8]) -> Result<Program> {
        self.check_devices(WITH_IL)?;
        check_versions(WITH_IL, self.context.devices(), Version { major: 2, minor: 1 })?;
        let lacks = |device: &&Device| device.query().text(CL_DEVICE_IL_VERSION).is_empty();
        if let Some(device) = self.context.devices().iter().find(lacks) {
            let reason = format!("'{}' takes no intermediate language", device.name());
            return Err(Error::unsupported(WITH_IL, CL_INVALID_OPERATION, reason));
        }
        let is_wrong = il.is_empty() || !self.source.is_empty() || !self.headers.is_empty();
        let reason = "the program is empty, or has sources or headers beside it";
        Error::refuse_if(is_wrong, WITH_IL, CL_INVALID_VALUE, || reason)?;
        if !self.constants.is_empty() {
            check_versions(SET_CONSTANT, self.context.devices(), Version { major: 2, minor: 2 })?;
        }
        let options = options_for(BUILD, CL_INVALID_BUILD_OPTIONS, &self.options, self.devices)?;
        let (raw, bytes) = (self.context.as_raw(), il.as_ptr().cast());
        // SAFETY: the context is alive, and there are so many bytes; the caller vouches for them.
        let raw = unsafe { create!(ProgramRef, clCreateProgramWithIL(raw, bytes, il.len())) }?;
        for (id, value) in &self.constants {
            let (program, bytes) = (raw.get(), value.as_ptr().cast());
            // SAFETY: the program is alive, and the value has so many bytes.
            unsafe { cl::set_program_specialization_constant(program, *id, value.len(), bytes) }
                .map_err(in_call(SET_CONSTANT))?;
        }
        build(raw, self.context, self.devices, options)
    }

    /// Returns the options for a source. PoCL keeps the kinds of arguments, which launches check, only on request.
    // quirk: POCL-18
    fn options_of_source(&self, call: &'static str, code: i32) -> Result<CString> {
        let forgets = Driver::of_devices(self.devices).contains(Driver::FORGETS_ARGUMENTS);
        let options = if forgets { "-cl-kernel-arg-info " } else { "" }.to_owned() + &self.options;
        options_for(call, code, &options, self.devices)
    }

    fn with_own_source(&self) -> Result<ProgramRef> {
        let has_constants = !self.constants.is_empty();
        let reason = "a source has no specialization constants";
        Error::refuse_if(has_constants, SET_CONSTANT, CL_INVALID_PROGRAM, || reason)?;
        with_source(self.context, &self.source)
    }

    /// Builds the program (`clBuildProgram`; with headers `clCompileProgram` and `clLinkProgram`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a source or header that is empty or has a zero byte, and for a name that
    /// [`header`](Self::header) does not allow; CL_INVALID_DEVICE for no devices and for a device of another context;
    /// CL_INVALID_PROGRAM for a specialization constant; CL_INVALID_BUILD_OPTIONS for a word that is not an option
    /// and for a missing value; CL_BUILD_PROGRAM_FAILURE and CL_COMPILE_PROGRAM_FAILURE with the log of each device;
    /// the errors of [`Program::link`], and the driver's other errors.
    pub fn build(self) -> Result<Program> {
        if !self.headers.is_empty() {
            return Program::link([&self.compile()?], "");
        }
        self.check_devices(BUILD)?;
        let options = self.options_of_source(BUILD, CL_INVALID_BUILD_OPTIONS)?;
        build(self.with_own_source()?, self.context, self.devices, options)
    }

    /// Compiles the program, to be linked with others (`clCompileProgram`).
    ///
    /// # Errors
    /// The errors of [`build`](Self::build), and CL_INVALID_COMPILER_OPTIONS for a word that is not an option.
    pub fn compile(self) -> Result<CompiledProgram> {
        self.check_devices(COMPILE)?;
        let options = self.options_of_source(COMPILE, CL_INVALID_COMPILER_OPTIONS)?;
        let raw = self.with_own_source()?;
        let name = |name: &str| {
            // Drivers make files of these names. PoCL crashes if one is too long.
            let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            let names_a_file = Path::new(name).file_name().is_some() && !name.ends_with('/');
            let is_inside = Path::new(name).components().all(is_inside);
            let is_wrong = !names_a_file || !is_inside || name.len() > LONGEST_NAME;
            Error::refuse_if(is_wrong, COMPILE, CL_INVALID_VALUE, || {
                format!("{name:?} is not a relative path without `..`")
            })?;
            CString::new(name).map_err(|_| {
                let reason = format!("the name of a header must not contain a zero byte: {name:?}");
                Error::refused(COMPILE, CL_INVALID_VALUE, reason)
            })
        };
        let names = self.headers.iter().map(|header| name(header.0)).collect::<Result<Vec<_>>>()?;
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let headers = self.headers.iter().map(|header| with_source(self.context, header.1));
        let headers = headers.collect::<Result<Vec<_>>>()?;
        let headers: Vec<cl_program> = headers.iter().map(ProgramRef::get).collect();
        let devices = handles(self.devices);
        // Not cl3's function, which passes the names as Rust's slices.
        // SAFETY: the handles are alive and of one context, and there are so many of them and of names.
        let code = unsafe { loaded() }.map_err(in_call(COMPILE))?.clCompileProgram(
            raw.get(),
            devices.len() as u32,
            devices.as_ptr(),
            options.as_ptr(),
            headers.len() as u32,
            if headers.is_empty() { ptr::null() } else { headers.as_ptr() },
            if headers.is_empty() { ptr::null() } else { names.as_ptr() },
            None,
            ptr::null_mut(),
        );
        checked(COMPILE, raw.get(), self.devices, code.unwrap_or(DLOPEN_FUNCTION_NOT_AVAILABLE))?;
        let program = Program { raw: Arc::new(raw), context: self.context.clone() };
        Ok(CompiledProgram { program, devices: self.devices.to_vec() })
    }

    fn check_devices(&self, call: &'static str) -> Result<()> {
        let of_context = |device: &Device| self.context.devices().contains(device);
        let is_wrong = self.devices.is_empty() || !self.devices.iter().all(of_context);
        let reason = "a program is compiled for devices of its context, and for at least one";
        Error::refuse_if(is_wrong, call, CL_INVALID_DEVICE, || reason)
    }
}

/// A program that has been compiled and not linked: [`ProgramBuilder::compile`], [`Program::link`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompiledProgram {
    program: Program,
    devices: Vec<Device>,
}

by_handle!(Program);
retain_raw!(Program, cl_program, ProgramRef, "clRetainProgram");
