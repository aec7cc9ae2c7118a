//! References to objects of the driver that release themselves and never panic.

use cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_program, cl_sampler,
};
use cl3::{command_queue, context, device, event, kernel, memory, program, sampler};

use crate::error::{Error, Result, in_call};

/// Defines the references to objects. The driver's functions are `clRetain` and `clRelease` with the literal.
macro_rules! references {
    ($($(#[$doc:meta])* $name:ident($raw:ty), $object:literal: $retain:path, $release:path;)*) => {$(
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
                unsafe { $retain(raw) }.map_err(in_call(concat!("clRetain", $object)))?;
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
                    log::error!("{}", Error::from_call(concat!("clRelease", $object), code));
                }
            }
        }
    )*};
}

references! {
    /// A reference to a context. Every memory object holds one, because Intel's runtime destroys a
    /// context that only its objects still need.
    // quirk: INTEL-2
    ContextRef(cl_context), "Context": context::retain_context, context::release_context;
    /// A reference to a program. Every kernel holds one, because Intel's runtime destroys a program
    /// that only its kernels still need.
    // quirk: INTEL-2
    ProgramRef(cl_program), "Program": program::retain_program, program::release_program;
    /// A reference to a kernel, whose arguments are set through an exclusive borrow only.
    KernelRef(cl_kernel), "Kernel": kernel::retain_kernel, kernel::release_kernel;
    /// A reference to a device. Only sub-devices are counted.
    DeviceRef(cl_device_id), "Device": device::retain_device, device::release_device;
    /// A reference to a sampler.
    SamplerRef(cl_sampler), "Sampler": sampler::retain_sampler, sampler::release_sampler;
    /// A reference to a memory object.
    MemRef(cl_mem), "MemObject": memory::retain_mem_object, memory::release_mem_object;
    /// A reference to an event.
    EventRef(cl_event), "Event": event::retain_event, event::release_event;
    /// A reference to a queue.
    QueueRef(cl_command_queue), "CommandQueue": command_queue::retain_command_queue,
        command_queue::release_command_queue;
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
                // SAFETY: as the caller promises; the next call adds the reference, without which the object is
                // forgotten.
                let object = std::mem::ManuallyDrop::new(unsafe { Self::from_raw(raw) }?);
                // SAFETY: the caller vouches for the handle.
                std::mem::forget(unsafe { $crate::handle::$reference::retain(raw) }?);
                Ok(std::mem::ManuallyDrop::into_inner(object))
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
