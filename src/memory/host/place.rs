//! Where host memory is, and how its bytes lie there.

use std::ptr;

use cl3::error_codes::CL_INVALID_VALUE;

use super::sealed::Stable;

use crate::error::{Error, Result};
use crate::memory::copy::Rows;

/// How bytes lie in host memory, from its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// So many, one after the other.
    Packed(usize),
    /// In rows with gaps between them, which are not to be touched.
    Rows(Rows),
}

impl Layout {
    /// The number of bytes, where there are no gaps.
    pub(crate) fn packed(self) -> Option<usize> {
        match self {
            Self::Packed(size) => Some(size),
            Self::Rows(_) => None,
        }
    }
}

/// Host memory that a command reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its first byte.
    pub(crate) pointer: *mut u8,
    /// `None` where the bytes are neither one after the other nor in rows.
    pub(super) layout: Option<Layout>,
}

impl Place {
    pub(super) fn packed(pointer: *const u8, size: usize) -> Self {
        Self { pointer: pointer.cast_mut(), layout: Some(Layout::Packed(size)) }
    }

    /// Where the driver finds `memory`, as long as its owner is not touched.
    pub(crate) fn of<H: Stable>(memory: &mut H) -> Self {
        match memory.bytes() {
            Some((pointer, size)) => Self::packed(pointer, size),
            None => Self { pointer: ptr::null_mut(), layout: None },
        }
    }

    /// How its bytes lie.
    pub(crate) fn layout(&self, call: &'static str) -> Result<Layout> {
        self.layout.ok_or_else(|| {
            let why = "the array's elements are neither one after the other nor in rows of even \
                       distance; copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, why)
        })
    }

    /// The number of bytes, which have to be one after the other.
    pub(crate) fn size(&self, call: &'static str) -> Result<usize> {
        self.layout(call)?.packed().ok_or_else(|| {
            let why = "the array's elements are not one after the other, as this copy needs them; \
                       copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, why)
        })
    }
}
