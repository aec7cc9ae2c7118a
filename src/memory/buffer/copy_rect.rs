//! Rectangles of bytes: between host memory and buffers, and between buffers (OpenCL 3.0, 5.2.2 and
//! 5.2.3).

use crate::event::Event;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP};

use super::Buffer;
use super::copy_host::{BufferCommand, Part, rect_call};
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::object::sealed::Handle;
use crate::memory::track::Access;
use crate::memory::transfer::rows::overlap;
use crate::memory::transfer::{HostPtr, Rows};
use crate::memory::{ByteOrigin, ByteRegion, Order, Pitches};

/// Defines a pair of rectangles of the same size, one on either side.
macro_rules! rectangles {
    ($($(#[$doc:meta])* $name:ident:
       $first:literal $first_origin:ident $first_pitches:ident,
       $second:literal $second_origin:ident $second_pitches:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[must_use]
        pub struct $name {
            region: ByteRegion,
            $first_origin: ByteOrigin,
            $second_origin: ByteOrigin,
            $first_pitches: Pitches,
            $second_pitches: Pitches,
        }

        impl $name {
            /// Returns a rectangle of `region` bytes, rows and slices, at the start of either side, without
            /// gaps.
            pub fn new(region: impl Into<ByteRegion>) -> Self {
                Self {
                    region: region.into(),
                    $first_origin: ByteOrigin::default(),
                    $second_origin: ByteOrigin::default(),
                    $first_pitches: Pitches::default(),
                    $second_pitches: Pitches::default(),
                }
            }

            setters! {
                #[doc = concat!("Sets its origin in the ", $first, ".")]
                $first_origin |origin: impl Into<ByteOrigin>| origin.into();

                #[doc = concat!("Sets its origin in the ", $second, ".")]
                $second_origin |origin: impl Into<ByteOrigin>| origin.into();

                #[doc = concat!("Sets the distances of the ", $first, "'s rows and slices, in bytes.")]
                $first_pitches |pitches: impl Into<Pitches>| pitches.into();

                #[doc = concat!("Sets the distances of the ", $second, "'s rows and slices, in bytes.")]
                $second_pitches |pitches: impl Into<Pitches>| pitches.into();
            }
        }
    )*};
}

rectangles! {
    /// A rectangle of bytes of a buffer and one of host memory, of the same size
    /// (`clEnqueueReadBufferRect`, `clEnqueueWriteBufferRect`).
    ///
    /// The host memory has to be without gaps.
    ///
    /// ```
    /// use clmatrix::memory::{Buffer, HostRect, MemFlags, enqueue_copy};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// // Three rows of four bytes.
    /// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, b"abcdefghijkl")?;
    /// let mut corner = [0; 4];
    /// let rect = HostRect::new([2, 2]).buffer_origin([2, 1]).buffer_pitches([4]);
    /// enqueue_copy(&queue, &mut corner, &buffer, rect)?;
    /// assert_eq!(&corner, b"ghkl");
    /// # Ok(())
    /// # }
    /// ```
    HostRect: "buffer" buffer_origin buffer_pitches, "host memory" host_origin host_pitches;

    /// A rectangle of bytes in each of two buffers, or two in one (`clEnqueueCopyBufferRect`).
    ///
    /// Within one buffer, and between regions of it or parts of a slab, both sides need the same pitches.
    ///
    /// ```
    /// use clmatrix::memory::{Buffer, MemFlags, Rect, enqueue_copy};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// // Three rows of four bytes.
    /// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, b"abcdefghijkl")?;
    /// let column = Rect::new([1, 3]).dst_origin([3]).src_pitches([4]).dst_pitches([4]);
    /// enqueue_copy(&queue, &buffer, &buffer, column)?;
    /// let mut rows = [0; 12];
    /// enqueue_copy(&queue, &mut rows, &buffer, ..)?;
    /// assert_eq!(&rows, b"abcaefgeijki");
    /// # Ok(())
    /// # }
    /// ```
    Rect: "source" src_origin src_pitches, "destination" dst_origin dst_pitches;
}

impl HostRect {
    /// Returns the command that performs `access` on `buffer`; the other side is at `host_ptr`.
    pub(super) fn plan(
        self,
        buffer: &Buffer,
        access: Access,
        host_ptr: HostPtr,
    ) -> Result<BufferCommand<'_>> {
        let call = rect_call(access);
        let rows = |side, origin, pitches| Rows::checked(call, side, origin, self.region, pitches);
        let device = rows(("buffer", buffer.size()), self.buffer_origin, self.buffer_pitches)?;
        let host =
            rows(("host memory", host_ptr.size(call)?), self.host_origin, self.host_pitches)?;
        BufferCommand::new(buffer, access, Part::Rect { buffer: device, host }, host_ptr.pointer)
    }
}

impl Rect {
    /// Copies between two buffers.
    pub(super) fn copy(self, order: &Order<'_>, dst: &Buffer, src: &Buffer) -> Result<Event> {
        const CALL: &str = "clEnqueueCopyBufferRect";
        let rows = |side, origin, pitches| Rows::checked(CALL, side, origin, self.region, pitches);
        let from = rows(("source", src.size()), self.src_origin, self.src_pitches)?;
        let to = rows(("destination", dst.size()), self.dst_origin, self.dst_pitches)?;
        check_apart(CALL, (src, &from), (dst, &to))?;
        let accesses =
            [src.accessed(&from.hull(), Access::Read), dst.accessed(&to.hull(), Access::Write)];
        // Sub-buffers are replaced by their whole buffers: PoCL 3.1 crashes on sub-buffers here.
        // quirk: POCL-5
        let (from, to) = (from.moved_by(src.offset()), to.moved_by(dst.offset()));
        enqueue(CALL, order, &accesses, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the rectangles are within the
            // buffers and apart, and the driver keeps the buffers until the command has ended.
            unsafe {
                cl::enqueue_copy_buffer_rect(
                    queue,
                    src.whole_raw(),
                    dst.whole_raw(),
                    from.origin.as_ptr(),
                    to.origin.as_ptr(),
                    from.region.as_ptr(),
                    from.row_pitch,
                    from.slice_pitch,
                    to.row_pitch,
                    to.slice_pitch,
                    count,
                    events,
                )
            }
        })
    }
}

/// Refuses rectangles of one memory that overlap or have different pitches.
fn check_apart(
    call: &'static str,
    (src, from): (&Buffer, &Rows),
    (dst, to): (&Buffer, &Rows),
) -> Result<()> {
    if !src.object().may_share_bytes(dst.object()) {
        return Ok(());
    }
    let pitches = |rows: &Rows| [rows.row_pitch, rows.slice_pitch];
    Error::refuse_if(pitches(from) != pitches(to), call, CL_INVALID_VALUE, || {
        format!(
            "within one buffer, source and destination need the same pitches, not {:?} and {:?}",
            pitches(from),
            pitches(to)
        )
    })?;
    let start = |buffer: &Buffer| buffer.in_tracker(&(0..0)).start;
    let overlaps = overlap(&from.moved_by(start(src)), &to.moved_by(start(dst)));
    let reason = "the rectangles overlap: bytes would be copied onto themselves";
    Error::refuse_if(overlaps, call, CL_MEM_COPY_OVERLAP, || reason)
}
