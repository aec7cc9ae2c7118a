use crate::order::Order;

/// A pair of kinds of memory between which [`enqueue_copy`](super::enqueue_copy) copies, from `Self` to `Dst`.
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
