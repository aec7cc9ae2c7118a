//! Images: which formats there are, how images are made, and what moves pixels in and out.
//!
//! Kernels that read images check writes of the host, and the host checks writes of kernels.

/// A test for each type of image.
macro_rules! for_each_type {
    (fn $name:ident($on_device:ident, $image_type:ident) { $($body:tt)* }) => {
        #[rstest]
        #[clmatrix_harness::test(requires(images))]
        fn $name(
            $on_device: OnDevice,
            #[values(
                ImageType::Image1d,
                ImageType::Image1dBuffer,
                ImageType::Image1dArray,
                ImageType::Image2d,
                ImageType::Image2dArray,
                ImageType::Image3d
            )]
            $image_type: ImageType,
        ) -> Result<()> {
            $($body)*
        }
    };
}

mod array;
mod copy;
mod create;
mod fill;
mod formats;
mod info;
mod map;
mod of_buffer;
mod property;
mod refused;
mod sizes;

use clmatrix::cl3::memory as cl;
use clmatrix::memory::*;
use clmatrix::{Class, CommandQueue, Device, Result};
use clmatrix_harness::{CtxFactory, ctx_factory, skip};
use ndarray::{Array2, Array3, ShapeBuilder, s};
use rstest::rstest;

use crate::buffer::{buffer_of, buffer_with, bytes_in, driver_flags, refusal};
use crate::support::gate::*;
use crate::support::on_device::*;
use crate::support::pattern::*;
use crate::support::unanswered;

/// A format of every device with images.
const RGBA_U8: ImageFormat = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt8);
pub(crate) const RGBA_U32: ImageFormat =
    ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt32);

/// One channel, whose pixels are letters in tests. A device need not have it.
const GREY: ImageFormat = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);

/// Returns whether the device has an extension that is a part of OpenCL 2.
fn has(on_device: &OnDevice, extension: &str) -> Result<bool> {
    let device = on_device.device().opencl3();
    let is_listed = device.extensions().map_err(unanswered)?.contains(extension);
    Ok(is_listed || device.version().map_err(unanswered)?.starts_with("OpenCL 2."))
}

/// The driver's answer to a query of images.
fn driver_says(image: &Image, name: u32) -> usize {
    cl::get_image_info(image.as_raw(), name).expect("the driver tells").into()
}

/// The name that OpenCL C has for such images.
fn type_name(image_type: ImageType) -> &'static str {
    match image_type {
        ImageType::Image1d => "image1d_t",
        ImageType::Image1dBuffer => "image1d_buffer_t",
        ImageType::Image1dArray => "image1d_array_t",
        ImageType::Image2d => "image2d_t",
        ImageType::Image2dArray => "image2d_array_t",
        ImageType::Image3d => "image3d_t",
    }
}

/// Where the pixel (x, y, z) is, in OpenCL C.
fn coordinates(image_type: ImageType) -> &'static str {
    match image_type {
        ImageType::Image1d | ImageType::Image1dBuffer => "x",
        ImageType::Image1dArray | ImageType::Image2d => "(int2)(x, y)",
        ImageType::Image2dArray | ImageType::Image3d => "(int4)(x, y, z, 0)",
    }
}

/// Returns the type of a pixel in kernels: a vector of four, and the end of the functions' names.
fn vector(kind: ChannelKind) -> (&'static str, &'static str) {
    match kind {
        ChannelKind::Float => ("float4", "f"),
        ChannelKind::Signed => ("int4", "i"),
        ChannelKind::Unsigned => ("uint4", "ui"),
    }
}

/// The shape that the tests' images of this type have.
fn shape(image_type: ImageType) -> &'static [usize] {
    &[7, 5, 3][..image_type.dimensions()]
}

/// An image of this type, also of a buffer's bytes, whose buffer has no other handle. Kernels need
/// not be able to write 3D images: tests of all types take READ_ONLY.
fn image_of(on_device: &OnDevice, image_type: ImageType, flags: MemFlags) -> Result<Image> {
    let shape = shape(image_type);
    let size = shape.iter().product::<usize>() * RGBA_U32.item_size();
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, size)?;
    let builder = Image::builder(&on_device.context, RGBA_U32).flags(flags).shape(shape);
    let image = match image_type {
        ImageType::Image1dBuffer => builder.buffer(&buffer).build()?,
        _ if image_type.is_array() => builder.array().build()?,
        _ => builder.build()?,
    };
    assert_eq!(image.image_type(), image_type);
    Ok(image)
}

/// Returns the image, or skips the test if the device does not have the format: OpenCL 3.0 requires RGBA,
/// and BGRA for one type.
fn or_skip(image: Result<Image>) -> Result<Image> {
    match image {
        // The library's: clGetSupportedImageFormats does not list the format. The driver's errors have no detail.
        Err(error)
            if error.code_name() == "CL_IMAGE_FORMAT_NOT_SUPPORTED"
                && !error.detail().is_empty() =>
        {
            skip!("{}", error.detail())
        }
        image => image,
    }
}

/// All pixels, x first, as the host reads them.
fn pixels(on_device: &OnDevice, image: &Image) -> Result<Vec<[u32; 4]>> {
    let mut pixels = vec![[0; 4]; pixel_count(image)];
    enqueue_copy(&on_device.queue, &mut pixels, image, ..)?;
    Ok(pixels)
}

fn pixel_count(image: &Image) -> usize {
    image.shape().iter().product()
}

/// The image's size along x and y, for kernels that get x, y and z from one number.
fn axes(image: &Image) -> [u32; 2] {
    let axis = |axis: usize| image.shape().get(axis).map_or(1, |pixels| *pixels as u32);
    [axis(0), axis(1)]
}

/// The beginning of a kernel with one work item for each pixel.
const POSITION: &str = "int i = get_global_id(0);
    int x = i % width, y = i / width % height, z = i / width / height;";

/// All pixels, x first, as a kernel reads them: the bits of four floats or integers each.
pub(crate) fn seen(on_device: &OnDevice, image: &Image) -> Result<Vec<[u32; 4]>> {
    let (vector, suffix) = vector(image.format().channel_type.kind());
    let image_type = image.image_type();
    // Images of buffers have no samplers.
    let sampler = if image_type == ImageType::Image1dBuffer { "" } else { "exact, " };
    let source = format!(
        "const sampler_t exact =
             CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
         kernel void k(read_only {} image, global {vector} *out, int width, int height) {{
             {POSITION}
             out[i] = read_image{suffix}(image, {sampler}{});
         }}",
        type_name(image_type),
        coordinates(image_type),
    );
    let pixels = pixel_count(image);
    let out = Buffer::new(&on_device.context, MemFlags::WRITE_ONLY, 16 * pixels)?;
    let [width, height] = axes(image);
    let mut kernel = on_device.kernel(&source, "")?;
    let mut launch = kernel.launch();
    launch.arg_read(image).arg(&out).arg(width).arg(height).global(pixels);
    // SAFETY: these are the kernel's arguments, and each work item has its pixel in both.
    unsafe { launch.enqueue(&on_device.queue)? };
    let mut seen = vec![[0; 4]; pixels];
    enqueue_copy(&on_device.queue, &mut seen, &out, ..)?;
    Ok(seen)
}

/// Has a kernel write to each pixel its own place, as [`place`] does: the image is of [`RGBA_U32`].
fn write_places(on_device: &OnDevice, image: &Image) -> Result<()> {
    assert_eq!(image.format(), RGBA_U32);
    let image_type = image.image_type();
    let extension = match image_type {
        ImageType::Image3d => "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable",
        _ => "",
    };
    let source = format!(
        "{extension}
         uint word(uint number) {{ return 0x04030201u + number % 61 * 0x04040404u; }}
         kernel void k(write_only {} image, int width, int height) {{
             {POSITION}
             write_imageui(image, {}, (uint4)(word(x), word(y), word(z), word(60)));
         }}",
        type_name(image_type),
        coordinates(image_type),
    );
    let [width, height] = axes(image);
    let mut kernel = on_device.kernel(&source, "")?;
    let mut launch = kernel.launch();
    launch.arg(image).arg(width).arg(height).global(pixel_count(image));
    // SAFETY: these are the kernel's arguments, and each work item has its pixel.
    unsafe { launch.enqueue(&on_device.queue)? };
    Ok(())
}

/// The pixel of words that encodes the place (x, y, z).
fn place(x: usize, y: usize, z: usize) -> [u32; 4] {
    words([x as u32, y as u32, z as u32, 60])
}

/// The places of the pixels of `shape`, x first.
pub(crate) fn places(shape: &[usize]) -> Vec<[u32; 4]> {
    places_from(shape, [0; 3])
}

/// The places of those pixels that are at `origin` or after it along each axis.
fn places_from(shape: &[usize], origin: [usize; 3]) -> Vec<[u32; 4]> {
    let within = positions(shape).into_iter().filter(|position| is_from(*position, origin));
    within.map(|[x, y, z]| place(x, y, z)).collect()
}

/// Returns whether `position` is at `origin` or after it along each axis.
fn is_from(position: [usize; 3], origin: [usize; 3]) -> bool {
    (0..3).all(|axis| position[axis] >= origin[axis])
}

/// The places of all pixels of `shape`, where those from `origin` on have become the `new` ones.
fn changed_from(shape: &[usize], origin: [usize; 3], new: &[[u32; 4]]) -> Vec<[u32; 4]> {
    let mut next = new.iter();
    let pixel = |position @ [x, y, z]: [usize; 3]| {
        if is_from(position, origin) { *next.next().expect("as many") } else { place(x, y, z) }
    };
    positions(shape).into_iter().map(pixel).collect()
}

/// The second pixel along each axis of `shape`, and the size of the region that begins there.
fn all_but_the_first(shape: &[usize]) -> [[usize; 3]; 2] {
    let (mut origin, mut region) = ([0; 3], [1; 3]);
    origin[..shape.len()].fill(1);
    region.iter_mut().zip(shape).for_each(|(len, pixels)| *len = pixels - 1);
    [origin, region]
}

/// The x, y and z of the pixels of `shape`, x first.
fn positions(shape: &[usize]) -> Vec<[usize; 3]> {
    let axis = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    let rows = |z| (0..axis(1)).flat_map(move |y| (0..axis(0)).map(move |x| [x, y, z]));
    (0..axis(2)).flat_map(rows).collect()
}

/// The x, y and z of the pixels of `shape` as small numbers.
fn numbers(shape: &[usize]) -> Vec<[u32; 4]> {
    positions(shape).into_iter().map(|[x, y, z]| [x as u32, y as u32, z as u32, 3]).collect()
}
