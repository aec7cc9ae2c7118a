//! How many work items a launch has, and how they are grouped (OpenCL 3.0, 5.8).

use cl3::error_codes::{
    CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_DIMENSION,
    CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE,
};
use cl3::kernel::{CL_KERNEL_PROGRAM, get_kernel_info};
use cl3::program::{
    CL_PROGRAM_BUILD_OPTIONS, CL_PROGRAM_SOURCE, get_program_build_info, get_program_info,
};
use cl3::types::{cl_kernel, cl_program};

use crate::device::Device;
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

/// Refuses sizes that no driver can take. What the device has room for is the driver's to say.
pub(super) fn check(
    global: &WorkSize,
    local: &WorkSize,
    offset: &WorkSize,
    uniform: bool,
) -> Result<()> {
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
    if uniform && sizes.iter().zip(groups).any(|(n, of)| n % of != 0) {
        let reason = format!(
            "{sizes:?} work items are not a multiple of groups of {groups:?}; OpenCL C 2.0 and later \
             allow that (-cl-std=CL2.0)"
        );
        return refused(CL_INVALID_WORK_GROUP_SIZE, reason);
    }
    Ok(())
}

/// True if the kernel's program is known to be OpenCL C 1.x, in which groups have one size. In doubt
/// the driver decides.
pub(super) fn must_be_uniform(kernel: cl_kernel, devices: &[Device]) -> bool {
    let Ok(program) = get_kernel_info(kernel, CL_KERNEL_PROGRAM) else { return false };
    let program = isize::from(program) as cl_program;
    // A program that was linked, or made of a binary, does not tell how it was compiled.
    let source = get_program_info(program, CL_PROGRAM_SOURCE).map(String::from);
    if source.is_ok_and(|source| source.trim_end_matches('\0').is_empty()) {
        return false;
    }
    devices.iter().all(|device| {
        get_program_build_info(program, device.as_raw(), CL_PROGRAM_BUILD_OPTIONS)
            .is_ok_and(|options| is_opencl_c_1(&String::from(options)))
    })
}

fn is_opencl_c_1(options: &str) -> bool {
    let standard = options.split_once("-cl-std=").map_or("CL1.2", |(_, standard)| standard);
    standard.starts_with("CL1.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_sizes_are_checked() {
        const NONE: WorkSize = WorkSize::NONE;
        let (one, two): (WorkSize, WorkSize) = (8.into(), [8, 4].into());
        for (global, local, offset, uniform, expected) in [
            (one, NONE, NONE, true, Ok(())),
            (two, [4, 4].into(), [1, 0].into(), true, Ok(())),
            ((8, 4, 2).into(), (8, 4, 2).into(), NONE, true, Ok(())),
            (NONE, NONE, NONE, true, Err("CL_INVALID_WORK_DIMENSION")),
            (one, [4, 4].into(), NONE, true, Err("CL_INVALID_WORK_DIMENSION")),
            (two, NONE, 1.into(), true, Err("CL_INVALID_WORK_DIMENSION")),
            ([8, 0].into(), NONE, NONE, true, Err("CL_INVALID_GLOBAL_WORK_SIZE")),
            (two, [4, 0].into(), NONE, true, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, 3.into(), NONE, true, Err("CL_INVALID_WORK_GROUP_SIZE")),
            (one, 16.into(), NONE, true, Err("CL_INVALID_WORK_GROUP_SIZE")),
            (one, 3.into(), NONE, false, Ok(())),
            (one, 0.into(), NONE, false, Err("CL_INVALID_WORK_ITEM_SIZE")),
            (one, NONE, usize::MAX.into(), true, Err("CL_INVALID_GLOBAL_OFFSET")),
            (one, NONE, (usize::MAX - 8).into(), true, Ok(())),
        ] {
            let result = check(&global, &local, &offset, uniform);
            let result = result.as_ref().map(|_| ()).map_err(Error::code_name);
            assert_eq!(result, expected, "{global:?} {local:?} {offset:?}");
        }
    }

    #[test]
    fn the_language_is_read_from_the_options() {
        for (options, expected) in [
            ("", true),
            ("-cl-kernel-arg-info", true),
            ("-cl-std=CL1.2 -DX", true),
            ("-DX -cl-std=CL2.0", false),
            ("-cl-std=CL3.0", false),
            ("-cl-std=CLC++", false),
        ] {
            assert_eq!(is_opencl_c_1(options), expected, "{options}");
        }
    }
}
