//! The OpenCL objects that caches know, and how an entry keeps one alive.

use crate::context::Context;
use crate::device::Device;
use crate::program::Program;
use crate::queue::CommandQueue;

use crate::error::Result;
use crate::handle::ProgramRef;
use crate::memory::{MemoryObject, Sampler};

/// An OpenCL object that a [`FirstArgCache`](super::FirstArgCache) keeps values for: a context, a
/// queue, a device, a program, a sampler or a memory object. All values of Rust with the same driver's
/// handle are one object.
///
/// ```
/// use clmatrix::cache::FirstArgCache;
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

macro_rules! objects {
    ($([$($generics:tt)*] $object:ty: $kind:ident, |$this:ident| $kept:expr;)*) => {$(
        impl<$($generics)*> sealed::Object for $object {
            fn identity(&self) -> Identity {
                (Kind::$kind, self.as_raw().addr())
            }

            fn keep(&self) -> Result<Kept> {
                let $this = self;
                Ok(Box::new($kept))
            }
        }
    )*};
}

objects! {
    [] Context: Context, |context| context.retained()?;
    [] Program: Program, |program| {
        // SAFETY: the program is alive.
        let reference = unsafe { ProgramRef::retain(program.as_raw()) }?;
        (reference, program.context().clone())
    };
    [] Device: Device, |device| device.clone();
    [M: MemoryObject + 'static] M: Memory, |memory| memory.clone();
    [] CommandQueue: Queue, |queue| queue.clone();
    [] Sampler: Sampler, |sampler| sampler.clone();
}
