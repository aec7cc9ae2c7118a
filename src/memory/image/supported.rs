//! The image formats of a context's devices (OpenCL 3.0, 5.3.2;
//! `pyopencl.get_supported_image_formats`).

use cl3::error_codes::CL_INVALID_VALUE;
use cl3::memory as cl;
use cl3::types::cl_context;
use opencl3::context::Context;

use super::format::ImageFormat;
use super::shape::ImageType;
use crate::error::{Error, Result};
use crate::memory::flags::MemFlags;

/// Returns the formats of images of this type with the kernel access of `flags`
/// (`clGetSupportedImageFormats`; `pyopencl.get_supported_image_formats`).
///
/// [`MemFlags::KERNEL_READ_AND_WRITE`] stands for images that one kernel both reads and writes.
/// Flags of vendors are passed to the driver. A vendor's own formats are left out.
///
/// ```
/// use clmatrix::memory::{
///     ChannelOrder, ChannelType, ImageFormat, ImageType, MemFlags, supported_image_formats,
/// };
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let formats = supported_image_formats(&context, MemFlags::READ_ONLY, ImageType::Image2d)?;
/// assert!(formats.contains(&ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnormInt8)));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_VALUE for flags that exclude each other and, with flags of vendors, where there are no
/// formats; and the driver's errors.
pub fn supported_image_formats(
    context: &Context,
    flags: MemFlags,
    image_type: ImageType,
) -> Result<Vec<ImageFormat>> {
    const CALL: &str = "clGetSupportedImageFormats";
    flags
        .difference(MemFlags::KERNEL_READ_AND_WRITE | MemFlags::HOST_MEMORY)
        .for_new_object(CALL)?;
    // SAFETY: the context is alive while it is borrowed.
    unsafe { formats(context.get(), flags, image_type) }
}

/// Returns the formats for flags that have been checked.
///
/// # Safety
/// `context` is a valid context.
pub(super) unsafe fn formats(
    context: cl_context,
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
    match cl::get_supported_image_formats(context, used.bits(), image_type.as_raw()) {
        Ok(raw) => Ok(raw.into_iter().filter_map(|raw| raw.try_into().ok()).collect()),
        // There are none: cl3 then asks for 0 of them, which OpenCL forbids. All other arguments are
        // right, unless the driver refuses a vendor's flag.
        Err(CL_INVALID_VALUE) if vendors.is_empty() => Ok(Vec::new()),
        Err(code) => Err(Error::from_call(CALL, code)),
    }
}
