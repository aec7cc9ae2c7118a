//! The number of work items of a launch, and of its work groups (OpenCL 3.0, 5.8).

use cl3::error_codes::{
    CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_DIMENSION,
    CL_INVALID_WORK_ITEM_SIZE,
};

use crate::error::{Error, Result};

/// The name of the call.
pub(super) const CALL: &str = "clEnqueueNDRangeKernel";

/// A number of work items in each of 1 to 3 dimensions: `64`, `[64, 32]`, `(64, 32, 2)`, or a slice of them, such as
/// [`Image::shape`](crate::memory::Image::shape).
///
/// [`Launch::enqueue`](super::Launch::enqueue) refuses a slice of another length with CL_INVALID_WORK_DIMENSION.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkSize {
    /// More than three only for a slice that is too long.
    dimensions: usize,
    sizes: [usize; MOST_DIMENSIONS],
}

/// OpenCL's number of dimensions, which is CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS of all devices but custom ones.
const MOST_DIMENSIONS: usize = 3;

impl WorkSize {
    /// Keeps the first sizes of more than three.
    #[inline]
    fn of(given: &[usize]) -> Self {
        let mut sizes = [1; MOST_DIMENSIONS];
        sizes.iter_mut().zip(given).for_each(|(size, given)| *size = *given);
        Self { dimensions: given.len(), sizes }
    }

    /// Returns the sizes as the driver takes them: null for none.
    #[inline]
    pub(super) fn as_ptr(size: Option<&Self>) -> *const usize {
        size.map_or(std::ptr::null(), |size| size.sizes.as_ptr())
    }

    fn sizes(&self) -> &[usize] {
        &self.sizes[..self.dimensions.min(MOST_DIMENSIONS)]
    }
}

macro_rules! work_sizes {
    ($($given:ty, $name:tt => $sizes:expr;)*) => {$(
        impl From<$given> for WorkSize {
            #[inline]
            fn from($name: $given) -> Self {
                Self::of($sizes)
            }
        }
    )*};
}

work_sizes! {
    usize, n => &[n];
    [usize; 1], n => &n;
    [usize; 2], n => &n;
    [usize; 3], n => &n;
    (usize, usize), (x, y) => &[x, y];
    (usize, usize, usize), (x, y, z) => &[x, y, z];
    &[usize], n => n;
}

/// Returns the number of dimensions. Refuses sizes that no driver can take; the driver checks them against the limits
/// of the device.
pub(super) fn check(
    global: Option<&WorkSize>,
    local: Option<&WorkSize>,
    offset: Option<&WorkSize>,
) -> Result<u32> {
    let Some(global) = global else {
        let reason = "the launch has no work size; set it with `global`";
        return Err(Error::refused(CALL, CL_INVALID_WORK_DIMENSION, reason));
    };
    let (n, sizes) = (global.dimensions, global.sizes());
    Error::refuse_if(!(1..=MOST_DIMENSIONS).contains(&n), CALL, CL_INVALID_WORK_DIMENSION, || {
        format!("the work size has {n} dimensions; a launch has 1 to 3")
    })?;
    Error::refuse_if(sizes.contains(&0), CALL, CL_INVALID_GLOBAL_WORK_SIZE, || {
        format!("the work size {sizes:?} is empty")
    })?;
    for (what, other) in [("the work group size", local), ("the offset", offset)] {
        let dimensions = other.map_or(n, |other| other.dimensions);
        Error::refuse_if(dimensions != n, CALL, CL_INVALID_WORK_DIMENSION, || {
            format!("the work size has {n} dimensions, and {what} has {dimensions}")
        })?;
    }
    let groups = local.map_or(&[][..], WorkSize::sizes);
    Error::refuse_if(groups.contains(&0), CALL, CL_INVALID_WORK_ITEM_SIZE, || {
        format!("the work group size {groups:?} is empty")
    })?;
    let offsets = offset.map_or(&[][..], WorkSize::sizes);
    // Past the end of the numbers, work items would have the same id.
    let overflow = sizes.iter().zip(offsets).any(|(n, from)| n.checked_add(*from).is_none());
    Error::refuse_if(overflow, CALL, CL_INVALID_GLOBAL_OFFSET, || {
        format!("{sizes:?} work items at offset {offsets:?} exceed the range of work item ids")
    })?;
    Ok(n as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sizes_are_checked() {
        const NONE: Option<WorkSize> = None;
        fn of(size: impl Into<WorkSize>) -> Option<WorkSize> {
            Some(size.into())
        }
        let (one, two) = (of(8), of([8, 4]));
        let slice = |len| of(&[1, 2, 3, 4][..len]);
        for (global, local, offset, expected) in [
            (one, NONE, NONE, Ok(1)),
            (two, of([4, 4]), of([1, 0]), Ok(2)),
            (of((8, 4, 2)), of((8, 4, 2)), NONE, Ok(3)),
            (slice(1), NONE, NONE, Ok(1)),
            (slice(3), slice(3), slice(3), Ok(3)),
            (NONE, NONE, NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (slice(0), NONE, NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (slice(4), NONE, NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (slice(4), slice(4), NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (one, of([4, 4]), NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (one, slice(0), NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (slice(3), NONE, slice(4), Err("CL_INVALID_WORK_DIMENSION")),
            (two, NONE, of(1), Err("CL_INVALID_WORK_DIMENSION")),
            (of([8, 0]), NONE, NONE, Err("CL_INVALID_GLOBAL_WORK_SIZE")),
            (two, of([4, 0]), NONE, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, of(3), NONE, Ok(1)),
            (one, of(0), NONE, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, NONE, of(usize::MAX), Err("CL_INVALID_GLOBAL_OFFSET")),
            (one, NONE, of(usize::MAX - 8), Ok(1)),
        ] {
            let result = check(global.as_ref(), local.as_ref(), offset.as_ref());
            let result = result.as_ref().copied().map_err(Error::code_name);
            assert_eq!(result, expected, "{global:?} {local:?} {offset:?}");
        }
    }

    #[test]
    fn the_length_of_a_slice_is_in_the_error() {
        let error = check(Some(&[1, 2, 3, 4, 5][..].into()), None, None).unwrap_err();
        assert_eq!(error.detail(), "the work size has 5 dimensions; a launch has 1 to 3");
    }
}
