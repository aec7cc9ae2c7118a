//! The image formats of a context's devices (OpenCL 3.0, 5.3.2; `pyopencl.get_supported_image_formats`),
//! and their limits on images.

use crate::context::Context;
use crate::device::Device;
use cl3::device as cl;
use cl3::error_codes::{
    CL_IMAGE_FORMAT_NOT_SUPPORTED, CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_IMAGE_SIZE,
    CL_INVALID_OPERATION, CL_INVALID_VALUE,
};
use cl3::memory;

use super::format::ImageFormat;
use super::shape::{Axis, Extent, ImageType};
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::memory::MemFlags;

impl Context {
    /// Returns the formats of images of this type with the kernel access of `flags`
    /// (`clGetSupportedImageFormats`; `pyopencl.get_supported_image_formats`).
    ///
    /// [`MemFlags::KERNEL_READ_AND_WRITE`] selects images that one kernel both reads and writes.
    /// Flags of vendors are passed to the driver. A vendor's own formats are left out.
    ///
    /// ```
    /// use clmatrix::memory::{ChannelOrder, ChannelType, ImageFormat, ImageType, MemFlags};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// let formats = context.supported_image_formats(MemFlags::READ_ONLY, ImageType::Image2d)?;
    /// assert!(formats.contains(&ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnormInt8)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_VALUE for flags that exclude each other and, with flags of vendors, where there are no
    /// formats; and the driver's errors.
    pub fn supported_image_formats(
        &self,
        flags: MemFlags,
        image_type: ImageType,
    ) -> Result<Vec<ImageFormat>> {
        const CALL: &str = "clGetSupportedImageFormats";
        flags
            .difference(MemFlags::KERNEL_READ_AND_WRITE | MemFlags::HOST_MEMORY)
            .for_new_object(CALL)?;
        formats(&self.0, flags, image_type)
    }
}

/// Returns the formats for flags that have been checked.
fn formats(
    context: &MemContext,
    flags: MemFlags,
    image_type: ImageType,
) -> Result<Vec<ImageFormat>> {
    const CALL: &str = "clGetSupportedImageFormats";
    let kernel_use = MemFlags::KERNEL_ACCESS | MemFlags::KERNEL_READ_AND_WRITE;
    let vendors = flags.of_vendors();
    let mut used = flags & kernel_use | vendors;
    if used.is_empty() {
        used = MemFlags::READ_WRITE;
    }
    match memory::get_supported_image_formats(context.raw(), used.bits(), image_type.as_raw()) {
        Ok(raw) => Ok(raw.into_iter().filter_map(|raw| raw.try_into().ok()).collect()),
        // There are none: cl3 then asks for 0 of them, which OpenCL forbids. All other arguments are
        // right, unless the driver refuses a vendor's flag.
        Err(CL_INVALID_VALUE) if vendors.is_empty() => Ok(Vec::new()),
        Err(code) => Err(Error::from_call(CALL, code)),
    }
}

/// Returns a number that a device reports; 0 where it does not.
pub(super) fn limit(device: &Device, name: u32) -> usize {
    use cl3::info_type::InfoType;
    match cl::get_device_info(device.as_raw(), name) {
        Ok(InfoType::Size(number)) => number,
        Ok(InfoType::Uint(number)) => number as usize,
        _ => 0,
    }
}

/// Refuses images where no device of the context has any.
pub(in crate::memory) fn check_support(call: &'static str, context: &MemContext) -> Result<()> {
    let has_images = |device: &Device| limit(device, cl::CL_DEVICE_IMAGE_SUPPORT) != 0;
    if context.devices().iter().any(has_images) {
        return Ok(());
    }
    let reason = "no device of the context has images (CL_DEVICE_IMAGE_SUPPORT)";
    Err(Error::unsupported(call, CL_INVALID_OPERATION, reason))
}

/// Returns the most pixels that a device has along each axis of such images.
fn largest(device: &Device, image_type: ImageType) -> [usize; 3] {
    let is_3d = image_type == ImageType::Image3d;
    let name = |axis| match axis {
        Axis::Width if image_type == ImageType::Image1dBuffer => {
            cl::CL_DEVICE_IMAGE_MAX_BUFFER_SIZE
        }
        Axis::Width if is_3d => cl::CL_DEVICE_IMAGE3D_MAX_WIDTH,
        Axis::Width => cl::CL_DEVICE_IMAGE2D_MAX_WIDTH,
        Axis::Height if is_3d => cl::CL_DEVICE_IMAGE3D_MAX_HEIGHT,
        Axis::Height => cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT,
        Axis::Depth => cl::CL_DEVICE_IMAGE3D_MAX_DEPTH,
        Axis::Layers => cl::CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
    };
    let mut largest = [1; 3];
    for (length, axis) in largest.iter_mut().zip(image_type.axes()) {
        *length = limit(device, name(*axis));
    }
    largest
}

/// Returns the most pixels of a 1D image on every device of the context.
pub(super) fn longest_row(context: &MemContext) -> usize {
    let longest = |device: &Device| largest(device, ImageType::Image1d)[0];
    context.devices().iter().map(longest).min().unwrap_or(1).max(1)
}

/// Refuses an image that is too large for every device.
pub(super) fn check_extent(
    call: &'static str,
    context: &MemContext,
    extent: &Extent,
) -> Result<()> {
    let all: Vec<_> =
        context.devices().iter().map(|device| largest(device, extent.image_type)).collect();
    let fits = |largest: &[usize; 3]| (0..3).all(|axis| extent.pixels[axis] <= largest[axis]);
    if all.iter().any(fits) {
        return Ok(());
    }
    let dimensions = extent.image_type.dimensions();
    let all: Vec<_> = all.iter().map(|largest| &largest[..dimensions]).collect();
    let reason = format!(
        "the shape is {:?} pixels; an {:?} has at most {all:?} on the context's devices",
        extent.shape(),
        extent.image_type
    );
    Err(Error::refused(call, CL_INVALID_IMAGE_SIZE, reason))
}

/// Refuses a format that the devices do not have for such an image.
pub(super) fn check_format(
    call: &'static str,
    context: &MemContext,
    flags: MemFlags,
    image_type: ImageType,
    format: ImageFormat,
) -> Result<()> {
    // The driver checks flags of vendors when it creates the image.
    let flags = flags.difference(flags.of_vendors());
    let supported = formats(context, flags, image_type)?;
    if supported.contains(&format) {
        return Ok(());
    }
    let reason = format!(
        "the context's devices have no {format} for an {image_type:?} that is {:?}; {}",
        flags & MemFlags::KERNEL_ACCESS,
        names(format, &supported)
    );
    Err(Error::refused(call, CL_IMAGE_FORMAT_NOT_SUPPORTED, reason))
}

/// Returns the supported alternatives to `format`, in a few words.
fn names(format: ImageFormat, supported: &[ImageFormat]) -> String {
    const ENOUGH: usize = 8;
    let mut closest: Vec<_> = supported.iter().collect();
    closest.sort_by_key(|other| {
        (other.channel_order != format.channel_order) as u8
            + (other.channel_type != format.channel_type) as u8
    });
    let names: Vec<_> = closest.iter().take(ENOUGH).map(ToString::to_string).collect();
    match supported.len().saturating_sub(ENOUGH) {
        _ if names.is_empty() => "they support no format for these flags".to_owned(),
        0 => format!("they have {}", names.join(", ")),
        more => format!("they have {}, and {more} more", names.join(", ")),
    }
}

/// Refuses rows of a buffer where no device makes images of them, or not of these.
pub(super) fn check_from_buffer(
    call: &'static str,
    context: &MemContext,
    format: ImageFormat,
    row_pitch: usize,
    offset: usize,
) -> Result<()> {
    // OpenCL 2 has them in any case.
    let has_them = |device: &&Device| {
        device.version().major == 2 || device.has_extension("cl_khr_image2d_from_buffer")
    };
    let capable: Vec<_> = context.devices().iter().filter(has_them).collect();
    if capable.is_empty() {
        let reason =
            "no device of the context makes 2D images of buffers (cl_khr_image2d_from_buffer)";
        return Err(Error::unsupported(call, CL_INVALID_OPERATION, reason));
    }
    let alignments = capable.iter().map(|device| {
        let in_bytes = |name| limit(device, name).max(1).saturating_mul(format.item_size());
        [cl::CL_DEVICE_IMAGE_PITCH_ALIGNMENT, cl::CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT]
            .map(in_bytes)
    });
    let alignments: Vec<_> = alignments.collect();
    let suits = |[pitch, base]: &[usize; 2]| {
        row_pitch.is_multiple_of(*pitch) && offset.is_multiple_of(*base)
    };
    Error::refuse_if(!alignments.iter().any(suits), call, CL_INVALID_IMAGE_DESCRIPTOR, || {
        format!(
            "the rows are {row_pitch} bytes apart and begin at byte {offset} of the whole buffer; the \
             context's devices need multiples of {alignments:?} bytes"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::image::format::{ChannelOrder, ChannelType};

    #[test]
    fn the_closest_formats_are_named() {
        let wanted = ImageFormat::new(ChannelOrder::Rgb, ChannelType::Float);
        let mut supported: Vec<_> = ChannelType::ALL[..9]
            .iter()
            .map(|data_type| ImageFormat::new(ChannelOrder::R, *data_type))
            .collect();
        supported.push(ImageFormat::new(ChannelOrder::Rgba, ChannelType::Float));
        let text = names(wanted, &supported);
        assert!(text.starts_with("they have RGBA FLOAT, R SNORM_INT8, "), "{text}");
        assert!(text.ends_with(", and 2 more"), "{text}");
        assert_eq!(names(wanted, &supported[..1]), "they have R SNORM_INT8");
        assert_eq!(names(wanted, &[]), "they support no format for these flags");
    }
}
