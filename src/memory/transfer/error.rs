//! Errors that return the memory that was passed to a call.

use std::fmt;

use crate::error::Error;

/// The error of a transfer, or of another call that takes memory, and that memory. `?` converts it to an
/// [`struct@Error`] and drops the memory.
///
/// `M` is an `Option` where a call may fail without the memory: the driver may use it, and it may never be freed.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, TransferError, enqueue_copy};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4)?;
/// let refused = enqueue_copy(&queue, &buffer, vec![1_u32, 2], ..);
/// let TransferError { error, memory } = refused.expect_err("the buffer has 4 bytes, not 8");
/// assert_eq!(error.code_name(), "CL_INVALID_VALUE");
/// assert_eq!(memory, Some(vec![1, 2]));
/// # Ok(())
/// # }
/// ```
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct TransferError<M> {
    /// The reason.
    pub error: Error,
    /// The memory that was passed to the call.
    pub memory: M,
}

impl<M> TransferError<M> {
    pub(crate) fn new(error: Error, memory: M) -> Self {
        Self { error, memory }
    }
}

impl<M> From<TransferError<M>> for Error {
    fn from(transfer: TransferError<M>) -> Self {
        transfer.error
    }
}

impl<M> fmt::Debug for TransferError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}
