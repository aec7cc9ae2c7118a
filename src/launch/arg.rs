//! Arguments of kernels, and how they reach the driver.

use std::ptr;

use bytemuck::Pod;

use super::builder::Launch;
use super::value::{Kinds, Value};
use crate::memory::track::Access;
use crate::memory::{
    Buffer, HostMemory, Image, IntoMemory, MemFlags, Pipe, Sampler, SvmAllocation, SvmFlags,
    SvmPointer, SystemSvm,
};
use crate::pool::{PooledBuffer, PooledSvm};

/// An argument of a kernel, for [`Launch::arg`]:
///
/// - numbers, arrays of 2, 4, 8 or 16 of them for vectors (a vector of 3 takes the place of one of
///   4), and structures: all types that are [`Pod`]. They are laid out as in C, which is right for
///   `#[repr(C)]` alone;
/// - `&buffer`, `&svm` of any shared virtual memory, both also of a pool, or [`NullBuffer`];
/// - `&image`, `&pipe`, `&sampler`;
/// - [`LocalMemory`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    note = "memory objects are passed by reference, numbers and `bytemuck::Pod` structures by value"
)]
pub trait KernelArg<'a>: sealed::Pass<'a> {}

/// Memory that is an argument of a kernel, for [`Launch::arg`] and [`Launch::arg_read`]: `&buffer`, `&svm`
/// of any shared virtual memory, both also of a pool, `&image`, `&pipe`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that can be passed to a kernel",
    note = "memory is passed by reference: `&buffer`, `&image`, `&svm`"
)]
pub trait MemoryArg<'a>: IntoMemory<Kind: sealed::PassMemory<'a>> {}

/// Local memory, of which each work group has its own, for an argument that points to `local` memory
/// (PyOpenCL's `LocalMemory`).
///
/// ```
/// # use clmatrix::memory::{Buffer, MemFlags};
/// # use clmatrix::{CommandQueue, Program};
/// use clmatrix::LocalMemory;
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = CommandQueue::new(&context)?;
/// let source = "kernel void reverse(global int *x, local int *group) {
///     size_t i = get_local_id(0), last = get_local_size(0) - 1;
///     group[i] = x[get_global_id(0)];
///     barrier(CLK_LOCAL_MEM_FENCE);
///     x[get_global_id(0)] = group[last - i];
/// }";
/// # let program = Program::build(&context, source)?;
/// let mut reverse = program.kernel("reverse")?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1, 2, 3, 4])?;
/// let group = LocalMemory::of::<i32>(2);
/// // SAFETY: the arguments are those that the kernel declares, and big enough.
/// unsafe { reverse.launch().arg(&buffer).arg(group).global(4).local(2).enqueue(&queue)? };
/// # let mut data = [0; 4];
/// # buffer.read(&queue, &mut data)?;
/// # assert_eq!(data, [2, 1, 4, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalMemory {
    size: usize,
}

impl LocalMemory {
    /// Returns local memory of a size in bytes.
    pub const fn bytes(size: usize) -> Self {
        Self { size }
    }

    /// Returns local memory for a number of elements `T`.
    pub const fn of<T>(count: usize) -> Self {
        // No device has `usize::MAX` bytes, so a launch with them is refused.
        Self { size: count.saturating_mul(size_of::<T>()) }
    }
}

/// A null pointer as the argument in place of a buffer (PyOpenCL's `None`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NullBuffer;

pub(crate) mod sealed {
    use super::{Access, Launch};

    /// An argument.
    pub trait Pass<'a> {
        /// Makes it the next argument.
        fn pass(self, launch: &mut Launch<'_, 'a>);
    }

    /// A kind of memory that is an argument.
    pub trait PassMemory<'a>: Copy {
        /// Returns the access of a kernel that the memory's flags allow.
        fn default_access(self) -> Access;

        /// Makes it the next argument, to which the kernel has this access.
        fn pass_for(self, launch: &mut Launch<'_, 'a>, access: Access);
    }
}

use sealed::{Pass, PassMemory};

#[diagnostic::do_not_recommend]
impl<'a, P: Pass<'a>> KernelArg<'a> for P {}

#[diagnostic::do_not_recommend]
impl<'a, T: Pod> Pass<'a> for T {
    #[inline]
    fn pass(self, launch: &mut Launch<'_, 'a>) {
        launch.push_value(bytemuck::bytes_of(&self), Kinds::of_numbers::<T>());
    }
}

impl<'a> Pass<'a> for LocalMemory {
    #[inline]
    fn pass(self, launch: &mut Launch<'_, 'a>) {
        launch.push_local(self.size);
    }
}

impl<'a> Pass<'a> for NullBuffer {
    #[inline]
    fn pass(self, launch: &mut Launch<'_, 'a>) {
        launch.push(Value::handle(ptr::null_mut(), Kinds::NULL, false));
    }
}

impl<'a> Pass<'a> for &'a Sampler {
    #[inline]
    fn pass(self, launch: &mut Launch<'_, 'a>) {
        launch.push_sampler(self);
    }
}

#[diagnostic::do_not_recommend]
impl<'a, M: IntoMemory<Kind: PassMemory<'a>>> MemoryArg<'a> for M {}

/// Passes references to memory as memory of its kind. One implementation for all would overlap with the
/// one for plain values.
macro_rules! memory {
    ($([$($generics:tt)*] $memory:ty;)*) => {$(
        impl<'a, $($generics)*> Pass<'a> for &'a $memory {
            #[inline]
            fn pass(self, launch: &mut Launch<'_, 'a>) {
                let memory = self.into_memory();
                memory.pass_for(launch, memory.default_access());
            }
        }
    )*};
}

memory! {
    [] Buffer;
    [] PooledBuffer;
    [] Image;
    [] Pipe;
    [] SvmAllocation;
    [] PooledSvm;
    [H: HostMemory] SystemSvm<H>;
}

#[cfg(feature = "ndarray")]
memory! {
    [T: Pod, D: ndarray::Dimension] crate::memory::SvmArray<T, D>;
}

macro_rules! memory_objects {
    ($($object:ty: $kind:ident;)*) => {$(
        impl<'a> PassMemory<'a> for &'a $object {
            #[inline]
            fn default_access(self) -> Access {
                let is_read_only = self.flags().contains(MemFlags::READ_ONLY);
                if is_read_only { Access::Read } else { Access::Write }
            }

            #[inline]
            fn pass_for(self, launch: &mut Launch<'_, 'a>, access: Access) {
                launch.push_memory(self, Kinds::$kind, access);
            }
        }
    )*};
}

memory_objects! {
    Buffer: BUFFER;
    Image: IMAGE;
    Pipe: PIPE;
}

impl<'a> PassMemory<'a> for &'a dyn SvmPointer {
    #[inline]
    fn default_access(self) -> Access {
        let is_read_only = self.svm_flags().contains(SvmFlags::READ_ONLY);
        if is_read_only { Access::Read } else { Access::Write }
    }

    #[inline]
    fn pass_for(self, launch: &mut Launch<'_, 'a>, access: Access) {
        launch.push_svm(self, access);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_memory_does_not_wrap() {
        assert_eq!(LocalMemory::of::<u64>(8), LocalMemory::bytes(64));
        assert_eq!(LocalMemory::of::<u64>(usize::MAX / 4).size, usize::MAX);
    }
}
