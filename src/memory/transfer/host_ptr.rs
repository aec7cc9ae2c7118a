//! Where host memory is, and how its bytes lie there.

use std::ptr;

use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_VALUE;
use ndarray::{ArrayBase, Data, Dimension};
use smallvec::SmallVec;

use super::host_memory::sealed::Stable;
use super::rows::Rows;
use crate::error::{Error, Result};

/// How bytes lie in host memory, from its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
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

    /// The number of bytes, without the gaps.
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
            let reason = "the array's elements are neither one after the other nor in rows of even \
                       distance, in the order of the axes; copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, reason)
        })
    }

    /// The number of bytes, which have to be one after the other.
    pub(crate) fn size(&self, call: &'static str) -> Result<usize> {
        self.layout(call)?.packed().ok_or_else(|| {
            let reason = "the array's elements are not one after the other, as this copy needs them; \
                       copy it into standard layout first (as_standard_layout)";
            Error::refused(call, CL_INVALID_VALUE, reason)
        })
    }
}

/// How the elements of `array` lie, from the first on; `None` where they are neither one after the
/// other nor in rows.
///
/// Elements without gaps are taken in the order of memory, whichever axis that begins with. With gaps, the axes have
/// that order.
pub(super) fn layout<T: Pod, S: Data<Elem = T>, D: Dimension>(
    array: &ArrayBase<S, D>,
) -> Option<Layout> {
    layout_of(size_of::<T>(), array.shape(), array.strides())
}

/// As [`layout`], of elements of `size` bytes; strides are in elements.
fn layout_of(size: usize, shape: &[usize], strides: &[isize]) -> Option<Layout> {
    if size == 0 || shape.contains(&0) {
        return Some(Layout::Packed(0));
    }
    let mut axes = SmallVec::<[(usize, usize); 6]>::new();
    for (&len, &stride) in shape.iter().zip(strides).filter(|(len, _)| **len > 1) {
        // An array that runs backwards, or shows one element many times, has no such order.
        let stride = usize::try_from(stride).ok().filter(|stride| *stride > 0)?;
        axes.push((len, stride.checked_mul(size)?));
    }
    let are_in_order = axes.is_sorted_by(|(_, outer), (_, inner)| outer >= inner);
    axes.sort_by_key(|(_, stride)| *stride);

    // Bytes without a gap, and what repeats them.
    let mut run = size;
    let mut repeats = SmallVec::<[(usize, usize); 6]>::new();
    for (len, stride) in axes {
        match repeats.last_mut() {
            None if stride == run => run = run.checked_mul(len)?,
            Some((inner, distance)) if Some(stride) == inner.checked_mul(*distance) => {
                *inner = inner.checked_mul(len)?;
            }
            _ => repeats.push((len, stride)),
        }
    }
    let (region, pitches) = match repeats[..] {
        [] => return Some(Layout::Packed(run)),
        _ if !are_in_order => return None,
        [(rows, pitch)] => ([run, rows, 1], [pitch, 0]),
        [(rows, pitch), (slices, slice_pitch)] => ([run, rows, slices], [pitch, slice_pitch]),
        _ => return None,
    };
    Rows::new([0; 3], region, pitches).ok().map(Layout::Rows)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3, Array4, ArrayView2, Axis, s};

    use super::*;

    fn rows(region: [usize; 3], pitches: [usize; 2]) -> Option<Layout> {
        Some(Layout::Rows(Rows::new([0; 3], region, pitches).expect("rows")))
    }

    #[test]
    fn arrays_without_gaps_are_packed_in_any_order() {
        let array = Array3::<u16>::zeros((2, 3, 4));
        let packed = Some(Layout::Packed(48));
        assert_eq!(layout(&array), packed);
        assert_eq!(layout(&array.t()), packed);
        assert_eq!(layout(&array.view().permuted_axes([1, 2, 0])), packed);
        assert_eq!(layout(&array.slice(s![1.., .., ..])), Some(Layout::Packed(24)));
        assert_eq!(layout(&array.slice(s![..;7, 1, ..])), Some(Layout::Packed(8)));
        assert_eq!(layout(&array.slice(s![.., 1..1, ..])), Some(Layout::Packed(0)));
        assert_eq!(layout(&ndarray::arr0(1_u64)), Some(Layout::Packed(8)));
        assert_eq!(layout(&Array2::<[u8; 0]>::from_elem((2, 3), [])), Some(Layout::Packed(0)));
    }

    #[test]
    fn gaps_make_rows() {
        let plane = Array2::<u32>::zeros((5, 7));
        for (view, expected) in [
            (plane.slice(s![1..4, 2..5]), rows([12, 3, 1], [28, 0])),
            (plane.slice(s![.., 3..4]), rows([4, 5, 1], [28, 0])),
            (plane.slice(s![..;2, ..]), rows([28, 3, 1], [56, 0])),
            (plane.slice(s![2..3, ..;3]), rows([4, 3, 1], [12, 0])),
            (plane.slice(s![1..4, 2..5]).reversed_axes(), None),
            (plane.slice(s![..;-1, ..]), None),
            (plane.slice(s![..;2, ..;2]), rows([4, 4, 3], [8, 56])),
            (plane.slice(s![.., ..;2]), None),
        ] {
            assert_eq!(layout(&view), expected, "{view:?}");
        }
        let block = Array3::<u8>::zeros((4, 6, 8));
        let view = block.slice(s![1..3, 2..5, 4..]);
        assert_eq!(layout(&view), rows([4, 3, 2], [8, 48]));
        // Whole planes, and whole rows of them.
        assert_eq!(layout(&block.slice(s![.., 2..5, ..])), rows([24, 4, 1], [48, 0]));
        assert_eq!(layout(&block.slice(s![.., .., ..3])), rows([3, 24, 1], [8, 0]));
        // The distance of slices is no multiple of that of rows.
        let odd = Array3::<u8>::zeros((2, 3, 8));
        assert_eq!(layout(&odd.slice(s![.., ..;2, ..])), None);
    }

    #[test]
    fn arrays_that_are_no_rows_have_no_layout() {
        let four = Array4::<u8>::zeros((4, 4, 4, 4));
        assert_eq!(layout(&four.slice(s![..2, ..2, ..2, ..2])), None);
        let mut backwards = Array2::<u8>::zeros((2, 3));
        backwards.invert_axis(Axis(1));
        assert_eq!(layout(&backwards), None);
        let one = [1_u8, 2, 3];
        let many = ArrayView2::from_shape((1, 3), &one).expect("a row");
        assert_eq!(layout(&many.broadcast((4, 3)).expect("four rows")), None);
    }
}
