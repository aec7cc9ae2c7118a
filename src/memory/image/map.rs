//! Maps of images (OpenCL 3.0, 5.3.6; `pyopencl.enqueue_map_image`).

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::CL_MAP_FAILURE;
use cl3::types::{CL_NON_BLOCKING, cl_mem};
#[cfg(feature = "ndarray")]
use ndarray::{ArrayView3, ArrayViewMut3, ShapeBuilder};

use super::Image;
use super::copy_host::ImageRegion;
use super::shape::{ImageType, Pixels};
use crate::create::create;
use crate::error::{Error, Result};
use crate::memory::buffer::map;
use crate::memory::mapping::{Mappable, Mapping, access, check_mode, map_guard, map_methods};
use crate::memory::object::sealed::Handle;
use crate::memory::track::AccessTracker;
use crate::memory::{
    MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, Order, PendingMap,
    WritableMapMode,
};
use crate::queue::{Arguments, Submitted};

impl Mappable for Image {
    const MAP: &'static str = "clEnqueueMapImage";

    fn tracker(&self) -> &Arc<AccessTracker> {
        self.object().tracker()
    }

    fn mem_object(&self) -> Option<cl_mem> {
        Some(self.row_of_buffer().map_or_else(|| self.as_raw(), |buffer| buffer.object().raw()))
    }
}

/// Pixels of an image as an array on the host; mutable only if `M` writes
/// (`pyopencl.MemoryMap`). Bytes between rows and slices are out of reach.
///
/// Unmapped by [`unmap`](Self::unmap), or by a drop, which logs errors. If it is forgotten, the pixels
/// stay mapped for good, and the image is never released.
pub struct ImageMap<T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// Slices or layers, rows, pixels of a row.
    shape: [usize; 3],
    /// In bytes.
    row_pitch: usize,
    /// In bytes.
    slice_pitch: usize,
    mapping: Mapping<Image>,
    mode: PhantomData<M>,
}

// SAFETY: it owns its pixels like a `Box<[T]>`; all else is Send.
unsafe impl<T: Pod + Send, M: MapMode> Send for ImageMap<T, M> {}
// SAFETY: as above; all else is Sync.
unsafe impl<T: Pod + Sync, M: MapMode> Sync for ImageMap<T, M> {}

impl<T: Pod, M: MapMode> ImageMap<T, M> {
    /// Returns the pixels of a row in the order of x, or `None` where there is no such slice or row. The layers of an
    /// array of 1D images are its rows, the layers of an array of 2D images its slices.
    pub fn row(&self, slice: usize, row: usize) -> Option<&[T]> {
        let pointer = self.pointer_to_row(slice, row)?;
        // SAFETY: the driver keeps the row mapped here until the pixels are unmapped, which takes `self`, and they have
        // been waited for; the pointer is aligned, as the pitches are; any bytes are a `T`; and the mapping keeps
        // commands and maps that write away.
        Some(unsafe { slice::from_raw_parts(pointer, self.shape[2]) })
    }

    fn pointer_to_row(&self, slice: usize, row: usize) -> Option<*mut T> {
        let [slices, rows, _] = self.shape;
        // It does not overflow: the pixels are mapped.
        (slice < slices && row < rows).then(|| {
            let offset = slice * self.slice_pitch + row * self.row_pitch;
            self.pointer.as_ptr().wrapping_byte_add(offset)
        })
    }

    /// Returns the pixels: `[slice, row, x]`. The layers of an array of 1D images are its rows, the layers
    /// of an array of 2D images its slices.
    #[cfg(feature = "ndarray")]
    pub fn pixels(&self) -> ArrayView3<'_, T> {
        // SAFETY: the driver keeps these pixels mapped here until they are unmapped, which takes
        // `self`, and they have been waited for; the pointer is aligned, the strides are checked;
        // any bytes are a `T`; and the mapping keeps commands and maps that write away.
        unsafe { ArrayView3::from_shape_ptr(self.strided(), self.pointer.as_ptr()) }
    }

    /// Returns the shape, with its strides in pixels.
    #[cfg(feature = "ndarray")]
    fn strided(&self) -> ndarray::StrideShape<ndarray::Ix3> {
        let [slices, rows, width] = self.shape;
        let in_pixels = |pitch: usize| pitch / size_of::<T>();
        (slices, rows, width).strides((in_pixels(self.slice_pitch), in_pixels(self.row_pitch), 1))
    }

    /// Returns the distance of rows in host memory, in bytes.
    pub fn row_pitch(&self) -> usize {
        self.row_pitch
    }

    /// Returns the distance of slices in host memory, in bytes.
    pub fn slice_pitch(&self) -> usize {
        self.slice_pitch
    }
}

map_guard!([T: Pod, M: MapMode] ImageMap<T, M>, Image::MAP, mapping);

impl<T: Pod, M: WritableMapMode> ImageMap<T, M> {
    /// Returns the pixels of a row as [`row`](Self::row) does, for writing.
    pub fn row_mut(&mut self, slice: usize, row: usize) -> Option<&mut [T]> {
        let pointer = self.pointer_to_row(slice, row)?;
        // SAFETY: as for `row`; for a mode that writes, the mapping keeps away all commands and all other maps, and
        // `self` is borrowed exclusively.
        Some(unsafe { slice::from_raw_parts_mut(pointer, self.shape[2]) })
    }

    /// Returns the pixels as [`pixels`](Self::pixels) does, for writing.
    #[cfg(feature = "ndarray")]
    pub fn pixels_mut(&mut self) -> ArrayViewMut3<'_, T> {
        // SAFETY: as for `pixels`; for a mode that writes, the mapping keeps away all commands and
        // all other maps, and no two pixels have a byte in common.
        unsafe { ArrayViewMut3::from_shape_ptr(self.strided(), self.pointer.as_ptr()) }
    }
}

impl<T: Pod + fmt::Debug, M: MapMode> fmt::Debug for ImageMap<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [slices, rows, _] = self.shape;
        let rows = (0..slices).flat_map(|slice| (0..rows).map(move |row| self.row(slice, row)));
        f.debug_list().entries(rows.flatten()).finish()
    }
}

impl Image {
    map_methods! {
        "the image, pixels of the size of `T`,", pub, Into<ImageRegion>, ImageMap, enqueue
    }
}

/// Maps pixels of an image.
///
/// # Safety
/// Without `is_blocking`, nothing reaches the pixels before the event of the guard has completed.
unsafe fn enqueue<T: Pod, M: MapMode>(
    image: &Image,
    order: &Order<'_>,
    part: impl Into<ImageRegion>,
    is_blocking: bool,
) -> Result<ImageMap<T, M>> {
    let pixels = part.into().on_device(Image::MAP, image)?;
    image.check_pixels_are::<T>(Image::MAP)?;
    check_mode::<M>(Image::MAP, image.flags())?;
    let accessed = image.accessed(&pixels, access::<M>());
    let mut pitches = [0; 2];
    let submit = |arguments: Arguments, pointer: &mut *mut c_void| {
        submit::<M>(image, &pixels, arguments, pointer, &mut pitches)
    };
    let mapping = Mapping::new(order, image, &accessed, is_blocking, submit)?;
    let [width, rows, slices] = pixels.region;
    let size = size_of::<T>();
    let [row_pitch, slice_pitch] =
        checked_pitches(image.image_type(), [width * size, rows, slices], pitches, size)?;
    let pointer = mapping.pointer()?;
    let shape = [slices, rows, width];
    Ok(ImageMap { pointer, shape, row_pitch, slice_pitch, mapping, mode: PhantomData })
}

fn submit<M: MapMode>(
    image: &Image,
    pixels: &Pixels,
    (queue, count, events): Arguments,
    pointer: &mut *mut c_void,
    [row_pitch, slice_pitch]: &mut [usize; 2],
) -> Submitted {
    if let Some((buffer, bytes)) = image.in_buffer(pixels) {
        *row_pitch = bytes.len();
        // The bytes of the whole buffer are mapped in place of a region's: some drivers confuse maps of regions.
        // quirk: NVIDIA-11
        let (whole, bytes) = (buffer.object().raw(), buffer.in_whole(&bytes));
        // SAFETY: the handles are alive and of one context, and the bytes are within the buffer.
        return unsafe { map::submit::<M>(whole, &bytes, (queue, count, events), pointer) };
    }
    let (origin, region) = (pixels.origin.as_ptr(), pixels.region.as_ptr());
    let mut event = ptr::null_mut();
    // SAFETY: the handles are alive and of one context, and the pixels are within the image.
    *pointer = unsafe {
        create!(clEnqueueMapImage(
            queue,
            image.as_raw(),
            CL_NON_BLOCKING,
            M::FLAGS,
            origin,
            region,
            row_pitch,
            slice_pitch,
            count,
            events,
            &mut event,
        ))
    }?;
    Ok(event)
}

/// Returns the distances of rows along y and of slices along z, in bytes, at which no two pixels of `size`
/// bytes overlap. The region is the bytes of a row, rows and slices.
fn checked_pitches(
    image_type: ImageType,
    [row, rows, slices]: [usize; 3],
    given: [usize; 2],
    size: usize,
) -> Result<[usize; 2]> {
    let row_pitch = match image_type {
        // The layers are rows of the map.
        ImageType::Image1dArray if given[1] != 0 => given[1],
        _ => given[0],
    };
    // A single row or slice needs no distance.
    let row_pitch = if rows == 1 && row_pitch < row { row } else { row_pitch };
    let slice = row_pitch.saturating_mul(rows);
    let slice_pitch = if slices == 1 { slice } else { given[1] };
    let in_place = row_pitch >= row && slice_pitch >= slice;
    let fits = in_place && row_pitch.is_multiple_of(size) && slice_pitch.is_multiple_of(size);
    Error::refuse_if(!fits, Image::MAP, CL_MAP_FAILURE, || {
        format!(
            "the driver has mapped rows {row_pitch} and slices {slice_pitch} bytes apart, where a row \
             has {row} bytes and a slice {rows} rows of pixels of {size} bytes"
        )
    })?;
    Ok([row_pitch, slice_pitch])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pitches_keep_pixels_apart() {
        use ImageType::{Image1d, Image1dArray, Image2d, Image2dArray, Image3d};
        for (image_type, region, given, expected) in [
            (Image2d, [8, 3, 1], [12, 0], Some([12, 36])),
            (Image2d, [8, 3, 1], [12, 99], Some([12, 36])),
            (Image2d, [8, 3, 1], [4, 0], None),
            (Image2d, [8, 3, 1], [0, 0], None),
            (Image2d, [8, 3, 1], [10, 0], None),
            (Image1d, [8, 1, 1], [0, 0], Some([8, 8])),
            (Image1dArray, [8, 3, 1], [8, 12], Some([12, 36])),
            (Image1dArray, [8, 3, 1], [8, 0], Some([8, 24])),
            (Image2dArray, [8, 3, 2], [12, 40], Some([12, 40])),
            (Image3d, [8, 3, 2], [12, 32], None),
            (Image3d, [8, 3, 2], [12, 0], None),
            (Image3d, [8, 1, 2], [0, 8], Some([8, 8])),
        ] {
            let found = checked_pitches(image_type, region, given, 4).ok();
            assert_eq!(found, expected, "{image_type:?} {region:?} {given:?}");
        }
    }
}
