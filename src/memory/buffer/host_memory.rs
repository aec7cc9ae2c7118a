//! Buffers that live in host memory (CL_MEM_USE_HOST_PTR; PyOpenCL's `hostbuf`).

use std::marker::PhantomData;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::queue::CommandQueue;
use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR, CL_INVALID_OPERATION};
use parking_lot::Mutex;

use super::Buffer;
use super::builder::create;
use super::released_memory::{HostBuffer, ReleasedMemory};
use crate::error::{Error, Result};
use crate::memory::destructor_callback::keep_until_destroyed;
use crate::memory::object::{MemObject, ObjectDesc};
use crate::memory::transfer::DriverOwned;
use crate::memory::{HostMemory, MemFlags, MemoryObject, TransferError};

impl Buffer {
    /// Creates a buffer in `memory`, with the content of `memory` (`clCreateBuffer` with
    /// CL_MEM_USE_HOST_PTR).
    ///
    /// The buffer owns the memory, for as long as the driver has it; the host reaches it through maps and
    /// gets it back from [`into_host_memory`](Self::into_host_memory).
    ///
    /// ```
    /// use clmatrix::memory::{Buffer, MemFlags};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let buffer = Buffer::using_host_memory(&context, MemFlags::READ_WRITE, vec![1_u32; 8])?;
    /// buffer.slice::<u32>(..1).fill(&queue, &7)?;
    /// assert_eq!(buffer.map_read::<u32>(&queue, ..)?[..2], [7, 1]);
    /// let memory: Vec<u32> = buffer.into_host_memory(&queue)?;
    /// assert_eq!(memory[..2], [7, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), CL_INVALID_HOST_PTR for an
    /// array whose elements are not one after the other; each with the memory.
    #[doc(alias = "hostbuf")]
    pub fn using_host_memory<H: HostMemory>(
        context: &Context,
        flags: MemFlags,
        memory: H,
    ) -> std::result::Result<Self, TransferError<H>> {
        const CALL: &str = "clCreateBuffer";
        let mut memory = DriverOwned::new(memory);
        let object = match make_object(CALL, context, flags, memory.as_mut()) {
            Ok(object) => object,
            Err(error) => return Err(TransferError::new(error, *memory.end())),
        };
        let (sender, destroyed) = mpsc::channel();
        let destroyed = Mutex::new(destroyed);
        let host = Arc::new(HostBuffer { memory: Mutex::default(), destroyed });
        // SAFETY: the object is alive.
        match unsafe { keep_until_destroyed(object.raw(), (Arc::clone(&host), sender)) } {
            Ok(()) => {
                // From here on the driver keeps it alive, through its callback.
                *host.memory.lock() = Some(memory.end());
                Ok(Self { host: Some(host), ..Self::whole(object) })
            }
            Err((error, _)) => {
                // Unused so far, so it goes at once.
                drop(object);
                Err(TransferError::new(error, *memory.end()))
            }
        }
    }

    /// Destroys the buffer, and returns its host memory with the device's results. Waits for the commands that use the
    /// buffer; `queue` is a queue of its context.
    ///
    /// # Errors
    /// With the buffer: CL_INVALID_OPERATION for one that was not made by
    /// [`using_host_memory`](Self::using_host_memory) of an `H`, and for one that has other handles, regions, maps
    /// or, after 1 s, references; CL_INVALID_CONTEXT, and the driver's errors. With the [`ReleasedMemory`]:
    /// CL_INVALID_OPERATION where the driver does not destroy the buffer within 10 s. On rusticl and Intel's runtime,
    /// the event of a command keeps the buffer, even one that the other buffer of a copy holds until its next use.
    pub fn into_host_memory<H: HostMemory>(
        self,
        queue: &CommandQueue,
    ) -> std::result::Result<H, TransferError<std::result::Result<Self, ReleasedMemory<H>>>> {
        const CALL: &str = "clReleaseMemObject";
        // Some drivers destroy buffers in a thread of their own.
        // quirk: NVIDIA-5
        const DESTRUCTION_TIMEOUT: Duration = Duration::from_secs(10);
        let host = match self.idle_host_memory::<H>(CALL, queue) {
            Ok(host) => host,
            Err(error) => return Err(TransferError::new(error, Ok(self))),
        };
        drop(self);
        let released = ReleasedMemory { host, memory: PhantomData };
        released.wait(DESTRUCTION_TIMEOUT).map_err(|released| {
            let reason = "the driver keeps the buffer, and so its host memory";
            TransferError::new(Error::refused(CALL, CL_INVALID_OPERATION, reason), Err(released))
        })
    }

    /// The host memory, which is an `H` and has what the device has made of it.
    fn idle_host_memory<H: HostMemory>(
        &self,
        call: &'static str,
        queue: &CommandQueue,
    ) -> Result<Arc<HostBuffer>> {
        let refused = |reason| Err(Error::refused(call, CL_INVALID_OPERATION, reason));
        let Some(host) = &self.host else {
            return refused(
                "the buffer does not live in host memory: see Buffer::using_host_memory",
            );
        };
        if self.reference.is_sub_buffer() || Arc::strong_count(self.reference.object()) > 1 {
            return refused("the buffer has other handles, regions or maps; drop them first");
        }
        if !host.memory.lock().as_ref().is_some_and(|memory| memory.is::<H>()) {
            return refused("the buffer was made of host memory of another type");
        }
        if self.flags().host_reads() {
            self.map_read::<u8>(queue, ..)?.unmap()?.wait()?;
        }
        self.reference.object().tracker().wait_until_idle(call)?;
        if self.has_other_references()? {
            return refused(
                "there are other references to the buffer, such as events of its commands, which the \
                 other buffer of a copy has until it is used again",
            );
        }
        Ok(Arc::clone(host))
    }

    /// Returns whether the driver counts references besides that of this only handle. Drivers release commands a
    /// moment after their end.
    // quirk: DRIVER-19
    fn has_other_references(&self) -> Result<bool> {
        let deadline = Instant::now() + Duration::from_secs(1);
        loop {
            self.reference.object().tracker().reap_all();
            let has_others = self.reference_count()? > 1;
            if !has_others || Instant::now() > deadline {
                return Ok(has_others);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Creates the driver's buffer in `memory`, which the caller keeps alive and untouched.
fn make_object<H: HostMemory>(
    call: &'static str,
    context: &Context,
    flags: MemFlags,
    memory: &mut H,
) -> Result<MemObject> {
    let flags = flags.for_host_memory(call)?;
    let Some((bytes, size)) = memory.bytes() else {
        let reason = "the array's elements are not one after the other in memory";
        return Err(Error::refused(call, CL_INVALID_HOST_PTR, reason));
    };
    let reason = "the host memory has 0 bytes";
    Error::refuse_if(size == 0, call, CL_INVALID_BUFFER_SIZE, || reason)?;
    let context = context.retained()?;
    context.check_size(call, size)?;
    // SAFETY: the caller keeps the `size` bytes at `bytes` for the driver.
    unsafe { create(context, ObjectDesc { flags, size }, bytes) }
}
