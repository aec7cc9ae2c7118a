//! Origins, regions and pitches: bytes for buffers, pixels for images (OpenCL 3.0, 5.2.2 and 5.3.3).

/// The origin of a rectangle of bytes: x in bytes, y in rows, z in slices. A missing number is 0.
///
/// ```
/// use clmatrix::memory::ByteOrigin;
///
/// assert_eq!(ByteOrigin::from([4]), ByteOrigin::from([4, 0, 0]));
/// ```
///
/// There are at most three numbers:
///
/// ```compile_fail,E0277
/// clmatrix::memory::ByteOrigin::from([4, 0, 0, 0]);
/// ```
///
/// An image counts pixels, and refuses bytes:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{ByteOrigin, ImageRegion};
/// ImageRegion::default().origin(ByteOrigin::from([4, 0]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteOrigin(pub(crate) [usize; 3]);

/// The size of a rectangle of bytes: bytes per row, rows per slice, slices. A missing number is 1.
///
/// ```
/// use clmatrix::memory::ByteRegion;
///
/// assert_eq!(ByteRegion::from([64, 8]), ByteRegion::from([64, 8, 1]));
/// ```
///
/// An image counts pixels, and refuses bytes:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{ByteRegion, ImageRegion};
/// ImageRegion::new(ByteRegion::from([64, 8]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteRegion(pub(crate) [usize; 3]);

/// The first pixel of a box: x in pixels, y in rows, z in slices. The layers of an array are counted
/// along its last axis. A missing number is 0.
///
/// ```
/// use clmatrix::memory::PixelOrigin;
///
/// assert_eq!(PixelOrigin::from([4]), PixelOrigin::from([4, 0, 0]));
/// ```
///
/// A buffer counts bytes, and refuses pixels:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{HostRect, PixelOrigin};
/// HostRect::new([4]).buffer_origin(PixelOrigin::from([4]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PixelOrigin(pub(crate) [usize; 3]);

/// The size of a box of pixels: pixels per row, rows per slice, slices. The layers of an array are
/// counted along its last axis. A missing number is 1.
///
/// ```
/// use clmatrix::memory::PixelRegion;
///
/// assert_eq!(PixelRegion::from([64, 8]), PixelRegion::from([64, 8, 1]));
/// ```
///
/// A buffer counts bytes, and refuses pixels:
///
/// ```compile_fail,E0277
/// # use clmatrix::memory::{PixelRegion, Rect};
/// Rect::new(PixelRegion::from([64, 8]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelRegion(pub(crate) [usize; 3]);

/// The distances between the first bytes of rows, and of slices or layers: in bytes, for buffers,
/// images and host memory. A missing number or a 0 leaves no gaps: rows have the region's length,
/// slices the region's number of rows.
///
/// ```
/// use clmatrix::memory::Pitches;
///
/// assert_eq!(Pitches::from([128]), Pitches::from([128, 0]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pitches(pub(crate) [usize; 2]);

macro_rules! from_shorter_arrays {
    ($($name:ident: [$($len:literal)*] of $full:literal, else $default:literal;)*) => {
        $($(
            impl From<[usize; $len]> for $name {
                fn from(given: [usize; $len]) -> Self {
                    let mut all = [$default; $full];
                    all[..$len].copy_from_slice(&given);
                    Self(all)
                }
            }
        )*)*
    };
}

from_shorter_arrays! {
    ByteOrigin: [1 2 3] of 3, else 0;
    ByteRegion: [1 2 3] of 3, else 1;
    PixelOrigin: [1 2 3] of 3, else 0;
    PixelRegion: [1 2 3] of 3, else 1;
    Pitches: [1 2] of 2, else 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_are_filled_in() {
        assert_eq!(ByteOrigin::from([1]), ByteOrigin([1, 0, 0]));
        assert_eq!(ByteRegion::from([4, 2]), ByteRegion([4, 2, 1]));
        assert_eq!(PixelOrigin::from([1]), PixelOrigin([1, 0, 0]));
        assert_eq!(PixelRegion::from([4, 2]), PixelRegion([4, 2, 1]));
        assert_eq!(Pitches::from([8]), Pitches([8, 0]));
    }
}
