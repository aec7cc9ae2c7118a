//! How many work items a launch has, and how they are grouped (OpenCL 3.0, 5.8).

use cl3::error_codes::{
    CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_DIMENSION,
    CL_INVALID_WORK_ITEM_SIZE,
};

use crate::error::{Error, Result};

/// The name of the call.
pub(super) const CALL: &str = "clEnqueueNDRangeKernel";

/// A number of work items in each of 1 to 3 dimensions: `64`, `[64, 32]`, `(64, 32, 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkSize {
    dimensions: u32,
    sizes: [usize; 3],
}

impl WorkSize {
    /// None: the dimensions that there are not have 1 item.
    pub(super) const NONE: Self = Self { dimensions: 0, sizes: [1; 3] };

    #[inline]
    fn of<const N: usize>(given: [usize; N]) -> Self {
        let mut sizes = Self::NONE.sizes;
        sizes[..N].copy_from_slice(&given);
        Self { dimensions: N as u32, sizes }
    }

    #[inline]
    pub(super) fn dimensions(&self) -> u32 {
        self.dimensions
    }

    /// As the driver takes it: null for none.
    #[inline]
    pub(super) fn as_ptr(&self) -> *const usize {
        if self.dimensions == 0 { std::ptr::null() } else { self.sizes.as_ptr() }
    }

    fn sizes(&self) -> &[usize] {
        &self.sizes[..self.dimensions as usize]
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
    usize, n => [n];
    [usize; 1], n => n;
    [usize; 2], n => n;
    [usize; 3], n => n;
    (usize, usize), (x, y) => [x, y];
    (usize, usize, usize), (x, y, z) => [x, y, z];
}

/// Refuses sizes that no driver can take. The driver says what the device has room for.
pub(super) fn check(global: &WorkSize, local: &WorkSize, offset: &WorkSize) -> Result<()> {
    let refused = |code, reason: String| Err(Error::refused(CALL, code, reason));
    let (n, sizes) = (global.dimensions, global.sizes());
    if n == 0 {
        let reason = "the launch has no work size; set it with `global`";
        return Err(Error::refused(CALL, CL_INVALID_WORK_DIMENSION, reason));
    }
    if sizes.contains(&0) {
        return refused(CL_INVALID_GLOBAL_WORK_SIZE, format!("the work size {sizes:?} is empty"));
    }
    for (what, other) in [("work groups", local), ("the offset", offset)] {
        if other.dimensions != 0 && other.dimensions != n {
            let reason = format!("the work size has {n} dimensions, {what} {}", other.dimensions);
            return refused(CL_INVALID_WORK_DIMENSION, reason);
        }
    }
    let groups = local.sizes();
    if groups.contains(&0) {
        let reason = format!("the work group size {groups:?} is empty");
        return refused(CL_INVALID_WORK_ITEM_SIZE, reason);
    }
    let offsets = offset.sizes();
    // Past the end of the numbers, work items would have the same id.
    if sizes.iter().zip(offsets).any(|(n, from)| n.checked_add(*from).is_none()) {
        let reason =
            format!("{sizes:?} work items at offset {offsets:?} exceed the range of work item ids");
        return refused(CL_INVALID_GLOBAL_OFFSET, reason);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sizes_are_checked() {
        const NONE: WorkSize = WorkSize::NONE;
        let (one, two): (WorkSize, WorkSize) = (8.into(), [8, 4].into());
        for (global, local, offset, expected) in [
            (one, NONE, NONE, Ok(())),
            (two, [4, 4].into(), [1, 0].into(), Ok(())),
            ((8, 4, 2).into(), (8, 4, 2).into(), NONE, Ok(())),
            (NONE, NONE, NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (one, [4, 4].into(), NONE, Err("CL_INVALID_WORK_DIMENSION")),
            (two, NONE, 1.into(), Err("CL_INVALID_WORK_DIMENSION")),
            ([8, 0].into(), NONE, NONE, Err("CL_INVALID_GLOBAL_WORK_SIZE")),
            (two, [4, 0].into(), NONE, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, 3.into(), NONE, Ok(())),
            (one, 0.into(), NONE, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, NONE, usize::MAX.into(), Err("CL_INVALID_GLOBAL_OFFSET")),
            (one, NONE, (usize::MAX - 8).into(), Ok(())),
        ] {
            let result = check(&global, &local, &offset);
            let result = result.as_ref().map(|_| ()).map_err(Error::code_name);
            assert_eq!(result, expected, "{global:?} {local:?} {offset:?}");
        }
    }
}
