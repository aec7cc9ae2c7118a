//! Pixels: between images and host memory, buffers and other images (OpenCL 3.0, 5.3.3 and 5.3.5).

mod device;
mod host;

pub use device::{ImageBufferRegion, ImageCopy};
pub use host::ImageRegion;

use crate::error::Result;
use crate::memory::image::{Image, Pixels};
use crate::memory::units::{PixelOrigin, PixelRegion};

/// The box of `region` pixels from `origin` on, or of all that there are from there on.
pub(crate) fn pixels_of(
    call: &'static str,
    what: &str,
    image: &Image,
    origin: PixelOrigin,
    region: Option<PixelRegion>,
) -> Result<Pixels> {
    let all = image.extent().pixels;
    let rest = || PixelRegion(std::array::from_fn(|axis| all[axis].saturating_sub(origin.0[axis])));
    image.extent().checked(call, what, origin, region.unwrap_or_else(rest))
}
