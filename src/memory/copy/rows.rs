//! Rectangles of bytes: rows of even distance, in slices of even distance (OpenCL 3.0, 5.2.2).

use std::ops::Range;

use cl3::error_codes::CL_INVALID_VALUE;

use crate::error::{Error, Result};

/// Where a rectangle begins: x in bytes, y in rows, z in slices. What is left out is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin(pub(crate) [usize; 3]);

/// How large a rectangle is: bytes of a row, rows of a slice, slices. What is left out is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region(pub(crate) [usize; 3]);

/// How far apart the beginnings of rows and of slices are, in bytes. What is left out, or 0, has no
/// gaps: rows as long as the region's, slices as many rows as the region's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pitches(pub(crate) [usize; 2]);

macro_rules! from_shorter_arrays {
    ($($name:ident: [$($len:literal)*] of $full:literal, else $default:literal;)*) => {
        $($(
            impl From<[usize; $len]> for $name {
                fn from(given: [usize; $len]) -> Self {
                    let mut all = [$default; $full];
                    all[..$len].copy_from_slice(&given);
                    Self(all)
                }
            }
        )*)*
    };
}

from_shorter_arrays! {
    Origin: [1 2 3] of 3, else 0;
    Region: [1 2 3] of 3, else 1;
    Pitches: [1 2] of 2, else 0;
}

/// A rectangle of bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) origin: [usize; 3],
    pub(crate) region: [usize; 3],
    /// Neither is 0.
    pub(crate) row_pitch: usize,
    pub(crate) slice_pitch: usize,
}

impl Rows {
    /// A rectangle with the pitches filled in, or why there is none.
    pub(crate) fn new(
        origin: [usize; 3],
        region: [usize; 3],
        pitches: [usize; 2],
    ) -> std::result::Result<Self, String> {
        if region.contains(&0) {
            return Err(format!("the region {region:?} is empty"));
        }
        let [row_pitch, slice_pitch] = pitches;
        let row_pitch = if row_pitch == 0 { region[0] } else { row_pitch };
        if row_pitch < region[0] {
            return Err(format!("rows of {} bytes cannot be {row_pitch} bytes apart", region[0]));
        }
        let slice = region[1].checked_mul(row_pitch).ok_or("the region is too large")?;
        let slice_pitch = if slice_pitch == 0 { slice } else { slice_pitch };
        if slice_pitch < slice {
            return Err(format!("slices of {slice} bytes cannot be {slice_pitch} bytes apart"));
        }
        if !slice_pitch.is_multiple_of(row_pitch) {
            return Err(format!(
                "slices must be a multiple of the rows' {row_pitch} bytes apart, not {slice_pitch}"
            ));
        }
        let rows = Self { origin, region, row_pitch, slice_pitch };
        rows.checked_hull().ok_or("the region is too large")?;
        Ok(rows)
    }

    /// The rectangle in the `size` bytes of `what`.
    pub(crate) fn checked(
        call: &'static str,
        (what, size): (&str, usize),
        origin: Origin,
        region: Region,
        pitches: Pitches,
    ) -> Result<Self> {
        let refused = |why: String| Error::refused(call, CL_INVALID_VALUE, why);
        let rows = Self::new(origin.0, region.0, pitches.0)
            .map_err(|why| refused(format!("the {what}: {why}")))?;
        let hull = rows.hull();
        if hull.end > size {
            let why = format!("bytes {hull:?} are not all in a {what} of {size} bytes");
            return Err(refused(why));
        }
        Ok(rows)
    }

    /// From the first byte to after the last.
    pub(crate) fn hull(&self) -> Range<usize> {
        self.checked_hull().expect("it was there when this was made")
    }

    fn checked_hull(&self) -> Option<Range<usize>> {
        let at = |[x, y, z]: [usize; 3]| {
            let rows = y.checked_mul(self.row_pitch)?;
            let slices = z.checked_mul(self.slice_pitch)?;
            x.checked_add(rows)?.checked_add(slices)
        };
        let start = at(self.origin)?;
        let [_, rows, slices] = self.region;
        let size = at([self.region[0], rows - 1, slices - 1])?;
        Some(start..start.checked_add(size)?)
    }
}
