//! Queries of objects: the clGet...Info functions.

use std::ffi::CStr;

use super::prelude::*;

/// Declares the objects, each with the function that answers queries of it, the section of the OpenCL 3.0 API
/// specification with the table of the queries, and the argument that the function has besides the object.
macro_rules! subjects {
    ($($subject:ident $function:ident $section:literal $(($more:ident: $of:ty))?;)*) => {
        /// An object with the function that answers queries of it.
        #[derive(Clone, Copy, Debug)]
        pub enum Subject {
            $($subject(*mut c_void $(, $of)?),)*
        }

        impl Subject {
            /// The names of the function and of the section.
            pub fn names(self) -> [&'static str; 2] {
                match self {
                    $(Self::$subject(..) => [stringify!($function), $section],)*
                }
            }

            /// Calls the function.
            ///
            /// # Safety
            ///
            /// The handle is valid, `space` has `size` bytes or is null, and `needed` is valid or null.
            pub unsafe fn call(
                self, query: u32, size: usize, space: *mut c_void, needed: *mut usize,
            ) -> cl_int {
                // SAFETY: of the caller.
                unsafe {
                    match self {
                        $(Self::$subject(raw $(, $more)?) => {
                            cl!($function(raw, $($more,)? query, size, space, needed))
                        })*
                    }
                }
            }
        }
    };
}

subjects! {
    Platform clGetPlatformInfo "4.1";
    Device clGetDeviceInfo "4.2";
    Context clGetContextInfo "4.4";
    Queue clGetCommandQueueInfo "5.1";
    Image clGetImageInfo "5.3.7";
    Pipe clGetPipeInfo "5.4.2";
    Memory clGetMemObjectInfo "5.5.5";
    Sampler clGetSamplerInfo "5.7.2";
    Program clGetProgramInfo "5.8.9";
    Build clGetProgramBuildInfo "5.8.9" (device: cl_device_id);
    Kernel clGetKernelInfo "5.9.4";
    Argument clGetKernelArgInfo "5.9.4" (index: cl_uint);
    WorkGroup clGetKernelWorkGroupInfo "5.9.4" (device: cl_device_id);
    Event clGetEventInfo "5.11";
    Profile clGetEventProfilingInfo "5.14";
}

impl Subject {
    /// The bytes of the answer, or the error code.
    pub fn bytes(self, query: u32) -> Result<Vec<u8>, cl_int> {
        let mut size = 0;
        let accept = |code| if code == CL_SUCCESS { Ok(()) } else { Err(code) };
        // SAFETY: the tests hold a reference to the object.
        accept(unsafe { self.call(query, 0, ptr::null_mut(), &raw mut size) })?;
        let mut bytes = vec![0x5a_u8; size];
        // SAFETY: as above; the space has as many bytes as the driver asks for.
        accept(unsafe { self.call(query, size, bytes.as_mut_ptr().cast(), ptr::null_mut()) })?;
        Ok(bytes)
    }

    /// Panics with a wrong answer unless `holds`.
    #[track_caller]
    fn check(self, holds: bool, query: Named<u32>, answer: impl Display) {
        assert!(holds, "{}({}): {answer}", self.names()[0], query.name);
    }

    /// The elements of the answer. Panics if the driver refuses the query, or returns a part of an element.
    #[track_caller]
    pub fn list<T: Pod>(self, query: Named<u32>) -> Vec<T> {
        let bytes = self.bytes(query.value).unwrap_or_else(|code| {
            let (function, code) = (self.names()[0], code_name(code));
            panic!("{function}({}): the driver returned {code} for a valid query", query.name)
        });
        let (size, all) = (size_of::<T>(), bytes.len());
        let parts = format_args!("elements have {size} bytes; the driver returned {all}");
        self.check(all.is_multiple_of(size), query, parts);
        bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned).collect()
    }

    /// The answer, which is one value. Panics if it is not.
    #[track_caller]
    pub fn value<T: Pod>(self, query: Named<u32>) -> T {
        let list: Vec<T> = self.list(query);
        let count = list.len();
        let answer = format_args!("the answer is one value; the driver returned {count}");
        self.check(count == 1, query, answer);
        list[0]
    }

    /// The answer, which is a handle.
    #[track_caller]
    pub fn handle(self, query: Named<u32>) -> *mut c_void {
        self.value::<usize>(query) as *mut c_void
    }

    /// The answer, which is a text with a terminator. Panics if the terminator is missing.
    #[track_caller]
    pub fn text(self, query: Named<u32>) -> String {
        let bytes: Vec<u8> = self.list(query);
        let text = CStr::from_bytes_until_nul(&bytes);
        self.check(text.is_ok(), query, "the text has no terminator");
        text.unwrap_or_default().to_string_lossy().into_owned()
    }
}
