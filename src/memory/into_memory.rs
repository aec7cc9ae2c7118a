//! Memory as an argument of copies, fills and launches.

use super::transfer::host::{Host, HostSource};

/// Memory as an argument of [`enqueue_copy`](super::enqueue_copy), [`enqueue_fill`](super::enqueue_fill) and
/// [`Launch::arg_read`](crate::Launch::arg_read): the kind of memory decides what they do.
///
/// | memory | kind |
/// |---|---|
/// | `&`[`Buffer`](super::Buffer), `&`[`PooledBuffer`](crate::pool::PooledBuffer) | `&`[`Buffer`](super::Buffer) |
/// | `&`[`Image`](super::Image) | `&`[`Image`](super::Image) |
/// | `&`[`Pipe`](super::Pipe) | `&`[`Pipe`](super::Pipe) |
#[cfg_attr(
    feature = "ndarray",
    doc = "| `&`[`SvmArray`](super::SvmArray) | `&dyn `[`SvmPointer`](super::SvmPointer) |"
)]
/// | `&`[`SvmAllocation`](super::SvmAllocation), `&`[`SystemSvm`](super::SystemSvm), `&`[`PooledSvm`](crate::pool::PooledSvm) | `&dyn `[`SvmPointer`](super::SvmPointer) |
/// | a [`HostSource`], such as `&[T]`, `&mut [T]` and `Vec<T>` | [`Host`] of it |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory that can be copied, filled or passed to a kernel",
    note = "device memory is passed by reference: `&buffer`, `&image`, `&svm`",
    note = "host memory is lent (`&[T]`, `&mut [T]`, arrays) or given (`Vec<T>`, `Box<[T]>`, `Array`)",
    note = "arrays are those of ndarray 0.17, which is `clmatrix::ndarray`, with the feature `ndarray`"
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

/// Implements [`IntoMemory`] for references to a type, as memory of a kind.
macro_rules! device_memory {
    ([$($generics:tt)*] $memory:ty: $kind:ty) => {
        impl<'a, $($generics)*> $crate::memory::IntoMemory for &'a $memory {
            type Kind = &'a $kind;

            #[inline]
            fn into_memory(self) -> &'a $kind {
                self
            }
        }
    };
}

pub(super) use device_memory;
