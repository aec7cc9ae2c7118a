//! The address of host memory, and the layout of its bytes.

use std::ptr;

use cl3::error_codes::CL_INVALID_VALUE;

use super::host_memory::sealed::Stable;
use super::rows::Rows;
use crate::error::{Error, Result};

/// The layout of bytes in host memory, from its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// This many, one after the other.
    Packed(usize),
    /// In rows with gaps between them, which are not to be touched.
    #[cfg_attr(not(feature = "ndarray"), expect(dead_code, reason = "only arrays have gaps"))]
    Rows(Rows),
}

impl Layout {
    /// Returns the number of bytes, if there are no gaps.
    pub(crate) fn packed(self) -> Option<usize> {
        match self {
            Self::Packed(size) => Some(size),
            Self::Rows(_) => None,
        }
    }

    /// Returns the number of bytes, without the gaps.
    pub(crate) fn byte_count(self) -> usize {
        match self {
            Self::Packed(size) => size,
            // It does not overflow: the rows are in memory.
            Self::Rows(rows) => rows.region.iter().product(),
        }
    }
}

/// Host memory that a command reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct HostPtr {
    /// Its first byte.
    pub(crate) pointer: *mut u8,
    /// `None` where the bytes are neither one after the other nor in rows.
    pub(super) layout: Option<Layout>,
}

impl HostPtr {
    pub(super) fn packed(pointer: *const u8, size: usize) -> Self {
        Self { pointer: pointer.cast_mut(), layout: Some(Layout::Packed(size)) }
    }

    /// Returns the address and layout of `memory`, valid as long as its owner is not touched.
    pub(crate) fn of<H: Stable>(memory: &mut H) -> Self {
        match memory.bytes() {
            Some((pointer, size)) => Self::packed(pointer, size),
            None => Self { pointer: ptr::null_mut(), layout: None },
        }
    }

    /// Returns the layout of its bytes.
    pub(crate) fn layout(&self, call: &'static str) -> Result<Layout> {
        self.layout.ok_or_else(|| {
            let reason = "the array's elements are neither one after the other nor in rows of even \
                       distance, in the order of the axes; copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, reason)
        })
    }

    /// Returns the number of bytes, which have to be one after the other.
    pub(crate) fn size(&self, call: &'static str) -> Result<usize> {
        self.layout(call)?.packed().ok_or_else(|| {
            let reason = "the array's elements are not one after the other, as this copy needs them; \
                       copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, reason)
        })
    }
}
