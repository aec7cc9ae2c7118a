//! Memory as copies, fills and launches take it.

use bytemuck::Pod;
use ndarray::Dimension;

use super::buffer::Buffer;
use super::image::Image;
use super::pipe::Pipe;
use super::svm::allocation::SvmAllocation;
use super::svm::array::SvmArray;
use super::svm::pointer::SvmPointer;
use super::svm::system::SystemSvm;
use super::transfer::host::{Host, HostSource};
use super::transfer::host_memory::HostMemory;

/// Memory as [`enqueue_copy`](super::enqueue_copy), [`enqueue_fill`](super::enqueue_fill) and
/// [`Launch::arg_read`](crate::Launch::arg_read) take it: the kind of memory decides what they do.
///
/// | memory | kind |
/// |---|---|
/// | `&`[`Buffer`], `&`[`PooledBuffer`](crate::pool::PooledBuffer) | `&`[`Buffer`] |
/// | `&`[`Image`] | `&`[`Image`] |
/// | `&`[`Pipe`] | `&`[`Pipe`] |
/// | `&`[`SvmAllocation`], `&`[`SvmArray`], `&`[`SystemSvm`], `&`[`PooledSvm`](crate::pool::PooledSvm) | `&dyn `[`SvmPointer`] |
/// | a [`HostSource`], such as `&[T]`, `&mut [T]` and `Vec<T>` | [`Host`] of it |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that can be copied, filled or passed to a kernel",
    note = "device memory is passed by reference: `&buffer`, `&image`, `&svm`",
    note = "host memory is lent (`&[T]`, `&mut [T]`, arrays) or given (`Vec<T>`, `Box<[T]>`, `Array`)"
)]
pub trait IntoMemory {
    /// The kind of memory.
    type Kind;

    /// Returns this memory as memory of its kind.
    fn into_memory(self) -> Self::Kind;
}

#[diagnostic::do_not_recommend]
impl<H: HostSource> IntoMemory for H {
    type Kind = Host<H>;

    #[inline]
    fn into_memory(self) -> Host<H> {
        Host(self)
    }
}

macro_rules! device_memory {
    ($([$($generics:tt)*] $memory:ty: $kind:ty;)*) => {$(
        impl<'a, $($generics)*> IntoMemory for &'a $memory {
            type Kind = &'a $kind;

            #[inline]
            fn into_memory(self) -> &'a $kind {
                self
            }
        }
    )*};
}

device_memory! {
    [] Buffer: Buffer;
    [] Image: Image;
    [] Pipe: Pipe;
    [] SvmAllocation: dyn SvmPointer;
    [T: Pod, D: Dimension] SvmArray<T, D>: dyn SvmPointer;
    [H: HostMemory] SystemSvm<H>: dyn SvmPointer;
}
