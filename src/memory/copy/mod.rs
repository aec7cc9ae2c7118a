//! `enqueue_copy`: bytes and pixels from one place to another (`pyopencl.enqueue_copy`).
//!
//! [`CopyFrom`] is implemented for each pair of kinds of memory between which OpenCL copies.

mod buffer;
mod command;
mod image;
mod linear;
mod p2p;
mod pending;
mod rect;
mod rows;
mod svm;

use crate::memory::as_memory::AsMemory;
use crate::queue::CommandQueue;
use crate::wait_list::WaitList;

pub use buffer::BufferPart;
pub use image::{ImageBufferRegion, ImageCopy, ImageRegion};
pub use linear::{Linear, enqueue_copy_buffer, enqueue_read_buffer, enqueue_write_buffer};
pub use p2p::enqueue_copy_buffer_p2p_amd;
pub use pending::PendingTransfer;
pub use rect::{HostRect, Rect};
pub(crate) use rows::Rows;
pub use rows::{Origin, Pitches, Region};

/// A pair of kinds of memory between which [`enqueue_copy`] copies, from `Src` to `Self`.
#[diagnostic::on_unimplemented(
    message = "nothing can be copied from `{Src}` to `{Self}`",
    note = "the documentation of `enqueue_copy` has a table of the pairs of memory"
)]
pub trait CopyFrom<Src>: Sized {
    /// The bytes, rows or pixels that a copy moves.
    type Part;

    /// The result of the call: an event, or a transfer that owns the host memory.
    type Output;

    /// Enqueues the copy.
    #[doc(hidden)]
    fn copy(
        queue: &CommandQueue,
        dst: Self,
        src: Src,
        part: Self::Part,
        wait_for: &WaitList<'_>,
    ) -> Self::Output;
}

/// Copies from `src` to `dst`. `..` stands for all of the host memory, which must have room on the
/// device; between two on the device, for as much as both have. Elements of arrays go in the order in
/// which they lie in memory.
///
/// | from, to | arguments | gives |
/// |---|---|---|
/// | [`HostSource`](super::HostSource), `&`[`Buffer`](super::Buffer) | `..`, [`Linear`], [`HostRect`] | see below |
/// | `&`[`Buffer`](super::Buffer), [`HostTarget`](super::HostTarget) | `..`, [`Linear`], [`HostRect`] | see below |
/// | `&`[`Buffer`](super::Buffer), `&`[`Buffer`](super::Buffer) | `..`, [`Linear`], [`Rect`] | an event; does not block |
/// | `&`[`SvmPointer`](super::SvmPointer), [`HostTarget`](super::HostTarget) | `..`, [`Linear`] | see below |
/// | [`HostSource`](super::HostSource), `&`[`SvmPointer`](super::SvmPointer) | `..`, [`Linear`] | see below |
/// | `&`[`SvmPointer`](super::SvmPointer), `&`[`SvmPointer`](super::SvmPointer) | `..`, [`Linear`] | an event; does not block |
/// | [`HostSource`](super::HostSource), `&`[`Image`](super::Image) | `..`, [`ImageRegion`] | see below |
/// | `&`[`Image`](super::Image), [`HostTarget`](super::HostTarget) | `..`, [`ImageRegion`] | see below |
/// | `&`[`Image`](super::Image), `&`[`Buffer`](super::Buffer) | `..`, [`ImageBufferRegion`] | an event; does not block |
/// | `&`[`Buffer`](super::Buffer), `&`[`Image`](super::Image) | `..`, [`ImageBufferRegion`] | an event; does not block |
/// | `&`[`Image`](super::Image), `&`[`Image`](super::Image) | `..`, [`ImageCopy`] | an event; does not block |
///
/// Of images, `..` is all of the source, or of the only one.
///
/// With host memory that is lent, the copy blocks and gives its event. Host memory that is given
/// away comes back from the [`PendingTransfer`], or in the error.
///
/// Nothing is copied from host to host:
///
/// ```compile_fail,E0277
/// # fn f(queue: &clmatrix::CommandQueue) {
/// clmatrix::memory::enqueue_copy(queue, &mut [0_u8; 4], &[1_u8; 4], .., []);
/// # }
/// ```
///
/// to host memory that cannot be written:
///
/// ```compile_fail,E0277
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &clmatrix::memory::Buffer) {
/// clmatrix::memory::enqueue_copy(queue, &[1_u8; 4], buffer, .., []);
/// # }
/// ```
///
/// or with arguments of another pair:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{Buffer, Rect, enqueue_copy};
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) {
/// enqueue_copy(queue, &mut [0_u8; 4], buffer, Rect::new([4]), []);
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{Buffer, HostRect, enqueue_copy};
/// # fn f(queue: &clmatrix::CommandQueue, src: &Buffer, dst: &Buffer) {
/// enqueue_copy(queue, dst, src, HostRect::new([4]), []);
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT where queue, memory and events are not of one context; CL_INVALID_VALUE for 0
/// bytes and for bytes that are not there; CL_MEM_COPY_OVERLAP where bytes of one buffer would be
/// copied onto themselves; CL_IMAGE_FORMAT_MISMATCH for images of different formats;
/// CL_INVALID_OPERATION where flags or a map forbid it;
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where an event of the wait list has failed; and the
/// driver's errors.
pub fn enqueue_copy<'a, Dst, Src>(
    queue: &CommandQueue,
    dst: Dst,
    src: Src,
    part: impl Into<<Dst::Kind as CopyFrom<Src::Kind>>::Part>,
    wait_for: impl Into<WaitList<'a>>,
) -> <Dst::Kind as CopyFrom<Src::Kind>>::Output
where
    Src: AsMemory,
    Dst: AsMemory<Kind: CopyFrom<Src::Kind>>,
{
    CopyFrom::copy(queue, dst.as_memory(), src.as_memory(), part.into(), &wait_for.into())
}
