//! CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY and CL_MEM_HOST_NO_ACCESS (OpenCL 3.0 API, 5.2.1):
//! the host accesses that they permit move the right bytes, and drivers refuse the others.
//!
//! The calls go through cl3, because the library refuses forbidden ones before a driver sees them.

/// Enqueues a command on an object, and waits for its end.
macro_rules! command {
    ($object:expr, $call:ident($($argument:expr),* $(,)?)) => {
        $call($object.queue, $object.raw, $($argument,)* 0, ptr::null())
            .map(|event| $object.wait(event))
    };
}

mod buffer;
mod image;
mod object;

use std::ffi::c_void;
use std::{fmt, ptr};

use clmatrix::Result;
use clmatrix::cl3::{command_queue::*, error_codes::*, event::*, memory::*};
use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use rstest::rstest;

use crate::support::on_device::{OnDevice, on_device, region_offset};
use crate::support::pattern::*;
use object::Object;

/// The result of a cl3 call: a value, or the code of an error.
type Answer<T> = std::result::Result<T, cl_int>;

/// Checks the code that an access of the host to `object` returned (5.2.1), and returns the result of one that is
/// permitted.
#[track_caller]
fn permitted<T>(
    answer: Answer<T>,
    is_permitted: bool,
    access: impl fmt::Debug,
    object: (&str, Host),
) -> Option<T> {
    let expected = if is_permitted { CL_SUCCESS } else { CL_INVALID_OPERATION };
    let found = answer.as_ref().err().copied().unwrap_or(CL_SUCCESS);
    let (name, host) = object;
    let [found_name, named] = [found, expected].map(error_text);
    assert!(
        found == expected,
        "the host's access {access:?} to {name} with {host}: the driver returned {found_name}, where OpenCL names \
         {named} (5.2.1)"
    );
    answer.ok()
}

/// The accesses of the host that an object permits.
#[derive(Clone, Copy, Debug)]
enum Host {
    All,
    ReadOnly,
    WriteOnly,
    NoAccess,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "none of the flags CL_MEM_HOST_...",
            Self::ReadOnly => "CL_MEM_HOST_READ_ONLY",
            Self::WriteOnly => "CL_MEM_HOST_WRITE_ONLY",
            Self::NoAccess => "CL_MEM_HOST_NO_ACCESS",
        })
    }
}

impl Host {
    fn flags(self) -> MemFlags {
        match self {
            Self::All => MemFlags::empty(),
            Self::ReadOnly => MemFlags::HOST_READ_ONLY,
            Self::WriteOnly => MemFlags::HOST_WRITE_ONLY,
            Self::NoAccess => MemFlags::HOST_NO_ACCESS,
        }
    }

    fn may_read(self) -> bool {
        matches!(self, Self::All | Self::ReadOnly)
    }

    fn may_write(self) -> bool {
        matches!(self, Self::All | Self::WriteOnly)
    }
}

/// The host memory that an object is created with.
#[derive(Clone, Copy, Debug)]
enum Memory {
    /// CL_MEM_COPY_HOST_PTR.
    Copied,
    /// CL_MEM_USE_HOST_PTR.
    Used,
}

/// A way to read.
#[derive(Clone, Copy, Debug)]
enum Read {
    Command,
    Map,
}

/// A way to write.
#[derive(Clone, Copy, Debug)]
enum Write {
    Command,
    Map,
    MapInvalidate,
}

impl Write {
    /// The flags of the map.
    fn map_flags(self) -> cl_map_flags {
        match self {
            Self::MapInvalidate => CL_MAP_WRITE_INVALIDATE_REGION,
            _ => CL_MAP_WRITE,
        }
    }
}
