//! Host memory as the source or the target of a copy.

use std::ptr;

use crate::event::Event;
use crate::queue::{Arguments, Submitted};
use bytemuck::Pod;

use super::CopyTo;
use super::host_memory::sealed::Stable;
use super::host_memory::{HostMemory, bytes_of};
use super::host_ptr::HostPtr;
use super::pending::{PendingTransfer, Transfer};
use crate::error::Result;
use crate::memory::command::{AccessedRange, enqueue_blocking};
use crate::memory::track::Access;
use crate::order::Order;

/// Host memory of plain elements that a command can read.
///
/// - Lent, for calls that block and return their event: `&[T]`, `&[T; N]`, `&Vec<T>`, a reference to
///   any array of ndarray, its views, and the same with `&mut`.
/// - Given, for calls that do not block and return a [`PendingTransfer`]: `Vec<T>`, `Box<[T]>`,
///   `Arc<[T]>` and ndarray's `Array`.
///
/// Arrays may be in any order; elements are copied in the order of memory. With gaps, they have to be rows of even
/// distance in slices of even distance, with the axes in the order of memory.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
/// use ndarray::{Array2, s};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let plane = Array2::from_shape_fn((3, 4), |(row, column)| (10 * row + column) as u8);
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4)?;
/// enqueue_copy(&queue, &buffer, plane.slice(s![1.., 1..3]), ..)?;
/// let mut corner = [0_u8; 4];
/// enqueue_copy(&queue, &mut corner, &buffer, ..)?;
/// assert_eq!(corner, [11, 12, 21, 22]);
/// # Ok(())
/// # }
/// ```
pub trait HostSource: Sized {
    /// The result of the copy: [`Result`]`<`[`Event`]`>` of borrowed memory, else
    /// a [`Transfer`]`<Self>`.
    type Output;

    /// The type of the elements.
    type Element;

    /// Enqueues the command that `plan` makes for the place of the memory.
    #[doc(hidden)]
    fn transfer<C: HostCommand>(
        self,
        order: &Order<'_>,
        plan: impl FnOnce(HostPtr) -> Result<C>,
    ) -> Self::Output;
}

/// Host memory of plain elements that a command can write.
///
/// - Lent, for calls that block and return their event: `&mut [T]`, `&mut [T; N]`, `&mut Vec<T>`, a
///   `&mut` to any array of ndarray, and its views that can be written.
/// - Given, for calls that do not block and return a [`PendingTransfer`]: `Vec<T>`, `Box<[T]>` and
///   ndarray's `Array`.
///
/// Arrays are as for [`HostSource`]. The bytes between the rows of a view do not change.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
/// use ndarray::{Array2, arr2, s};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u8, 2])?;
/// let mut plane = Array2::<u8>::zeros((2, 3));
/// enqueue_copy(&queue, plane.slice_mut(s![.., 1..2]), &buffer, ..)?;
/// assert_eq!(plane, arr2(&[[0, 1, 0], [0, 2, 0]]));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "nothing can be copied to `{Self}`, which cannot be written",
    note = "host memory is lent as `&mut [T]`, `&mut Vec<T>` or a view that can be written, or given as \
            `Vec<T>`, `Box<[T]>` or `Array`",
    note = "arrays are those of ndarray 0.17, which is `clmatrix::ndarray`, with the feature `ndarray`"
)]
pub trait HostTarget: HostSource {}

/// Host memory, as one side of a copy.
#[derive(Debug)]
pub struct Host<H>(pub(in crate::memory) H);

/// A command that moves bytes between host memory and a device.
pub trait HostCommand {
    /// The driver's function.
    fn call(&self) -> &'static str;

    /// The bytes on the device.
    fn accessed(&self) -> AccessedRange<'_>;

    /// Calls the driver, with CL_FALSE for blocking.
    ///
    /// # Safety
    /// The handles are alive and of the operand's context. The host memory stays in place until the
    /// command has ended; no thread changes it until then, and none reads it if the command writes it.
    unsafe fn submit(&self, arguments: Arguments) -> Submitted;
}

/// Device memory that is copied from and to host memory.
pub trait HostCopy {
    /// The bytes, rows or pixels that a copy moves.
    type Part;

    /// Returns the command that performs `access` on `part` of this memory; the other side is at `host_ptr`.
    fn plan(self, access: Access, part: Self::Part, host_ptr: HostPtr) -> Result<impl HostCommand>;
}

#[diagnostic::do_not_recommend]
impl<M: HostCopy, D: HostTarget> CopyTo<Host<D>> for M {
    type Part = M::Part;
    type Output = D::Output;

    fn copy(order: &Order<'_>, dst: Host<D>, src: Self, part: M::Part) -> D::Output {
        dst.0.transfer(order, |host_ptr| src.plan(Access::Read, part, host_ptr))
    }
}

#[diagnostic::do_not_recommend]
impl<M: HostCopy, S: HostSource> CopyTo<M> for Host<S> {
    type Part = M::Part;
    type Output = S::Output;

    fn copy(order: &Order<'_>, dst: M, src: Self, part: M::Part) -> S::Output {
        src.0.transfer(order, |host_ptr| dst.plan(Access::Write, part, host_ptr))
    }
}

/// A transfer from or to memory at `host_ptr`, which is borrowed until this returns.
pub(super) fn blocking<C: HostCommand>(
    order: &Order<'_>,
    host_ptr: HostPtr,
    plan: impl FnOnce(HostPtr) -> Result<C>,
) -> Result<Event> {
    let command = plan(host_ptr)?;
    enqueue_blocking(command.call(), order, &[command.accessed()], |queue| {
        // SAFETY: the handles are alive and of one context; the memory is borrowed, and
        // `enqueue_blocking` returns when the command has ended.
        unsafe { command.submit((queue, 0, ptr::null())) }
    })
}

/// Memory that is lent to a call that blocks, and the place of its bytes.
macro_rules! borrowed {
    ($([$($generics:tt)*] $memory:ty: |$this:ident| $host_ptr:expr;)*) => {
        $(
            impl<$($generics)*> $crate::memory::HostSource for $memory {
                type Output = $crate::Result<$crate::Event>;
                type Element = T;

                fn transfer<C: $crate::memory::transfer::HostCommand>(
                    self,
                    order: &$crate::memory::Order<'_>,
                    plan: impl FnOnce($crate::memory::transfer::HostPtr) -> $crate::Result<C>,
                ) -> $crate::Result<$crate::Event> {
                    let $this = self;
                    $crate::memory::transfer::host::blocking(order, $host_ptr, plan)
                }
            }
        )*
    };
}

#[cfg(feature = "ndarray")]
pub(super) use borrowed;

borrowed! {
    [T: Pod] &[T]: |elements| slice(elements);
    [T: Pod] &Vec<T>: |elements| slice(elements);
    [T: Pod, const N: usize] &[T; N]: |elements| slice(elements);

    [T: Pod] &mut [T]: |elements| slice_mut(elements);
    [T: Pod] &mut Vec<T>: |elements| slice_mut(elements);
    [T: Pod, const N: usize] &mut [T; N]: |elements| slice_mut(elements);
}

impl<T: Pod> HostTarget for &mut [T] {}
impl<T: Pod> HostTarget for &mut Vec<T> {}
impl<T: Pod, const N: usize> HostTarget for &mut [T; N] {}

fn slice<T: Pod>(elements: &[T]) -> HostPtr {
    HostPtr::packed(elements.as_ptr().cast(), size_of_val(elements))
}

fn slice_mut<T: Pod>(elements: &mut [T]) -> HostPtr {
    let (pointer, size) = bytes_of(elements);
    HostPtr::packed(pointer, size)
}

#[diagnostic::do_not_recommend]
impl<H: Stable> HostSource for H {
    type Output = Transfer<H>;
    type Element = H::Element;

    fn transfer<C: HostCommand>(
        self,
        order: &Order<'_>,
        plan: impl FnOnce(HostPtr) -> Result<C>,
    ) -> Self::Output {
        PendingTransfer::enqueue(order, self, plan)
    }
}

#[diagnostic::do_not_recommend]
impl<H: HostMemory> HostTarget for H {}
