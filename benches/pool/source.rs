//! Where memory comes from while it is measured.

/// Makes blocks of memory; a block goes back when it is dropped.
pub trait Source: Sync {
    type Block: Send;

    /// At least `size` bytes, of more than none.
    fn allocate(&self, size: usize) -> Self::Block;
}

/// A source that keeps what comes back.
pub trait Pool: Source {
    /// Bytes that it has from the driver, whether they are in use or held.
    fn reserved(&self) -> u64;
}
