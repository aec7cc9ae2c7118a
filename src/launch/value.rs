//! The arguments of the launch that is being put together, as the driver takes them.

use std::any::TypeId;
use std::ffi::c_void;

bitflags::bitflags! {
    /// The kind of an argument, or the kinds that a kernel declares.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Kinds: u32 {
        const INTEGERS = 1;
        const FLOATS = 1 << 1;
        /// A structure, or numbers of an unknown type.
        const OTHER_VALUE = 1 << 2;
        const BUFFER = 1 << 3;
        const NULL = 1 << 4;
        const SVM = 1 << 5;
        const IMAGE = 1 << 6;
        const PIPE = 1 << 7;
        const SAMPLER = 1 << 8;
        const LOCAL = 1 << 9;
        /// An impossible size, which no kernel declares.
        const NO_SIZE = 1 << 10;
        /// Something of another context than the kernel, which no kernel declares.
        const FOREIGN = 1 << 11;
    }
}

impl Kinds {
    pub const VALUES: Self = Self::INTEGERS.union(Self::FLOATS).union(Self::OTHER_VALUE);
    pub const POINTERS: Self = Self::BUFFER.union(Self::NULL).union(Self::SVM);

    /// Returns the kind of the numbers in `T`. The compiler works it out.
    #[inline]
    pub fn of_numbers<T: 'static>() -> Self {
        macro_rules! is_one_of {
            ($($number:ty)*) => {
                $(is_scalar_or_vector_of::<T, $number>())||*
            };
        }
        if size_of::<T>() == 0 {
            Self::NO_SIZE
        } else if is_one_of!(f32 f64) {
            Self::FLOATS
        } else if is_one_of!(i8 u8 i16 u16 i32 u32 i64 u64 isize usize) {
            Self::INTEGERS
        } else {
            Self::OTHER_VALUE
        }
    }
}

/// An argument of the launch that is being put together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    /// One kind.
    pub kind: Kinds,
    /// In bytes.
    pub size: usize,
    pub data: Data,
}

/// The bytes that the driver copies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    Here([u64; 2]),
    /// The first of its places among the larger values of the launch.
    There(usize),
    Handle(*mut c_void),
    Svm(*mut c_void),
    /// No bytes: the size is enough.
    Nothing,
}

impl Value {
    #[inline]
    pub fn handle(raw: *mut c_void, kind: Kinds, is_foreign: bool) -> Self {
        let kind = if is_foreign { Kinds::FOREIGN } else { kind };
        Self { kind, size: size_of::<*mut c_void>(), data: Data::Handle(raw) }
    }
}

#[inline]
fn is_scalar_or_vector_of<T: 'static, Number: 'static>() -> bool {
    let id = TypeId::of::<T>();
    id == TypeId::of::<Number>()
        || id == TypeId::of::<[Number; 2]>()
        || id == TypeId::of::<[Number; 4]>()
        || id == TypeId::of::<[Number; 8]>()
        || id == TypeId::of::<[Number; 16]>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_have_kinds_of_their_own() {
        assert_eq!(Kinds::of_numbers::<u32>(), Kinds::INTEGERS);
        assert_eq!(Kinds::of_numbers::<[i64; 16]>(), Kinds::INTEGERS);
        assert_eq!(Kinds::of_numbers::<f32>(), Kinds::FLOATS);
        assert_eq!(Kinds::of_numbers::<[f64; 2]>(), Kinds::FLOATS);
        assert_eq!(Kinds::of_numbers::<[[f32; 2]; 2]>(), Kinds::OTHER_VALUE);
        assert_eq!(Kinds::of_numbers::<()>(), Kinds::NO_SIZE);
    }
}
