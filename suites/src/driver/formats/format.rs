//! Formats of pixels: which bits hold which component, and what they mean (5.3.1.1; OpenCL C 6.15.15
//! and 8.3).

use clmatrix::memory::{ChannelOrder, ChannelType, ImageFormat};
use half::f16;

/// The names of components, in the order of `float4`.
pub const COMPONENTS: [&str; 4] = ["red", "green", "blue", "alpha"];

/// The meaning of the bits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelClass {
    Unorm,
    Snorm,
    Signed,
    Unsigned,
    Half,
    Float,
    Other,
}

use ChannelClass::*;

/// A format: an order and a type of channels, with the values of `cl_image_format`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub values: [u32; 2],
    pub order: &'static str,
    pub channel: &'static str,
    pub class: ChannelClass,
    pub bytes: usize,
}

impl Format {
    /// The format with these values of `cl_image_format`.
    pub fn of(values: [u32; 2]) -> Self {
        let order = ChannelOrder::from_raw(values[0]).map_or("another", ChannelOrder::name);
        let channel = ChannelType::from_raw(values[1]);
        let bytes = channel.map_or(1, |it| ImageFormat::new(ChannelOrder::R, it).channel_size());
        let channel = channel.map_or("another", ChannelType::name);
        let class = match channel.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
            "UNORM_INT" => Unorm,
            "SNORM_INT" => Snorm,
            "SIGNED_INT" => Signed,
            "UNSIGNED_INT" => Unsigned,
            "HALF_FLOAT" => Half,
            "FLOAT" => Float,
            _ => Other,
        };
        Self { values, order, channel, class, bytes }
    }

    /// The names of the order and the type of channels.
    pub fn name(&self) -> String {
        format!("CL_{} CL_{}", self.order, self.channel)
    }

    /// Returns whether these tests know the pixels.
    pub fn is_known(&self) -> bool {
        self.class != Other && self.order.chars().all(|letter| "RGBA".contains(letter))
    }

    /// Returns whether this is one of few formats, of most classes and sizes, that devices have.
    pub fn is_usual(&self) -> bool {
        let pixel = (self.order, self.class, self.bytes);
        matches!(pixel, ("R" | "RGBA" | "BGRA", Unorm, 1))
            || matches!(pixel, ("RGBA", Signed, 2) | ("RGBA", Unsigned | Float, 4))
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
        code.map_or(f64::from(component == 3 && !self.order.contains('A')), |code| self.value(code))
    }

    /// The least and the greatest value, and the integer that is 1.
    pub fn range(&self) -> ([f64; 2], f64) {
        let half = 256_f64.powi(self.bytes as i32) / 2.0;
        match self.class {
            Snorm => ([-1.0, 1.0], half - 1.0),
            Unorm => ([0.0, 1.0], 2.0 * half - 1.0),
            Signed => ([-half, half - 1.0], 1.0),
            Unsigned => ([0.0, 2.0 * half - 1.0], 1.0),
            _ => ([f64::NEG_INFINITY, f64::INFINITY], 1.0),
        }
    }

    /// The difference of neighbouring values of a normalized integer.
    pub fn step(&self) -> Option<f64> {
        matches!(self.class, Unorm | Snorm).then(|| 1.0 / self.range().1)
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

    /// Returns whether the bits are those of `value` (OpenCL C 8.3), or of a value that is so near to it.
    pub fn encodes(&self, code: u32, value: f64, bound: Option<f64>) -> bool {
        let (found, [least, greatest]) = (self.value(code), self.range().0);
        let value = value.clamp(least, greatest);
        // Half numbers are rounded to the nearest one, or towards zero.
        let near = f16::from_f64(value);
        let below = f16::from_bits(near.to_bits() - u16::from(f64::from(near).abs() > value.abs()));
        let (rounded, normal) = match self.class {
            Half => ([near, below].map(f64::from), f16::MIN_POSITIVE.to_f64()),
            _ => ([value; 2], f64::from(f32::MIN_POSITIVE)),
        };
        let is_near = |bound: f64| value.is_nan() || (found - value).abs() <= bound;
        let is_same = |it: f64| it.to_bits() == found.to_bits() || it.is_nan() && found.is_nan();
        let is_flushed = value != 0.0 && value.abs() < normal && found == 0.0;
        bound.is_some_and(is_near) || rounded.into_iter().any(is_same) || is_flushed
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
        self.words().encodes(word, wanted, self.step().map(|_| bound))
    }
}
