//! Formats of pixels: which bits hold which component, and what they mean (5.3.1.1; OpenCL C 6.15.15
//! and 8.3).

use std::fmt;

use clmatrix::cl3::memory::{CL_R, CL_SNORM_INT8};
use half::f16;

/// The orders of channels, by their values from CL_R on.
const ORDERS: &str = "R A RG RA RGB RGBA BGRA ARGB INTENSITY LUMINANCE Rx RGx RGBx DEPTH DEPTH_STENCIL \
                      sRGB sRGBx sRGBA sBGRA ABGR";

/// The types of channels, by their values from CL_SNORM_INT8 on.
const TYPES: &str = "SNORM_INT8 SNORM_INT16 UNORM_INT8 UNORM_INT16 UNORM_SHORT_565 UNORM_SHORT_555 \
                     UNORM_INT_101010 SIGNED_INT8 SIGNED_INT16 SIGNED_INT32 UNSIGNED_INT8 \
                     UNSIGNED_INT16 UNSIGNED_INT32 HALF_FLOAT FLOAT UNORM_INT24 UNORM_INT_101010_2";

/// The names of components, in the order of `float4`.
pub const COMPONENTS: [&str; 4] = ["red", "green", "blue", "alpha"];

/// The meaning of the bits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Unorm,
    Snorm,
    Signed,
    Unsigned,
    Half,
    Float,
    Other,
}

/// A format: an order and a type of channels, with the values of `cl_image_format`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub values: [u32; 2],
    pub order: &'static str,
    pub channel: &'static str,
    pub class: Class,
    pub bytes: usize,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CL_{} CL_{}", self.order, self.channel)
    }
}

impl Format {
    /// The format with these values of `cl_image_format`.
    pub fn of(values: [u32; 2]) -> Self {
        let name = |names: &'static str, value: u32, first| {
            names.split(' ').nth(value.wrapping_sub(first) as usize).unwrap_or("another")
        };
        let order = name(ORDERS, values[0], CL_R);
        let channel = name(TYPES, values[1], CL_SNORM_INT8);
        let (class, bits) = match channel.split_once("_INT").unwrap_or((channel, "")) {
            ("UNORM", bits @ ("8" | "16")) => (Class::Unorm, bits),
            ("SNORM", bits) => (Class::Snorm, bits),
            ("SIGNED", bits) => (Class::Signed, bits),
            ("UNSIGNED", bits) => (Class::Unsigned, bits),
            ("HALF_FLOAT", _) => (Class::Half, "16"),
            ("FLOAT", _) => (Class::Float, "32"),
            _ => (Class::Other, "8"),
        };
        Self { values, order, channel, class, bytes: bits.parse::<usize>().expect("bits") / 8 }
    }

    /// Returns whether these tests know the pixels.
    pub fn is_known(&self) -> bool {
        self.class != Class::Other && self.order.chars().all(|letter| "RGBA".contains(letter))
    }

    pub fn is_integer(&self) -> bool {
        matches!(self.class, Class::Signed | Class::Unsigned)
    }

    pub fn is_normalized(&self) -> bool {
        matches!(self.class, Class::Unorm | Class::Snorm)
    }

    /// Returns whether this is one of few formats, of most classes and sizes, that devices have.
    pub fn is_usual(&self) -> bool {
        let channels = ["UNORM_INT8", "SIGNED_INT16", "UNSIGNED_INT32", "FLOAT"];
        match self.order {
            "RGBA" => channels.contains(&self.channel),
            order => ["R", "BGRA"].contains(&order) && self.channel == channels[0],
        }
    }

    /// The components in the order of memory.
    pub fn components(&self) -> impl Iterator<Item = usize> {
        self.order.chars().filter_map(|letter| "RGBA".find(letter))
    }

    /// The bytes of a pixel (5.3.1.1).
    pub fn size(&self) -> usize {
        self.order.len() * self.bytes
    }

    /// The bits of a component; without a channel, kernels read 0 or 1 (OpenCL C 6.15.15.7).
    pub fn code(&self, pixel: &[u8], component: usize) -> Option<u32> {
        let channel = self.components().position(|other| other == component)? * self.bytes;
        let bytes = pixel[channel..][..self.bytes].iter().rev();
        Some(bytes.fold(0, |code, byte| code << 8 | u32::from(*byte)))
    }

    /// The least and the greatest value of an integer.
    pub fn range(&self) -> [f64; 2] {
        let values = 256_f64.powi(self.bytes as i32);
        match self.class {
            Class::Signed => [-values / 2.0, values / 2.0 - 1.0],
            Class::Snorm => [1.0 - values / 2.0, values / 2.0 - 1.0],
            _ => [0.0, values - 1.0],
        }
    }

    /// Remarkable bits of a channel: the ends of the range, zero, and others.
    pub fn remarkable(&self) -> [u32; 8] {
        let all = self.range()[1] as u32;
        match self.class {
            Class::Half => [0, 0x8000, 0x3c00, 0xc580, 0x7bff, 0xfc00, 0x7e00, 1],
            Class::Float => {
                [0.0, -0.0, 1.0, -5.5, f32::MAX, -1.0 / 0.0, f32::NAN, 0.1].map(f32::to_bits)
            }
            _ => [0, u32::MAX, 1, all / 2, all / 2 + 1, all, !all, all / 3],
        }
    }

    /// The value of a channel's bits.
    pub fn value(&self, code: u32) -> f64 {
        let (unused, greatest) = (32 - 8 * self.bytes as u32, self.range()[1]);
        let signed = f64::from((code << unused) as i32 >> unused);
        match self.class {
            Class::Unorm => f64::from(code) / greatest,
            Class::Snorm => (signed / greatest).max(-1.0),
            Class::Signed => signed,
            Class::Half => f16::from_bits(code as u16).into(),
            Class::Float => f32::from_bits(code).into(),
            Class::Unsigned | Class::Other => f64::from(code),
        }
    }

    /// Returns whether the bits are those of `value` (OpenCL C 8.3); a normalized integer may be this step
    /// away.
    pub fn encodes(&self, code: u32, value: f64, step: f64) -> bool {
        let (found, [least, greatest]) = (self.value(code), self.range());
        let (normal, rounded) = match self.class {
            Class::Unorm | Class::Snorm => {
                let exact = value.clamp(least / greatest, 1.0);
                return value.is_nan() || ((found - exact) * greatest).abs() <= step;
            }
            Class::Half => {
                // To the nearest number, or towards zero.
                let near = f16::from_f64(value);
                let is_away = f64::from(near).abs() > value.abs();
                let below = f16::from_bits(near.to_bits() - u16::from(is_away));
                (f16::MIN_POSITIVE.into(), [near.into(), below.into()])
            }
            Class::Float => (f64::from(f32::MIN_POSITIVE), [value; 2]),
            _ => return found == value.clamp(least, greatest),
        };
        (value.is_nan() && found.is_nan())
            || (value != 0.0 && value.abs() < normal && found == 0.0)
            || rounded.iter().any(|value| value.to_bits() == found.to_bits())
    }

    /// Returns whether kernels may read `value` where `wanted` is (OpenCL C 8.3).
    pub fn reads(&self, value: f64, wanted: f64) -> bool {
        // 1.5 units in the last place.
        let bound = if wanted.abs() == 1.0 { 0.0 } else { 1.8e-7 * wanted.abs() };
        (self.is_normalized() && (value - wanted).abs() <= bound)
            || value.to_bits() == wanted.to_bits()
            || (value.is_nan() && wanted.is_nan())
    }

    /// The bits of a colour in fills and kernels.
    pub fn words(&self, colour: [f64; 4]) -> [u32; 4] {
        colour.map(|value| match self.class {
            Class::Signed => value as i32 as u32,
            Class::Unsigned => value as u32,
            _ => (value as f32).to_bits(),
        })
    }

    /// The value of a component of a colour with these bits.
    pub fn of_word(&self, word: u32) -> f64 {
        match self.class {
            Class::Signed => f64::from(word as i32),
            Class::Unsigned => f64::from(word),
            _ => f64::from(f32::from_bits(word)),
        }
    }
}
