//! Operands of valid commands on images.

use clmatrix_harness::Fixture;
use std::ops::Deref;

use clmatrix::cl3::types::cl_mem;
use clmatrix::memory::{ChannelOrder, ChannelType, Image, ImageFormat, MemFlags};
use rstest::fixture;

use super::objects::{Objects, objects};

/// The size in pixels of each image, of four bytes each. An array or a volume has `SHAPE[2]` layers.
pub const SHAPE: [usize; 3] = [16, 8, 3];

/// A format that all devices with images have.
pub const FORMAT: ImageFormat = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt8);

/// Two 2D images, an array and a volume of the same format, and the operands on buffers.
pub struct Images {
    objects: Objects,
    image: Image,
    other: Image,
    array: Image,
    volume: Image,
    of_another_format: Image,
}

/// The fixture of that name.
#[fixture]
pub fn images(objects: Objects) -> Images {
    Images::new(objects)
}

impl Fixture for Images {
    fn of_device_under_test() -> Self {
        images(Fixture::of_device_under_test())
    }
}

impl Images {
    /// Creates the images in the context of `objects`.
    pub fn new(objects: Objects) -> Self {
        let context = &objects.on_device.context;
        let flat = |format| Image::new(context, MemFlags::READ_WRITE, format, &SHAPE[..2]);
        let layers = || Image::builder(context, FORMAT).shape(SHAPE);
        let signed = ImageFormat::new(ChannelOrder::Rgba, ChannelType::SignedInt8);
        Self {
            image: flat(FORMAT).expect("an image"),
            other: flat(FORMAT).expect("an image"),
            array: layers().array().build().expect("an array"),
            // Kernels need not be able to write 3D images.
            volume: layers().flags(MemFlags::READ_ONLY).build().expect("a volume"),
            of_another_format: flat(signed).expect("an image"),
            objects,
        }
    }

    pub fn image(&self) -> cl_mem {
        self.image.as_raw()
    }

    pub fn other(&self) -> cl_mem {
        self.other.as_raw()
    }

    pub fn array(&self) -> cl_mem {
        self.array.as_raw()
    }

    pub fn volume(&self) -> cl_mem {
        self.volume.as_raw()
    }

    pub fn of_another_format(&self) -> cl_mem {
        self.of_another_format.as_raw()
    }
}

impl Deref for Images {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}
