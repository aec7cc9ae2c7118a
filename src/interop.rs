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

/// Gives a type `opencl3`, which adds a reference for the result.
macro_rules! to_opencl3 {
    (
        $(#[$doc:meta])*
        $object:ident $([$generic:ident])?: $reference:ident => $opencl3:ty, |$this:ident| $new:expr
    ) => {
        impl $object {
            /// Returns opencl3's object of the same handle, with a reference of its own.
            $(#[$doc])*
            ///
            /// # Errors
            /// The driver's errors.
            pub fn opencl3$(<$generic>)?(&self) -> Result<$opencl3> {
                let $this = self;
                // SAFETY: the object is alive.
                let reference = unsafe { $reference::retain($this.as_raw()) }?;
                let object = $new;
                // The result releases it.
                mem::forget(reference);
                Ok(object)
            }
        }
    };
}

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

to_opencl3! {
    Context: ContextRef => opencl3::context::Context,
    |context| {
        let devices: Vec<_> = context.devices().iter().map(Device::as_raw).collect();
        opencl3::context::Context::new(context.as_raw(), &devices)
    }
}
to_opencl3! {
    CommandQueue: QueueRef => opencl3::command_queue::CommandQueue,
    |queue| {
        let dimensions = get_device_info(queue.device().as_raw(), CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)
            .map_err(in_call("clGetDeviceInfo"))?;
        opencl3::command_queue::CommandQueue::new(queue.as_raw(), dimensions.into())
    }
}
to_opencl3! {
    /// `T` is the type of its elements there. Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Buffer [T]: MemRef => opencl3::memory::Buffer<T>,
    |buffer| opencl3::memory::Buffer::new(buffer.as_raw())
}
to_opencl3! {
    /// Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Image: MemRef => opencl3::memory::Image,
    |image| opencl3::memory::Image::new(image.as_raw())
}
to_opencl3! {
    /// Each command that opencl3 enqueues is recorded by
    /// [`record_use`](crate::memory::MemoryObject::record_use).
    Pipe: MemRef => opencl3::memory::Pipe,
    |pipe| opencl3::memory::Pipe::new(pipe.as_raw())
}
to_opencl3! {
    Sampler: SamplerRef => opencl3::memory::Sampler,
    |sampler| opencl3::memory::Sampler::new(sampler.as_raw())
}
to_opencl3! {
    Event: EventRef => opencl3::event::Event,
    |event| opencl3::event::Event::new(event.as_raw())
}
to_opencl3! {
    /// It is the kernel object of the last launch. Its arguments are those of that launch, but buffers are NULL on
    /// rusticl and unknown drivers.
    Kernel: KernelRef => opencl3::kernel::Kernel,
    |kernel| opencl3::kernel::Kernel::new(kernel.as_raw())
}

from_opencl3!(Device: opencl3::device::Device, |device| device.id());
from_opencl3!(Context: opencl3::context::Context, |context| context.get());
from_opencl3!(CommandQueue: opencl3::command_queue::CommandQueue, |queue| queue.get());
from_opencl3!(Buffer [T]: opencl3::memory::Buffer<T>, |buffer| buffer.get());
from_opencl3!(Image: opencl3::memory::Image, |image| image.get());
from_opencl3!(Pipe: opencl3::memory::Pipe, |pipe| pipe.get());
from_opencl3!(Sampler: opencl3::memory::Sampler, |sampler| sampler.get());
from_opencl3!(Event: opencl3::event::Event, |event| event.get());
// opencl3 0.12 has no function that makes a program of a handle, so there is no `Program::opencl3`.
from_opencl3!(Program: opencl3::program::Program, |program| program.get());
from_opencl3!(Kernel: opencl3::kernel::Kernel, |kernel| kernel.get());
