//! Queries of objects: the clGet...Info functions.

use std::ffi::c_void;
use std::ptr;

use bytemuck::Pod;
use clmatrix::cl3::error_codes::CL_SUCCESS;
use clmatrix::cl3::types::{cl_device_id, cl_int, cl_uint};

use super::api::{Named, cl, code_name};

/// An object with the function that answers queries of it.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    Platform(*mut c_void),
    Device(*mut c_void),
    Context(*mut c_void),
    Queue(*mut c_void),
    Memory(*mut c_void),
    Image(*mut c_void),
    Sampler(*mut c_void),
    Program(*mut c_void),
    Build(*mut c_void, cl_device_id),
    Kernel(*mut c_void),
    Argument(*mut c_void, cl_uint),
    WorkGroup(*mut c_void, cl_device_id),
    Event(*mut c_void),
    Profile(*mut c_void),
}

impl Subject {
    /// The name of the function.
    pub fn function(self) -> &'static str {
        match self {
            Self::Platform(_) => "clGetPlatformInfo",
            Self::Device(_) => "clGetDeviceInfo",
            Self::Context(_) => "clGetContextInfo",
            Self::Queue(_) => "clGetCommandQueueInfo",
            Self::Memory(_) => "clGetMemObjectInfo",
            Self::Image(_) => "clGetImageInfo",
            Self::Sampler(_) => "clGetSamplerInfo",
            Self::Program(_) => "clGetProgramInfo",
            Self::Build(..) => "clGetProgramBuildInfo",
            Self::Kernel(_) => "clGetKernelInfo",
            Self::Argument(..) => "clGetKernelArgInfo",
            Self::WorkGroup(..) => "clGetKernelWorkGroupInfo",
            Self::Event(_) => "clGetEventInfo",
            Self::Profile(_) => "clGetEventProfilingInfo",
        }
    }

    /// Calls the function.
    ///
    /// # Safety
    ///
    /// The handle is valid, `space` has `size` bytes or is null, and `needed` is valid or null.
    pub unsafe fn call(
        self,
        query: u32,
        size: usize,
        space: *mut c_void,
        needed: *mut usize,
    ) -> cl_int {
        // SAFETY: of the caller.
        unsafe {
            match self {
                Self::Platform(raw) => cl!(clGetPlatformInfo(raw, query, size, space, needed)),
                Self::Device(raw) => cl!(clGetDeviceInfo(raw, query, size, space, needed)),
                Self::Context(raw) => cl!(clGetContextInfo(raw, query, size, space, needed)),
                Self::Queue(raw) => cl!(clGetCommandQueueInfo(raw, query, size, space, needed)),
                Self::Memory(raw) => cl!(clGetMemObjectInfo(raw, query, size, space, needed)),
                Self::Image(raw) => cl!(clGetImageInfo(raw, query, size, space, needed)),
                Self::Sampler(raw) => cl!(clGetSamplerInfo(raw, query, size, space, needed)),
                Self::Program(raw) => cl!(clGetProgramInfo(raw, query, size, space, needed)),
                Self::Build(raw, device) => {
                    cl!(clGetProgramBuildInfo(raw, device, query, size, space, needed))
                }
                Self::Kernel(raw) => cl!(clGetKernelInfo(raw, query, size, space, needed)),
                Self::Argument(raw, index) => {
                    cl!(clGetKernelArgInfo(raw, index, query, size, space, needed))
                }
                Self::WorkGroup(raw, device) => {
                    cl!(clGetKernelWorkGroupInfo(raw, device, query, size, space, needed))
                }
                Self::Event(raw) => cl!(clGetEventInfo(raw, query, size, space, needed)),
                Self::Profile(raw) => cl!(clGetEventProfilingInfo(raw, query, size, space, needed)),
            }
        }
    }

    /// The bytes of the answer, or the error code.
    pub fn bytes(self, query: u32) -> Result<Vec<u8>, cl_int> {
        let mut size = 0;
        // SAFETY: the tests hold a reference to the object.
        let code = unsafe { self.call(query, 0, ptr::null_mut(), &raw mut size) };
        if code != CL_SUCCESS {
            return Err(code);
        }
        let mut bytes = vec![0x5a_u8; size];
        // SAFETY: as above; the space has as many bytes as the driver asks for.
        let code = unsafe { self.call(query, size, bytes.as_mut_ptr().cast(), ptr::null_mut()) };
        if code == CL_SUCCESS { Ok(bytes) } else { Err(code) }
    }

    /// The elements of the answer. Panics if the driver refuses the query, or returns a part of an element.
    #[track_caller]
    pub fn list<T: Pod>(self, query: Named<u32>) -> Vec<T> {
        let Named { name, value } = query;
        let function = self.function();
        let bytes = self.bytes(value).unwrap_or_else(|code| {
            panic!("{function}({name}): the driver returned {} for a valid query", code_name(code))
        });
        assert!(
            bytes.len().is_multiple_of(size_of::<T>()),
            "{function}({name}): an element has {} bytes; the driver's answer has {}",
            size_of::<T>(),
            bytes.len()
        );
        bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }

    /// The answer, which is one value. Panics if it is not.
    #[track_caller]
    pub fn value<T: Pod>(self, query: Named<u32>) -> T {
        let list = self.list(query);
        let [value] = list[..] else {
            let (function, name) = (self.function(), query.name);
            panic!(
                "{function}({name}): the answer is one value; the driver returned {}",
                list.len()
            )
        };
        value
    }

    /// The answer, which is a handle.
    #[track_caller]
    pub fn handle(self, query: Named<u32>) -> *mut c_void {
        self.value::<usize>(query) as *mut c_void
    }

    /// The answer, which is a text with a terminator. Panics if the terminator is missing.
    #[track_caller]
    pub fn text(self, query: Named<u32>) -> String {
        let mut bytes: Vec<u8> = self.list(query);
        let end = bytes.iter().position(|byte| *byte == 0);
        let (function, name) = (self.function(), query.name);
        bytes.truncate(
            end.unwrap_or_else(|| panic!("{function}({name}): the text has no terminator")),
        );
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
