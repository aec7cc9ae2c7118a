//! ndarray's arrays and views as host memory.

use bytemuck::Pod;
use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Data, DataMut, Dimension};
use smallvec::SmallVec;

use super::host::{HostTarget, borrowed};
use super::host_memory::{HostMemory, sealed};
use super::host_ptr::{HostPtr, Layout};
use super::rows::Rows;

borrowed! {
    [T: Pod, S: Data<Elem = T>, D: Dimension] &ArrayBase<S, D>: |array| array_ptr(array);
    [T: Pod, D: Dimension] ArrayView<'_, T, D>: |array| array_ptr(&array);
    [T: Pod, S: DataMut<Elem = T>, D: Dimension] &mut ArrayBase<S, D>: |array| array_ptr_mut(array);
    [T: Pod, D: Dimension] ArrayViewMut<'_, T, D>:
        |array| { let mut array = array; array_ptr_mut(&mut array) };
}

impl<T: Pod, S: DataMut<Elem = T>, D: Dimension> HostTarget for &mut ArrayBase<S, D> {}
impl<T: Pod, D: Dimension> HostTarget for ArrayViewMut<'_, T, D> {}

impl<T: Pod + Send, D: Dimension + 'static> HostMemory for Array<T, D> {}

// SAFETY: plain elements on the heap.
unsafe impl<T: Pod, D: Dimension> sealed::Stable for Array<T, D> {
    type Element = T;

    fn bytes(&mut self) -> Option<(*mut u8, usize)> {
        let pointer = self.as_mut_ptr().cast();
        Some((pointer, layout(self)?.packed()?))
    }
}

fn array_ptr<T: Pod, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> HostPtr {
    HostPtr { pointer: array.as_ptr().cast_mut().cast(), layout: layout(array) }
}

fn array_ptr_mut<T: Pod, S: DataMut<Elem = T>, D: Dimension>(
    array: &mut ArrayBase<S, D>,
) -> HostPtr {
    // The pointer first: an array that shares its elements copies them for it, in another layout.
    let pointer = array.as_mut_ptr().cast();
    HostPtr { pointer, layout: layout(array) }
}

/// Returns the layout of the elements of `array`, from the first on; `None` where they are neither one after the
/// other nor in rows.
///
/// Elements without gaps are taken in the order of memory, whichever axis that begins with. With gaps, the axes have
/// that order.
fn layout<T: Pod, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>) -> Option<Layout> {
    layout_of(size_of::<T>(), array.shape(), array.strides())
}

/// Returns the [`layout`] of elements of `size` bytes; strides are in elements.
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

    // Bytes without a gap, and the axes that repeat them.
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
        // The distance of slices is not a multiple of that of rows.
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
