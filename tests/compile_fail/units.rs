//! Bytes of buffers and pixels of images.

use clmatrix::memory::{
    ByteOrigin, ByteRegion, HostRect, ImageBufferRegion, ImageCopy, ImageRegion, PixelOrigin,
    PixelRegion, Rect,
};

fn bytes_where_an_image_counts_pixels(origin: ByteOrigin, region: ByteRegion) {
    let _ = ImageRegion::new(region); //~ E0277
    let _ = ImageRegion::default().origin(origin); //~ E0277
    let _ = ImageBufferRegion::new(region); //~ E0277
    let _ = ImageBufferRegion::default().origin(origin); //~ E0277
    let _ = ImageCopy::new(region); //~ E0277
    let _ = ImageCopy::default().src_origin(origin); //~ E0277
    let _ = ImageCopy::default().dst_origin(origin); //~ E0277
}

fn pixels_where_a_buffer_counts_bytes(origin: PixelOrigin, region: PixelRegion) {
    let _ = HostRect::new(region); //~ E0277
    let _ = HostRect::new([1]).buffer_origin(origin); //~ E0277
    let _ = HostRect::new([1]).host_origin(origin); //~ E0277
    let _ = Rect::new(region); //~ E0277
    let _ = Rect::new([1]).src_origin(origin); //~ E0277
    let _ = Rect::new([1]).dst_origin(origin); //~ E0277
}

fn main() {}
