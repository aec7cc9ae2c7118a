//! The methods that move data, for all kinds of device memory.

/// Implements the methods that move data between device memory, which is `$memory`, and host memory: of elements of
/// any type, or of `$element`.
macro_rules! host_transfers {
    ($vis:vis, |$this:ident| $memory:expr $(, $element:ident)?) => {
        /// Writes all of `host` from the beginning on, and returns when `host` has been read. The memory may
        /// be longer. The event has the profiling times.
        ///
        /// # Errors
        /// The errors of [`enqueue_copy`](crate::memory::enqueue_copy#errors).
        #[doc(alias = "enqueue_write_buffer", alias = "enqueue_write_image")]
        $vis fn write<'q>(
            &self,
            order: impl Into<Order<'q>>,
            host: impl HostSource<$(Element = $element,)? Output = Result<Event>>,
        ) -> Result<Event>
        where
            Self: Sized,
        {
            let $this = self;
            CopyTo::copy(&order.into(), $memory, Host(host), (..).into())
        }

        /// Fills all of `host` from the beginning on, and returns when it is filled. The memory may be longer.
        /// The event has the profiling times.
        ///
        /// # Errors
        /// The errors of [`enqueue_copy`](crate::memory::enqueue_copy#errors).
        #[doc(alias = "enqueue_read_buffer", alias = "enqueue_read_image")]
        $vis fn read<'q>(
            &self,
            order: impl Into<Order<'q>>,
            host: impl HostTarget<$(Element = $element,)? Output = Result<Event>>,
        ) -> Result<Event>
        where
            Self: Sized,
        {
            let $this = self;
            CopyTo::copy(&order.into(), Host(host), $memory, (..).into())
        }

        /// Writes all of `host` as [`write`](Self::write) does, without blocking: the transfer owns `host`, which
        /// is a `Vec<T>`, `Box<[T]>`, `Arc<[T]>` or `Array`, until it has ended.
        ///
        /// # Errors
        /// The errors of [`write`](Self::write), with the host memory.
        $vis fn write_async<'q, H: HostSource<$(Element = $element,)? Output = Transfer<H>>>(
            &self,
            order: impl Into<Order<'q>>,
            host: H,
        ) -> Transfer<H>
        where
            Self: Sized,
        {
            let $this = self;
            CopyTo::copy(&order.into(), $memory, Host(host), (..).into())
        }

        /// Fills all of `host` as [`read`](Self::read) does, without blocking: the transfer owns `host` until it
        /// has ended.
        ///
        /// # Errors
        /// The errors of [`read`](Self::read), with the host memory.
        $vis fn read_async<'q, H: HostMemory$(<Element = $element>)?>(
            &self,
            order: impl Into<Order<'q>>,
            host: H,
        ) -> Transfer<H>
        where
            Self: Sized,
        {
            let $this = self;
            CopyTo::copy(&order.into(), Host(host), $memory, (..).into())
        }
    };
}

/// Implements the method that copies device memory, which is `$memory` of type `$source`, to other device memory.
macro_rules! device_copy {
    ($vis:vis, <$lifetime:lifetime> $source:ty, |$this:ident| $memory:expr) => {
        /// Copies all of the memory to `dst`, which may be longer. Does not block. A slice is copied to a slice, a
        /// buffer to a `&Buffer` or an `&Image`, an image to an `&Image` or a `&Buffer`, and shared virtual memory to
        /// the same; between a buffer and an image, the copy has the bytes of all pixels of the image.
        ///
        /// # Errors
        /// The errors of [`enqueue_copy`](crate::memory::enqueue_copy#errors).
        #[doc(alias = "enqueue_copy_buffer", alias = "enqueue_copy_image")]
        $vis fn copy_to<$lifetime, 'q, D>(
            &$lifetime self,
            order: impl Into<Order<'q>>,
            dst: D,
        ) -> Result<Event>
        where
            Self: Sized,
            D: IntoMemory<Kind: HostCopy>,
            $source: CopyTo<D::Kind, Part: From<AllOf>, Output = Result<Event>>,
        {
            let $this = self;
            CopyTo::copy(&order.into(), dst.into_memory(), $memory, AllOf(self.size()).into())
        }
    };
}

pub(crate) use {device_copy, host_transfers};
