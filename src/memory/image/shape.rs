//! The axes of images, their lengths in pixels, and boxes of pixels.

use cl3::error_codes::CL_INVALID_VALUE;
use cl3::memory as cl;

use crate::error::{Error, Result};
use crate::memory::transfer::Rows;
use crate::memory::{PixelOrigin, PixelRegion};

numbered! {
    /// The type of an image: its axes (`cl_mem_object_type`; `pyopencl.mem_object_type`).
    ImageType;
    /// One row.
    Image1d = cl::CL_MEM_OBJECT_IMAGE1D;
    /// One row, of a buffer's bytes.
    Image1dBuffer = cl::CL_MEM_OBJECT_IMAGE1D_BUFFER;
    /// Rows, each a layer of its own.
    Image1dArray = cl::CL_MEM_OBJECT_IMAGE1D_ARRAY;
    /// Rows.
    Image2d = cl::CL_MEM_OBJECT_IMAGE2D;
    /// 2D images, each a layer of its own.
    Image2dArray = cl::CL_MEM_OBJECT_IMAGE2D_ARRAY;
    /// Slices of rows.
    Image3d = cl::CL_MEM_OBJECT_IMAGE3D;
}

/// An axis of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Pixels of a row.
    Width,
    /// Rows.
    Height,
    /// Slices.
    Depth,
    /// Layers of an array.
    Layers,
}

impl ImageType {
    /// Returns the axes of a shape.
    pub(super) const fn axes(self) -> &'static [Axis] {
        match self {
            Self::Image1d | Self::Image1dBuffer => &[Axis::Width],
            Self::Image1dArray => &[Axis::Width, Axis::Layers],
            Self::Image2d => &[Axis::Width, Axis::Height],
            Self::Image2dArray => &[Axis::Width, Axis::Height, Axis::Layers],
            Self::Image3d => &[Axis::Width, Axis::Height, Axis::Depth],
        }
    }

    /// Returns the number of axes of a shape, that of the layers included.
    pub const fn dimensions(self) -> usize {
        self.axes().len()
    }

    /// Returns whether the last axis counts layers.
    pub const fn is_array(self) -> bool {
        matches!(self, Self::Image1dArray | Self::Image2dArray)
    }
}

/// An image's type and its pixels along x, y and z: 1 along an axis that the type does not have.
/// The layers of an array lie along its last axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) image_type: ImageType,
    pub(crate) pixels: [usize; 3],
}

impl Extent {
    /// Returns the extent of an image. `shape` has the type's number of axes, none of length 0.
    pub(super) fn new(image_type: ImageType, shape: &[usize]) -> Self {
        let mut pixels = [1; 3];
        pixels[..shape.len()].copy_from_slice(shape);
        Self { image_type, pixels }
    }

    /// Returns the lengths of the axes that the type has.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.pixels[..self.image_type.dimensions()]
    }

    /// Returns the length of an axis, 0 if the type does not have it.
    pub(super) fn length(&self, axis: Axis) -> usize {
        let position = self.image_type.axes().iter().position(|other| *other == axis);
        position.map_or(0, |position| self.pixels[position])
    }

    /// Returns the box of `region` pixels from `origin` on, or of all pixels from there on. It has to lie
    /// within the image `what`.
    pub(crate) fn checked(
        &self,
        call: &'static str,
        what: &str,
        origin: PixelOrigin,
        region: Option<PixelRegion>,
    ) -> Result<Pixels> {
        let origin = origin.0;
        let rest = || std::array::from_fn(|axis| self.pixels[axis].saturating_sub(origin[axis]));
        let region = region.map_or_else(rest, |region| region.0);
        let is_within = (0..3).all(|axis| {
            let end = origin[axis].checked_add(region[axis]);
            region[axis] > 0 && end.is_some_and(|end| end <= self.pixels[axis])
        });
        if is_within {
            return Ok(Pixels { origin, region });
        }
        let reason = if region.contains(&0) {
            format!("the region {region:?} has no pixels")
        } else {
            format!(
                "{region:?} pixels at {origin:?} exceed the {what}, which is an {:?} \
                 of {:?} pixels",
                self.image_type,
                self.shape()
            )
        };
        Err(Error::refused(call, CL_INVALID_VALUE, reason))
    }
}

/// A box of pixels within an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub(crate) origin: [usize; 3],
    pub(crate) region: [usize; 3],
}

impl Pixels {
    /// Returns its bytes in an image with these pitches.
    pub(super) fn rows(&self, item_size: usize, [row_pitch, slice_pitch]: [usize; 2]) -> Rows {
        // No product overflows: the box is within the image.
        let in_bytes = |[x, y, z]: [usize; 3]| [x * item_size, y, z];
        let (origin, region) = (in_bytes(self.origin), in_bytes(self.region));
        Rows { origin, region, row_pitch, slice_pitch }
    }

    /// Returns the number of its bytes.
    pub(crate) fn size(&self, item_size: usize) -> usize {
        // The product does not overflow: the box is within the image.
        self.region.iter().product::<usize>() * item_size
    }
}

/// Returns the row pitch and the slice pitch that drivers take for `rows` of host memory.
pub(super) fn driver_pitches(image_type: ImageType, rows: &Rows) -> [usize; 2] {
    match image_type {
        // Each row is a layer. The specification names the slice pitch, drivers use the row pitch.
        // quirk: DRIVER-4
        ImageType::Image1dArray => [rows.row_pitch; 2],
        ImageType::Image2dArray | ImageType::Image3d => [rows.row_pitch, rows.slice_pitch],
        _ => [rows.row_pitch, 0],
    }
}

/// Returns the distances along y and along z, in bytes, for these pitches of rows and of slices or layers:
/// the layers of 1D images lie along y.
pub(crate) fn layer_pitches(
    image_type: ImageType,
    [row_pitch, slice_pitch]: [usize; 2],
) -> std::result::Result<[usize; 2], String> {
    match image_type {
        ImageType::Image2dArray | ImageType::Image3d => Ok([row_pitch, slice_pitch]),
        ImageType::Image1dArray if slice_pitch == 0 => Ok([row_pitch, 0]),
        ImageType::Image1dArray if slice_pitch >= row_pitch => Ok([slice_pitch, 0]),
        ImageType::Image1dArray => {
            Err(format!("rows of {row_pitch} bytes cannot be {slice_pitch} bytes apart"))
        }
        _ if slice_pitch == 0 => Ok([row_pitch, 0]),
        _ => Err(format!("an {image_type:?} has no slices or layers, and no slice pitch")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_those_of_the_type() {
        for (image_type, shape, pixels, info) in [
            (ImageType::Image1d, &[7][..], [7, 1, 1], [7, 0, 0, 0]),
            (ImageType::Image1dBuffer, &[7], [7, 1, 1], [7, 0, 0, 0]),
            (ImageType::Image1dArray, &[7, 5], [7, 5, 1], [7, 0, 0, 5]),
            (ImageType::Image2d, &[7, 5], [7, 5, 1], [7, 5, 0, 0]),
            (ImageType::Image2dArray, &[7, 5, 3], [7, 5, 3], [7, 5, 0, 3]),
            (ImageType::Image3d, &[7, 5, 3], [7, 5, 3], [7, 5, 3, 0]),
        ] {
            let extent = Extent::new(image_type, shape);
            assert_eq!(extent.pixels, pixels, "{image_type:?}");
            assert_eq!(extent.shape(), shape, "{image_type:?}");
            let axes = [Axis::Width, Axis::Height, Axis::Depth, Axis::Layers];
            let found = axes.map(|axis| extent.length(axis));
            assert_eq!(found, info, "{image_type:?}");
            assert_eq!(ImageType::from_raw(image_type.as_raw()), Some(image_type));
        }
        assert_eq!(ImageType::from_raw(cl::CL_MEM_OBJECT_BUFFER), None);
    }

    #[test]
    fn boxes_are_within_the_image() {
        let extent = Extent::new(ImageType::Image2dArray, &[7, 5, 3]);
        for (origin, region, is_within) in [
            ([0, 0, 0], [7, 5, 3], true),
            ([6, 4, 2], [1, 1, 1], true),
            ([1, 0, 0], [7, 1, 1], false),
            ([0, 1, 0], [1, 5, 1], false),
            ([0, 0, 1], [1, 1, 3], false),
            ([0, 0, 0], [7, 0, 1], false),
            ([7, 0, 0], [1, 1, 1], false),
            ([usize::MAX, 0, 0], [1, 1, 1], false),
            ([1, 0, 0], [usize::MAX, 1, 1], false),
        ] {
            let found =
                extent.checked("clEnqueueReadImage", "image", origin.into(), Some(region.into()));
            assert_eq!(found.is_ok(), is_within, "{region:?} from {origin:?}");
        }
    }

    #[test]
    fn the_bytes_of_a_box_follow_from_the_pitches() {
        let pixels = Pixels { origin: [1, 2, 1], region: [3, 2, 2] };
        assert_eq!(pixels.size(4), 48);
        // From the pixel (1, 2, 1) to the end of (3, 3, 2).
        assert_eq!(pixels.rows(4, [32, 160]).hull(), 228..432);
    }
}
