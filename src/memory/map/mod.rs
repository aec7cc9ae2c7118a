//! Memory in the host's address space (OpenCL 3.0, 5.5.2; `pyopencl.enqueue_map_buffer`,
//! `pyopencl.MemoryMap`, `pyopencl.SVMMap`).
//!
//! [`Mapping`](mapping::Mapping) is what all guards have in common.

mod buffer;
mod image;
pub(crate) mod mapping;
mod pending;
pub(crate) mod slice;
pub(crate) mod svm;

use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};

pub use buffer::{BufferMap, enqueue_map_buffer, enqueue_map_buffer_nonblocking};
pub use image::{ImageMap, enqueue_map_image, enqueue_map_image_nonblocking};
pub use pending::PendingMap;
pub use slice::SliceMap;
pub use svm::SvmMap;

use super::flags::MemFlags;
use super::object::check_host_access;
use super::track::Access;
use crate::error::Result;

/// How bytes are mapped (`cl_map_flags`; `pyopencl.map_flags`): [`MapRead`], [`MapWrite`],
/// [`MapReadWrite`] or [`MapWriteInvalidate`].
pub trait MapMode: Copy + sealed::Mode {}

/// A mode in which the host may write what is mapped.
pub trait WritableMapMode: MapMode {}

pub(crate) mod sealed {
    use crate::event::Event;

    use crate::error::Result;

    /// What keeps something mapped.
    pub trait Guard {
        /// The event of the map.
        fn event(&self) -> &Event;

        /// Returns when a map that does not block can be used.
        fn wait(&self) -> Result<()>;
    }

    /// What a mode means to the driver and to the buffer's flags.
    pub trait Mode {
        const FLAGS: u64;
        const HOST_READS: bool;
        const HOST_WRITES: bool;
    }
}

/// What a map in mode `M` does to its bytes.
pub(crate) const fn access<M: MapMode>() -> Access {
    if M::HOST_WRITES { Access::Write } else { Access::Read }
}

/// Refuses what `flags` forbid a map in mode `M`.
#[inline]
pub(crate) fn check_mode<M: MapMode>(call: &'static str, flags: MemFlags) -> Result<()> {
    if M::HOST_READS {
        check_host_access(call, flags, Access::Read)?;
    }
    if M::HOST_WRITES {
        check_host_access(call, flags, Access::Write)?;
    }
    Ok(())
}

macro_rules! map_modes {
    ($($(#[$doc:meta])* $name:ident: $flags:expr, reads $reads:literal, writes $writes:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl MapMode for $name {}

            impl sealed::Mode for $name {
                const FLAGS: u64 = $flags;
                const HOST_READS: bool = $reads;
                const HOST_WRITES: bool = $writes;
            }
        )*
    };
}

map_modes! {
    /// The host reads (CL_MAP_READ).
    MapRead: CL_MAP_READ, reads true, writes false;
    /// The host writes, and finds what is on the device (CL_MAP_WRITE).
    MapWrite: CL_MAP_WRITE, reads false, writes true;
    /// The host reads and writes (CL_MAP_READ | CL_MAP_WRITE): PyOpenCL's default.
    MapReadWrite: CL_MAP_READ | CL_MAP_WRITE, reads true, writes true;
    /// The host writes all of it, and finds anything (CL_MAP_WRITE_INVALIDATE_REGION, OpenCL 1.2).
    MapWriteInvalidate: CL_MAP_WRITE_INVALIDATE_REGION, reads false, writes true;
}

impl WritableMapMode for MapWrite {}
impl WritableMapMode for MapReadWrite {}
impl WritableMapMode for MapWriteInvalidate {}
