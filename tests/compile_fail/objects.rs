//! Memory objects.

use clmatrix::memory::{
    Buffer, Image, MapRead, MemoryObject, enqueue_fill_buffer, enqueue_map_buffer,
};
use clmatrix::{CommandQueue, Result};

fn an_image_where_a_buffer_is_due(queue: &CommandQueue, image: &Image) -> Result<()> {
    enqueue_fill_buffer(queue, image, &0_u32, .., [])?; //~ E0308
    enqueue_map_buffer::<u32, _>(queue, image, MapRead, .., [])?; //~ E0308
    Ok(())
}

fn a_buffer_that_was_released(buffer: Buffer) -> usize {
    buffer.release();
    buffer.size() //~ E0382
}

fn main() {}
