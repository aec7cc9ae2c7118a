//! Conversions between objects of this crate and of opencl3.
//!
//! opencl3's types take any handle in safe code, so a conversion from them is unsafe.

use std::mem;

use cl3::device::{CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, get_device_info};
use opencl3::memory::ClMem;

use crate::error::{Result, in_call};
use crate::handle::{ContextRef, EventRef, KernelRef, MemRef, QueueRef, SamplerRef};
use crate::memory::{Buffer, Image, Pipe, Sampler};
use crate::{CommandQueue, Context, Device, Event, Kernel, Platform, Program};

/// Gives a type `from_opencl3`, which adds a reference for the result.
macro_rules! from_opencl3 {
    ($object:ident $([$generic:ident])?: $opencl3:ty, |$this:ident| $raw:expr) => {
        impl $object {
            /// Wraps the handle of opencl3's object, and adds a reference for the result.
            ///
            /// # Errors
            /// The errors of [`retain_raw`](Self::retain_raw).
            ///
            /// # Safety
            /// The caller promises for the handle of the object what [`retain_raw`](Self::retain_raw) requires: safe
            /// code can give opencl3's types any handle.
            pub unsafe fn from_opencl3$(<$generic>)?(object: &$opencl3) -> Result<Self> {
                let $this = object;
                // SAFETY: as the caller promises.
                unsafe { Self::retain_raw($raw) }
            }
        }
    };
}

/// Gives types both conversions. `opencl3` makes the object of the handle, and of another argument of its constructor.
macro_rules! both_conversions {
    ($(
        $(#[$doc:meta])*
        $object:ident $([$generic:ident])?: $reference:ident => $opencl3:ty $(, |$this:ident| $other:expr)?;
    )*) => {$(
        impl $object {
            /// Returns opencl3's object of the same handle, with a reference of its own.
            $(#[$doc])*
            ///
            /// # Errors
            /// The driver's errors.
            pub fn opencl3$(<$generic>)?(&self) -> Result<$opencl3> {
                // SAFETY: the object is alive.
                let reference = unsafe { $reference::retain(self.as_raw()) }?;
                $(let $this = self;)?
                let object = <$opencl3>::new(self.as_raw() $(, $other)?);
                // The result releases it.
                mem::forget(reference);
                Ok(object)
            }
        }

        from_opencl3!($object $([$generic])?: $opencl3, |object| object.get());
    )*};
}

impl Platform {
    /// Returns opencl3's platform of the same handle.
    pub fn opencl3(&self) -> opencl3::platform::Platform {
        opencl3::platform::Platform::new(self.as_raw())
    }

    /// Wraps the handle of opencl3's platform.
    ///
    /// # Safety
    /// The handle is valid: safe code can give opencl3's types any handle.
    pub unsafe fn from_opencl3(platform: &opencl3::platform::Platform) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self::from_raw(platform.id()) }
    }
}

impl Device {
    /// Returns opencl3's device of the same handle, for other queries. It counts no references, and is valid as long
    /// as `self` lives.
    pub fn opencl3(&self) -> opencl3::device::Device {
        opencl3::device::Device::new(self.as_raw())
    }
}

both_conversions! {
    Context: ContextRef => opencl3::context::Context,
        |context| &context.devices().iter().map(Device::as_raw).collect::<Vec<_>>();
    CommandQueue: QueueRef => opencl3::command_queue::CommandQueue,
        |queue| get_device_info(queue.device().as_raw(), CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)
            .map_err(in_call("clGetDeviceInfo"))?
            .into();
    /// `T` is the type of its elements there. Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Buffer [T]: MemRef => opencl3::memory::Buffer<T>;
    /// Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Image: MemRef => opencl3::memory::Image;
    /// Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Pipe: MemRef => opencl3::memory::Pipe;
    Sampler: SamplerRef => opencl3::memory::Sampler;
    Event: EventRef => opencl3::event::Event;
    /// It is the kernel object of the last launch. Its arguments are those of that launch, but buffers are NULL on
    /// rusticl and unknown drivers.
    Kernel: KernelRef => opencl3::kernel::Kernel;
}
from_opencl3!(Device: opencl3::device::Device, |device| device.id());
// opencl3 0.12 has no function that makes a program of a handle, so there is no `Program::opencl3`.
from_opencl3!(Program: opencl3::program::Program, |program| program.get());
