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

use Class::*;

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
            ("UNORM", bits @ ("8" | "16")) => (Unorm, bits),
            ("SNORM", bits) => (Snorm, bits),
            ("SIGNED", bits) => (Signed, bits),
            ("UNSIGNED", bits) => (Unsigned, bits),
            ("HALF_FLOAT", _) => (Half, "16"),
            ("FLOAT", _) => (Float, "32"),
            _ => (Other, "8"),
        };
        Self { values, order, channel, class, bytes: bits.parse::<usize>().expect("bits") / 8 }
    }

    /// Returns whether these tests know the pixels.
    pub fn is_known(&self) -> bool {
        self.class != Other && self.order.chars().all(|letter| "RGBA".contains(letter))
    }

    /// Returns whether this is one of few formats, of most classes and sizes, that devices have.
    pub fn is_usual(&self) -> bool {
        matches!(
            (self.order, self.channel),
            ("RGBA", "UNORM_INT8" | "SIGNED_INT16" | "UNSIGNED_INT32" | "FLOAT")
                | ("R" | "BGRA", "UNORM_INT8")
        )
    }

    /// The components in the order of memory.
    pub fn components(&self) -> impl Iterator<Item = usize> {
        self.order.chars().filter_map(|letter| "RGBA".find(letter))
    }

    /// The bytes of a pixel (5.3.1.1).
    pub fn size(&self) -> usize {
        self.order.len() * self.bytes
    }

    /// The bits of a component, if it has a channel.
    pub fn code(&self, pixel: &[u8], component: usize) -> Option<u32> {
        let channel = self.components().position(|other| other == component)? * self.bytes;
        let bytes = pixel[channel..][..self.bytes].iter().rev();
        Some(bytes.fold(0, |code, byte| code << 8 | u32::from(*byte)))
    }

    /// The value of a component with these bits; without a channel, kernels read 0 or 1 (OpenCL C 6.15.15.7).
    pub fn component(&self, code: Option<u32>, component: usize) -> f64 {
        let without = f64::from(component == 3 && !self.order.contains('A'));
        code.map_or(without, |code| self.value(code))
    }

    /// The least and the greatest value of an integer, and the integer that is 1.
    pub fn range(&self) -> ([f64; 2], f64) {
        let half = 256_f64.powi(self.bytes as i32) / 2.0;
        match self.class {
            Snorm => ([-1.0, 1.0], half - 1.0),
            Unorm => ([0.0, 1.0], 2.0 * half - 1.0),
            Signed => ([-half, half - 1.0], 1.0),
            _ => ([0.0, 2.0 * half - 1.0], 1.0),
        }
    }

    /// Remarkable bits of a channel: the ends of the range, zero, and others.
    pub fn remarkable(&self) -> [u32; 8] {
        let ([_, greatest], one) = self.range();
        let all = (greatest * one) as u32;
        match self.class {
            Half => [0, 0x8000, 0x3c00, 0xc580, 0x7bff, 0xfc00, 0x7e00, 1],
            Float => [0.0, -0.0, 1.0, -5.5, f32::MAX, -1.0 / 0.0, f32::NAN, 0.1].map(f32::to_bits),
            _ => [0, u32::MAX, 1, all / 2, all / 2 + 1, all, !all, all / 3],
        }
    }

    /// The value of a channel's bits.
    pub fn value(&self, code: u32) -> f64 {
        let (unused, ([least, _], one)) = (32 - 8 * self.bytes as u32, self.range());
        match self.class {
            Half => f16::from_bits(code as u16).into(),
            Float => f32::from_bits(code).into(),
            Snorm | Signed => (f64::from((code << unused) as i32 >> unused) / one).max(least),
            _ => f64::from(code) / one,
        }
    }

    /// Returns whether the bits are those of `value` (OpenCL C 8.3); a normalized integer may be this step
    /// away.
    pub fn encodes(&self, code: u32, value: f64, step: f64) -> bool {
        let (found, ([least, greatest], one)) = (self.value(code), self.range());
        let is_same =
            |value: f64| value.to_bits() == found.to_bits() || (value.is_nan() && found.is_nan());
        let is_flushed = |normal: f64| value != 0.0 && value.abs() < normal && found == 0.0;
        match self.class {
            Unorm | Snorm => {
                let difference = (found - value.clamp(least, greatest)) * one;
                value.is_nan() || difference.abs() <= step
            }
            Half => {
                // To the nearest number, or towards zero.
                let near = f16::from_f64(value);
                let is_away = f64::from(near).abs() > value.abs();
                let below = f16::from_bits(near.to_bits() - u16::from(is_away));
                let is_rounded = is_same(near.into()) || is_same(below.into());
                is_rounded || is_flushed(f16::MIN_POSITIVE.into())
            }
            Float => is_same(value) || is_flushed(f32::MIN_POSITIVE.into()),
            _ => found == value.clamp(least, greatest),
        }
    }

    /// The format of the words of colours in fills and kernels.
    pub fn words(&self) -> Self {
        let is_integer = matches!(self.class, Signed | Unsigned);
        Self { class: if is_integer { self.class } else { Float }, bytes: 4, ..*self }
    }

    /// Returns whether kernels may read this word where `wanted` is (OpenCL C 8.3).
    pub fn reads(&self, word: u32, wanted: f64) -> bool {
        // 1.5 units in the last place.
        let bound = if wanted.abs() == 1.0 { 0.0 } else { 1.8e-7 * wanted.abs() };
        let is_near = (self.words().value(word) - wanted).abs() <= bound;
        self.words().encodes(word, wanted, 0.0) || (is_near && matches!(self.class, Unorm | Snorm))
    }
}
