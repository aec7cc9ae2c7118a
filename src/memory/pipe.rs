//! Pipes: queues of packets between kernels (OpenCL 3.0, 5.4; `pyopencl.Pipe`).

use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use crate::create::create;
use crate::device::Device;
use cl3::device::{CL_DEVICE_PIPE_MAX_PACKET_SIZE, get_device_info};
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_PIPE_SIZE, CL_INVALID_VALUE};
use cl3::info_type::InfoType;
use cl3::memory as cl;
use cl3::types::cl_mem;

use super::flags::MemFlags;
use super::into_memory::device_memory;
use super::object::sealed::Handle;
use super::object::{self, MemObject, MemoryObject, ObjectDesc, ObjectType};
use crate::error::{Error, Result, in_call};
use crate::handle::{MemRef, by_handle, retain_raw};
use crate::mem_context::MemContext;

/// A queue of packets, which kernels write and read: first in, first out (`pyopencl.Pipe`).
///
/// The host can neither read nor write it. Pipes are compared by the driver's handle. Clones share
/// one reference of the driver's.
///
/// ```
/// use clmatrix::memory::{MemFlags, Pipe};
/// use clmatrix::{Class, CommandQueue, Program};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = CommandQueue::new(&context)?;
/// let pipe = match Pipe::new(&context, MemFlags::READ_WRITE, 4, 64) {
///     Err(error) if error.class() == Class::Unsupported => return Ok(()),
///     pipe => pipe?,
/// };
/// let source = "kernel void send(write_only pipe int out) {
///     int packet = get_global_id(0);
///     write_pipe(out, &packet);
/// }";
/// let program =
///     Program::builder(&context).source(source).options("-cl-std=CL2.0").build()?;
/// let mut send = program.kernel("send")?;
/// // SAFETY: the argument is what the kernel declares, with packets of its size.
/// unsafe { send.launch().arg(&pipe).global(64).enqueue(&queue)? };
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Pipe {
    object: Arc<MemObject>,
    packet_size: u32,
    max_packets: u32,
}

impl Pipe {
    /// The host has no access to a pipe.
    const FLAGS: MemFlags = MemFlags::READ_WRITE.union(MemFlags::HOST_NO_ACCESS);

    /// Creates a pipe for at most `max_packets` packets of `packet_size` bytes (`clCreatePipe`,
    /// OpenCL 2.0).
    ///
    /// `flags` may hold [`READ_WRITE`](MemFlags::READ_WRITE) and
    /// [`HOST_NO_ACCESS`](MemFlags::HOST_NO_ACCESS), and a pipe is always both; flags of vendors are
    /// passed to the driver. OpenCL has no properties of pipes.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION, of class [`Unsupported`](crate::Class::Unsupported), where no device of
    /// the context has pipes; CL_INVALID_VALUE for other flags of OpenCL; CL_INVALID_PIPE_SIZE for packets of
    /// 0 bytes or more than CL_DEVICE_PIPE_MAX_PACKET_SIZE of every device, for no packets, and for
    /// more of them than the devices or the driver can hold; and the driver's errors.
    pub fn new(
        context: &Context,
        flags: MemFlags,
        packet_size: u32,
        max_packets: u32,
    ) -> Result<Self> {
        const CALL: &str = "clCreatePipe";
        let context = context.retained()?;
        check_flags(CALL, flags)?;
        check_size(CALL, &context, packet_size, max_packets)?;
        let flags = Self::FLAGS | flags.of_vendors();
        let (raw, bits, none) = (context.raw(), flags.bits(), ptr::null());
        // SAFETY: the context is alive.
        let raw =
            unsafe { create!(MemRef, clCreatePipe(raw, bits, packet_size, max_packets, none)) }?;
        let size = object::info(raw.get(), cl::CL_MEM_SIZE).map_or(0, usize::from);
        check_made(CALL, size, packet_size, max_packets)?;
        let object = Arc::new(MemObject::new(raw, context, ObjectDesc { flags, size }));
        Ok(Self { object, packet_size, max_packets })
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// CL_INVALID_MEM_OBJECT for anything but a pipe, and the driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid memory object, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_mem) -> Result<Self> {
        object::check_type(raw, "a pipe", ObjectType::Pipe)?;
        let (desc, context) = (object::desc(raw)?, object::context_of(raw)?);
        let packet_size = info(raw, cl::CL_PIPE_PACKET_SIZE)?.into();
        let max_packets = info(raw, cl::CL_PIPE_MAX_PACKETS)?.into();
        // SAFETY: as the caller promises.
        let raw = unsafe { MemRef::owned(raw) };
        let object = Arc::new(MemObject::new(raw, context, desc));
        Ok(Self { object, packet_size, max_packets })
    }

    /// Returns the size of a packet in bytes (CL_PIPE_PACKET_SIZE).
    pub fn packet_size(&self) -> u32 {
        self.packet_size
    }

    /// Returns the largest number of packets in the pipe (CL_PIPE_MAX_PACKETS).
    pub fn max_packets(&self) -> u32 {
        self.max_packets
    }

    /// Returns the properties with which it was created (CL_PIPE_PROPERTIES, OpenCL 3.0).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn pipe_properties(&self) -> Result<Vec<isize>> {
        Ok(info(self.as_raw(), cl::CL_PIPE_PROPERTIES)?.into())
    }
}

/// `clGetPipeInfo` of a pipe that is alive.
fn info(raw: cl_mem, name: u32) -> Result<InfoType> {
    cl::get_pipe_info(raw, name).map_err(in_call("clGetPipeInfo"))
}

fn check_flags(call: &'static str, flags: MemFlags) -> Result<()> {
    let odd = flags.difference(Pipe::FLAGS).difference(flags.of_vendors());
    Error::refuse_if(!odd.is_empty(), call, CL_INVALID_VALUE, || {
        format!("a pipe is READ_WRITE and HOST_NO_ACCESS, it cannot be {odd:?}")
    })
}

fn check_size(
    call: &'static str,
    context: &MemContext,
    packet_size: u32,
    max_packets: u32,
) -> Result<()> {
    // The value is there from OpenCL 2.0 on, and 0 for a device of 3.0 without pipes.
    let largest = |device: &Device| {
        get_device_info(device.as_raw(), CL_DEVICE_PIPE_MAX_PACKET_SIZE).map_or(0, u32::from)
    };
    let largest = context.devices().iter().map(largest).max().unwrap_or(0);
    if largest == 0 {
        let reason = "no device of the context has pipes; use a buffer with an atomic counter";
        return Err(Error::unsupported(call, CL_INVALID_OPERATION, reason));
    }
    Error::refuse_if(!(1..=largest).contains(&packet_size), call, CL_INVALID_PIPE_SIZE, || {
        format!("packets of {packet_size} bytes; the devices have 1 to {largest}")
    })?;
    let reason = "a pipe needs room for at least 1 packet";
    Error::refuse_if(max_packets == 0, call, CL_INVALID_PIPE_SIZE, || reason)?;
    let size = u64::from(packet_size) * u64::from(max_packets);
    let most = context.largest_allocation().unwrap_or(usize::MAX);
    Error::refuse_if(size > most as u64, call, CL_INVALID_PIPE_SIZE, || {
        format!(
            "{max_packets} packets of {packet_size} bytes; the devices allocate {most} bytes at once"
        )
    })
}

/// Refuses a pipe that is smaller than requested. Intel's runtime computes the size modulo 4 GiB, and
/// kernels would write past the end of the pipe.
// quirk: INTEL-3
fn check_made(call: &'static str, size: usize, packet_size: u32, max_packets: u32) -> Result<()> {
    let needed = u64::from(packet_size) * u64::from(max_packets);
    let is_small = size > 0 && (size as u64) < needed;
    Error::refuse_if(is_small, call, CL_INVALID_PIPE_SIZE, || {
        format!(
            "the driver created a pipe of {size} bytes for {max_packets} packets of {packet_size} bytes: \
             request a smaller one"
        )
    })
}

impl MemoryObject for Pipe {}

object::object_queries!(Pipe);

impl Handle for Pipe {
    fn object(&self) -> &MemObject {
        &self.object
    }
}

by_handle!(Pipe, packet_size, max_packets);
retain_raw!(Pipe, cl_mem, MemRef, "clRetainMemObject");
device_memory!([] Pipe: Pipe);
