//! Elements that need addresses of a large alignment.

/// An element of 1 MiB at a multiple of 1 MiB. Drivers align memory to less.
#[derive(Clone, Copy)]
#[repr(C, align(0x10_0000))]
pub struct MiB([u8; 0x10_0000]);

// SAFETY: zeros are bytes.
unsafe impl bytemuck::Zeroable for MiB {}
// SAFETY: bytes without padding.
unsafe impl bytemuck::Pod for MiB {}
