//! The modes of maps (`cl_map_flags`; `pyopencl.map_flags`).

use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};

use crate::error::Result;
use crate::memory::MemFlags;
use crate::memory::object::check_host_access;
use crate::memory::track::Access;

/// The mode of a map (`cl_map_flags`; `pyopencl.map_flags`): [`MapRead`], [`MapWrite`],
/// [`MapReadWrite`] or [`MapWriteInvalidate`].
pub trait MapMode: Copy + sealed::Mode {}

/// A mode in which the host may write.
pub trait WritableMapMode: MapMode {}

pub(crate) mod sealed {
    /// The driver's flags of a mode, and the accesses that it allows.
    pub trait Mode {
        const FLAGS: u64;
        const HOST_READS: bool;
        const HOST_WRITES: bool;
    }
}

/// Returns the access of a map in mode `M`.
pub(crate) const fn access<M: MapMode>() -> Access {
    if M::HOST_WRITES { Access::Write } else { Access::Read }
}

/// Refuses a map in mode `M` of an object whose `flags` forbid it.
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
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// The host writes, and bytes that it does not write keep their values (CL_MAP_WRITE).
    MapWrite: CL_MAP_WRITE, reads false, writes true;
    /// The host reads and writes (CL_MAP_READ | CL_MAP_WRITE): PyOpenCL's default.
    MapReadWrite: CL_MAP_READ | CL_MAP_WRITE, reads true, writes true;
    /// The host writes all bytes, whose values are undefined until then
    /// (CL_MAP_WRITE_INVALIDATE_REGION, OpenCL 1.2).
    MapWriteInvalidate: CL_MAP_WRITE_INVALIDATE_REGION, reads false, writes true;
}

impl WritableMapMode for MapWrite {}
impl WritableMapMode for MapReadWrite {}
impl WritableMapMode for MapWriteInvalidate {}
