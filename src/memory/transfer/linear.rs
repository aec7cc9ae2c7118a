//! Bytes in one piece, of a buffer or of shared virtual memory.

use std::ops::RangeFull;

use cl3::error_codes::CL_INVALID_VALUE;

use crate::error::{Error, Result};
use crate::memory::track::Access;

/// Bytes in one piece: the offset on either side, and the number of bytes.
///
/// Offsets are those of device memory; of host memory, pass the part. A byte count takes the beginning of host
/// memory, which must have no gaps then.
///
/// [`default`](Self::default) is as many bytes as there are, at the start of either side.
///
/// ```
/// use clmatrix::memory::{Buffer, Linear, MemFlags, enqueue_copy};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, b"copy that")?;
/// enqueue_copy(&queue, &buffer, b"this", Linear::default().dst_offset(5))?;
/// let mut text = [0; 9];
/// enqueue_copy(&queue, &mut text, &buffer, ..)?;
/// assert_eq!(&text, b"copy this");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct Linear {
    pub(crate) src_offset: usize,
    pub(crate) dst_offset: usize,
    pub(crate) byte_count: Option<usize>,
}

/// All of a source of this many bytes.
#[derive(Clone, Copy, Debug)]
pub struct AllOf(pub(crate) usize);

/// Converts `..` and similar parts to the default of a part.
macro_rules! all_by_default {
    ($part:ident: $($all:ty)*) => {$(
        /// As many bytes or pixels as there are.
        impl From<$all> for $part {
            fn from(_: $all) -> Self {
                Self::default()
            }
        }
    )*};
}

pub(crate) use all_by_default;

all_by_default!(Linear: RangeFull);

impl From<AllOf> for Linear {
    fn from(source: AllOf) -> Self {
        Self::default().byte_count(source.0)
    }
}

impl Linear {
    setters! {
        /// Sets the first byte of the source.
        src_offset |bytes: usize| bytes;

        /// Sets the first byte of the destination.
        dst_offset |bytes: usize| bytes;

        /// Sets the number of bytes. Without it, as many as the host memory has; between two on the device, as many as
        /// both have from their offsets on.
        byte_count |bytes: usize| Some(bytes);
    }

    /// Returns the offset in device memory of a command that performs `access` on it. The other side is host
    /// memory, for which an offset is refused.
    pub(crate) fn device_offset(self, call: &'static str, access: Access) -> Result<usize> {
        let (device, host) = match access {
            Access::Read => (self.src_offset, self.dst_offset),
            Access::Write => (self.dst_offset, self.src_offset),
        };
        if host == 0 {
            return Ok(device);
        }
        let reason = "an offset is one of device memory; pass the part of the host memory instead";
        Err(Error::refused(call, CL_INVALID_VALUE, reason))
    }

    /// Returns the number of bytes to copy between device memories of these sizes.
    pub(crate) fn size_between(self, src: usize, dst: usize) -> usize {
        let left = |size: usize, offset| size.saturating_sub(offset);
        self.byte_count
            .unwrap_or_else(|| left(src, self.src_offset).min(left(dst, self.dst_offset)))
    }
}
