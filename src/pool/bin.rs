//! Bins: classes of sizes that share their leading bits (PyOpenCL's `leading_bits_in_bin_id`).

/// The rule for bins: sizes with the same highest bit and the same `bits` bits below it share a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binning {
    bits: u32,
}

impl Binning {
    /// The most leading bits with which bin numbers fit into 32 bits.
    pub const MAX_BITS: u32 = 26;

    /// Returns `None` for more than [`MAX_BITS`](Self::MAX_BITS).
    pub fn new(bits: u32) -> Option<Self> {
        (bits <= Self::MAX_BITS).then_some(Self { bits })
    }

    /// Returns the number of leading bits.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the bin of `size` bytes.
    #[inline]
    pub fn bin(self, size: usize) -> u32 {
        let exponent = size.max(1).ilog2();
        let leading = if exponent >= self.bits {
            size >> (exponent - self.bits)
        } else {
            size << (self.bits - exponent)
        };
        let mantissa = leading & ((1 << self.bits) - 1);
        // 64 exponents and 26 bits at most are 32 bits.
        (exponent << self.bits) | mantissa as u32
    }

    /// Returns the largest size of the bin of some size in bytes, which is the size of its blocks.
    #[inline]
    pub fn size(self, bin: u32) -> usize {
        let exponent = bin >> self.bits;
        let leading = (1 << self.bits) | (bin as usize & ((1 << self.bits) - 1));
        if exponent >= self.bits {
            let free_bits = exponent - self.bits;
            (leading << free_bits) | ((1 << free_bits) - 1)
        } else {
            leading >> (self.bits - exponent)
        }
    }

    /// Returns the [`size`](Self::size) of any number of a bin; `None` for those after the bin of the
    /// largest size.
    pub fn size_of(self, bin: u32) -> Option<usize> {
        (bin <= self.bin(usize::MAX)).then(|| self.size(bin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of PyOpenCL 2026.1.4 (`_TestMemoryPool`): leading bits, size, bin, size of the bin.
    const PYOPENCL: &[(u32, usize, u32, usize)] = &include!("bin/pyopencl.in");

    #[test]
    fn bins_and_their_sizes_are_pyopencls() {
        for &(bits, size, bin, block) in PYOPENCL {
            let binning = Binning::new(bits).unwrap();
            assert_eq!(binning.bin(size), bin, "{size} bytes by {bits} bits");
            assert_eq!(binning.size(bin), block, "bin {bin} of {bits} bits");
        }
    }

    #[test]
    fn bins_after_that_of_the_largest_size_have_no_size() {
        for bits in 0..=Binning::MAX_BITS {
            let binning = Binning::new(bits).unwrap();
            let last = binning.bin(usize::MAX);
            assert_eq!(binning.size_of(last), Some(usize::MAX));
            assert_eq!(last.checked_add(1).and_then(|bin| binning.size_of(bin)), None);
            assert!(bits == Binning::MAX_BITS || binning.size_of(u32::MAX).is_none());
        }
    }

    #[test]
    fn a_bin_has_its_sizes_and_limits_their_waste() {
        for bits in 0..=Binning::MAX_BITS {
            let binning = Binning::new(bits).unwrap();
            let around = (0..usize::BITS).flat_map(|exponent| {
                let size = 1_usize << exponent;
                [size - 1, size, size + size / 3, size + (size - 1)]
            });
            for size in around {
                let bin = binning.bin(size);
                let block = binning.size(bin);
                assert!(block >= size, "{size} bytes by {bits} bits: {block}");
                assert_eq!(binning.bin(block), bin, "{size} bytes by {bits} bits");
                assert!(
                    block - size.max(1) <= size >> bits,
                    "{size} bytes by {bits} bits: {block}"
                );
                let next = block.checked_add(1).map(|next| binning.bin(next));
                assert!(next.is_none_or(|next| next > bin), "{size} bytes by {bits} bits");
            }
        }
        assert_eq!(Binning::new(Binning::MAX_BITS + 1), None);
    }
}
