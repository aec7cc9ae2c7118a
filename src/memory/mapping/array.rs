//! Mapped elements as ndarray's views.

use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_VALUE;
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeError, StrideShape};

use super::mode::{MapMode, WritableMapMode};
use super::slice::SliceMap;
use crate::error::{Error, Result};

impl<G, T: Pod, M: MapMode> SliceMap<G, T, M> {
    /// Returns the elements as an array of a shape, order or strides of ndarray's: `(2, 3)`,
    /// `(2, 3).f()`, `(2, 3).strides((8, 1))`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE where the shape does not fit the number of elements.
    pub fn array<D: Dimension>(
        &self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayView<'_, T, D>> {
        ArrayView::from_shape(shape, self).map_err(|error| misshapen(self.len(), error))
    }
}

impl<G, T: Pod, M: WritableMapMode> SliceMap<G, T, M> {
    /// Returns the elements as [`array`](Self::array) does, for writing.
    ///
    /// # Errors
    /// The errors of [`array`](Self::array).
    pub fn array_mut<D: Dimension>(
        &mut self,
        shape: impl Into<StrideShape<D>>,
    ) -> Result<ArrayViewMut<'_, T, D>> {
        let len = self.len();
        ArrayViewMut::from_shape(shape, self).map_err(|error| misshapen(len, error))
    }
}

fn misshapen(len: usize, error: ShapeError) -> Error {
    let reason = format!("{len} elements do not fit the shape: {error}");
    Error::without_call(CL_INVALID_VALUE, reason)
}
