//! The creation of images (OpenCL 3.0, 5.3.1; `pyopencl.create_image`).

use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use crate::create::create;
use bytemuck::Pod;
use cl3::error_codes::{
    CL_INVALID_CONTEXT, CL_INVALID_HOST_PTR, CL_INVALID_IMAGE_DESCRIPTOR, CL_INVALID_IMAGE_SIZE,
};
use cl3::types::{cl_image_desc, cl_image_format};
#[cfg(feature = "ndarray")]
use ndarray::{ArrayBase, Data, Dimension};
use smallvec::SmallVec;

use super::format::ImageFormat;
use super::limits::{check_extent, check_format, check_from_buffer, check_support, longest_row};
use super::shape::{Axis, Extent, ImageType, driver_pitches, layer_pitches};
use super::{Image, check_item_size};
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::memory::object::sealed::Handle;
use crate::memory::object::{self, ObjectDesc};
use crate::memory::transfer::Rows;
use crate::memory::{Buffer, MemFlags, MemoryObject, Pitches};

/// The name of the call.
pub(super) const CALL: &str = "clCreateImage";

/// The properties of a new image, which [`build`](Self::build) creates (`pyopencl.create_image`).
///
/// ```
/// use clmatrix::memory::{ChannelOrder, ChannelType, Image, ImageFormat, ImageType, MemFlags};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
/// // Two rows of three pixels, whose beginnings are four bytes apart.
/// let image = Image::builder(&context, grey)
///     .flags(MemFlags::READ_ONLY)
///     .shape([3, 2])
///     .pitches([4])
///     .copy_from(b"abc.def.")
///     .build()?;
/// assert_eq!((image.image_type(), image.shape()), (ImageType::Image2d, &[3, 2][..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ImageBuilder<'a> {
    context: &'a Context,
    format: ImageFormat,
    flags: MemFlags,
    /// Empty where it is not given.
    shape: SmallVec<[usize; 3]>,
    is_array: bool,
    pitches: Pitches,
    data: Option<HostPixels<'a>>,
    buffer: Option<&'a Buffer>,
}

/// The first content of an image.
#[derive(Clone, Debug)]
struct HostPixels<'a> {
    bytes: Cow<'a, [u8]>,
    /// The shape of an array, and the bytes of its elements.
    array: Option<(SmallVec<[usize; 3]>, usize)>,
}

impl Image {
    /// Returns a builder of images in `context` with pixels of a format.
    pub fn builder(context: &Context, format: ImageFormat) -> ImageBuilder<'_> {
        ImageBuilder {
            context,
            format,
            flags: MemFlags::empty(),
            shape: SmallVec::new(),
            is_array: false,
            pitches: Pitches::default(),
            data: None,
            buffer: None,
        }
    }

    /// Creates a 1D, 2D or 3D image of undefined content (`clCreateImage`; `pyopencl.create_image`).
    ///
    /// # Errors
    /// The errors of [`ImageBuilder::build`].
    pub fn new(
        context: &Context,
        flags: MemFlags,
        format: ImageFormat,
        shape: impl AsRef<[usize]>,
    ) -> Result<Self> {
        Self::builder(context, format).flags(flags).shape(shape).build()
    }

    /// Creates one row of undefined pixels like this image's, as many as a device has in a row, up to `pixels`.
    pub(super) fn row_of_its_own(&self, pixels: usize) -> Result<Self> {
        let context = self.object().context();
        let width = pixels.min(longest_row(context));
        let extent = Extent::new(ImageType::Image1d, &[width]);
        let (flags, format) = (MemFlags::READ_WRITE, self.format());
        // SAFETY: there is no host data.
        unsafe { create(context, flags, format, extent, [0; 2], ptr::null(), None) }
    }
}

impl<'a> ImageBuilder<'a> {
    setters! {
        /// Sets the accesses of kernels and the host, the place and flags of vendors. Without a kernel access and
        /// flags of vendors, [`MemFlags::READ_WRITE`] is added.
        flags |flags: MemFlags| flags;

        /// Sets the number of pixels along each of one to three axes, x first; by default that of the host's array.
        shape |shape: impl AsRef<[usize]>| shape.as_ref().into();

        /// Sets the distances of rows, and of slices or layers, in the host data or the buffer, in bytes. Without a
        /// pitch, or with 0, there are no gaps.
        pitches |pitches: impl Into<Pitches>| pitches.into();

        /// Shows the bytes of `buffer`: one row of them for a shape of one axis, or rows for
        /// one of two, for which the device has to have `cl_khr_image2d_from_buffer`.
        ///
        /// Flags that are not given are those of the buffer.
        buffer |buffer: &'a Buffer| Some(buffer);
    }

    /// Makes the image an array of 1D or 2D images, whose last axis counts the layers (`is_array=True`).
    pub fn array(mut self) -> Self {
        self.is_array = true;
        self
    }

    /// Sets the initial content to host data, row by row; adds [`MemFlags::COPY_HOST_PTR`]. The data includes the gap
    /// after the last row.
    pub fn copy_from<T: Pod>(mut self, data: &'a [T]) -> Self {
        let bytes = Cow::Borrowed(bytemuck::cast_slice(data));
        self.data = Some(HostPixels { bytes, array: None });
        self
    }

    /// Sets the initial content to that of an array; adds [`MemFlags::COPY_HOST_PTR`].
    ///
    /// Its elements are pixels, and its first axis is x: the pixel (x, y) is `array[[x, y]]`. An
    /// array with rows first, as images in files have, is passed as `&array.t()`.
    #[cfg(feature = "ndarray")]
    pub fn copy_from_array<T: Pod, S: Data<Elem = T>, D: Dimension>(
        mut self,
        array: &'a ArrayBase<S, D>,
    ) -> Self {
        let shape = SmallVec::from_slice(array.shape());
        let bytes = in_image_order(array);
        self.data = Some(HostPixels { bytes, array: Some((shape, size_of::<T>())) });
        self
    }

    /// Creates the image (`clCreateImage`).
    ///
    /// # Errors
    /// - CL_INVALID_OPERATION, of class [`Unsupported`](crate::Class::Unsupported), where no device
    ///   of the context has images, or images of rows of a buffer.
    /// - CL_INVALID_IMAGE_DESCRIPTOR for a shape without pixels or of more than three axes, for pitches that are too
    ///   small, not a multiple of a pixel or of a row, or given without host data or a buffer; and for a buffer
    ///   together with host data or an array of layers.
    /// - CL_INVALID_IMAGE_SIZE for more pixels along an axis than any device has, or than the buffer
    ///   has.
    /// - CL_INVALID_HOST_PTR for host data that is too small, is an array of something else than
    ///   pixels, or is asked for by the flags and not there.
    /// - CL_IMAGE_FORMAT_NOT_SUPPORTED for a format that the devices do not have, which the message
    ///   names; CL_INVALID_VALUE for flags that exclude each other or those of the buffer, and for
    ///   flags of vendors together with host data.
    /// - CL_INVALID_CONTEXT for a buffer of another context.
    ///
    /// And the driver's errors, of class [`OutOfMemory`](crate::Class::OutOfMemory) where memory
    /// ran out.
    pub fn build(self) -> Result<Image> {
        let context = self.context.retained()?;
        check_support(CALL, &context)?;
        let extent = self.extent()?;
        check_extent(CALL, &context, &extent)?;
        match self.buffer {
            Some(buffer) => self.build_from_buffer(context, extent, buffer),
            None => self.build_alone(context, extent),
        }
    }

    /// Creates an image with bytes of its own.
    fn build_alone(&self, context: Arc<MemContext>, extent: Extent) -> Result<Image> {
        let rows = self.host_rows(&extent)?;
        let data = self.checked_data(&rows)?;
        let flags = self.flags.for_copy_of_data(CALL, self.data.is_some())?;
        check_format(CALL, &context, flags, extent.image_type, self.format)?;
        let (pitches, host) = match data {
            Some(data) if self.pitches != Pitches::default() => {
                (driver_pitches(extent.image_type, &rows), data.as_ptr())
            }
            Some(data) => ([0; 2], data.as_ptr()),
            None => ([0; 2], ptr::null()),
        };
        // SAFETY: `host` is null, or COPY_HOST_PTR is set and all rows and slices can be read from it.
        unsafe { create(&context, flags, self.format, extent, pitches, host, None) }
    }

    /// Creates an image that shows the bytes of `buffer`.
    fn build_from_buffer(
        &self,
        context: Arc<MemContext>,
        extent: Extent,
        buffer: &Buffer,
    ) -> Result<Image> {
        let is_foreign = buffer.object().context().raw() != context.raw();
        let reason = "the buffer belongs to another context";
        Error::refuse_if(is_foreign, CALL, CL_INVALID_CONTEXT, || reason)?;
        if self.data.is_some() {
            return Err(bad_descriptor("an image uses a buffer or copies host data, not both"));
        }
        let flags = self.flags.for_region_of(CALL, buffer.flags())?;
        check_format(CALL, &context, flags, extent.image_type, self.format)?;
        let rows = self.host_rows(&extent)?;
        let is_2d = extent.image_type == ImageType::Image2d;
        if is_2d {
            check_from_buffer(CALL, &context, self.format, rows.row_pitch, buffer.offset())?;
        } else if self.pitches != Pitches::default() {
            return Err(bad_descriptor("an image of one row has no pitches"));
        }
        let needed = rows.row_pitch * rows.region[1];
        let size = buffer.size();
        Error::refuse_if(needed > size, CALL, CL_INVALID_IMAGE_SIZE, || {
            format!("the image needs {needed} bytes and the buffer has {size}")
        })?;
        let row_pitch = if is_2d { rows.row_pitch } else { 0 };
        let (pitches, host) = ([row_pitch, 0], ptr::null());
        // SAFETY: the buffer is of the context, and has as many bytes.
        unsafe { create(&context, flags, self.format, extent, pitches, host, Some(buffer)) }
    }

    fn extent(&self) -> Result<Extent> {
        let array = self.data.as_ref().and_then(|data| data.array.as_ref());
        let shape = match array {
            Some((shape, _)) if self.shape.is_empty() => shape,
            _ => &self.shape,
        };
        let is_buffer = self.buffer.is_some();
        let image_type = match (shape.len(), self.is_array, is_buffer) {
            (1, false, false) => ImageType::Image1d,
            (1, false, true) => ImageType::Image1dBuffer,
            (2, false, _) => ImageType::Image2d,
            (2, true, false) => ImageType::Image1dArray,
            (3, false, false) => ImageType::Image3d,
            (3, true, false) => ImageType::Image2dArray,
            (0, ..) => {
                return Err(bad_descriptor("an image needs a shape, or an array that has one"));
            }
            (axes, is_array, is_buffer) => {
                let layers = if is_array { " of layers" } else { "" };
                let buffer = if is_buffer { " of a buffer's bytes" } else { "" };
                return Err(bad_descriptor(format!(
                    "there is no image{layers}{buffer} with {axes} axes"
                )));
            }
        };
        if shape.contains(&0) {
            return Err(bad_descriptor(format!("the shape {shape:?} has no pixels")));
        }
        Ok(Extent::new(image_type, shape))
    }

    /// Returns the place of the pixels in the host data, or in the buffer.
    fn host_rows(&self, extent: &Extent) -> Result<Rows> {
        let [width, height, depth] = extent.pixels;
        let item_size = self.format.item_size();
        let too_large = || Error::refused(CALL, CL_INVALID_IMAGE_SIZE, "the image is too large");
        let row = width.checked_mul(item_size).ok_or_else(too_large)?;
        let pitches = self.checked_pitches(extent)?;
        let rows = Rows::new([0; 3], [row, height, depth], pitches).map_err(bad_descriptor)?;
        if !rows.row_pitch.is_multiple_of(item_size) {
            return Err(bad_descriptor(format!(
                "the rows are {} bytes apart, which is not a multiple of a pixel's {item_size} bytes",
                rows.row_pitch
            )));
        }
        rows.slice_pitch.checked_mul(depth).ok_or_else(too_large)?;
        Ok(rows)
    }

    /// Returns the pitches of rows along y and of slices along z.
    fn checked_pitches(&self, extent: &Extent) -> Result<[usize; 2]> {
        let Pitches([row_pitch, slice_pitch]) = self.pitches;
        let is_given = self.pitches != Pitches::default();
        if is_given && self.data.is_none() && self.buffer.is_none() {
            return Err(bad_descriptor(
                "pitches describe host data, and none is given; leave the pitches out",
            ));
        }
        if is_given && self.data.as_ref().is_some_and(|data| data.array.is_some()) {
            return Err(bad_descriptor("an array has its own strides; leave the pitches out"));
        }
        layer_pitches(extent.image_type, [row_pitch, slice_pitch]).map_err(bad_descriptor)
    }

    fn checked_data(&self, rows: &Rows) -> Result<Option<&[u8]>> {
        let Some(data) = &self.data else { return Ok(None) };
        let item_size = self.format.item_size();
        let size = data.array.as_ref().map_or(item_size, |(_, size)| *size);
        Error::refuse_if(size != item_size, CALL, CL_INVALID_HOST_PTR, || {
            format!(
                "the array's elements have {size} bytes; a pixel of the format {} has {item_size}",
                self.format
            )
        })?;
        // It does not overflow: this was checked.
        let needed = rows.slice_pitch * rows.region[2];
        let len = data.bytes.len();
        Error::refuse_if(len < needed, CALL, CL_INVALID_HOST_PTR, || {
            format!("the image needs {needed} bytes of host data and there are {len}")
        })?;
        Ok(Some(&data.bytes))
    }
}

/// Creates an image of checked properties. `pitches` are those of the host data, or of the rows in `buffer`.
///
/// # Safety
/// `host` is null, or the flags have COPY_HOST_PTR and all rows and slices can be read from it at `pitches` during
/// the call. `buffer` is of the context, and has the bytes of all rows.
unsafe fn create(
    context: &Arc<MemContext>,
    flags: MemFlags,
    format: ImageFormat,
    extent: Extent,
    [row_pitch, slice_pitch]: [usize; 2],
    host: *const u8,
    buffer: Option<&Buffer>,
) -> Result<Image> {
    let image_desc = cl_image_desc {
        image_type: extent.image_type.as_raw(),
        image_width: extent.length(Axis::Width),
        image_height: extent.length(Axis::Height),
        image_depth: extent.length(Axis::Depth),
        image_array_size: extent.length(Axis::Layers),
        image_row_pitch: row_pitch,
        image_slice_pitch: slice_pitch,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: buffer.map_or(ptr::null_mut(), MemoryObject::as_raw),
    };
    let (own_flags, row_pitch) = match buffer {
        Some(_) => (flags.difference(MemFlags::HOST_MEMORY), row_pitch),
        None => (flags, 0),
    };
    let (bits, raw_format) = (own_flags.bits(), cl_image_format::from(format));
    // SAFETY: the context is alive; the caller vouches for the rest. The driver reads the host data during the
    // call, and does not write through the pointer.
    let raw = unsafe {
        let host = host.cast_mut().cast();
        create!(MemRef, clCreateImage(context.raw(), bits, &raw_format, &image_desc, host))
    }?;
    check_item_size(raw.get(), format)?;
    let desc = ObjectDesc { flags, ..object::desc(raw.get())? };
    let (context, buffer) = (Arc::clone(context), buffer.cloned());
    Ok(Image::of(raw, context, desc, buffer, format, extent, row_pitch))
}

fn bad_descriptor(reason: impl Into<Cow<'static, str>>) -> Error {
    Error::refused(CALL, CL_INVALID_IMAGE_DESCRIPTOR, reason)
}

/// Returns the elements of `array` with its first axis varying fastest.
#[cfg(feature = "ndarray")]
fn in_image_order<T: Pod, S: Data<Elem = T>, D: Dimension>(
    array: &ArrayBase<S, D>,
) -> Cow<'_, [u8]> {
    let reversed = array.t();
    match reversed.to_slice() {
        Some(elements) => Cow::Borrowed(bytemuck::cast_slice(elements)),
        None => {
            let mut bytes = Vec::with_capacity(array.len() * size_of::<T>());
            reversed.iter().for_each(|pixel| bytes.extend_from_slice(bytemuck::bytes_of(pixel)));
            Cow::Owned(bytes)
        }
    }
}
