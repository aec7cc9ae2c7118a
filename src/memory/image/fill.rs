//! Images that are filled with a colour (OpenCL 3.0, 5.3.4; `pyopencl.enqueue_fill_image`).

use std::ops::Range;

use crate::event::Event;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;

use super::Image;
use super::copy_device::ImageBufferRegion;
use super::copy_host::ImageRegion;
use super::format::{ChannelKind, ChannelOrder, ImageFormat};
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::track::Access;
use crate::memory::transfer::{AllOf, HostCopy, device_copy, host_transfers};
use crate::memory::{
    Buffer, CopyTo, FillTarget, Host, HostMemory, HostSource, HostTarget, IntoMemory, Order,
    Transfer,
};

const CALL: &str = "clEnqueueFillImage";

/// The value of a fill: red, green, blue and alpha, in any channel order of the image.
///
/// | colour | images |
/// |---|---|
/// | `[f32; 4]` | of floats and of integers as fractions |
/// | `[i32; 4]` | of integers with a sign |
/// | `[u32; 4]` | of integers without a sign |
/// | `f32` | of depths |
pub trait FillColor: sealed::Color {}

mod sealed {
    use super::ChannelKind;

    pub trait Color: Copy {
        const KIND: ChannelKind;
        const IS_DEPTH: bool;
        const NAME: &'static str;

        /// The bits of the four components. A depth is the first of them; a driver that reads all four finds them.
        fn bits(self) -> [u32; 4];
    }
}

macro_rules! colors {
    ($($color:ty: $kind:ident, depth $depth:literal, |$value:ident| $bits:expr;)*) => {$(
        impl FillColor for $color {}

        impl sealed::Color for $color {
            const KIND: ChannelKind = ChannelKind::$kind;
            const IS_DEPTH: bool = $depth;
            const NAME: &'static str = stringify!($color);

            fn bits(self) -> [u32; 4] {
                let $value = self;
                $bits
            }
        }
    )*};
}

colors! {
    [f32; 4]: Float, depth false, |color| color.map(f32::to_bits);
    [i32; 4]: Signed, depth false, |color| color.map(i32::cast_unsigned);
    [u32; 4]: Unsigned, depth false, |color| color;
    f32: Float, depth true, |depth| [depth.to_bits(), 0, 0, 0];
}

impl Image {
    /// Fills all pixels with `color` (`clEnqueueFillImage`, OpenCL 1.2). Does not block. Values that do not
    /// fit into a channel become the nearest that do. [`enqueue_fill`](crate::memory::enqueue_fill) fills a
    /// part, which is an [`ImageRegion`] without pitches.
    ///
    /// ```
    /// use clmatrix::memory::{
    ///     ChannelOrder, ChannelType, Image, ImageFormat, ImageRegion, MemFlags, enqueue_fill,
    /// };
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnormInt8);
    /// let image = Image::new(&context, MemFlags::READ_WRITE, format, [3, 1])?;
    /// image.fill(&queue, [0.0, 0.0, 0.0, 1.0])?;
    /// let last = ImageRegion::default().origin([2]);
    /// enqueue_fill(&queue, &image, [1.0, 0.0, 0.0, 1.0], last)?;
    /// let mut pixels = [[0_u8; 4]; 3];
    /// image.read(&queue, &mut pixels)?;
    /// assert_eq!(pixels, [[0, 0, 0, 255], [0, 0, 0, 255], [255, 0, 0, 255]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`enqueue_fill`](crate::memory::enqueue_fill#errors).
    #[doc(alias = "enqueue_fill_image")]
    pub fn fill<'q>(&self, order: impl Into<Order<'q>>, color: impl FillColor) -> Result<Event> {
        self.enqueue_fill(&order.into(), color, ..)
    }

    host_transfers!(pub, |this| this);

    device_copy!(pub, <'s> &'s Self, |this| this);
}

impl<C: FillColor, Part: Into<ImageRegion>> FillTarget<C, Part> for &Image {
    fn enqueue_fill(self, order: &Order<'_>, color: C, part: Part) -> Result<Event> {
        check_color::<C>(self.format())?;
        let pixels = part.into().on_device(CALL, self)?;
        if let Some((buffer, bytes)) = self.in_buffer(&pixels) {
            return fill_row(order, self, buffer, bytes, color);
        }
        let color = color.bits();
        let accessed = self.accessed(&pixels, Access::Write);
        enqueue(CALL, order, &[accessed], |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the pixels are within the image,
            // and the driver has copied the colour when the call returns.
            unsafe {
                cl::enqueue_fill_image(
                    queue,
                    self.as_raw(),
                    color.as_ptr().cast(),
                    pixels.origin.as_ptr(),
                    pixels.region.as_ptr(),
                    count,
                    events,
                )
            }
        })
    }
}

/// Fills pixels of a 1D image of a buffer: fills a temporary image and copies its pixels to the buffer.
/// PoCL 3.1 crashes in clEnqueueFillImage of such an image, and rusticl 22.3 fills other bytes.
// quirk: POCL-7, RUSTICL-1
fn fill_row<C: FillColor>(
    order: &Order<'_>,
    image: &Image,
    buffer: &Buffer,
    bytes: Range<usize>,
    color: C,
) -> Result<Event> {
    let item_size = image.element_size();
    let row = image.row_of_its_own(bytes.len() / item_size)?;
    let step = row.shape()[0] * item_size;
    let mut event = (&row).enqueue_fill(order, color, ..)?;
    for start in bytes.clone().step_by(step) {
        let pixels = step.min(bytes.end - start) / item_size;
        let part = ImageBufferRegion::new([pixels]).offset(start);
        event = CopyTo::copy(&order.queue.after(&event), buffer, &row, part)?;
    }
    Ok(event)
}

/// Refuses a colour of another kind than the format's: drivers do not check its type.
fn check_color<C: FillColor>(format: ImageFormat) -> Result<()> {
    let is_depth = format.channel_order == ChannelOrder::Depth;
    let kind = format.channel_type.kind();
    let right = match kind {
        ChannelKind::Float if is_depth => "f32",
        ChannelKind::Float => "[f32; 4]",
        ChannelKind::Signed => "[i32; 4]",
        ChannelKind::Unsigned => "[u32; 4]",
    };
    let is_wrong = C::KIND != kind || C::IS_DEPTH != is_depth;
    Error::refuse_if(is_wrong, CALL, CL_INVALID_VALUE, || {
        format!("an image of {format} is filled with {right}, not with {}", C::NAME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::image::format::ChannelType;

    #[test]
    fn colors_are_of_the_formats_kind() {
        let check = |order, data_type| {
            let format = ImageFormat::new(order, data_type);
            [
                check_color::<[f32; 4]>(format).is_ok(),
                check_color::<[i32; 4]>(format).is_ok(),
                check_color::<[u32; 4]>(format).is_ok(),
                check_color::<f32>(format).is_ok(),
            ]
        };
        use ChannelOrder::{Depth, R};
        assert_eq!(check(R, ChannelType::Float), [true, false, false, false]);
        assert_eq!(check(R, ChannelType::SnormInt16), [true, false, false, false]);
        assert_eq!(check(R, ChannelType::SignedInt8), [false, true, false, false]);
        assert_eq!(check(R, ChannelType::UnsignedInt32), [false, false, true, false]);
        assert_eq!(check(Depth, ChannelType::UnormInt16), [false, false, false, true]);
    }
}
