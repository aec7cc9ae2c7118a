//! The error type of the library: the failed call, its code, and the class of error.
//!
//! An argument that OpenCL forbids is refused here, before the driver sees it, with the code that
//! the specification names for it: drivers differ in what they check, and some crash instead.

use std::borrow::Cow;
use std::fmt;

use cl3::error_codes as code;

/// A result with the library's [`struct@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The error of an OpenCL call.
///
/// `Debug` prints the same text as `Display`, so that `unwrap()` reads well.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.text())]
pub struct Error {
    call: Option<&'static str>,
    code: i32,
    class: Class,
    detail: Cow<'static, str>,
}

/// The code of a call that creates an object where the driver writes none: no code of OpenCL.
pub(crate) const NO_CODE: i32 = -2002;

/// The kinds of errors, for callers that react to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Memory ran out, on the device or the host; freeing some may help.
    OutOfMemory,
    /// The call is wrong; a repetition fails as well.
    InvalidArgument,
    /// The device, the driver or the loader cannot do this.
    Unsupported,
    /// A program did not compile or link.
    BuildFailure,
    /// A command did not run to its end, or one that it had to wait for did not.
    CommandFailed,
    /// No OpenCL loader was found, or it found no driver.
    NoRuntime,
    /// There is no such device, or it is not available.
    NoDevice,
    /// Any other code of the driver.
    Driver,
}

impl Class {
    /// Returns the class of a code without further information.
    fn from_code(code: i32) -> Self {
        match code {
            code::CL_MEM_OBJECT_ALLOCATION_FAILURE
            | code::CL_OUT_OF_RESOURCES
            | code::CL_OUT_OF_HOST_MEMORY => Self::OutOfMemory,
            code::CL_DEVICE_NOT_FOUND | code::CL_DEVICE_NOT_AVAILABLE => Self::NoDevice,
            code::CL_COMPILER_NOT_AVAILABLE
            | code::CL_LINKER_NOT_AVAILABLE
            | code::CL_IMAGE_FORMAT_NOT_SUPPORTED
            | code::CL_PROFILING_INFO_NOT_AVAILABLE
            | code::CL_KERNEL_ARG_INFO_NOT_AVAILABLE
            | code::DLOPEN_FUNCTION_NOT_AVAILABLE => Self::Unsupported,
            code::CL_BUILD_PROGRAM_FAILURE
            | code::CL_COMPILE_PROGRAM_FAILURE
            | code::CL_LINK_PROGRAM_FAILURE => Self::BuildFailure,
            code::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => Self::CommandFailed,
            code::CL_PLATFORM_NOT_FOUND_KHR | code::DLOPEN_RUNTIME_LOAD_FAILED => Self::NoRuntime,
            code::CL_MEM_COPY_OVERLAP
            | code::CL_IMAGE_FORMAT_MISMATCH
            | code::CL_MISALIGNED_SUB_BUFFER_OFFSET
            | code::CL_MAX_SIZE_RESTRICTION_EXCEEDED..=code::CL_INVALID_VALUE => {
                Self::InvalidArgument
            }
            _ => Self::Driver,
        }
    }
}

impl Error {
    /// Returns the error that the driver or the loader reported for `call`, for code that calls functions of
    /// [`cl3`](crate::cl3).
    ///
    /// ```
    /// use clmatrix::Error;
    ///
    /// let error = Error::from_call("clCreateBuffer", -30).with_detail("the size is a multiple of 4");
    /// let text = "clCreateBuffer: CL_INVALID_VALUE (-30): the size is a multiple of 4";
    /// assert_eq!(error.to_string(), text);
    /// ```
    pub fn from_call(call: &'static str, code: i32) -> Self {
        Self::refused(call, code, advice(code))
    }

    /// Returns the error with other details, such as the wrong argument and the right one.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Returns the error for an argument of `call` that OpenCL forbids with `code`; `detail` says what
    /// is wrong with the argument and what would be right.
    #[cold]
    pub(crate) fn refused(
        call: &'static str,
        code: i32,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { call: Some(call), ..Self::without_call(code, detail) }
    }

    /// Returns the error of [`refused`](Self::refused) if the argument is wrong.
    #[inline]
    pub(crate) fn refuse_if<D: Into<Cow<'static, str>>>(
        is_wrong: bool,
        call: &'static str,
        code: i32,
        detail: impl FnOnce() -> D,
    ) -> Result<()> {
        if is_wrong { Err(Self::refused(call, code, detail())) } else { Ok(()) }
    }

    /// Returns the error of [`refused`](Self::refused) without a call: no OpenCL function would have been called.
    pub(crate) fn without_call(code: i32, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { call: None, code, class: Class::from_code(code), detail: detail.into() }
    }

    /// Returns the error of class [`Unsupported`](Class::Unsupported) for a `call` that the device, the
    /// driver or the loader cannot carry out; `detail` says what is missing and what to do.
    pub fn unsupported(
        call: &'static str,
        code: i32,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { class: Class::Unsupported, ..Self::refused(call, code, detail) }
    }

    /// Returns the OpenCL function that failed, or that would have been called (`clCreateBuffer`); `None` where the
    /// library would have called none.
    pub fn call(&self) -> Option<&'static str> {
        self.call
    }

    /// Returns OpenCL's code; -2000 without a loader, -2001 for a function that the loader lacks, or -2002 where the
    /// driver writes no code.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Returns the name of the code, such as `CL_INVALID_VALUE`.
    pub fn code_name(&self) -> &'static str {
        match self.code {
            code::DLOPEN_RUNTIME_LOAD_FAILED => "DLOPEN_RUNTIME_LOAD_FAILED",
            code::DLOPEN_FUNCTION_NOT_AVAILABLE => "DLOPEN_FUNCTION_NOT_AVAILABLE",
            NO_CODE => "NO_ERROR_CODE",
            other => code::error_text(other),
        }
    }

    /// Returns the class of the error.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Returns the details beyond the code; may be empty.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the build log of each device, if a program did not compile; a failed link has none. Display cuts it
    /// after 100 lines.
    pub fn build_log(&self) -> Option<&str> {
        (self.class == Class::BuildFailure && !self.detail.is_empty()).then_some(&*self.detail)
    }

    fn text(&self) -> String {
        const MOST_LINES: usize = 100;
        let mut text = self.call.map(|call| format!("{call}: ")).unwrap_or_default();
        text += &format!("{} ({})", self.code_name(), self.code);
        if self.detail.is_empty() {
            return text;
        }
        let mut lines = self.detail.split_inclusive('\n');
        text += ": ";
        text.extend(lines.by_ref().take(MOST_LINES));
        match lines.count() {
            0 => text,
            more => format!("{text}... and {more} more lines"),
        }
    }
}

/// Returns advice on codes whose names do not explain themselves.
fn advice(code: i32) -> &'static str {
    match code {
        code::DLOPEN_RUNTIME_LOAD_FAILED if cfg!(windows) => {
            "no OpenCL.dll was found; the driver of the GPU's vendor and Intel's CPU runtime bring one"
        }
        code::DLOPEN_RUNTIME_LOAD_FAILED => {
            "no OpenCL loader was found; install one (on Debian: ocl-icd-libopencl1) or name it in \
             OPENCL_DYLIB_PATH"
        }
        code::CL_PLATFORM_NOT_FOUND_KHR if cfg!(windows) => {
            "the OpenCL loader found no driver; install that of the GPU's vendor, or Intel's CPU runtime"
        }
        code::CL_PLATFORM_NOT_FOUND_KHR => {
            "the OpenCL loader found no driver; install one (on Debian: pocl-opencl-icd for the \
             CPU), or name a folder of .icd files in OCL_ICD_VENDORS"
        }
        code::DLOPEN_FUNCTION_NOT_AVAILABLE => "the OpenCL loader is too old for this function",
        NO_CODE => "the driver wrote no error code",
        _ => "",
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Names the call in which cl3 reported a code: `.map_err(in_call("clFlush"))`.
pub(crate) fn in_call(call: &'static str) -> impl Fn(i32) -> Error {
    move |code| Error::from_call(call, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_classes() {
        for (code, name, class) in [
            (-1, "CL_DEVICE_NOT_FOUND", Class::NoDevice),
            (-3, "CL_COMPILER_NOT_AVAILABLE", Class::Unsupported),
            (-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", Class::OutOfMemory),
            (-5, "CL_OUT_OF_RESOURCES", Class::OutOfMemory),
            (-6, "CL_OUT_OF_HOST_MEMORY", Class::OutOfMemory),
            (-8, "CL_MEM_COPY_OVERLAP", Class::InvalidArgument),
            (-11, "CL_BUILD_PROGRAM_FAILURE", Class::BuildFailure),
            (-12, "CL_MAP_FAILURE", Class::Driver),
            (-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET", Class::InvalidArgument),
            (-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", Class::CommandFailed),
            (-30, "CL_INVALID_VALUE", Class::InvalidArgument),
            (-61, "CL_INVALID_BUFFER_SIZE", Class::InvalidArgument),
            (-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED", Class::InvalidArgument),
            (-1001, "CL_PLATFORM_NOT_FOUND_KHR", Class::NoRuntime),
            (-2000, "DLOPEN_RUNTIME_LOAD_FAILED", Class::NoRuntime),
            (-2001, "DLOPEN_FUNCTION_NOT_AVAILABLE", Class::Unsupported),
            (-2002, "NO_ERROR_CODE", Class::Driver),
            (-9999, "UNKNOWN_ERROR", Class::Driver),
        ] {
            let error = Error::from_call("clX", code);
            assert_eq!((error.code_name(), error.class()), (name, class), "{code}");
        }
    }

    #[test]
    fn a_long_build_log_is_cut_in_the_text_only() {
        let log = "a line\n".repeat(102);
        let error = Error::refused("clBuildProgram", -11, log.clone());
        assert_eq!(error.build_log(), Some(&*log));
        assert_eq!(error.to_string().lines().count(), 101);
        assert!(error.to_string().ends_with("a line\n... and 2 more lines"));
        assert_eq!(Error::from_call("clFinish", -36).build_log(), None);
    }

    #[test]
    fn the_text_says_call_code_and_detail() {
        let refused = Error::refused("clCreateBuffer", -61, "the size is 0 bytes");
        let text = "clCreateBuffer: CL_INVALID_BUFFER_SIZE (-61): the size is 0 bytes";
        assert_eq!(refused.to_string(), text);
        assert_eq!(format!("{refused:?}"), text);
        assert_eq!(
            Error::from_call("clFinish", -36).to_string(),
            "clFinish: CL_INVALID_COMMAND_QUEUE (-36)"
        );
        let no_driver = Error::from_call("clGetPlatformIDs", -1001);
        assert!(no_driver.detail().contains("OCL_ICD_VENDORS"), "{no_driver}");
    }
}
