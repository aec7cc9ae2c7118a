//! `enqueue_copy`: bytes and pixels from one place to another (`pyopencl.enqueue_copy`).
//!
//! What can be copied where is a matter of types: [`CopyArgs`] is implemented for the arguments of
//! each pair that there is.

use opencl3::command_queue::CommandQueue;

use super::wait_list::WaitList;

/// How a copy from `Src` to `Dst` goes: which bytes, rows or pixels.
#[diagnostic::on_unimplemented(
    message = "nothing can be copied from `{Src}` to `{Dst}` with `{Self}`",
    note = "the documentation of `enqueue_copy` has a table of what can be copied where, and how"
)]
pub trait CopyArgs<Dst, Src> {
    /// What the call gives: an event, or the host memory that the copy owns until it has ended.
    type Output;

    /// Enqueues the copy.
    fn enqueue(
        self,
        queue: &CommandQueue,
        dst: Dst,
        src: Src,
        wait_for: &WaitList<'_>,
    ) -> Self::Output;
}

/// Copies from `src` to `dst`; `..` stands for as much as there is.
pub fn enqueue_copy<'a, Dst, Src, Args: CopyArgs<Dst, Src>>(
    queue: &CommandQueue,
    dst: Dst,
    src: Src,
    args: Args,
    wait_for: impl Into<WaitList<'a>>,
) -> Args::Output {
    args.enqueue(queue, dst, src, &wait_for.into())
}
