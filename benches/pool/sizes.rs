//! Sizes that programs ask for: log-uniform, the same in each run.

/// Bytes.
pub const SMALLEST: usize = 64;
pub const LARGEST: usize = 64 << 20;

/// Numbers that look random (SplitMix64). Its own, so that no library's next version changes them.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// One of `0..end`.
    pub fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    /// A size from [`SMALLEST`] to [`LARGEST`], each power of two as likely as the next.
    pub fn size(&mut self) -> usize {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let octaves = (LARGEST / SMALLEST).ilog2();
        (SMALLEST as f64 * (unit * f64::from(octaves)).exp2()).round() as usize
    }
}
