//! Device memory that is filled with a pattern (OpenCL 3.0, 5.2.2; `pyopencl.enqueue_fill`).
//!
//! [`FillTarget`] is implemented for every supported combination of pattern and destination.

use std::ops::Range;

use crate::event::Event;
use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_VALUE;

use super::into_memory::IntoMemory;
use crate::error::{Error, Result};
use crate::order::Order;

/// The longest pattern of `clEnqueueFillBuffer`, in bytes.
const LONGEST_PATTERN: usize = 128;

/// A kind of memory that can be filled with a `P`, over all of it or over a `Part`.
///
/// | memory | with | part |
/// |---|---|---|
/// | `&`[`Buffer`](super::Buffer) | a `&`[`Pattern`] | a range of bytes, such as `..` and `16..32` |
/// | `&dyn `[`SvmPointer`](super::SvmPointer) | a `&`[`Pattern`] | a range of bytes |
/// | `&`[`Image`](super::Image) | a [`FillColor`](super::FillColor) | `..`, [`ImageRegion`](super::ImageRegion) |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled with `{P}` over `{Part}`",
    note = "the documentation of `FillTarget` has a table of the supported combinations"
)]
pub trait FillTarget<P, Part> {
    /// Enqueues the fill.
    #[doc(hidden)]
    fn enqueue_fill(self, order: &Order<'_>, pattern: P, part: Part) -> Result<Event>;
}

/// The bytes that fill a buffer: one plain value, or a slice of bytes; 1, 2, 4, 8, ... or 128 of them.
pub trait Pattern: sealed::Bytes {}

pub(crate) mod sealed {
    /// Plain bytes.
    pub trait Bytes {
        /// These bytes.
        fn bytes(&self) -> &[u8];
    }
}

impl<T: Pod> Pattern for T {}

impl<T: Pod> sealed::Bytes for T {
    fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

impl Pattern for [u8] {}

impl sealed::Bytes for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Fills `dst`, or a part of it, with a pattern (`pyopencl.enqueue_fill`; for buffers
/// `clEnqueueFillBuffer`). Does not block.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
/// enqueue_fill(&queue, &buffer, &1.5_f32, ..)?;
/// enqueue_fill(&queue, &buffer, &b"ab"[..], 12..)?;
/// let found = buffer.to_vec::<u8>(&queue)?;
/// assert_eq!(found[..4], 1.5_f32.to_ne_bytes());
/// assert_eq!(&found[12..], b"abab");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT; CL_INVALID_VALUE for bytes or pixels outside of the memory and for none, for a pattern whose
/// size is not a power of two up to 128 bytes, for bytes that do not begin and end at multiples of that, of
/// shared virtual memory also in the address space, and for a colour of another kind than the image's
/// format; CL_INVALID_OPERATION where they are mapped,
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed, and the driver's errors.
#[doc(alias = "enqueue_svm_memfill")]
pub fn enqueue_fill<'q, P, Part>(
    order: impl Into<Order<'q>>,
    dst: impl IntoMemory<Kind: FillTarget<P, Part>>,
    pattern: P,
    part: Part,
) -> Result<Event> {
    dst.into_memory().enqueue_fill(&order.into(), pattern, part)
}

#[inline]
pub(crate) fn check_pattern(call: &'static str, size: usize, range: &Range<usize>) -> Result<()> {
    let is_legal = size.is_power_of_two() && size <= LONGEST_PATTERN;
    // A multiple of a power of two has none of the bits below it.
    if is_legal && (range.start | range.len()) & (size - 1) == 0 {
        return Ok(());
    }
    Err(bad_pattern(call, size, range, is_legal))
}

#[cold]
fn bad_pattern(call: &'static str, size: usize, range: &Range<usize>, is_legal: bool) -> Error {
    let reason = if is_legal {
        format!(
            "{} bytes from byte {} on are not multiples of the pattern's {size} bytes",
            range.len(),
            range.start
        )
    } else {
        format!("the pattern has {size} bytes; it must have 1, 2, 4, ... or {LONGEST_PATTERN}")
    };
    Error::refused(call, CL_INVALID_VALUE, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_checked() {
        for (size, range, allowed) in [
            (1, 3..4, true),
            (4, 4..12, true),
            (128, 0..256, true),
            (4, 2..6, false),
            (4, 4..10, false),
            (3, 0..3, false),
            (0, 0..4, false),
            (256, 0..256, false),
        ] {
            let result = check_pattern("clEnqueueFillBuffer", size, &range);
            assert_eq!(result.is_ok(), allowed, "{size} bytes over {range:?}");
        }
    }
}
