//! Programs (OpenCL 3.0, 5.8; `pyopencl.Program`).

use std::ffi::CString;

use crate::context::Context;
use crate::error::{Error, Result, in_call};
use crate::handle::{ProgramRef, by_handle};
use crate::launch::Kernel;
use cl3::error_codes::{CL_BUILD_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS, CL_INVALID_VALUE};
use cl3::program as cl;
use cl3::types::{cl_context, cl_program};

const WITH_SOURCE: &str = "clCreateProgramWithSource";
const WITH_BINARY: &str = "clCreateProgramWithBinary";
const BUILD: &str = "clBuildProgram";

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
    /// The errors of [`build_with_options`](Self::build_with_options).
    pub fn build(context: &Context, source: &str) -> Result<Self> {
        Self::build_with_options(context, source, "")
    }

    /// Builds `source` with options of OpenCL and the driver, such as `-cl-std=CL3.0`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a source that is empty or has a zero byte, CL_INVALID_BUILD_OPTIONS for
    /// options with a zero byte, CL_BUILD_PROGRAM_FAILURE with the log of each device, and the driver's
    /// other errors.
    pub fn build_with_options(context: &Context, source: &str, options: &str) -> Result<Self> {
        // OpenCL takes a length of 0 for a text that a zero byte ends.
        if source.is_empty() || source.contains('\0') {
            let what = if source.is_empty() { "is empty" } else { "has a zero byte" };
            let reason = format!("the source {what}");
            return Err(Error::refused(WITH_SOURCE, CL_INVALID_VALUE, reason));
        }
        let options = checked(options)?;
        let raw = cl::create_program_with_source(context.as_raw(), &[source])
            .map_err(in_call(WITH_SOURCE))?;
        // SAFETY: the driver has just created it, with one reference.
        let raw = unsafe { ProgramRef::owned(raw) };
        Self { raw, context: context.clone() }.built(&options)
    }

    /// Builds a program of a binary for the device of `context` (`clCreateProgramWithBinary`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for an empty binary and for a context of several devices,
    /// CL_INVALID_BUILD_OPTIONS for options with a zero byte, CL_INVALID_BINARY for a binary that the
    /// device does not take, CL_BUILD_PROGRAM_FAILURE with the log of the device, and the driver's other
    /// errors.
    ///
    /// # Safety
    /// The binary comes from the driver of this device, unchanged: drivers do not check what they load.
    pub unsafe fn build_binary(context: &Context, binary: &[u8], options: &str) -> Result<Self> {
        let devices = context.raw_devices();
        let reason = match (binary.len(), devices.len()) {
            (0, _) => "the binary is empty",
            (_, 1) => "",
            _ => "a binary is for one device, and the context has another number of devices",
        };
        if !reason.is_empty() {
            return Err(Error::refused(WITH_BINARY, CL_INVALID_VALUE, reason));
        }
        let options = checked(options)?;
        // SAFETY: the device is the context's; the caller vouches for the binary.
        let raw = unsafe { cl::create_program_with_binary(context.as_raw(), devices, &[binary]) }
            .map_err(in_call(WITH_BINARY))?;
        // SAFETY: the driver has just created it, with one reference.
        let raw = unsafe { ProgramRef::owned(raw) };
        Self { raw, context: context.clone() }.built(&options)
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

    fn built(self, options: &CString) -> Result<Self> {
        let (raw, devices) = (self.as_raw(), self.context.raw_devices());
        match cl::build_program(raw, devices, options, None, std::ptr::null_mut()) {
            Ok(()) => Ok(self),
            Err(CL_BUILD_PROGRAM_FAILURE) => {
                let log = |&device: &_| {
                    let log = cl::get_program_build_info(raw, device, cl::CL_PROGRAM_BUILD_LOG);
                    log.map_or_else(|_| "no build log".to_owned(), String::from)
                };
                let logs: Vec<String> = devices.iter().map(log).collect();
                Err(Error::refused(BUILD, CL_BUILD_PROGRAM_FAILURE, logs.join("\n")))
            }
            Err(code) => Err(Error::from_call(BUILD, code)),
        }
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

fn checked(options: &str) -> Result<CString> {
    CString::new(options).map_err(|_| {
        Error::refused(BUILD, CL_INVALID_BUILD_OPTIONS, "the options have a zero byte")
    })
}

by_handle!(Program);
