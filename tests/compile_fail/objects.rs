//! Memory objects.

use clmatrix::memory::{Buffer, Image, MemoryObject, enqueue_fill};
use clmatrix::{CommandQueue, Result};

fn an_image_where_a_buffer_is_due(queue: &CommandQueue, image: &Image) -> Result<()> {
    enqueue_fill(queue, image, &0_u32, ..)?; //~ E0277
    Buffer::map_read::<u32>(image, queue, ..)?; //~ E0308
    image.slice::<u32>(..4).fill(queue, &0)?; //~ E0599
    Ok(())
}

fn a_buffer_that_was_released(buffer: Buffer) -> usize {
    drop(buffer);
    buffer.size() //~ E0382
}

fn main() {}
