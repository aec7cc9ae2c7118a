//! The axes of images.

/// An axis of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Pixels of a row.
    Width,
    /// Rows.
    Height,
    /// Slices.
    Depth,
    /// Layers of an array.
    Layers,
}
