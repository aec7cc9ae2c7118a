//! Memory from pools.

use clmatrix::memory::{
    Buffer, Image, MemoryObject, Rect, SvmAllocation, SvmPointer, enqueue_copy, enqueue_fill,
};
use clmatrix::pool::{PooledBuffer, PooledSvm};
use clmatrix::{CommandQueue, Kernel, Result};

fn a_buffer_that_was_released(buffer: PooledBuffer) -> usize {
    drop(buffer);
    buffer.size() //~ E0382
}

fn a_buffer_that_was_released_on_a_queue(buffer: PooledBuffer, queue: &CommandQueue) -> Result<()> {
    buffer.enqueue_release(queue)?;
    enqueue_fill(queue, &buffer, &0_u8, ..)?; //~ E0382
    Ok(())
}

fn memory_that_was_released(memory: PooledSvm, queue: &CommandQueue) -> Result<usize> {
    memory.enqueue_release(queue)?;
    Ok(memory.size()) //~ E0382
}

fn a_buffer_that_the_pool_could_hand_out_twice(buffer: &PooledBuffer) -> PooledBuffer {
    *buffer //~ E0507
}

fn memory_of_another_kind(queue: &CommandQueue, buffer: &PooledBuffer, svm: &PooledSvm) {
    let _ = enqueue_copy(queue, buffer, svm, ..); //~ E0277
    let _ = enqueue_copy(queue, svm, buffer, ..); //~ E0277
}

fn plain_memory_of_another_kind(
    queue: &CommandQueue,
    (buffer, svm): (&PooledBuffer, &PooledSvm),
    (plain, allocation): (&Buffer, &SvmAllocation),
) {
    let _ = enqueue_copy(queue, buffer, allocation, ..); //~ E0277
    let _ = enqueue_copy(queue, plain, svm, ..); //~ E0277
}

fn shared_memory_and_images(queue: &CommandQueue, svm: &PooledSvm, image: &Image) {
    let _ = enqueue_copy(queue, svm, image, ..); //~ E0277
    let _ = enqueue_copy(queue, image, svm, ..); //~ E0277
}

fn arguments_of_another_pair(queue: &CommandQueue, buffer: &PooledBuffer) {
    let _ = enqueue_copy(queue, buffer, &[0_u8; 4], Rect::new([4])); //~ E0277
}

fn to_memory_that_cannot_be_written(queue: &CommandQueue, buffer: &PooledBuffer) {
    let _ = enqueue_copy(queue, &[0_u8; 4], buffer, ..); //~ E0277
}

fn where_an_image_is_due(queue: &CommandQueue, buffer: &PooledBuffer) -> Result<()> {
    Image::fill(buffer, queue, [0_u32; 4])?; //~ E0308
    Image::map_read::<[u8; 4]>(buffer, queue, ..)?; //~ E0308
    Ok(())
}

fn a_color(queue: &CommandQueue, buffer: &PooledBuffer) {
    let _ = enqueue_fill(queue, buffer, [0_u32; 4], ..); //~ E0308
}

fn by_value(kernel: &mut Kernel, buffer: PooledBuffer) {
    kernel.launch().arg(buffer); //~ E0277
}

fn an_argument_that_has_gone_back(kernel: &mut Kernel, buffer: PooledBuffer) {
    let mut launch = kernel.launch();
    launch.arg(&buffer);
    drop(buffer); //~ E0505
    launch.global(1);
}

fn main() {}
