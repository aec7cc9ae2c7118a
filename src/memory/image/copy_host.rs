//! Pixels between images and host memory (OpenCL 3.0, 5.3.3).

use std::ops::RangeFull;

use crate::queue::{Arguments, Submitted};
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;
use cl3::types::CL_NON_BLOCKING;

use super::Image;
use super::shape::{Pixels, driver_pitches, layer_pitches};
use crate::error::{Error, Result};
use crate::memory::buffer::copy_host::{linear_call, submit_linear};
use crate::memory::command::AccessedRange;
use crate::memory::object::check_host_access;
use crate::memory::track::Access;
use crate::memory::transfer::{HostCommand, HostCopy, HostPtr, Layout, Rows, all_by_default};
use crate::memory::{Pitches, PixelOrigin, PixelRegion};

/// A box of an image's pixels (`clEnqueueReadImage`, `clEnqueueWriteImage`, `clEnqueueFillImage`).
///
/// Origin and region count pixels, rows and slices: see [`PixelOrigin`]. Without a region, the box goes
/// from the origin to the end of the image.
///
/// In host memory, the pixels lie from the first byte on, row by row. An array of ndarray with gaps
/// between its rows or slices is taken as it is.
///
/// ```
/// use clmatrix::memory::{
///     ChannelOrder, ChannelType, Image, ImageFormat, ImageRegion, MemFlags, enqueue_copy,
/// };
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
/// let image = Image::new(&context, MemFlags::READ_WRITE, grey, [4, 3])?;
/// enqueue_copy(&queue, &image, b"abcdefghijkl", ..)?;
/// enqueue_copy(&queue, &image, b"12.34", ImageRegion::new([2, 2]).origin([1]).pitches([3]))?;
/// let mut rows = [0; 8];
/// enqueue_copy(&queue, &mut rows, &image, ImageRegion::new([4, 2]))?;
/// assert_eq!(&rows, b"a12de34h");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct ImageRegion {
    origin: PixelOrigin,
    region: Option<PixelRegion>,
    pitches: Pitches,
}

all_by_default!(ImageRegion: RangeFull);

impl ImageRegion {
    /// Returns a box of `region` pixels, rows and slices, from the image's first pixel on.
    pub fn new(region: impl Into<PixelRegion>) -> Self {
        Self { region: Some(region.into()), ..Self::default() }
    }

    setters! {
        /// Sets the first pixel.
        origin |origin: impl Into<PixelOrigin>| origin.into();

        /// Sets the distances of rows, and of slices or layers, in host memory, in bytes.
        pitches |pitches: impl Into<Pitches>| pitches.into();
    }

    /// Returns the pixels, for a command without a host side.
    pub(crate) fn on_device(self, call: &'static str, image: &Image) -> Result<Pixels> {
        let has_pitches = self.pitches != Pitches::default();
        let reason = "pitches describe host memory, and none is given; leave the pitches out";
        Error::refuse_if(has_pitches, call, CL_INVALID_VALUE, || reason)?;
        image.extent().checked(call, "image", self.origin, self.region)
    }

    /// Returns the place of the pixels in host memory, which has room for all.
    fn host_rows(
        self,
        call: &'static str,
        image: &Image,
        pixels: &Pixels,
        host_ptr: HostPtr,
    ) -> Result<Rows> {
        let refused = |reason: String| Error::refused(call, CL_INVALID_VALUE, reason);
        let [width, height, depth] = pixels.region;
        let region = [width * image.element_size(), height, depth];
        if let (Layout::Rows(rows), true) =
            (host_ptr.layout(call)?, self.pitches == Pitches::default())
        {
            return same_rows(&rows, region).ok_or_else(|| {
                let found = rows.region;
                refused(format!(
                    "the array has rows of {found:?} bytes, the pixels have rows of {region:?}"
                ))
            });
        }
        let available = host_ptr.size(call)?;
        let rows = layer_pitches(image.image_type(), self.pitches.0)
            .and_then(|pitches| Rows::new([0; 3], region, pitches))
            .map_err(|reason| refused(format!("the host memory: {reason}")))?;
        let needed = rows.hull().end;
        Error::refuse_if(needed > available, call, CL_INVALID_VALUE, || {
            format!("the pixels need {needed} bytes of host memory and there are {available}")
        })?;
        Ok(rows)
    }
}

/// Returns `host`, each of whose rows may hold several, as rows of `region`.
fn same_rows(host: &Rows, [row, height, depth]: [usize; 3]) -> Option<Rows> {
    let [size, rows, slices] = host.region;
    let [row_pitch, slice_pitch] = if [size, rows, slices] == [row, height, depth] {
        [host.row_pitch, host.slice_pitch]
    } else if slices == 1 && size == row && rows == height * depth {
        [host.row_pitch, host.row_pitch * height]
    } else if slices == 1 && size == row * height && rows == depth {
        [row, host.row_pitch]
    } else {
        return None;
    };
    Rows::new([0; 3], [row, height, depth], [row_pitch, slice_pitch]).ok()
}

/// Returns the name of the function that performs `access` on an image.
fn call_for(access: Access) -> &'static str {
    match access {
        Access::Read => "clEnqueueReadImage",
        Access::Write => "clEnqueueWriteImage",
    }
}

/// `clEnqueueReadImage` and `clEnqueueWriteImage`, and the commands of buffers where the pixels are a row of a
/// buffer's bytes.
#[derive(Debug)]
struct ImageCommand<'a> {
    image: &'a Image,
    access: Access,
    pixels: Pixels,
    host: Rows,
    pointer: *mut u8,
}

impl HostCommand for ImageCommand<'_> {
    fn call(&self) -> &'static str {
        match self.image.row_of_buffer() {
            Some(_) => linear_call(self.access),
            None => call_for(self.access),
        }
    }

    fn accessed(&self) -> AccessedRange<'_> {
        self.image.accessed(&self.pixels, self.access)
    }

    unsafe fn submit(&self, (queue, count, events): Arguments) -> Submitted {
        if let Some((buffer, bytes)) = self.image.in_buffer(&self.pixels) {
            let (raw, pointer) = (buffer.as_raw(), self.pointer.cast());
            // SAFETY: the caller vouches for the handles and the memory, and the bytes are within both.
            return unsafe {
                submit_linear(raw, self.access, &bytes, pointer, (queue, count, events))
            };
        }
        let raw = self.image.as_raw();
        let (origin, region) = (self.pixels.origin.as_ptr(), self.pixels.region.as_ptr());
        let [row_pitch, slice_pitch] = driver_pitches(self.image.image_type(), &self.host);
        macro_rules! submit {
            ($function:path) => {
                // SAFETY: the caller vouches for the handles and the memory, and the pixels are within both.
                unsafe {
                    $function(
                        queue,
                        raw,
                        CL_NON_BLOCKING,
                        origin,
                        region,
                        row_pitch,
                        slice_pitch,
                        self.pointer.cast(),
                        count,
                        events,
                    )
                }
            };
        }
        match self.access {
            Access::Read => submit!(cl::enqueue_read_image),
            Access::Write => submit!(cl::enqueue_write_image),
        }
    }
}

impl HostCopy for &Image {
    type Part = ImageRegion;

    fn plan(
        self,
        access: Access,
        part: ImageRegion,
        host_ptr: HostPtr,
    ) -> Result<impl HostCommand> {
        let call = call_for(access);
        let pixels = self.extent().checked(call, "image", part.origin, part.region)?;
        let host = part.host_rows(call, self, &pixels, host_ptr)?;
        check_host_access(call, self.flags(), access)?;
        if let Some(buffer) = self.row_of_buffer() {
            check_host_access(linear_call(access), buffer.flags(), access)?;
        }
        Ok(ImageCommand { image: self, access, pixels, host, pointer: host_ptr.pointer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_array_are_rows_of_pixels() {
        let same = |region, pitches, pixels| {
            let host = Rows::new([0; 3], region, pitches).expect("rows");
            same_rows(&host, pixels).map(|rows| [rows.row_pitch, rows.slice_pitch])
        };
        assert_eq!(same([8, 3, 2], [10, 40], [8, 3, 2]), Some([10, 40]));
        // Slices without gaps between them.
        assert_eq!(same([8, 6, 1], [10, 0], [8, 3, 2]), Some([10, 30]));
        // Slices without gaps in them.
        assert_eq!(same([24, 2, 1], [30, 0], [8, 3, 2]), None);
        assert_eq!(same([24, 2, 1], [32, 0], [8, 3, 2]), Some([8, 32]));
        assert_eq!(same([8, 3, 1], [10, 0], [8, 3, 2]), None);
        assert_eq!(same([6, 4, 2], [10, 40], [8, 3, 2]), None);
    }
}
