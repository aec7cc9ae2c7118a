//! Images from arrays (`pyopencl.image_from_array`).

use crate::context::Context;
use bytemuck::Pod;
use cl3::error_codes::{CL_INVALID_HOST_PTR, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR};
use ndarray::{ArrayBase, Data, Dimension};
use smallvec::SmallVec;

use super::Image;
use super::builder::CALL;
use super::format::{ChannelOrder, ChannelType, ImageFormat};
use crate::error::{Error, Result};
use crate::memory::MemFlags;

/// The access of kernels to an image from an array (PyOpenCL's `mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayMode {
    /// Kernels read the image (`"r"`).
    Read,
    /// Kernels write the image (`"w"`).
    Write,
}

/// The values of integers in kernels (PyOpenCL's `norm_int`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Integers {
    /// Integers.
    #[default]
    AsTheyAre,
    /// Fractions of the largest integer: 0.0 to 1.0, or -1.0 to 1.0 with a sign.
    Normalized,
}

/// An element of an array that an image can be made of: a channel (`u8`, `i8`, `u16`, `i16`, `u32`,
/// `i32`, `f32`, and with the feature `half`, `half::f16`), or a pixel as an array of 2 to 4 channels.
pub trait ImageElement: Pod + sealed::Element {}

mod sealed {
    use super::ChannelType;

    pub trait Element {
        /// The type of each channel.
        const CHANNEL_TYPE: ChannelType;
        /// The same, for kernels that see fractions.
        const NORMALIZED: Option<ChannelType>;
        /// 1 for a number; as many as a vector has.
        const CHANNELS: usize;
    }
}

macro_rules! elements {
    ($($number:ty: $channel_type:ident, $normalized:expr;)*) => {$(
        impl ImageElement for $number {}

        impl sealed::Element for $number {
            const CHANNEL_TYPE: ChannelType = ChannelType::$channel_type;
            const NORMALIZED: Option<ChannelType> = $normalized;
            const CHANNELS: usize = 1;
        }

        elements!(vectors of $number: 2 3 4);
    )*};
    (vectors of $number:ty: $($channels:literal)*) => {$(
        impl ImageElement for [$number; $channels] {}

        impl sealed::Element for [$number; $channels] {
            const CHANNEL_TYPE: ChannelType = <$number as sealed::Element>::CHANNEL_TYPE;
            const NORMALIZED: Option<ChannelType> = <$number as sealed::Element>::NORMALIZED;
            const CHANNELS: usize = $channels;
        }
    )*};
}

elements! {
    u8: UnsignedInt8, Some(ChannelType::UnormInt8);
    i8: SignedInt8, Some(ChannelType::SnormInt8);
    u16: UnsignedInt16, Some(ChannelType::UnormInt16);
    i16: SignedInt16, Some(ChannelType::SnormInt16);
    u32: UnsignedInt32, None;
    i32: SignedInt32, None;
    f32: Float, None;
}

#[cfg(feature = "half")]
elements! {
    half::f16: HalfFloat, None;
}

impl Image {
    /// Creates a 2D or 3D image with the content of `array` (`pyopencl.image_from_array`).
    ///
    /// Kernels index it the other way round: `array[[y, x]]` is at `(int2)(x, y)`, and
    /// `array[[z, y, x]]` at `(int4)(x, y, z, 0)`.
    ///
    /// The format has the first channels of R, G, B and A. With `channels` above 1, the last axis of the
    /// array counts them; without, elements that are arrays have theirs, and numbers are one each.
    ///
    /// ```
    /// use clmatrix::memory::{ArrayMode, Image, Integers};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// // 3 rows of 2 pixels.
    /// let pixels = ndarray::Array3::<u8>::zeros((3, 2, 4));
    /// let (mode, integers) = (ArrayMode::Read, Integers::Normalized);
    /// let image = Image::from_array(&context, &pixels, Some(4), mode, integers)?;
    /// assert_eq!(image.shape(), [2, 3]);
    /// assert_eq!(image.format().to_string(), "RGBA UNORM_INT8");
    ///
    /// let pixels = ndarray::Array2::<[f32; 4]>::default((3, 2));
    /// let image = Image::from_array(&context, &pixels, None, mode, Integers::AsTheyAre)?;
    /// assert_eq!(image.format().to_string(), "RGBA FLOAT");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_HOST_PTR for an array that is not in standard layout (C order), and one whose axes do
    /// not suit; CL_INVALID_IMAGE_FORMAT_DESCRIPTOR for more channels than four or than the elements
    /// have, and for fractions of what has none; and those of
    /// [`ImageBuilder::build`](super::builder::ImageBuilder::build), above all CL_IMAGE_FORMAT_NOT_SUPPORTED: few
    /// devices have images of three channels.
    pub fn from_array<T: ImageElement, S: Data<Elem = T>, D: Dimension>(
        context: &Context,
        array: &ArrayBase<S, D>,
        channels: Option<usize>,
        mode: ArrayMode,
        integers: Integers,
    ) -> Result<Self> {
        let Some(elements) = array.as_slice() else {
            let reason = "the array is not in standard layout (C order): see as_standard_layout";
            return Err(Error::refused(CALL, CL_INVALID_HOST_PTR, reason));
        };
        let (axes, channels) = pixel_axes::<T>(array.shape(), channels)?;
        let len = axes.len();
        Error::refuse_if(!(2..=3).contains(&len), CALL, CL_INVALID_HOST_PTR, || {
            format!("the array has {len} axes of pixels; an image from an array has 2 or 3")
        })?;
        let format = ImageFormat::new(first_of_rgba(channels)?, channel_type::<T>(integers)?);
        let flags = match mode {
            ArrayMode::Read => MemFlags::READ_ONLY,
            ArrayMode::Write => MemFlags::WRITE_ONLY,
        };
        let shape: SmallVec<[usize; 3]> = axes.iter().rev().copied().collect();
        Self::builder(context, format).flags(flags).shape(shape).copy_from(elements).build()
    }
}

/// Returns the axes of pixels, and the number of channels.
fn pixel_axes<T: ImageElement>(
    shape: &[usize],
    channels: Option<usize>,
) -> Result<(&[usize], usize)> {
    let refused =
        |reason: String| Err(Error::refused(CALL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, reason));
    match (channels, shape) {
        (None, axes) => Ok((axes, T::CHANNELS)),
        (Some(given), _) if T::CHANNELS != 1 => refused(format!(
            "the elements are pixels of {} channels; leave out the number of channels, {given}",
            T::CHANNELS
        )),
        (Some(1), axes) => Ok((axes, 1)),
        (Some(given), [axes @ .., last]) if *last == given => Ok((axes, given)),
        (Some(given), shape) => refused(format!(
            "the last axis of an array of shape {shape:?} does not have {given} channels"
        )),
    }
}

fn first_of_rgba(channels: usize) -> Result<ChannelOrder> {
    let orders = [ChannelOrder::R, ChannelOrder::Rg, ChannelOrder::Rgb, ChannelOrder::Rgba];
    let order = channels.checked_sub(1).and_then(|last| orders.get(last));
    order.copied().ok_or_else(|| {
        let reason = format!("a pixel has 1 to 4 channels, not {channels}");
        Error::refused(CALL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, reason)
    })
}

fn channel_type<T: ImageElement>(integers: Integers) -> Result<ChannelType> {
    match integers {
        Integers::AsTheyAre => Ok(T::CHANNEL_TYPE),
        Integers::Normalized => T::NORMALIZED.ok_or_else(|| {
            let reason = format!("{} cannot be normalized", T::CHANNEL_TYPE);
            Error::refused(CALL, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, reason)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_counts_channels_where_it_is_said_to() {
        let axes = |result: Result<(&[usize], usize)>| {
            result.map(|(axes, channels)| (axes.to_vec(), channels)).ok()
        };
        let shape = [5, 7, 4];
        assert_eq!(axes(pixel_axes::<u8>(&shape, None)), Some((vec![5, 7, 4], 1)));
        assert_eq!(axes(pixel_axes::<u8>(&shape, Some(1))), Some((vec![5, 7, 4], 1)));
        assert_eq!(axes(pixel_axes::<u8>(&shape, Some(4))), Some((vec![5, 7], 4)));
        assert_eq!(axes(pixel_axes::<u8>(&shape, Some(2))), None);
        assert_eq!(axes(pixel_axes::<u8>(&[], Some(4))), None);
        assert_eq!(axes(pixel_axes::<[u8; 2]>(&shape, None)), Some((vec![5, 7, 4], 2)));
        assert_eq!(axes(pixel_axes::<[u8; 4]>(&shape, Some(4))), None);
    }

    #[test]
    fn channel_types_are_those_of_the_elements() {
        fn both<T: ImageElement>() -> [Option<ChannelType>; 2] {
            [Integers::AsTheyAre, Integers::Normalized]
                .map(|integers| channel_type::<T>(integers).ok())
        }
        assert_eq!(both::<i8>(), [Some(ChannelType::SignedInt8), Some(ChannelType::SnormInt8)]);
        assert_eq!(both::<[f32; 2]>(), [Some(ChannelType::Float), None]);
        assert_eq!(both::<u32>(), [Some(ChannelType::UnsignedInt32), None]);
        assert!(first_of_rgba(5).is_err());
    }
}
