//! Random arguments: most are valid, some are at or beyond a limit.

use clmatrix::memory::{ChannelOrder, ChannelType, ImageFormat};

use super::*;

/// The largest number of bytes of an object, and of an offset that may be valid.
const LARGEST: usize = 4096;

/// The random arguments of a thread, which its seed determines.
pub struct Values(pub Rng);

impl Values {
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    /// Returns true in one of `cases`.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == 0
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.0.u64(..) as usize;
        all.get(index.checked_rem(all.len())?)
    }

    pub fn byte(&mut self) -> u8 {
        self.0.u8(..)
    }

    /// Returns a number of bytes or elements, or an offset.
    pub fn size(&mut self) -> usize {
        match self.below(40) {
            0 => 0,
            1 => usize::MAX,
            2 => 1 << 63,
            3 => usize::MAX - self.below(64),
            4..20 => 1 << self.below(13),
            _ => self.below(LARGEST + 1),
        }
    }

    /// Returns a small length, of an axis or host memory.
    pub fn len(&mut self) -> usize {
        if self.one_in(40) { self.size() } else { 1 + self.below(24) }
    }

    pub fn origin(&mut self) -> [usize; 3] {
        [(); 3].map(|()| if self.one_in(3) { self.len() } else { 0 })
    }

    pub fn region(&mut self) -> [usize; 3] {
        [self.len(), 1 + self.below(2), 1 + usize::from(self.one_in(8))]
    }

    fn bound(&mut self) -> Bound<usize> {
        match self.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.size()),
            _ => Bound::Excluded(self.size()),
        }
    }

    pub fn range(&mut self) -> (Bound<usize>, Bound<usize>) {
        (self.bound(), self.bound())
    }

    pub fn linear(&mut self) -> Linear {
        let mut linear = Linear::default();
        if self.one_in(2) {
            linear = linear.src_offset(self.size());
        }
        if self.one_in(2) {
            linear = linear.dst_offset(self.size());
        }
        if self.one_in(2) { linear.byte_count(self.size()) } else { linear }
    }

    pub fn flags(&mut self) -> MemFlags {
        let all = [
            MemFlags::READ_WRITE,
            MemFlags::READ_ONLY,
            MemFlags::WRITE_ONLY,
            MemFlags::ALLOC_HOST_PTR,
            MemFlags::COPY_HOST_PTR,
            MemFlags::USE_HOST_PTR,
            MemFlags::HOST_READ_ONLY,
            MemFlags::HOST_WRITE_ONLY,
            MemFlags::HOST_NO_ACCESS,
        ];
        match self.below(8) {
            0 => all[self.below(all.len())] | all[self.below(all.len())],
            1 => all[self.below(all.len())],
            _ => MemFlags::empty(),
        }
    }

    pub fn svm_flags(&mut self) -> SvmFlags {
        let all = [SvmFlags::READ_WRITE, SvmFlags::READ_ONLY, SvmFlags::WRITE_ONLY];
        match self.below(8) {
            0 => all[self.below(3)] | all[self.below(3)],
            1 => SvmFlags::FINE_GRAIN_BUFFER,
            _ => SvmFlags::READ_WRITE,
        }
    }

    pub fn format(&mut self) -> ImageFormat {
        let orders = [ChannelOrder::R, ChannelOrder::Rgba, ChannelOrder::Rgba, ChannelOrder::Depth];
        let types = [
            ChannelType::UnsignedInt8,
            ChannelType::UnsignedInt32,
            ChannelType::Float,
            ChannelType::SnormInt16,
        ];
        ImageFormat::new(orders[self.below(4)], types[self.below(4)])
    }
}
