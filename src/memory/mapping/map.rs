//! The methods that map memory, for all its kinds.

/// Implements the methods that map a `$part` of `$what` for the host. `$enqueue` enqueues the map and returns
/// its guard: at once, or when the bytes can be used.
macro_rules! map_methods {
    ($what:literal, $vis:vis, $part:path, $guard:ident, $enqueue:path) => {
        map_methods! {
            $what, $vis, $part, $guard;
            #[doc(alias = "map_ro")]
            map_read MapRead "for reading.";
            map_write MapWrite "for writing. Elements that the host does not write keep their values.";
            #[doc(alias = "map_rw")]
            map_read_write MapReadWrite "for reading and writing.";
            map_write_invalidate MapWriteInvalidate
                "with undefined values, for writing all of it.";
        }

        /// Maps a part of
        #[doc = $what]
        /// in a mode that is a value, for code that is generic in it.
        ///
        /// # Errors
        /// See [Maps](crate::memory#maps).
        #[doc(alias = "enqueue_map_buffer", alias = "enqueue_map_image")]
        $vis fn map<'q, T: Pod, M: MapMode>(
            &self,
            order: impl Into<Order<'q>>,
            _mode: M,
            part: impl $part,
        ) -> Result<$guard<T, M>>
        where
            Self: Sized,
        {
            // SAFETY: the map blocks.
            unsafe { $enqueue(self, &order.into(), part, true) }
        }

        /// Enqueues a map of a part of
        #[doc = $what]
        /// and returns at once: the host can use it after [`PendingMap::wait`] (PyOpenCL's
        /// `is_blocking=False`), which reports later failures.
        ///
        /// # Errors
        /// See [Maps](crate::memory#maps).
        $vis fn map_async<'q, T: Pod, M: MapMode>(
            &self,
            order: impl Into<Order<'q>>,
            _mode: M,
            part: impl $part,
        ) -> Result<PendingMap<$guard<T, M>>>
        where
            Self: Sized,
        {
            // SAFETY: the result waits for the event of the guard before it gives the guard away.
            unsafe { $enqueue(self, &order.into(), part, false) }.map(PendingMap::new)
        }
    };
    ($what:literal, $vis:vis, $part:path, $guard:ident;
     $($(#[$alias:meta])* $name:ident $mode:ident $how:literal;)*) => {$(
        /// Maps a part of
        #[doc = $what]
        #[doc = $how]
        /// Returns when the host can use it.
        ///
        /// # Errors
        /// See [Maps](crate::memory#maps).
        $(#[$alias])*
        $vis fn $name<'q, T: Pod>(
            &self,
            order: impl Into<Order<'q>>,
            part: impl $part,
        ) -> Result<$guard<T, $mode>>
        where
            Self: Sized,
        {
            self.map(order, $mode, part)
        }
    )*};
}

pub(crate) use map_methods;
