//! What a pool hands out, wherever its memory is due: it stands for that.

use std::ops::RangeFull;

use crate::event::Event;
use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::types::{cl_context, cl_mem};
use ndarray::Dimension;

use super::allocator::Allocator;
use super::memory::Memory;
use super::memory_pool::Pool;
use super::pooled::{Pooled, PooledBuffer};
use crate::error::Result;
use crate::launch::arg::sealed::{Pass, PassMemory};
use crate::launch::{KernelArg, Launch, MemoryArg};
use crate::memory::copy::{Everything, Part};
use crate::memory::object::sealed::Handle;
use crate::memory::object::{About, MemObject};
use crate::memory::track::Access;
use crate::memory::{
    AnyMemoryObject, Buffer, CopyArgs, FillTarget, HostMemory, HostSource, Image, SvmAllocation,
    SvmArray, SystemSvm, WaitList,
};

/// Copies of this memory, and kernels' arguments. One for all memory would send the compiler in circles
/// where it does not know yet what is copied or passed.
macro_rules! stands_for {
    ($($memory:ty),*) => {$(
        impl<'a, Dst, Args> CopyArgs<Dst, &'a Pooled<$memory>> for Args
        where
            Args: Part + CopyArgs<Dst, &'a $memory>,
        {
            type Output = Args::Output;

            #[inline]
            fn enqueue(
                self,
                queue: &CommandQueue,
                dst: Dst,
                src: &'a Pooled<$memory>,
                wait_for: &WaitList<'_>,
            ) -> Self::Output {
                CopyArgs::<Dst, &'a $memory>::enqueue(self, queue, dst, src, wait_for)
            }
        }

        impl<'a, Src: NotPooled, Args> CopyArgs<&'a Pooled<$memory>, Src> for Args
        where
            Args: Part + CopyArgs<&'a $memory, Src>,
        {
            type Output = Args::Output;

            #[inline]
            fn enqueue(
                self,
                queue: &CommandQueue,
                dst: &'a Pooled<$memory>,
                src: Src,
                wait_for: &WaitList<'_>,
            ) -> Self::Output {
                CopyArgs::<&'a $memory, Src>::enqueue(self, queue, dst, src, wait_for)
            }
        }

        impl<'a, Dst> Everything<Dst, &'a Pooled<$memory>> for RangeFull
        where
            Self: Everything<Dst, &'a $memory>,
        {
            type Args = <Self as Everything<Dst, &'a $memory>>::Args;
        }

        impl<'a, Src: NotPooled> Everything<&'a Pooled<$memory>, Src> for RangeFull
        where
            Self: Everything<&'a $memory, Src>,
        {
            type Args = <Self as Everything<&'a $memory, Src>>::Args;
        }

        impl<'a> KernelArg<'a> for &'a Pooled<$memory> {}

        impl<'a> Pass<'a> for &'a Pooled<$memory> {
            #[inline]
            fn pass(self, launch: &mut Launch<'_, 'a>) {
                (&**self).pass(launch);
            }
        }

        impl<'a> MemoryArg<'a> for &'a Pooled<$memory> {}

        impl<'a> PassMemory<'a> for &'a Pooled<$memory> {
            #[inline]
            fn pass_for(self, launch: &mut Launch<'_, 'a>, access: Access) {
                (&**self).pass_for(launch, access);
            }
        }
    )*};
}

stands_for!(Buffer, SvmAllocation);

/// All that can be copied but what comes from a pool, so that there is one way for that.
pub trait NotPooled {}

impl<H: HostSource> NotPooled for H {}
impl NotPooled for &Buffer {}
impl NotPooled for &Image {}
impl NotPooled for &SvmAllocation {}
impl<T: Pod, D: Dimension> NotPooled for &SvmArray<T, D> {}
impl<H: HostMemory> NotPooled for &SystemSvm<H> {}

/// Of shared virtual memory, every pointer can be filled.
impl<'a, P, Part> FillTarget<P, Part> for &'a PooledBuffer
where
    &'a Buffer: FillTarget<P, Part>,
{
    #[inline]
    fn enqueue_fill(
        self,
        queue: &CommandQueue,
        pattern: P,
        part: Part,
        wait_for: &WaitList<'_>,
    ) -> Result<Event> {
        FillTarget::enqueue_fill(&**self, queue, pattern, part, wait_for)
    }
}

impl AnyMemoryObject for PooledBuffer {}

impl Handle for PooledBuffer {
    fn object(&self) -> &MemObject {
        (**self).object()
    }

    fn handle(&self) -> cl_mem {
        (**self).handle()
    }

    fn about(&self) -> About {
        (**self).about()
    }

    fn first_byte(&self) -> usize {
        (**self).first_byte()
    }
}

/// A pool allocates what goes back to it, and is otherwise as its own allocator.
impl<M: Memory> Allocator for Pool<M> {
    type Memory = Pooled<M>;

    fn allocate(&self, size: usize) -> Result<Option<Pooled<M>>> {
        if size == 0 { Ok(None) } else { Pool::allocate(self, size).map(Some) }
    }

    fn queue(&self) -> Option<&CommandQueue> {
        self.allocator().queue()
    }

    fn is_deferred(&self) -> bool {
        self.allocator().is_deferred()
    }

    fn max_size(&self) -> Option<usize> {
        self.allocator().max_size()
    }

    fn context_raw(&self) -> cl_context {
        self.allocator().context_raw()
    }
}
