//! References to objects of the driver that release themselves and never panic.

use cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_program, cl_sampler,
};
use cl3::{command_queue, context, device, event, kernel, memory, program, sampler};

use crate::error::{Error, Result, in_call};

macro_rules! reference {
    (
        $(#[$doc:meta])*
        $name:ident($raw:ty), $retain:path, $retain_call:literal, $release:path, $release_call:literal
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name($raw);

        // SAFETY: OpenCL's objects may be used from any thread at once, but for the arguments of kernels
        // (OpenCL 3.0, appendix A.2).
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        #[allow(dead_code, reason = "some are only kept, some are never retained")]
        impl $name {
            /// Takes over a reference.
            ///
            /// # Safety
            /// The handle is valid, and the caller owns a reference to it.
            #[inline]
            pub(crate) unsafe fn owned(raw: $raw) -> Self {
                Self(raw)
            }

            /// Adds a reference.
            ///
            /// # Safety
            /// The handle is valid.
            pub(crate) unsafe fn retain(raw: $raw) -> Result<Self> {
                // SAFETY: the caller vouches for the handle.
                unsafe { $retain(raw) }.map_err(in_call($retain_call))?;
                // SAFETY: the reference is there now.
                Ok(unsafe { Self::owned(raw) })
            }

            #[inline]
            pub(crate) fn get(&self) -> $raw {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the reference is ours, and given up once.
                if let Err(code) = unsafe { $release(self.0) } {
                    log::error!("{}", Error::from_call($release_call, code));
                }
            }
        }
    };
}

reference! {
    /// A reference to a context. Every memory object holds one, because Intel's runtime destroys a
    /// context that only its objects still need.
    // quirk: INTEL-2
    ContextRef(cl_context), context::retain_context, "clRetainContext",
    context::release_context, "clReleaseContext"
}

reference! {
    /// A reference to a program. Every kernel holds one, because Intel's runtime destroys a program
    /// that only its kernels still need.
    // quirk: INTEL-2
    ProgramRef(cl_program),
    program::retain_program, "clRetainProgram", program::release_program, "clReleaseProgram"
}

reference! {
    /// A reference to a kernel, whose arguments are set through an exclusive borrow only.
    KernelRef(cl_kernel),
    kernel::retain_kernel, "clRetainKernel", kernel::release_kernel, "clReleaseKernel"
}

reference! {
    /// A reference to a device. Only sub-devices are counted.
    DeviceRef(cl_device_id),
    device::retain_device, "clRetainDevice", device::release_device, "clReleaseDevice"
}

reference! {
    /// A reference to a sampler.
    SamplerRef(cl_sampler),
    sampler::retain_sampler, "clRetainSampler", sampler::release_sampler, "clReleaseSampler"
}

reference! {
    /// A reference to a memory object.
    MemRef(cl_mem),
    memory::retain_mem_object, "clRetainMemObject", memory::release_mem_object, "clReleaseMemObject"
}

reference! {
    /// A reference to an event.
    EventRef(cl_event), event::retain_event, "clRetainEvent", event::release_event, "clReleaseEvent"
}

reference! {
    /// A reference to a queue.
    QueueRef(cl_command_queue),
    command_queue::retain_command_queue, "clRetainCommandQueue",
    command_queue::release_command_queue, "clReleaseCommandQueue"
}

/// Gives a type a `retain_raw` beside its `from_raw`.
macro_rules! retain_raw {
    ($object:ty, $raw:ty, $reference:ident, $call:literal) => {
        impl $object {
            #[doc = concat!("Wraps a driver's handle, and adds a reference for the result (`", $call, "`).")]
            ///
            /// # Errors
            /// The errors of [`from_raw`](Self::from_raw), and the driver's errors.
            ///
            /// # Safety
            /// The caller promises the same as for [`from_raw`](Self::from_raw), and keeps its reference.
            pub unsafe fn retain_raw(raw: $raw) -> $crate::Result<Self> {
                // First: some drivers count references to objects of another kind wrongly.
                // SAFETY: as the caller promises; the next call adds the reference.
                let object = unsafe { Self::from_raw(raw) }?;
                // SAFETY: the caller vouches for the handle.
                match unsafe { $crate::handle::$reference::retain(raw) } {
                    Ok(reference) => {
                        std::mem::forget(reference);
                        Ok(object)
                    }
                    Err(error) => {
                        // The reference is the caller's.
                        std::mem::forget(object);
                        Err(error)
                    }
                }
            }
        }
    };
}

pub(crate) use retain_raw;

/// Implements comparison and hashing by the driver's handle, and `Debug` with it and the results of these methods.
macro_rules! by_handle {
    ($handle:ident $(, $shown:ident)*) => {
        impl PartialEq for $handle {
            fn eq(&self, other: &Self) -> bool {
                self.as_raw() == other.as_raw()
            }
        }

        impl Eq for $handle {}

        impl std::hash::Hash for $handle {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.as_raw().hash(state);
            }
        }

        impl std::fmt::Debug for $handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($handle));
                shown.field("raw", &self.as_raw())$(.field(stringify!($shown), &self.$shown()))*;
                shown.finish()
            }
        }
    };
}

pub(crate) use by_handle;
