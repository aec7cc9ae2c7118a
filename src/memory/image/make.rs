//! How the driver is asked for an image (`clCreateImage`).

use std::ptr;
use std::sync::Arc;

use cl3::memory as cl;
use cl3::types::{cl_image_desc, cl_image_format, cl_mem};

use super::format::ImageFormat;
use super::limits::longest_row;
use super::shape::{Extent, ImageType};
use super::{Image, check_item_size};
use crate::error::{Error, Result, in_call};
use crate::memory::context::MemContext;
use crate::memory::flags::MemFlags;
use crate::memory::object::sealed::Handle;
use crate::memory::object::{self, About};

pub(super) const CALL: &str = "clCreateImage";

pub(super) fn descriptor(
    extent: &Extent,
    [row_pitch, slice_pitch]: [usize; 2],
    buffer: cl_mem,
) -> cl_image_desc {
    cl_image_desc {
        image_type: extent.image_type.as_raw(),
        image_width: extent.width(),
        image_height: extent.height(),
        image_depth: extent.depth(),
        image_array_size: extent.array_size(),
        image_row_pitch: row_pitch,
        image_slice_pitch: slice_pitch,
        num_mip_levels: 0,
        num_samples: 0,
        buffer,
    }
}

/// # Safety
/// The handles are valid, and `host` points to what flags and descriptor ask for.
pub(super) unsafe fn create(
    context: &MemContext,
    flags: MemFlags,
    format: ImageFormat,
    desc: &cl_image_desc,
    host: *const u8,
) -> Result<cl_mem> {
    let format = cl_image_format::from(format);
    // SAFETY: as promised.
    unsafe { cl::create_image(context.raw(), flags.bits(), &format, desc, host.cast_mut().cast()) }
        .map_err(in_call(CALL))
}

/// Returns the properties of a new image. Releases the image if they are wrong.
pub(super) fn described(raw: cl_mem, format: ImageFormat, flags: MemFlags) -> Result<About> {
    let about = check_item_size(raw, format).and_then(|()| object::about(raw));
    if about.is_err() {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { cl::release_mem_object(raw) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
    Ok(About { flags, ..about? })
}

impl Image {
    /// One row of undefined pixels like this image's, as many as a device has in a row, up to
    /// `pixels`.
    pub(super) fn row_of_its_own(&self, pixels: usize) -> Result<Self> {
        let (context, format) = (self.object().context(), self.format());
        let flags = MemFlags::READ_WRITE;
        let width = pixels.min(longest_row(context));
        let extent = Extent::new(ImageType::Image1d, &[width]);
        let desc = descriptor(&extent, [0; 2], ptr::null_mut());
        // SAFETY: the context is alive, and the flags ask for no host data.
        let raw = unsafe { create(context, flags, format, &desc, ptr::null()) }?;
        let about = described(raw, format, flags)?;
        let (context, pitches) = (Arc::clone(context), super::pitches(format, extent, 0));
        // SAFETY: the driver has just made it like this in this context, with one reference.
        Ok(unsafe { Self::adopt(raw, context, about, None, format, extent, pitches) })
    }
}
