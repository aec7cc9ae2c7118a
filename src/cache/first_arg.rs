//! The OpenCL objects that caches know, and how an entry keeps one alive.

use crate::context::Context;
use crate::device::Device;
use crate::program::Program;
use crate::queue::CommandQueue;

use crate::error::Result;
use crate::handle::{ContextRef, ProgramRef};
use crate::memory::{MemoryObject, Sampler};

/// An OpenCL object that a [`FirstArgCache`](super::FirstArgCache) keeps values for: a context, a
/// queue, a device, a program, a sampler or a memory object. All values of Rust with the same driver's
/// handle are one object.
///
/// ```
/// use clmatrix::FirstArgCache;
/// use clmatrix::cache::FirstArg;
///
/// /// The answer for any object.
/// fn answer(object: &impl FirstArg) -> clmatrix::Result<u32> {
///     static ANSWERS: FirstArgCache<(), u32> = FirstArgCache::new();
///     Ok(*ANSWERS.get_or_compute(object, &(), || 42)?)
/// }
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// assert_eq!(answer(&context)?, 42);
/// # Ok(())
/// # }
/// ```
pub trait FirstArg: sealed::Object {}

impl<T: sealed::Object> FirstArg for T {}

/// A reference that keeps an object alive until it is dropped.
pub type Kept = Box<dyn Send + Sync>;

/// The kind of an object and the driver's handle. Unique while the object lives.
pub type Identity = (Kind, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Context,
    Queue,
    Device,
    Program,
    Memory,
    Sampler,
    #[cfg(test)]
    Test,
}

pub(super) mod sealed {
    use super::{Identity, Kept, Result};

    pub trait Object {
        fn identity(&self) -> Identity;

        /// Keeps the object alive, so that no other object gets its handle.
        fn keep(&self) -> Result<Kept>;
    }
}

macro_rules! counted {
    ($object:ty, $kind:ident, $handle:ident, $reference:ident) => {
        impl sealed::Object for $object {
            fn identity(&self) -> Identity {
                (Kind::$kind, self.$handle().addr())
            }

            fn keep(&self) -> Result<Kept> {
                // SAFETY: the types have valid handles.
                Ok(Box::new(unsafe { $reference::retain(self.$handle()) }?))
            }
        }
    };
}

counted!(Context, Context, as_raw, ContextRef);
counted!(Program, Program, as_raw, ProgramRef);

impl sealed::Object for Device {
    fn identity(&self) -> Identity {
        (Kind::Device, self.as_raw().addr())
    }

    fn keep(&self) -> Result<Kept> {
        Ok(Box::new(self.clone()))
    }
}

impl<M: MemoryObject + 'static> sealed::Object for M {
    fn identity(&self) -> Identity {
        (Kind::Memory, self.as_raw().addr())
    }

    fn keep(&self) -> Result<Kept> {
        Ok(Box::new(self.clone()))
    }
}

impl sealed::Object for CommandQueue {
    fn identity(&self) -> Identity {
        (Kind::Queue, self.as_raw().addr())
    }

    fn keep(&self) -> Result<Kept> {
        Ok(Box::new(self.clone()))
    }
}

impl sealed::Object for Sampler {
    fn identity(&self) -> Identity {
        (Kind::Sampler, self.as_raw().addr())
    }

    fn keep(&self) -> Result<Kept> {
        Ok(Box::new(self.clone()))
    }
}
