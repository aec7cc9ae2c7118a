//! Pixels between images and buffers, and between images (OpenCL 3.0, 5.3.3 and 5.3.5).

use std::ops::{Range, RangeFull};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::driver::Driver;
use crate::event::Event;
use crate::live::Live;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_IMAGE_FORMAT_MISMATCH, CL_MEM_COPY_OVERLAP};

use super::Image;
use super::shape::Pixels;
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::destructor_callback::keep_until_destroyed;
use crate::memory::object::sealed::Handle;
use crate::memory::track::Access;
use crate::memory::transfer::rows::overlap;
use crate::memory::transfer::{AllOf, Rows, all_by_default};
use crate::memory::{
    Buffer, BufferPart, CopyTo, ImageType, Linear, MemFlags, Order, PixelOrigin, PixelRegion,
};

/// A box of an image's pixels, and their place in a buffer, without gaps
/// (`clEnqueueCopyImageToBuffer`, `clEnqueueCopyBufferToImage`).
///
/// ```
/// use clmatrix::memory::{
///     Buffer, ChannelOrder, ChannelType, Image, ImageBufferRegion, ImageFormat, MemFlags,
///     enqueue_copy,
/// };
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
/// let image = Image::builder(&context, grey).shape([4, 3]).copy_from(b"abcdefghijkl").build()?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, b"........")?;
/// let column = ImageBufferRegion::new([1, 3]).origin([2]).offset(4);
/// enqueue_copy(&queue, &buffer, &image, column)?;
/// let mut bytes = [0; 8];
/// enqueue_copy(&queue, &mut bytes, &buffer, ..)?;
/// assert_eq!(&bytes, b"....cgk.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct ImageBufferRegion {
    offset: usize,
    origin: PixelOrigin,
    region: Option<PixelRegion>,
}

all_by_default!(ImageBufferRegion: RangeFull AllOf);

impl ImageBufferRegion {
    /// Returns a box of `region` pixels, rows and slices, from the image's first pixel on, at the start of
    /// the buffer.
    pub fn new(region: impl Into<PixelRegion>) -> Self {
        Self { region: Some(region.into()), ..Self::default() }
    }

    setters! {
        /// Sets the first byte in the buffer.
        offset |bytes: usize| bytes;

        /// Sets the first pixel.
        origin |origin: impl Into<PixelOrigin>| origin.into();
    }

    /// Returns the pixels of the image and the bytes of the buffer.
    fn checked(
        self,
        call: &'static str,
        image: &Image,
        buffer: &Buffer,
    ) -> Result<(Pixels, Range<usize>)> {
        let pixels = image.extent().checked(call, "image", self.origin, self.region)?;
        let size = pixels.size(image.element_size());
        let range = buffer.span(call, self.offset, size)?;
        let bytes = Rows::packed(buffer.in_tracker(&range).start, [size, 1, 1]);
        let overlaps = image.object().may_share_bytes(buffer.object())
            && overlap(&image.rows(&pixels), &bytes);
        let reason =
            "the image shows these bytes of the buffer: they would be copied onto themselves";
        Error::refuse_if(overlaps, call, CL_MEM_COPY_OVERLAP, || reason)?;
        Ok((pixels, range))
    }
}

/// Copies pixels to a temporary buffer without gaps, which it returns with the event of the copy. Waits for the copy if
/// such buffers have more than 64 MiB in this process.
fn to_temporary(order: &Order<'_>, src: &Image, pixels: &Pixels) -> Result<(Buffer, Event)> {
    static BYTES: AtomicUsize = AtomicUsize::new(0);
    let size = pixels.size(src.element_size());
    let temporary = Buffer::in_context(src.object().context(), MemFlags::READ_WRITE, size)?;
    let live = Live::of_size(&BYTES, size);
    // SAFETY: the buffer is alive. If the driver makes no callback, the bytes do not count.
    _ = unsafe { keep_until_destroyed(temporary.as_raw(), live) };
    let part = ImageBufferRegion::new(pixels.region).origin(pixels.origin);
    let copied = CopyTo::copy(order, &temporary, src, part)?;
    if BYTES.load(Ordering::Relaxed) > 64 << 20 {
        copied.wait()?;
    }
    Ok((temporary, copied))
}

/// Returns a copy of these bytes of one buffer to another.
fn bytes_from_to<R>(bytes: Range<usize>, dst_offset: usize) -> BufferPart<R> {
    let linear = Linear::default().src_offset(bytes.start).dst_offset(dst_offset);
    linear.byte_count(bytes.len()).into()
}

impl CopyTo<&Buffer> for &Image {
    type Part = ImageBufferRegion;
    type Output = Result<Event>;

    fn copy(order: &Order<'_>, dst: &Buffer, src: Self, part: ImageBufferRegion) -> Self::Output {
        const CALL: &str = "clEnqueueCopyImageToBuffer";
        let (pixels, range) = part.checked(CALL, src, dst)?;
        if let Some((buffer, bytes)) = src.in_buffer(&pixels) {
            return CopyTo::copy(order, dst, buffer, bytes_from_to(bytes, range.start));
        }
        let offset = dst.offset() + range.start;
        // quirk: RUSTICL-6
        if offset > 0 && order.queue.state().driver.contains(Driver::MISPLACES_PIXELS) {
            let (temporary, copied) = to_temporary(order, src, &pixels)?;
            let bytes = bytes_from_to(0..range.len(), range.start);
            return CopyTo::copy(&order.queue.after(&copied), dst, &temporary, bytes);
        }
        let accesses = [src.accessed(&pixels, Access::Read), dst.accessed(&range, Access::Write)];
        let (origin, region) = (pixels.origin.as_ptr(), pixels.region.as_ptr());
        // Sub-buffers are replaced by their whole buffers: PoCL 3.1 crashes on sub-buffers here.
        // quirk: POCL-5
        let (image, buffer) = (src.as_raw(), dst.whole_raw());
        let submit = cl::enqueue_copy_image_to_buffer;
        enqueue(CALL, order, &accesses, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the pixels are within image and
            // buffer, and the driver keeps both until the command has ended.
            unsafe { submit(queue, image, buffer, origin, region, offset, count, events) }
        })
    }
}

impl CopyTo<&Image> for &Buffer {
    type Part = ImageBufferRegion;
    type Output = Result<Event>;

    fn copy(order: &Order<'_>, dst: &Image, src: Self, part: ImageBufferRegion) -> Self::Output {
        const CALL: &str = "clEnqueueCopyBufferToImage";
        let (pixels, range) = part.checked(CALL, dst, src)?;
        if let Some((buffer, bytes)) = dst.in_buffer(&pixels) {
            return CopyTo::copy(order, buffer, src, bytes_from_to(range, bytes.start));
        }
        let offset = src.offset() + range.start;
        let accesses = [src.accessed(&range, Access::Read), dst.accessed(&pixels, Access::Write)];
        let (origin, region) = (pixels.origin.as_ptr(), pixels.region.as_ptr());
        // As above.
        // quirk: POCL-5
        let (buffer, image) = (src.whole_raw(), dst.as_raw());
        let submit = cl::enqueue_copy_buffer_to_image;
        enqueue(CALL, order, &accesses, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the pixels are within image and
            // buffer, and the driver keeps both until the command has ended.
            unsafe { submit(queue, buffer, image, offset, origin, region, count, events) }
        })
    }
}

/// A box of pixels in each of two images, or two in one (`clEnqueueCopyImage`).
///
/// Both images have to be of the same format; they may be of different types: a slice of a 3D image
/// can be copied to a 2D image.
///
/// Pixels between a 1D image array and an image of another type, those within one 2D image array, and on rusticl those
/// to an offset in a buffer, are copied through a temporary buffer. If such buffers have more than 64 MiB, a copy waits
/// until its source has been read: the same thread must not set an event later that it waits for.
///
/// ```
/// use clmatrix::memory::{
///     ChannelOrder, ChannelType, Image, ImageCopy, ImageFormat, enqueue_copy,
/// };
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
/// let image = Image::builder(&context, grey).shape([4, 3]).copy_from(b"abcdefghijkl").build()?;
/// let column = ImageCopy::new([1, 3]).dst_origin([3]);
/// enqueue_copy(&queue, &image, &image, column)?;
/// let mut rows = [0; 12];
/// enqueue_copy(&queue, &mut rows, &image, ..)?;
/// assert_eq!(&rows, b"abcaefgeijki");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct ImageCopy {
    src_origin: PixelOrigin,
    dst_origin: PixelOrigin,
    region: Option<PixelRegion>,
}

all_by_default!(ImageCopy: RangeFull AllOf);

impl ImageCopy {
    /// Returns a box of `region` pixels, rows and slices, from the first pixel of either image on.
    pub fn new(region: impl Into<PixelRegion>) -> Self {
        Self { region: Some(region.into()), ..Self::default() }
    }

    setters! {
        /// Sets the first pixel in the source.
        src_origin |origin: impl Into<PixelOrigin>| origin.into();

        /// Sets the first pixel in the destination.
        dst_origin |origin: impl Into<PixelOrigin>| origin.into();
    }
}

impl CopyTo<&Image> for &Image {
    type Part = ImageCopy;
    type Output = Result<Event>;

    fn copy(order: &Order<'_>, dst: &Image, src: Self, part: ImageCopy) -> Self::Output {
        const CALL: &str = "clEnqueueCopyImage";
        let (own, other) = (src.format(), dst.format());
        Error::refuse_if(own != other, CALL, CL_IMAGE_FORMAT_MISMATCH, || {
            format!("pixels are copied as they are: the source is {own}, the destination {other}")
        })?;
        let from = src.extent().checked(CALL, "source", part.src_origin, part.region)?;
        let region = Some(PixelRegion(from.region));
        let to = dst.extent().checked(CALL, "destination", part.dst_origin, region)?;
        let overlaps =
            src.object().may_share_bytes(dst.object()) && overlap(&src.rows(&from), &dst.rows(&to));
        let reason = "the boxes overlap: pixels would be copied onto themselves";
        Error::refuse_if(overlaps, CALL, CL_MEM_COPY_OVERLAP, || reason)?;
        let with_buffer = |start: usize, pixels: &Pixels| {
            ImageBufferRegion::new(pixels.region).origin(pixels.origin).offset(start)
        };
        if let Some((buffer, bytes)) = src.in_buffer(&from) {
            return CopyTo::copy(order, dst, buffer, with_buffer(bytes.start, &to));
        }
        if let Some((buffer, bytes)) = dst.in_buffer(&to) {
            return CopyTo::copy(order, buffer, src, with_buffer(bytes.start, &from));
        }
        let has_layers = |image: &Image| image.image_type() == ImageType::Image1dArray;
        let is_within_array =
            src.as_raw() == dst.as_raw() && src.image_type() == ImageType::Image2dArray;
        // quirk: RUSTICL-9, NVIDIA-14, NVIDIA-15, INTEL-11
        if has_layers(src) != has_layers(dst) || is_within_array {
            let (temporary, copied) = to_temporary(order, src, &from)?;
            return CopyTo::copy(&order.queue.after(&copied), dst, &temporary, with_buffer(0, &to));
        }
        let accesses = [src.accessed(&from, Access::Read), dst.accessed(&to, Access::Write)];
        enqueue(CALL, order, &accesses, |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the boxes are within the images and
            // apart, and the driver keeps the images until the command has ended.
            unsafe {
                cl::enqueue_copy_image(
                    queue,
                    src.as_raw(),
                    dst.as_raw(),
                    from.origin.as_ptr(),
                    to.origin.as_ptr(),
                    from.region.as_ptr(),
                    count,
                    events,
                )
            }
        })
    }
}
