//! Pixels of every format that the device has, there and back, against a model in ndarray.

use ndarray::ArrayViewMut3;
use proptest::prelude::*;

use super::*;
use crate::support::property::holds_for;

/// Two images, and a box of pixels that goes from host memory to the first, from there to the
/// second, and back to the host.
#[derive(Clone, Debug)]
struct Case {
    image_type: ImageType,
    /// Which of the device's formats.
    format: usize,
    shape: [usize; 3],
    region: [usize; 3],
    origins: [[usize; 3]; 2],
    /// Pixels between rows, and rows between slices.
    gaps: [usize; 2],
}

impl Case {
    fn image(&self, on_device: &OnDevice, format: ImageFormat) -> Result<Image> {
        let shape = &self.shape[..self.image_type.dimensions()];
        let builder = Image::builder(&on_device.context, format).flags(MemFlags::READ_ONLY);
        let builder = builder.shape(shape);
        if self.image_type.is_array() { builder.array().build() } else { builder.build() }
    }

    /// The bytes of a row, and the distances in the host's rows with gaps.
    fn pitches(&self, item_size: usize) -> [usize; 2] {
        let row_pitch = (self.region[0] + self.gaps[0]) * item_size;
        // A 1D array has no rows between its layers.
        let rows = if self.image_type == ImageType::Image1dArray { 0 } else { self.gaps[1] };
        [row_pitch, row_pitch * (self.region[1] + rows)]
    }
}

/// `count` pixels of pattern `seed`.
fn pixels(format: ImageFormat, count: usize, seed: usize) -> Vec<u8> {
    let mut bytes = bytes(seed, count * format.item_size());
    keep_to_values(format, &mut bytes);
    bytes
}

/// Replaces each value of `N` bytes.
fn each<const N: usize>(bytes: &mut [u8], new: impl Fn([u8; N]) -> [u8; N]) {
    for value in bytes.chunks_exact_mut(N) {
        value.copy_from_slice(&new((&*value).try_into().expect("as many bytes")));
    }
}

/// Drivers may change bytes that stand for the same value as others, or for none (OpenCL 3.0, 8.3):
/// the smallest normalised integer, and floats that are no numbers or too small.
fn keep_to_values(format: ImageFormat, bytes: &mut [u8]) {
    match format.channel_type {
        ChannelType::SnormInt8 => {
            each(bytes, |[byte]: [u8; 1]| [if byte == 0x80 { 0x81 } else { byte }])
        }
        ChannelType::SnormInt16 => each(bytes, |value| match i16::from_ne_bytes(value) {
            i16::MIN => 1_i16.to_ne_bytes(),
            _ => value,
        }),
        ChannelType::HalfFloat => {
            each(bytes, |half| (u16::from_ne_bytes(half) & 0xbfff | 0x2000).to_ne_bytes());
        }
        ChannelType::Float => each(bytes, |float| {
            (u32::from_ne_bytes(float) & 0xbfff_ffff | 0x2000_0000).to_ne_bytes()
        }),
        _ => {}
    }
}

/// Clears the bits that belong to no channel, which nothing keeps.
fn clear_unused(format: ImageFormat, bytes: &mut [u8]) {
    match format.channel_type {
        ChannelType::UnormShort555 => {
            each(bytes, |value| (u16::from_ne_bytes(value) & 0x7fff).to_ne_bytes());
        }
        ChannelType::UnormInt101010 => {
            each(bytes, |value| (u32::from_ne_bytes(value) & 0x3fff_ffff).to_ne_bytes());
        }
        _ => {}
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let image_types = prop_oneof![
        Just(ImageType::Image1d),
        Just(ImageType::Image1dArray),
        Just(ImageType::Image2d),
        Just(ImageType::Image2dArray),
        Just(ImageType::Image3d),
    ];
    (image_types, [1..9_usize, 1..6, 1..4]).prop_flat_map(|(image_type, mut shape)| {
        shape[image_type.dimensions()..].fill(1);
        let axis = |axis: usize| {
            (1..=shape[axis]).prop_flat_map(move |len| {
                let last = shape[axis] - len;
                (Just(len), 0..=last, 0..=last)
            })
        };
        let axes = (axis(0), axis(1), axis(2));
        (axes, 0..10_000_usize, [0..4_usize, 0..3]).prop_map(move |(axes, format, gaps)| Case {
            image_type,
            format,
            shape,
            region: [axes.0.0, axes.1.0, axes.2.0],
            origins: [[axes.0.1, axes.1.1, axes.2.1], [axes.0.2, axes.1.2, axes.2.2]],
            gaps,
        })
    })
}

/// The bytes of an image, by slice, row and byte of a row.
fn as_model(bytes: Vec<u8>, [width, height, depth]: [usize; 3], item_size: usize) -> Array3<u8> {
    Array3::from_shape_vec((depth, height, width * item_size), bytes).expect("as many")
}

/// A box of an image's bytes.
fn part<'a>(
    model: &'a mut Array3<u8>,
    [x, y, z]: [usize; 3],
    [width, height, depth]: [usize; 3],
    item_size: usize,
) -> ArrayViewMut3<'a, u8> {
    let bytes = x * item_size..(x + width) * item_size;
    model.slice_mut(s![z..z + depth, y..y + height, bytes])
}

/// The formats that the device has for images that kernels read, if there are images of them:
/// `formats::images_of_each_supported_format_are_created` says whether there are of all.
fn formats(on_device: &OnDevice, image_type: ImageType) -> Result<Vec<ImageFormat>> {
    let context = &on_device.context;
    let all = context.supported_image_formats(MemFlags::READ_ONLY, image_type)?;
    let has_images = |format: &ImageFormat| {
        Image::new(context, MemFlags::READ_ONLY, *format, [1, 1])
            .map_or_else(|error| error.class() != Class::Unsupported, |_| true)
    };
    // Nothing keeps the bits of a channel x.
    let has_x = |format: &ImageFormat| {
        use ChannelOrder::{Rgbx, Rgx, Rx, Srgbx};
        matches!(format.channel_order, Rx | Rgx | Rgbx | Srgbx)
    };
    Ok(all.into_iter().filter(|format| !has_x(format) && has_images(format)).collect())
}

fn goes_there_and_back(
    on_device: &OnDevice,
    case: &Case,
    format: ImageFormat,
) -> Result<std::result::Result<(), String>> {
    let (size, count) = (format.item_size(), case.shape.iter().product());
    let (from, to) = (case.image(on_device, format)?, case.image(on_device, format)?);
    let [first, second] = [0, 1].map(|seed| pixels(format, count, seed));
    enqueue_copy(&on_device.queue, &from, &first, ..)?;
    enqueue_copy(&on_device.queue, &to, &second, ..)?;

    // Host rows with gaps, whose last one ends with the last pixel.
    let [row_pitch, slice_pitch] = case.pitches(size);
    let [width, height, depth] = case.region;
    let last = (depth - 1) * slice_pitch + (height - 1) * row_pitch + width * size;
    let host = pixels(format, last / size, 2);
    let pitches = match case.image_type {
        ImageType::Image1d | ImageType::Image2d => [row_pitch, 0],
        ImageType::Image1dArray => [0, row_pitch],
        _ => [row_pitch, slice_pitch],
    };
    let host_part = |origin| ImageRegion::new(case.region).origin(origin).pitches(pitches);
    enqueue_copy(&on_device.queue, &from, &host, host_part(case.origins[0]))?;
    let copy = ImageCopy::new(case.region).src_origin(case.origins[0]).dst_origin(case.origins[1]);
    enqueue_copy(&on_device.queue, &to, &from, copy)?;

    let host_shape = (depth, height, width * size).strides((slice_pitch, row_pitch, 1));
    let mut second = as_model(second, case.shape, size);
    let mut expected_host = vec![0xa5; last];
    {
        let written = ndarray::ArrayView3::from_shape(host_shape, &host).expect("the rows");
        part(&mut second, case.origins[1], case.region, size).assign(&written);
        ArrayViewMut3::from_shape(host_shape, &mut expected_host)
            .expect("the rows")
            .assign(&written);
    }
    let mut found = vec![0; count * size];
    enqueue_copy(&on_device.queue, &mut found, &to, ..)?;
    let mut found_host = vec![0xa5; last];
    enqueue_copy(&on_device.queue, &mut found_host, &to, host_part(case.origins[1]))?;
    let all = second.as_slice_mut().expect("standard layout");
    for bytes in [&mut found[..], &mut *all, &mut found_host[..], &mut expected_host[..]] {
        clear_unused(format, bytes);
    }
    let copied = same(&found, all, format_args!("the second image, {format}"));
    Ok(copied.and(same(&found_host, &expected_host, format_args!("the host memory, {format}"))))
}

#[clmatrix_harness::test(requires(images))]
fn pixels_of_every_format_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    holds_for(cases(), |case| {
        let formats = formats(&on_device, case.image_type)?;
        goes_there_and_back(&on_device, case, formats[case.format % formats.len()])
    });
    Ok(())
}

/// The same box of each format, so that none is left out.
#[clmatrix_harness::test(requires(images))]
fn every_format_is_tested(on_device: OnDevice) -> Result<()> {
    let case = Case {
        image_type: ImageType::Image2d,
        format: 0,
        shape: [7, 5, 1],
        region: [4, 3, 1],
        origins: [[2, 1, 0], [3, 2, 0]],
        gaps: [1, 0],
    };
    for format in formats(&on_device, case.image_type)? {
        if let Err(reason) = goes_there_and_back(&on_device, &case, format)? {
            panic!("{reason}");
        }
    }
    Ok(())
}
