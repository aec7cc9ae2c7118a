//! Copies from device to device that do not go through the host (`cl_amd_copy_buffer_p2p`;
//! `pyopencl.enqueue_copy_buffer_p2p_amd`).

use std::ffi::c_void;
use std::{mem, ptr};

use crate::event::Event;
use crate::queue::CommandQueue;
use cl3::device::{CL_DEVICE_PLATFORM, get_device_info};
use cl3::error_codes::{
    CL_INVALID_OPERATION, CL_INVALID_PLATFORM, DLOPEN_FUNCTION_NOT_AVAILABLE,
    DLOPEN_RUNTIME_LOAD_FAILED,
};
use cl3::platform;
use cl3::types::{cl_command_queue, cl_event, cl_int, cl_mem, cl_platform_id, cl_uint};
use opencl3::platform::Platform;

use super::Buffer;
use super::copy::copy;
use crate::error::{Error, Result, in_call};
use crate::memory::context::has_extension;
use crate::memory::object::MemoryObject;
use crate::memory::order::Order;
use crate::wait_list::WaitList;

const CALL: &str = "clEnqueueCopyBufferP2PAMD";
const EXTENSION: &str = "cl_amd_copy_buffer_p2p";

type CopyBufferP2p = unsafe extern "system" fn(
    cl_command_queue,
    cl_mem,
    cl_mem,
    usize,
    usize,
    usize,
    cl_uint,
    *const cl_event,
    *mut cl_event,
) -> cl_int;

/// Copies `size` bytes from the start of `src` to the start of `dst`, directly from device to device
/// (`clEnqueueCopyBufferP2PAMD`); `None` stands for as many as both have. Does not block.
///
/// `platform` is that of the queue's device. Both buffers are of the queue's context, which may have
/// many devices.
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{Buffer, MemFlags, MemoryObject, enqueue_copy_buffer_p2p_amd};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// # let device = clmatrix::Device::new(context.default_device());
/// let platform = clmatrix::Platform::new(device.platform()?);
/// let src = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2])?;
/// let dst = Buffer::new(&context, MemFlags::READ_WRITE, src.size())?;
/// match enqueue_copy_buffer_p2p_amd(&platform, &queue, &src, &dst, None, []) {
///     Err(error) if error.class() == Class::Unsupported => {} // take enqueue_copy
///     copied => copied?.wait()?,
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// An error of class [`Unsupported`](crate::Class::Unsupported) where neither the platform nor the device has
/// `cl_amd_copy_buffer_p2p`; CL_INVALID_PLATFORM for a platform that is not the device's; and those
/// of [`enqueue_copy_buffer`](super::copy::enqueue_copy_buffer).
pub fn enqueue_copy_buffer_p2p_amd<'a>(
    platform: &Platform,
    queue: &CommandQueue,
    src: &Buffer,
    dst: &Buffer,
    size: Option<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<Event> {
    let function = find(platform.id(), queue)?;
    let sides = ((src, 0), (dst, 0));
    let size = size.unwrap_or_else(|| src.size().min(dst.size()));
    copy(CALL, Order::new(queue, &wait_for.into()), sides, size, |(queue, count, events)| {
        let (from, to) = (src.as_raw(), dst.as_raw());
        let mut event = ptr::null_mut();
        // SAFETY: the driver has this function, with this signature; the handles are alive and of
        // one context, the bytes are within the buffers and apart, and the driver keeps the buffers
        // until the command has ended.
        match unsafe { function(queue, from, to, 0, 0, size, count, events, &raw mut event) } {
            0 => Ok(event),
            code => Err(code),
        }
    })
}

/// The driver's function, where it has the extension.
fn find(platform: cl_platform_id, queue: &CommandQueue) -> Result<CopyBufferP2p> {
    let device = queue.device_raw();
    let of_platform =
        |info| platform::get_platform_info(platform, info).map_err(in_call("clGetPlatformInfo"));
    let own = get_device_info(device, CL_DEVICE_PLATFORM).map_err(in_call("clGetDeviceInfo"))?;
    if isize::from(own) as cl_platform_id != platform {
        let reason = "the platform is not that of the queue's device";
        return Err(Error::refused(CALL, CL_INVALID_PLATFORM, reason));
    }
    let of_all = String::from(of_platform(platform::CL_PLATFORM_EXTENSIONS)?);
    let is_there = of_all.split_whitespace().any(|name| name == EXTENSION);
    let function = if is_there || has_extension(device, EXTENSION) {
        address(platform)?
    } else {
        ptr::null_mut()
    };
    if function.is_null() {
        let platform = String::from(of_platform(platform::CL_PLATFORM_NAME)?);
        let reason = format!("the platform {platform:?} has no {EXTENSION}; use enqueue_copy");
        return Err(Error::unsupported(CALL, CL_INVALID_OPERATION, reason));
    }
    // SAFETY: the platform has the extension, which gives the function of that name this signature.
    Ok(unsafe { mem::transmute::<*mut c_void, CopyBufferP2p>(function) })
}

/// Where the platform's function is; null where it has none.
fn address(platform: cl_platform_id) -> Result<*mut c_void> {
    const LOADER: &str = "clGetExtensionFunctionAddressForPlatform";
    let Ok(loader) = cl3::load_library() else {
        return Err(Error::from_call(LOADER, DLOPEN_RUNTIME_LOAD_FAILED));
    };
    let name = c"clEnqueueCopyBufferP2PAMD".as_ptr();
    let function = loader.clGetExtensionFunctionAddressForPlatform(platform, name);
    function.ok_or_else(|| Error::from_call(LOADER, DLOPEN_FUNCTION_NOT_AVAILABLE))
}
