//! The format of a pixel (OpenCL 3.0, 5.3.1.1; `pyopencl.ImageFormat`).

use std::fmt;

use cl3::error_codes::CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
use cl3::memory as cl;
use cl3::types::cl_image_format;

use crate::error::{Error, Result};

macro_rules! names_of_numbers {
    (
        $(#[$enum_doc:meta])* $enum:ident;
        $($(#[$doc:meta])* $variant:ident = $number:expr, $name:literal;)*
    ) => {
        numbered! {
            $(#[$enum_doc])*
            #[non_exhaustive]
            $enum;
            $($(#[$doc])* $variant = $number;)*
        }

        impl $enum {
            /// Returns OpenCL's name without the `CL_`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

/// CL_sBGRA and CL_ABGR, which cl3 does not name.
const CL_S_BGRA: u32 = 0x10C2;
const CL_ABGR: u32 = 0x10C3;

names_of_numbers! {
    /// The channels of a pixel and their order (`cl_channel_order`; `pyopencl.channel_order`).
    /// An `x` is a channel that is there and ignored.
    ChannelOrder;
    /// Red.
    R = cl::CL_R, "R";
    /// Alpha.
    A = cl::CL_A, "A";
    /// Red, green.
    Rg = cl::CL_RG, "RG";
    /// Red, alpha.
    Ra = cl::CL_RA, "RA";
    /// Red, green, blue: for packed types only.
    Rgb = cl::CL_RGB, "RGB";
    /// Red, green, blue, alpha.
    Rgba = cl::CL_RGBA, "RGBA";
    /// Blue, green, red, alpha.
    Bgra = cl::CL_BGRA, "BGRA";
    /// Alpha, red, green, blue.
    Argb = cl::CL_ARGB, "ARGB";
    /// Alpha, blue, green, red (OpenCL 2.0).
    Abgr = CL_ABGR, "ABGR";
    /// One value for all four channels.
    Intensity = cl::CL_INTENSITY, "INTENSITY";
    /// One value for red, green and blue.
    Luminance = cl::CL_LUMINANCE, "LUMINANCE";
    /// Red, ignored.
    Rx = cl::CL_Rx, "Rx";
    /// Red, green, ignored.
    Rgx = cl::CL_RGx, "RGx";
    /// Red, green, blue, ignored: for packed types only.
    Rgbx = cl::CL_RGBx, "RGBx";
    /// A depth (OpenCL 2.0).
    Depth = cl::CL_DEPTH, "DEPTH";
    /// Red, green, blue of the sRGB colour space (OpenCL 2.0).
    Srgb = cl::CL_sRGB, "sRGB";
    /// Red, green, blue in sRGB, and an ignored channel (OpenCL 2.0).
    Srgbx = cl::CL_sRGBx, "sRGBx";
    /// Red, green, blue in sRGB, and alpha (OpenCL 2.0).
    Srgba = cl::CL_sRGBA, "sRGBA";
    /// Blue, green, red of the sRGB colour space, alpha (OpenCL 2.0).
    Sbgra = CL_S_BGRA, "sBGRA";
}

names_of_numbers! {
    /// The type in which a channel is stored, or a pixel where the channels are packed into one number
    /// (`cl_channel_type`; `pyopencl.channel_type`).
    ChannelType;
    /// A signed byte for -1.0 to 1.0.
    SnormInt8 = cl::CL_SNORM_INT8, "SNORM_INT8";
    /// 16 bits with a sign for -1.0 to 1.0.
    SnormInt16 = cl::CL_SNORM_INT16, "SNORM_INT16";
    /// A byte for 0.0 to 1.0.
    UnormInt8 = cl::CL_UNORM_INT8, "UNORM_INT8";
    /// 16 bits for 0.0 to 1.0.
    UnormInt16 = cl::CL_UNORM_INT16, "UNORM_INT16";
    /// 5, 6 and 5 bits in 16 for 0.0 to 1.0 each.
    UnormShort565 = cl::CL_UNORM_SHORT_565, "UNORM_SHORT_565";
    /// Three times 5 bits in 16 for 0.0 to 1.0 each.
    UnormShort555 = cl::CL_UNORM_SHORT_555, "UNORM_SHORT_555";
    /// Three times 10 bits in 32 for 0.0 to 1.0 each.
    UnormInt101010 = cl::CL_UNORM_INT_101010, "UNORM_INT_101010";
    /// Three times 10 bits and 2 in 32 for 0.0 to 1.0 each (OpenCL 2.1).
    UnormInt101010_2 = cl::CL_UNORM_INT_101010_2, "UNORM_INT_101010_2";
    /// A signed byte.
    SignedInt8 = cl::CL_SIGNED_INT8, "SIGNED_INT8";
    /// 16 bits with a sign.
    SignedInt16 = cl::CL_SIGNED_INT16, "SIGNED_INT16";
    /// 32 bits with a sign.
    SignedInt32 = cl::CL_SIGNED_INT32, "SIGNED_INT32";
    /// A byte.
    UnsignedInt8 = cl::CL_UNSIGNED_INT8, "UNSIGNED_INT8";
    /// 16 bits.
    UnsignedInt16 = cl::CL_UNSIGNED_INT16, "UNSIGNED_INT16";
    /// 32 bits.
    UnsignedInt32 = cl::CL_UNSIGNED_INT32, "UNSIGNED_INT32";
    /// A float of 16 bits.
    HalfFloat = cl::CL_HALF_FLOAT, "HALF_FLOAT";
    /// A float of 32 bits.
    Float = cl::CL_FLOAT, "FLOAT";
}

/// The type as which kernels read a channel, and of the values of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    /// `read_imagef`: floats, and integers for fractions.
    Float,
    /// `read_imagei`.
    Signed,
    /// `read_imageui`.
    Unsigned,
}

impl ChannelOrder {
    /// Returns the number of stored channels, the ignored one included.
    const fn channel_count(self) -> usize {
        match self {
            Self::R | Self::A | Self::Intensity | Self::Luminance | Self::Depth => 1,
            Self::Rg | Self::Ra | Self::Rx => 2,
            Self::Rgb | Self::Rgx | Self::Srgb => 3,
            Self::Rgba
            | Self::Bgra
            | Self::Argb
            | Self::Abgr
            | Self::Rgbx
            | Self::Srgbx
            | Self::Srgba
            | Self::Sbgra => 4,
        }
    }
}

impl ChannelType {
    /// Returns the bytes of a channel, or of a pixel where the channels are [packed](Self::is_packed).
    const fn size(self) -> usize {
        match self {
            Self::SnormInt8 | Self::UnormInt8 | Self::SignedInt8 | Self::UnsignedInt8 => 1,
            Self::SnormInt16
            | Self::UnormInt16
            | Self::UnormShort565
            | Self::UnormShort555
            | Self::SignedInt16
            | Self::UnsignedInt16
            | Self::HalfFloat => 2,
            Self::UnormInt101010
            | Self::UnormInt101010_2
            | Self::SignedInt32
            | Self::UnsignedInt32
            | Self::Float => 4,
        }
    }

    /// Returns whether all channels of a pixel are in one number.
    pub const fn is_packed(self) -> bool {
        matches!(
            self,
            Self::UnormShort565
                | Self::UnormShort555
                | Self::UnormInt101010
                | Self::UnormInt101010_2
        )
    }

    /// Returns its type in kernels.
    pub const fn kind(self) -> ChannelKind {
        match self {
            Self::SignedInt8 | Self::SignedInt16 | Self::SignedInt32 => ChannelKind::Signed,
            Self::UnsignedInt8 | Self::UnsignedInt16 | Self::UnsignedInt32 => ChannelKind::Unsigned,
            _ => ChannelKind::Float,
        }
    }
}

/// The format of a pixel (`cl_image_format`; `pyopencl.ImageFormat`).
///
/// ```
/// use clmatrix::memory::{ChannelOrder, ChannelType, ImageFormat};
///
/// let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnormInt8);
/// assert_eq!((format.channel_count(), format.channel_size(), format.item_size()), (4, 1, 4));
/// let packed = ImageFormat::new(ChannelOrder::Rgb, ChannelType::UnormShort565);
/// assert_eq!((packed.channel_count(), packed.channel_size(), packed.item_size()), (3, 2, 2));
/// assert_eq!(packed.to_string(), "RGB UNORM_SHORT_565");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageFormat {
    /// The channels.
    pub channel_order: ChannelOrder,
    /// The type in which each channel is stored (PyOpenCL's `channel_data_type`).
    pub channel_type: ChannelType,
}

impl ImageFormat {
    /// Returns a format of these channels, each of this type.
    pub const fn new(channel_order: ChannelOrder, channel_type: ChannelType) -> Self {
        Self { channel_order, channel_type }
    }

    /// Returns the number of channels of a pixel.
    pub const fn channel_count(self) -> usize {
        self.channel_order.channel_count()
    }

    /// Returns the bytes of a channel, or of a pixel where the channels are packed into one number (PyOpenCL's
    /// `dtype_size`).
    pub const fn channel_size(self) -> usize {
        self.channel_type.size()
    }

    /// Returns the bytes of a pixel (PyOpenCL's `itemsize`, which counts packed channels one by one).
    pub const fn item_size(self) -> usize {
        if self.channel_type.is_packed() {
            self.channel_size()
        } else {
            self.channel_count() * self.channel_size()
        }
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.channel_order, self.channel_type)
    }
}

impl From<ImageFormat> for cl_image_format {
    fn from(format: ImageFormat) -> Self {
        Self {
            image_channel_order: format.channel_order.as_raw(),
            image_channel_data_type: format.channel_type.as_raw(),
        }
    }
}

/// Fails with CL_INVALID_IMAGE_FORMAT_DESCRIPTOR for a vendor's own format.
impl TryFrom<cl_image_format> for ImageFormat {
    type Error = Error;

    fn try_from(raw: cl_image_format) -> Result<Self> {
        let order = ChannelOrder::from_raw(raw.image_channel_order);
        let data_type = ChannelType::from_raw(raw.image_channel_data_type);
        order.zip(data_type).map(|(order, data_type)| Self::new(order, data_type)).ok_or_else(
            || {
                let reason = format!(
                    "channel order {:#x} with data type {:#x} is not one of OpenCL's formats",
                    raw.image_channel_order, raw.image_channel_data_type
                );
                Error::refused("clGetImageInfo", CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, reason)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_one_name_each() {
        for order in ChannelOrder::ALL {
            assert_eq!(ChannelOrder::from_raw(order.as_raw()), Some(*order));
        }
        for data_type in ChannelType::ALL {
            assert_eq!(ChannelType::from_raw(data_type.as_raw()), Some(*data_type));
        }
        assert_eq!(ChannelOrder::from_raw(0x10DE), None);
        assert_eq!((ChannelOrder::ALL.len(), ChannelType::ALL.len()), (19, 16));
    }

    #[test]
    fn formats_come_back_from_the_driver() {
        let format = ImageFormat::new(ChannelOrder::Sbgra, ChannelType::UnormInt8);
        let raw = cl_image_format::from(format);
        assert_eq!(ImageFormat::try_from(raw).expect("one of OpenCL's"), format);
        let foreign = cl_image_format { image_channel_order: 0x4000, ..raw };
        let error = ImageFormat::try_from(foreign).expect_err("a vendor's own");
        assert_eq!(error.code_name(), "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR");
        assert!(error.detail().contains("0x4000"), "{error}");
    }

    #[test]
    fn sizes_are_those_of_the_specification() {
        use ChannelOrder as O;
        use ChannelType as T;
        for (order, data_type, sizes) in [
            (O::R, T::UnsignedInt8, (1, 1, 1)),
            (O::Depth, T::Float, (1, 4, 4)),
            (O::Intensity, T::HalfFloat, (1, 2, 2)),
            (O::Ra, T::SnormInt16, (2, 2, 4)),
            (O::Rx, T::SnormInt16, (2, 2, 4)),
            (O::Rgx, T::Float, (3, 4, 12)),
            (O::Argb, T::SignedInt8, (4, 1, 4)),
            (O::Rgba, T::Float, (4, 4, 16)),
            (O::Srgb, T::UnormInt8, (3, 1, 3)),
            (O::Rgb, T::UnormShort565, (3, 2, 2)),
            (O::Rgbx, T::UnormShort555, (4, 2, 2)),
            (O::Rgb, T::UnormInt101010, (3, 4, 4)),
            (O::Rgba, T::UnormInt101010_2, (4, 4, 4)),
        ] {
            let format = ImageFormat::new(order, data_type);
            let found = (format.channel_count(), format.channel_size(), format.item_size());
            assert_eq!(found, sizes, "{format}");
        }
    }
}
