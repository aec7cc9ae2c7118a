//! Images (OpenCL 3.0, 5.3; `pyopencl.Image`).

#[cfg(feature = "ndarray")]
pub(crate) mod array;
pub(crate) mod builder;
pub(crate) mod copy_device;
pub(crate) mod copy_host;
pub(crate) mod fill;
pub(crate) mod format;
pub(crate) mod limits;
pub(crate) mod map;
pub(crate) mod shape;

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::{CL_IMAGE_FORMAT_NOT_SUPPORTED, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE};
use cl3::info_type::InfoType;
use cl3::memory as cl;
use cl3::types::{cl_image_format, cl_mem};

use format::ImageFormat;
use shape::{Axis, Extent, ImageType, Pixels};

use super::buffer::Buffer;
use super::command::AccessedRange;
use super::into_memory::device_memory;
use super::object::sealed::Handle;
use super::object::{self, MemObject, MemoryObject, ObjectDesc, ObjectType};
use super::track::Access;
use super::transfer::rows::Rows;
use crate::error::{Error, Result, in_call};
use crate::handle::{MemRef, by_handle, retain_raw};
use crate::mem_context::MemContext;
use crate::order::Order;

/// An image: pixels along one to three axes, which kernels read and write through functions of
/// their own (`pyopencl.Image`).
///
/// Shapes, origins and regions count pixels, x first. x varies fastest in memory, so that a row of
/// pixels is in one piece; along the last axis of an array lie its layers.
///
/// Handles are compared by the driver's handle; clones share one reference of the driver's.
///
/// Format, type and shape never change, so the handle keeps them and all values that follow from them. Methods
/// that return a `Result` query the driver.
#[derive(Clone)]
pub struct Image(Arc<Shared>);

/// The part that the handles to an image share.
struct Shared {
    // Before the buffer, which it needs.
    object: MemObject,
    /// The buffer whose bytes it shows, if any.
    buffer: Option<Buffer>,
    format: ImageFormat,
    extent: Extent,
    /// The distances of rows and of slices in the bytes that `object` counts: without gaps, if not those of a buffer.
    pitches: [usize; 2],
}

impl Image {
    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// CL_INVALID_MEM_OBJECT for anything but an image, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR for a
    /// vendor's own format, and the driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid memory object, and the caller owns a reference to it. It
    /// has one sample for each pixel and one level of detail.
    ///
    /// As long as the result or anything made from it lives (clones, [`buffer`](Self::buffer)):
    /// - no other handle to the object, or to its buffer or parent, maps its bytes, or issues
    ///   commands on bytes that are mapped through the result. This includes other handles of this
    ///   crate: those that were not made from the result do not know of its maps;
    /// - earlier maps of its bytes and commands on them have ended;
    /// - memory that it uses (CL_MEM_USE_HOST_PTR) outlives it, and is accessed in no other way
    ///   while it is mapped.
    pub unsafe fn from_raw(raw: cl_mem) -> Result<Self> {
        let image_type = match object::object_type(raw)? {
            ObjectType::Image(image_type) => image_type,
            other => return Err(object::wrong_type(other, "an image")),
        };
        let desc = object::desc(raw)?;
        let (format, extent) = (format_of(raw)?, extent_of(raw, image_type)?);
        check_item_size(raw, format)?;
        let context = object::context_of(raw)?;
        let buffer = raw_buffer(raw)?;
        // SAFETY: the driver says that it is the buffer of a valid object.
        let buffer = buffer.map(|buffer| unsafe { Buffer::retain_raw(buffer) }).transpose()?;
        let row_pitch = match &buffer {
            Some(_) => info(raw, cl::CL_IMAGE_ROW_PITCH)?.into(),
            None => 0,
        };
        // SAFETY: as the caller promises.
        let raw = unsafe { MemRef::owned(raw) };
        Ok(Self::of(raw, context, desc, buffer, format, extent, row_pitch))
    }

    /// Takes over `raw`, which shows bytes of `buffer` in rows `row_pitch` bytes apart, or has its own. All arguments
    /// describe `raw`.
    fn of(
        raw: MemRef,
        context: Arc<MemContext>,
        mut desc: ObjectDesc,
        buffer: Option<Buffer>,
        format: ImageFormat,
        extent: Extent,
        row_pitch: usize,
    ) -> Self {
        let pitches = pitches(format, extent, row_pitch);
        // CL_MEM_SIZE may leave out the gaps between rows; commands on the whole object need them.
        // quirk: DRIVER-5
        desc.size = desc.size.max(pitches[1] * extent.pixels[2]);
        let object = match &buffer {
            Some(buffer) => {
                let uses = Arc::clone(buffer.object().tracker());
                let first_byte = buffer.in_tracker(&(0..0)).start;
                MemObject::within(raw, context, desc, uses, first_byte)
            }
            None => MemObject::new(raw, context, desc),
        };
        Self(Arc::new(Shared { object, buffer, format, extent, pitches }))
    }

    /// Returns the format (CL_IMAGE_FORMAT).
    pub fn format(&self) -> ImageFormat {
        self.0.format
    }

    /// Returns the type of image (CL_MEM_TYPE).
    pub fn image_type(&self) -> ImageType {
        self.0.extent.image_type
    }

    /// Returns the number of pixels along each axis, x first; of an array, the number of layers last
    /// (`pyopencl.Image.shape`). It can be a work size: `launch.global(image.shape())`.
    pub fn shape(&self) -> &[usize] {
        self.0.extent.shape()
    }

    /// Returns the size of a pixel in bytes (CL_IMAGE_ELEMENT_SIZE).
    pub fn element_size(&self) -> usize {
        self.0.format.item_size()
    }

    /// Returns the buffer whose bytes the image shows (CL_IMAGE_BUFFER).
    pub fn buffer(&self) -> Option<&Buffer> {
        self.0.buffer.as_ref()
    }

    /// Returns the driver's distance from one row to the next, in bytes (CL_IMAGE_ROW_PITCH).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn row_pitch(&self) -> Result<usize> {
        Ok(info(self.as_raw(), cl::CL_IMAGE_ROW_PITCH)?.into())
    }

    /// Returns the driver's distance from one slice or layer to the next, in bytes, 0 where there is only one
    /// (CL_IMAGE_SLICE_PITCH).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn slice_pitch(&self) -> Result<usize> {
        Ok(info(self.as_raw(), cl::CL_IMAGE_SLICE_PITCH)?.into())
    }

    /// Returns the number of mip levels (CL_IMAGE_NUM_MIP_LEVELS).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn num_mip_levels(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_IMAGE_NUM_MIP_LEVELS)?.into())
    }

    /// Returns the number of samples of a pixel (CL_IMAGE_NUM_SAMPLES).
    ///
    /// # Errors
    /// The driver's errors.
    pub fn num_samples(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_IMAGE_NUM_SAMPLES)?.into())
    }

    /// Returns all pixels, row by row, and blocks. A pixel has the size of `T`, such as `[u8; 4]`.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for a `T` of another size, and the errors of [`read`](Self::read).
    pub fn to_vec<'q, T: Pod>(&self, order: impl Into<Order<'q>>) -> Result<Vec<T>> {
        self.check_pixels_are::<T>("clEnqueueReadImage")?;
        let mut pixels = vec![T::zeroed(); self.extent().pixels.iter().product()];
        self.read(order, &mut pixels)?;
        Ok(pixels)
    }

    /// Refuses elements of another size than a pixel.
    fn check_pixels_are<T>(&self, call: &'static str) -> Result<()> {
        let (format, pixel, size) = (self.format(), self.element_size(), size_of::<T>());
        Error::refuse_if(size != pixel, call, CL_INVALID_VALUE, || {
            format!("a pixel of {format} has {pixel} bytes; elements of {size} bytes do not match")
        })
    }

    pub(crate) fn extent(&self) -> &Extent {
        &self.0.extent
    }

    /// Returns the place of the bytes of these pixels, as the image's uses count them.
    pub(crate) fn rows(&self, pixels: &Pixels) -> Rows {
        let mut rows = pixels.rows(self.element_size(), self.0.pitches);
        rows.origin[0] += self.0.object.in_tracker(&(0..0)).start;
        rows
    }

    /// Returns the buffer and the bytes of these pixels in it, if the image is one row of a buffer. Copies and
    /// fills then use the buffer: PoCL 3.1 crashes on such images, and rusticl 22.3 counts bytes instead
    /// of pixels.
    // quirk: POCL-7, RUSTICL-1
    pub(crate) fn in_buffer(&self, pixels: &Pixels) -> Option<(&Buffer, Range<usize>)> {
        let buffer = self.row_of_buffer()?;
        let item_size = self.element_size();
        let start = pixels.origin[0] * item_size;
        Some((buffer, start..start + pixels.size(item_size)))
    }

    /// Returns the buffer, where the image is one row of its bytes.
    pub(crate) fn row_of_buffer(&self) -> Option<&Buffer> {
        self.buffer().filter(|_| self.image_type() == ImageType::Image1dBuffer)
    }

    /// Returns these pixels for a command.
    pub(crate) fn accessed(&self, pixels: &Pixels, access: Access) -> AccessedRange<'_> {
        let hull = pixels.rows(self.element_size(), self.0.pitches).hull();
        self.0.object.accessed(&hull, access)
    }
}

/// Returns the distances of rows and of slices; rows are without gaps if `row_pitch` is 0.
fn pitches(format: ImageFormat, extent: Extent, row_pitch: usize) -> [usize; 2] {
    let [width, height, _] = extent.pixels;
    let row_pitch = if row_pitch == 0 { width * format.item_size() } else { row_pitch };
    [row_pitch, row_pitch * height]
}

/// `clGetImageInfo` of an image that is alive.
fn info(raw: cl_mem, name: u32) -> Result<InfoType> {
    cl::get_image_info(raw, name).map_err(in_call("clGetImageInfo"))
}

fn format_of(raw: cl_mem) -> Result<ImageFormat> {
    let formats: Vec<cl_image_format> = info(raw, cl::CL_IMAGE_FORMAT)?.into();
    let reason = "the driver reports no image format";
    let nothing = || Error::refused("clGetImageInfo", CL_INVALID_MEM_OBJECT, reason);
    formats.into_iter().next().ok_or_else(nothing)?.try_into()
}

fn extent_of(raw: cl_mem, image_type: ImageType) -> Result<Extent> {
    let name = |axis| match axis {
        Axis::Width => cl::CL_IMAGE_WIDTH,
        Axis::Height => cl::CL_IMAGE_HEIGHT,
        Axis::Depth => cl::CL_IMAGE_DEPTH,
        Axis::Layers => cl::CL_IMAGE_ARRAY_SIZE,
    };
    let lengths = image_type.axes().iter().map(|axis| Ok(info(raw, name(*axis))?.into()));
    let shape: Result<Vec<usize>> = lengths.collect();
    Ok(Extent::new(image_type, &shape?))
}

/// Returns the buffer whose bytes the image shows.
fn raw_buffer(raw: cl_mem) -> Result<Option<cl_mem>> {
    let Some(parent) = object::parent(raw)? else { return Ok(None) };
    Ok((object::object_type(parent)? == ObjectType::Buffer).then_some(parent))
}

/// Refuses an image for which the driver uses another pixel size than the format has: a copy would
/// exceed the host memory.
// quirk: OCLGRIND-7
fn check_item_size(raw: cl_mem, format: ImageFormat) -> Result<()> {
    let found: usize = info(raw, cl::CL_IMAGE_ELEMENT_SIZE)?.into();
    if found == format.item_size() {
        return Ok(());
    }
    let reason = format!(
        "the driver has {found} bytes for a pixel of the format {format}, which has {}",
        format.item_size()
    );
    Err(Error::unsupported("clGetImageInfo", CL_IMAGE_FORMAT_NOT_SUPPORTED, reason))
}

impl MemoryObject for Image {}

object::object_queries!(Image);

impl Handle for Image {
    fn object(&self) -> &MemObject {
        &self.0.object
    }
}

by_handle!(Image, image_type, shape, format, flags);
retain_raw!(Image, cl_mem, MemRef, "clRetainMemObject");
device_memory!([] Image: Image);
