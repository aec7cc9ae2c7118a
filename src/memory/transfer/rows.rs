//! Rectangles of bytes: rows of even distance, in slices of even distance (OpenCL 3.0, 5.2.2).

use std::ops::Range;

use cl3::error_codes::CL_INVALID_VALUE;

use crate::error::{Error, Result};
use crate::memory::range::overlap as ranges_overlap;
use crate::memory::{ByteOrigin, ByteRegion, Pitches};

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
    /// Returns rows and slices without gaps. The caller has checked that they are within memory.
    pub(crate) fn packed(start: usize, region: [usize; 3]) -> Self {
        let [row_pitch, rows, _] = region;
        Self { origin: [start, 0, 0], region, row_pitch, slice_pitch: row_pitch * rows }
    }

    /// Returns a rectangle with the pitches filled in, or the reason why there is none.
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
        // Also where there is one row: rusticl 22.3 adds and multiplies pitches without a check.
        // quirk: RUSTICL-8
        if slice_pitch > isize::MAX as usize / 4 {
            return Err(format!("no memory can have rows or slices {slice_pitch} bytes apart"));
        }
        let rows = Self { origin, region, row_pitch, slice_pitch };
        rows.checked_hull().ok_or("the region is too large")?;
        Ok(rows)
    }

    /// Returns a rectangle that lies within the `size` bytes of `what`.
    pub(crate) fn checked(
        call: &'static str,
        (what, size): (&str, usize),
        origin: ByteOrigin,
        region: ByteRegion,
        pitches: Pitches,
    ) -> Result<Self> {
        let rows = Self::new(origin.0, region.0, pitches.0).map_err(|reason| {
            Error::refused(call, CL_INVALID_VALUE, format!("the {what}: {reason}"))
        })?;
        let hull = rows.hull();
        Error::refuse_if(hull.end > size, call, CL_INVALID_VALUE, || {
            format!("bytes {hull:?} exceed a {what} of {size} bytes")
        })?;
        Ok(rows)
    }

    /// Returns the range from the first byte to the last.
    pub(crate) fn hull(&self) -> Range<usize> {
        self.checked_hull().expect("`new` has checked it")
    }

    /// Returns the same rectangle in memory that begins `bytes` earlier, with the smallest possible x and
    /// y: PoCL 3.1 reports an overlap between rectangles of one buffer if x + width exceeds the row pitch.
    // quirk: POCL-6
    pub(crate) fn moved_by(self, bytes: usize) -> Self {
        // It does not overflow: the rectangle is within a buffer.
        let start = self.hull().start + bytes;
        let [_, _, slices] = self.region;
        let slice_pitch = if slices > 1 { self.slice_pitch } else { usize::MAX };
        let (z, in_slice) = (start / slice_pitch, start % slice_pitch);
        Self { origin: [in_slice % self.row_pitch, in_slice / self.row_pitch, z], ..self }
    }

    /// Returns the bytes of each row, in order.
    fn each(&self) -> impl Iterator<Item = Range<usize>> {
        let start = self.hull().start;
        let [size, rows, slices] = self.region;
        let row = move |y, z| start + y * self.row_pitch + z * self.slice_pitch;
        (0..slices).flat_map(move |z| (0..rows).map(move |y| row(y, z)..row(y, z) + size))
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

/// Returns whether two rectangles have a byte in common.
pub(crate) fn overlap(a: &Rows, b: &Rows) -> bool {
    if !ranges_overlap(&a.hull(), &b.hull()) {
        return false;
    }
    // The rows of both are in ascending order.
    let (mut rows_of_a, mut rows_of_b) = (a.each().peekable(), b.each().peekable());
    while let (Some(in_a), Some(in_b)) = (rows_of_a.peek(), rows_of_b.peek()) {
        if ranges_overlap(in_a, in_b) {
            return true;
        }
        if in_a.end <= in_b.start {
            rows_of_a.next();
        } else {
            rows_of_b.next();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pitches_are_filled_in() {
        let rows = |region, pitches: [usize; 2]| {
            Rows::new([0; 3], region, pitches).map(|rows| [rows.row_pitch, rows.slice_pitch])
        };
        assert_eq!(rows([4, 3, 2], [0, 0]), Ok([4, 12]));
        assert_eq!(rows([4, 3, 2], [8, 0]), Ok([8, 24]));
        assert_eq!(rows([4, 3, 2], [0, 16]), Ok([4, 16]));
    }

    #[test]
    fn pitches_are_checked() {
        for (region, pitches, allowed) in [
            ([4, 3, 2], [4, 12], true),
            ([4, 3, 2], [3, 0], false),
            ([4, 3, 2], [5, 15], true),
            ([4, 3, 2], [5, 12], false),
            ([4, 3, 2], [5, 16], false),
            ([4, 3, 2], [5, 20], true),
            ([0, 3, 2], [0, 0], false),
            ([4, 0, 2], [0, 0], false),
            ([4, 3, 0], [0, 0], false),
            ([usize::MAX, 2, 1], [0, 0], false),
            ([1, 2, 1], [usize::MAX, 0], false),
            ([1, 1, 3], [1, usize::MAX], false),
            ([1, 1, 2], [1, usize::MAX], false),
            ([1, 1, 2], [1, usize::MAX - 1], false),
            ([1, 1, 1], [usize::MAX, 0], false),
            ([1, 1, 1], [isize::MAX as usize / 4, 0], true),
        ] {
            let rows = Rows::new([0; 3], region, pitches);
            assert_eq!(rows.is_ok(), allowed, "{region:?}, {pitches:?}");
        }
    }

    #[test]
    fn the_hull_is_from_the_first_byte_to_the_last() {
        let hull = |origin, region, pitches| Rows::new(origin, region, pitches).map(|r| r.hull());
        assert_eq!(hull([3, 0, 0], [4, 1, 1], [0, 0]), Ok(3..7));
        assert_eq!(hull([3, 2, 1], [4, 2, 2], [10, 50]), Ok(73..137));
        assert!(hull([usize::MAX, 0, 0], [1, 1, 1], [0, 0]).is_err());
        assert!(hull([0, usize::MAX, 0], [2, 1, 1], [0, 0]).is_err());
        assert!(hull([0, 0, usize::MAX], [1, 2, 1], [0, 0]).is_err());
    }

    #[test]
    fn an_origin_moves_the_first_byte_of_a_rectangle() {
        let moved = |origin, region, pitches, bytes| {
            let rows = Rows::new(origin, region, pitches).expect("rows");
            let moved = rows.moved_by(bytes);
            let by = |range: Range<usize>| range.start + bytes..range.end + bytes;
            assert_eq!(moved.hull(), by(rows.hull()));
            moved.origin
        };
        assert_eq!(moved([3, 2, 1], [4, 2, 2], [10, 50], 0), [3, 2, 1]);
        assert_eq!(moved([3, 2, 1], [4, 2, 2], [10, 50], 120), [3, 4, 3]);
        assert_eq!(moved([13, 4, 1], [4, 2, 2], [10, 50], 0), [3, 0, 2]);
        assert_eq!(moved([13, 9, 0], [4, 2, 1], [10, 50], 0), [3, 10, 0]);
    }

    #[test]
    fn a_rectangle_lies_within_its_memory() {
        let checked = |size| {
            let (origin, region) = (ByteOrigin::from([3, 2, 1]), ByteRegion::from([4, 2, 2]));
            let pitches = Pitches::from([10, 50]);
            Rows::checked("clEnqueueCopyBufferRect", ("source", size), origin, region, pitches)
        };
        assert!(checked(137).is_ok());
        let error = checked(136).expect_err("one byte is missing");
        assert_eq!(error.code_name(), "CL_INVALID_VALUE");
        assert!(error.detail().contains("73..137"), "{error}");
    }

    /// Every pair of small rectangles, against marking each byte.
    #[test]
    fn overlap_is_exact() {
        let mut all = Vec::new();
        for x in [0, 1, 2, 3, 4, 9] {
            for (y, z) in [(0, 0), (1, 0), (0, 1), (2, 1)] {
                for region in [[1, 1, 1], [2, 2, 1], [4, 1, 2], [2, 2, 2], [3, 3, 1]] {
                    for pitches in [[0, 0], [4, 0], [5, 15]] {
                        all.extend(Rows::new([x, y, z], region, pitches));
                    }
                }
            }
        }
        let bytes = |rows: &Rows| {
            let mut touched = [false; 200];
            rows.each().for_each(|row| touched[row].fill(true));
            touched
        };
        let touched: Vec<_> = all.iter().map(bytes).collect();
        assert!(all.len() > 200);
        for (a, own) in all.iter().zip(&touched) {
            for (b, other) in all.iter().zip(&touched) {
                let shared = own.iter().zip(other).any(|(own, other)| *own && *other);
                assert_eq!(overlap(a, b), shared, "{a:?}, {b:?}");
            }
        }
    }
}
