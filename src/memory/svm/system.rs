//! The host's own memory as shared virtual memory (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
//! `pyopencl.SVM` of any array).

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use cl3::error_codes::{CL_INVALID_HOST_PTR, CL_INVALID_OPERATION};

use super::flags::{SvmFlags, check_system};
use super::memory::{Origin, Svm, SvmMemory};
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::memory::into_memory::device_memory;
use crate::memory::{HostMemory, TransferError};

/// The function that would take the host's pointer.
const CALL: &str = "clSetKernelArgSVMPointer";

/// Host memory that devices use as it is (`pyopencl.SVM` of any array), where all of the context's
/// devices can do that (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM).
///
/// It owns the memory: the host reaches it through [`SvmPointer::access`] and gets it back from
/// [`into_inner`](Self::into_inner). A drop waits for the commands that use it. If it is forgotten, the memory is
/// never freed.
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{MapRead, SvmPointer, SystemSvm, enqueue_fill};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let memory = match SystemSvm::new(&context, vec![0_u32; 8]) {
///     Err(back) if back.error.class() == Class::Unsupported => return Ok(()),
///     memory => memory?,
/// };
/// enqueue_fill(&queue, &memory, &7_u32, ..16)?;
/// assert_eq!(memory.access::<u32, _>(MapRead, ..)?[3..5], [7, 0]);
/// let memory: Vec<u32> = memory.into_inner()?;
/// # Ok(())
/// # }
/// ```
pub struct SystemSvm<H: HostMemory> {
    memory: Arc<SvmMemory>,
    host: PhantomData<fn() -> H>,
}

impl<H: HostMemory> SystemSvm<H> {
    /// Shares `memory` with the devices of `context`.
    ///
    /// # Errors
    /// With the memory: of class [`Unsupported`](crate::Class::Unsupported) where a device of the
    /// context cannot use the host's memory; CL_INVALID_HOST_PTR for an array whose elements are not
    /// one after the other; and the driver's errors.
    pub fn new(context: &Context, memory: H) -> std::result::Result<Self, TransferError<H>> {
        let mut memory = Box::new(memory);
        match Self::checked(context, &mut memory) {
            Ok((context, pointer, size)) => {
                let pointer = if size == 0 { ptr::null_mut() } else { pointer.cast() };
                let flags = SvmFlags::READ_WRITE | SvmFlags::FINE_GRAIN_BUFFER;
                let origin = Origin::Host(memory);
                // SAFETY: all devices can use the host's memory, and `origin` owns this.
                let memory =
                    unsafe { SvmMemory::from_raw_owned(pointer, size, flags, context, origin) };
                Ok(Self { memory: Arc::new(memory), host: PhantomData })
            }
            Err(error) => Err(TransferError::new(error, *memory)),
        }
    }

    /// Returns the context, the address of the bytes, and their number.
    fn checked(context: &Context, memory: &mut H) -> Result<(Arc<MemContext>, *mut u8, usize)> {
        let context = context.retained()?;
        check_system(CALL, &context)?;
        let Some((pointer, size)) = memory.bytes() else {
            let reason = "the array's elements are not one after the other in memory";
            return Err(Error::refused(CALL, CL_INVALID_HOST_PTR, reason));
        };
        Ok((context, pointer, size))
    }

    /// Returns the memory with the devices' results, once the commands that use it have ended.
    ///
    /// # Errors
    /// With the shared memory: CL_INVALID_OPERATION where there are maps, buffers or accesses of it,
    /// and where the end of a command is unknown; and the driver's errors.
    pub fn into_inner(self) -> std::result::Result<H, TransferError<Option<Self>>> {
        let host = PhantomData;
        let mut memory = Arc::try_unwrap(self.memory).map_err(|memory| {
            let reason = "the memory is mapped, accessed, or used by a buffer; drop these first";
            let error = Error::refused(CALL, CL_INVALID_OPERATION, reason);
            TransferError::new(error, Some(Self { memory, host }))
        })?;
        match memory.take_host::<H>() {
            Ok(memory) => Ok(memory),
            Err(error) => {
                let left = memory.is_allocated().then(|| Self { memory: Arc::new(memory), host });
                Err(TransferError::new(error, left))
            }
        }
    }
}

impl SvmMemory {
    /// Takes the host's memory once it is no longer used.
    fn take_host<H: HostMemory>(&mut self) -> Result<H> {
        self.tracker().wait_until_idle(CALL)?;
        match self.end() {
            Some(Origin::Host(memory)) => memory.downcast::<H>().ok(),
            Some(Origin::Driver) | None => None,
        }
        .map(|memory| *memory)
        .ok_or_else(|| Error::refused(CALL, CL_INVALID_OPERATION, "it is not the host's memory"))
    }
}

impl<H: HostMemory> SvmPointer for SystemSvm<H> {}

device_memory!([H: HostMemory] SystemSvm<H>: dyn SvmPointer);

impl<H: HostMemory> Svm for SystemSvm<H> {
    fn memory(&self) -> &Arc<SvmMemory> {
        &self.memory
    }
}

impl<H: HostMemory> fmt::Debug for SystemSvm<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemSvm").field("memory", &self.memory).finish()
    }
}
