//! `enqueue_copy`: bytes and pixels from one place to another (`pyopencl.enqueue_copy`).
//!
//! [`CopyTo`] is implemented for each pair of kinds of memory between which OpenCL copies: in
//! `buffer/copy.rs`, `image/copy_host.rs`, `image/copy_device.rs` and `svm/copy.rs`. The files here
//! have their common parts: host memory, ranges and rectangles, and transfers that do not block.

#[cfg(feature = "ndarray")]
mod arrays;
pub(crate) mod error;
pub(crate) mod host;
pub(crate) mod host_memory;
pub(crate) mod host_ptr;
pub(crate) mod linear;
pub(crate) mod methods;
pub(crate) mod pending;
pub(crate) mod rows;

pub(crate) use host::{HostCommand, HostCopy};
pub(crate) use host_memory::DriverOwned;
pub(crate) use host_ptr::{HostPtr, Layout};
pub(crate) use linear::{AllOf, all_by_default};
pub(crate) use methods::{device_copy, host_transfers};
pub(crate) use rows::Rows;

use crate::order::Order;

use super::into_memory::IntoMemory;

/// A pair of kinds of memory between which [`enqueue_copy`] copies, from `Self` to `Dst`.
#[diagnostic::on_unimplemented(
    message = "nothing can be copied from `{Self}` to `{Dst}`",
    note = "the documentation of `enqueue_copy` has a table of the pairs of memory"
)]
pub trait CopyTo<Dst>: Sized {
    /// The bytes, rows or pixels that a copy moves.
    type Part;

    /// The result of the call: an event, or a transfer that owns the host memory.
    type Output;

    /// Enqueues the copy.
    #[doc(hidden)]
    fn copy(order: &Order<'_>, dst: Dst, src: Self, part: Self::Part) -> Self::Output;
}

/// Copies from `src` to `dst` (`pyopencl.enqueue_copy`). `..` is all of the host memory, which must have
/// room on the device; between two on the device, as much as both have. Elements of arrays are copied in
/// the order in which they lie in memory.
///
/// | from | to | `part` | result |
/// |---|---|---|---|
/// | [`HostSource`](super::HostSource) | `&`[`Buffer`](super::Buffer) | `..`, [`Linear`](super::Linear), [`HostRect`](super::HostRect) | of the host memory |
/// | `&`[`Buffer`](super::Buffer) | [`HostTarget`](super::HostTarget) | `..`, [`Linear`](super::Linear), [`HostRect`](super::HostRect) | of the host memory |
/// | `&`[`Buffer`](super::Buffer) | `&`[`Buffer`](super::Buffer) | `..`, [`Linear`](super::Linear), [`Rect`](super::Rect) | an event; does not block |
/// | [`HostSource`](super::HostSource) | `&`[`SvmPointer`](super::SvmPointer) | `..`, [`Linear`](super::Linear) | of the host memory |
/// | `&`[`SvmPointer`](super::SvmPointer) | [`HostTarget`](super::HostTarget) | `..`, [`Linear`](super::Linear) | of the host memory |
/// | `&`[`SvmPointer`](super::SvmPointer) | `&`[`SvmPointer`](super::SvmPointer) | `..`, [`Linear`](super::Linear) | an event; does not block |
/// | [`HostSource`](super::HostSource) | `&`[`Image`](super::Image) | `..`, [`ImageRegion`](super::ImageRegion) | of the host memory |
/// | `&`[`Image`](super::Image) | [`HostTarget`](super::HostTarget) | `..`, [`ImageRegion`](super::ImageRegion) | of the host memory |
/// | `&`[`Image`](super::Image) | `&`[`Buffer`](super::Buffer) | `..`, [`ImageBufferRegion`](super::ImageBufferRegion) | an event; does not block |
/// | `&`[`Buffer`](super::Buffer) | `&`[`Image`](super::Image) | `..`, [`ImageBufferRegion`](super::ImageBufferRegion) | an event; does not block |
/// | `&`[`Image`](super::Image) | `&`[`Image`](super::Image) | `..`, [`ImageCopy`](super::ImageCopy) | an event; does not block |
///
/// A [`PooledBuffer`](crate::pool::PooledBuffer) is copied as a [`Buffer`](super::Buffer), and any shared
/// virtual memory, pooled or not, as an [`SvmPointer`](super::SvmPointer): [`IntoMemory`] lists the kinds. Of
/// images, `..` is all of the source, or of the only one.
///
/// With host memory that is lent, the copy blocks and returns its event. With host memory that is given,
/// it does not block, and the [`PendingTransfer`](super::PendingTransfer) or the error returns the memory.
///
/// # What does not compile
/// A copy from host to host:
///
/// ```compile_fail,E0277
/// # fn f(queue: &clmatrix::CommandQueue) {
/// clmatrix::memory::enqueue_copy(queue, &mut [0_u8; 4], &[1_u8; 4], ..);
/// # }
/// ```
///
/// A copy to host memory that cannot be written:
///
/// ```compile_fail,E0277
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &clmatrix::memory::Buffer) {
/// clmatrix::memory::enqueue_copy(queue, &[1_u8; 4], buffer, ..);
/// # }
/// ```
///
/// A pair that OpenCL does not copy:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{Buffer, SvmAllocation, enqueue_copy};
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer, svm: &SvmAllocation) {
/// enqueue_copy(queue, buffer, svm, ..);
/// # }
/// ```
///
/// A `part` of another pair:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{Buffer, Rect, enqueue_copy};
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) {
/// enqueue_copy(queue, &mut [0_u8; 4], buffer, Rect::new([4]));
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{Buffer, HostRect, enqueue_copy};
/// # fn f(queue: &clmatrix::CommandQueue, src: &Buffer, dst: &Buffer) {
/// enqueue_copy(queue, dst, src, HostRect::new([4]));
/// # }
/// ```
///
/// Device memory by value:
///
/// ```compile_fail,E0277
/// # fn f(queue: &clmatrix::CommandQueue, buffer: clmatrix::memory::Buffer) {
/// clmatrix::memory::enqueue_copy(queue, &mut [0_u8; 4], buffer, ..);
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT where queue, memory and events are not of one context; CL_INVALID_VALUE for 0
/// bytes and for bytes outside of the memory; CL_MEM_COPY_OVERLAP where bytes of one buffer would be
/// copied onto themselves; CL_IMAGE_FORMAT_MISMATCH for images of different formats;
/// CL_INVALID_OPERATION where flags or a map forbid it;
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where an event of the wait list has failed; and the
/// driver's errors.
pub fn enqueue_copy<'q, Dst, Src>(
    order: impl Into<Order<'q>>,
    dst: Dst,
    src: Src,
    part: impl Into<<Src::Kind as CopyTo<Dst::Kind>>::Part>,
) -> <Src::Kind as CopyTo<Dst::Kind>>::Output
where
    Dst: IntoMemory,
    Src: IntoMemory<Kind: CopyTo<Dst::Kind>>,
{
    CopyTo::copy(&order.into(), dst.into_memory(), src.into_memory(), part.into())
}
