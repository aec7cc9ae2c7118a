//! Operands of valid commands on images.

use clmatrix::memory::{ChannelOrder, ChannelType, Image, ImageFormat};

use super::prelude::*;

/// The size in pixels of each image, of four bytes each. An array or a volume has `SHAPE[2]` layers.
pub const SHAPE: [usize; 3] = [16, 8, 3];

/// A format that all devices with images have.
const FORMAT: ImageFormat = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt8);

/// Two 2D images, an array and a volume of the same format, and the operands on buffers.
pub struct Images {
    objects: Objects,
    pub image: Image,
    pub other: Image,
    pub array: Image,
    pub volume: Image,
    pub of_another_format: Image,
}

/// The fixture of that name.
#[fixture]
pub fn images(objects: Objects) -> Images {
    let context = &objects.on_device.context;
    let flat = |format| Image::new(context, MemFlags::READ_WRITE, format, &SHAPE[..2]);
    let layers = || Image::builder(context, FORMAT).shape(SHAPE);
    let signed = ImageFormat::new(ChannelOrder::Rgba, ChannelType::SignedInt8);
    Images {
        image: flat(FORMAT).expect("an image"),
        other: flat(FORMAT).expect("an image"),
        array: layers().array().build().expect("an array"),
        // Kernels need not be able to write 3D images.
        volume: layers().flags(MemFlags::READ_ONLY).build().expect("a volume"),
        of_another_format: flat(signed).expect("an image"),
        objects,
    }
}

impl Fixture for Images {
    fn of_device_under_test() -> Self {
        images(Fixture::of_device_under_test())
    }
}

impl Deref for Images {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}
