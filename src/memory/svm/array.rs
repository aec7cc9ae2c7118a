//! Arrays in shared virtual memory (`pyopencl.svm_empty` and its variants).

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_INVALID_VALUE};
use ndarray::{
    ArrayBase, ArrayView, ArrayViewMut, Data, Dimension, Shape, ShapeBuilder, StrideShape,
};

use super::access::SvmAccess;
use super::allocation::{LARGEST_ALIGNMENT, SvmAllocation, SvmAllocationBuilder};
use super::map::SvmMap;
use super::memory::{Svm, SvmMemory};
use super::pointer::SvmPointer;
use crate::error::{Error, Result};
use crate::memory::into_memory::device_memory;
use crate::memory::mapping::{Mappable, map_guard};
use crate::memory::{MapMode, Order};

/// An array of a shape and order in shared virtual memory (`pyopencl.SVM` of the result of `svm_empty`). Clones share
/// it.
///
/// | PyOpenCL | here |
/// |---|---|
/// | `svm_empty(ctx, flags, shape, dtype, order, alignment, queue)` | `SvmAllocation::builder(&context)`, then `.flags(flags)`, `.alignment(bytes)`, `.queue(&queue)`, and `.array::<T, _>(shape)` or `shape.f()` |
/// | `svm_empty_like(ctx, flags, ary)` | the same with `.array_like(&array)` |
/// | `csvm_empty`, `csvm_empty_like` | the same without `.flags` |
/// | `fsvm_empty`, `fsvm_empty_like` | the same with [`SvmFlags::FINE_GRAIN_BUFFER`](crate::memory::SvmFlags::FINE_GRAIN_BUFFER) |
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{MapReadWrite, SvmAllocation};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let array = match SvmAllocation::builder(&context).array::<f32, _>((2, 3)) {
///     Err(error) if error.class() == Class::Unsupported => return Ok(()),
///     array => array?,
/// };
/// let mut map = array.map(&queue, MapReadWrite)?;
/// map.array_mut()[(1, 2)] = 1.0;
/// map.unmap()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SvmArray<T: Pod, D: Dimension> {
    allocation: SvmAllocation,
    shape: Shape<D>,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod, D: Dimension> SvmArray<T, D> {
    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.shape.raw_dim().slice()
    }

    /// Returns the memory of the array.
    pub fn allocation(&self) -> &SvmAllocation {
        &self.allocation
    }

    /// Maps the array in its shape (PyOpenCL's `SVM.map`; `clEnqueueSVMMap`), and returns when it can be used.
    ///
    /// # Errors
    /// See [Maps](crate::memory#maps).
    #[doc(alias = "map_ro", alias = "map_rw")]
    pub fn map<'q, M: MapMode>(
        &self,
        order: impl Into<Order<'q>>,
        mode: M,
    ) -> Result<SvmArrayMap<T, M, D>> {
        let slice = SvmPointer::map(self, order, mode, ..)?;
        Ok(ArrayMap { slice, shape: self.shape.clone() })
    }

    /// Accesses the array without a map, if it is fine-grain: see [`SvmPointer::access`].
    ///
    /// # Errors
    /// The errors of [`SvmPointer::access`].
    pub fn access<M: MapMode>(&self, mode: M) -> Result<SvmArrayAccess<T, M, D>> {
        let slice = SvmPointer::access(self, mode, ..)?;
        Ok(ArrayMap { slice, shape: self.shape.clone() })
    }
}

impl SvmAllocationBuilder<'_> {
    /// Allocates an array of a shape and order of ndarray, `10`, `(2, 3)` or `(2, 3).f()`, with elements of
    /// undefined value. Without an alignment, that is an element's size, or the next power of two, up to 128 bytes.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build), and CL_INVALID_BUFFER_SIZE for more elements than there are addresses.
    #[doc(alias = "svm_empty", alias = "csvm_empty", alias = "fsvm_empty")]
    pub fn array<T: Pod, D: Dimension>(
        mut self,
        shape: impl ShapeBuilder<Dim = D>,
    ) -> Result<SvmArray<T, D>> {
        let shape = shape.into_shape_with_order();
        let len = shape.raw_dim().size_checked();
        let size = len.and_then(|len| len.checked_mul(size_of::<T>())).ok_or_else(|| {
            let reason = format!("{shape:?} has more elements than there are addresses");
            Error::refused("clSVMAlloc", CL_INVALID_BUFFER_SIZE, reason)
        })?;
        if self.alignment == 0 {
            self.alignment = size_of::<T>().next_power_of_two().min(LARGEST_ALIGNMENT);
        }
        Ok(SvmArray { allocation: self.size(size).build()?, shape, element: PhantomData })
    }

    /// Allocates an array of the shape, order and elements of `array`, as [`array`](Self::array) does.
    ///
    /// # Errors
    /// The errors of [`array`](Self::array), and CL_INVALID_VALUE for an array whose elements are not one after the
    /// other, in row-major (C) or column-major (Fortran) order.
    #[doc(alias = "svm_empty_like", alias = "csvm_empty_like", alias = "fsvm_empty_like")]
    pub fn array_like<T: Pod, S: Data<Elem = T>, D: Dimension>(
        self,
        array: &ArrayBase<S, D>,
    ) -> Result<SvmArray<T, D>> {
        let is_fortran = !array.is_standard_layout();
        let has_gaps = is_fortran && !array.t().is_standard_layout();
        let reason = "the array's elements are neither in C nor in Fortran order";
        Error::refuse_if(has_gaps, "clSVMAlloc", CL_INVALID_VALUE, || reason)?;
        self.array(array.raw_dim().set_f(is_fortran))
    }
}

/// An [`SvmArray`] that is mapped (`pyopencl.SVMMap`). Unmapped by [`unmap`](ArrayMap::unmap), or
/// when dropped.
pub type SvmArrayMap<T, M, D> = ArrayMap<SvmMap<T, M>, D>;

/// A fine-grain [`SvmArray`] that the host uses without a map: see [`SvmAccess`].
pub type SvmArrayAccess<T, M, D> = ArrayMap<SvmAccess<T, M>, D>;

/// The elements of an [`SvmArray`], in its shape: [`SvmArrayMap`] or [`SvmArrayAccess`]. `S` is the
/// slice of the elements.
pub struct ArrayMap<S, D: Dimension> {
    slice: S,
    shape: Shape<D>,
}

impl<T, S: Deref<Target = [T]>, D: Dimension> ArrayMap<S, D> {
    /// Returns the array.
    pub fn array(&self) -> ArrayView<'_, T, D> {
        ArrayView::from_shape(strided(&self.shape), &self.slice)
            .expect("the memory was made for this shape")
    }
}

impl<T, S: DerefMut<Target = [T]>, D: Dimension> ArrayMap<S, D> {
    /// Returns the array, for writing.
    pub fn array_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        ArrayViewMut::from_shape(strided(&self.shape), &mut self.slice)
            .expect("the memory was made for this shape")
    }
}

fn strided<D: Dimension>(shape: &Shape<D>) -> StrideShape<D> {
    shape.clone().into()
}

map_guard! {
    [T: Pod, M: MapMode, D: Dimension] SvmArrayMap<T, M, D>, Arc::<SvmMemory>::MAP, slice.guard
}

impl<T: fmt::Debug, S: Deref<Target = [T]>, D: Dimension> fmt::Debug for ArrayMap<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.array(), f)
    }
}

impl<T: Pod, D: Dimension> SvmPointer for SvmArray<T, D> {}

device_memory!([T: Pod, D: Dimension] SvmArray<T, D>: dyn SvmPointer);

impl<T: Pod, D: Dimension> Svm for SvmArray<T, D> {
    fn memory(&self) -> &Arc<SvmMemory> {
        self.allocation.memory()
    }
}

impl<T: Pod, D: Dimension> fmt::Debug for SvmArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SvmArray")
            .field("allocation", &self.allocation)
            .field("shape", &self.shape)
            .finish()
    }
}
