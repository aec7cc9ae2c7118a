//! Transfers and the host memory that they use.

use std::sync::Arc;

use clmatrix::memory::{
    Buffer, HostMemory, HostRect, Image, ImageBufferRegion, ImageCopy, ImageRegion, Linear,
    MemFlags, PendingTransfer, Rect, SvmAllocation, SystemSvm, enqueue_copy, enqueue_fill,
};
use clmatrix::{CommandQueue, Context, Result};

fn a_borrow_where_the_transfer_does_not_block(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    let mut data = [0_u8; 4];
    let _: PendingTransfer<&mut [u8]> = enqueue_copy(queue, &mut data[..], buffer, ..)?; //~ E0308
    Ok(())
}

fn a_borrow_for_a_method_that_does_not_block(queue: &CommandQueue, buffer: &Buffer) {
    let mut data = [0_u8; 4];
    let _ = buffer.read_async(queue, &mut data[..]); //~ E0277
    let _ = buffer.write_async(queue, &data[..]); //~ E0271
}

fn owned_memory_for_a_method_that_blocks(queue: &CommandQueue, buffer: &Buffer) {
    let _ = buffer.read(queue, vec![0_u8; 4]); //~ E0271
}

fn elements_of_another_type_than_those_of_the_slice(queue: &CommandQueue, buffer: &Buffer) {
    let _ = buffer.slice::<f32>(..).write(queue, &[1_u32]); //~ E0271
    let _ = buffer.slice::<f32>(..).read(queue, &mut [0_u32]); //~ E0271
    let _ = buffer.slice::<f32>(..).read_async(queue, vec![0_u32]); //~ E0271
}

fn host_memory_as_the_destination_of_a_device_copy(queue: &CommandQueue, buffer: &Buffer) {
    let _ = buffer.copy_to(queue, &mut [0_u8; 4]); //~ E0277
}

fn owns<H: HostMemory>(_: H) {}

fn a_borrow_that_is_to_be_owned(data: &mut [u8]) {
    owns(data); //~ E0277
}

fn a_buffer_in_borrowed_memory(context: &Context, data: &mut [u8]) {
    let _ = Buffer::using_host_memory(context, MemFlags::READ_WRITE, data); //~ E0277
}

fn memory_that_a_transfer_has(queue: &CommandQueue, buffer: &Buffer) {
    let data = vec![0_u8; 4];
    let transfer = enqueue_copy(queue, data, buffer, ..);
    drop(data); //~ E0382
    drop(transfer);
}

fn from_host_to_host(queue: &CommandQueue) {
    let _ = enqueue_copy(queue, &mut [0_u8; 4], &[1_u8; 4], ..); //~ E0277
}

fn to_memory_that_cannot_be_written(queue: &CommandQueue, buffer: &Buffer) {
    let _ = enqueue_copy(queue, &[0_u8; 4], buffer, ..); //~ E0277
}

fn from_host_to_host_that_is_given(queue: &CommandQueue) {
    let _ = enqueue_copy(queue, vec![0_u8; 4], &[1_u8; 4], ..); //~ E0277
    let _ = enqueue_copy(queue, vec![0_u8; 4], vec![1_u8; 4], ..); //~ E0277
}

fn to_memory_that_is_shared(queue: &CommandQueue, buffer: &Buffer) {
    let _ = enqueue_copy(queue, Arc::<[u8]>::from([0; 4]), buffer, ..); //~ E0277
}

fn buffers_and_shared_memory(queue: &CommandQueue, buffer: &Buffer, svm: &SystemSvm<Vec<u8>>) {
    let _ = enqueue_copy(queue, buffer, svm, ..); //~ E0277
    let _ = enqueue_copy(queue, svm, buffer, ..); //~ E0277
}

fn parts_of_buffers(queue: &CommandQueue, buffer: &Buffer) {
    let _ = enqueue_copy(queue, buffer, &[0_u8; 4], ImageRegion::new([4])); //~ E0277
    let _ = enqueue_copy(queue, buffer, buffer, HostRect::new([4])); //~ E0277
    let _ = enqueue_copy(queue, buffer, buffer, 0..4); //~ E0277
}

fn parts_of_shared_memory(queue: &CommandQueue, svm: &SvmAllocation) {
    let _ = enqueue_copy(queue, svm, &[0_u8; 4], HostRect::new([4])); //~ E0277
    let _ = enqueue_copy(queue, svm, svm, Rect::new([4])); //~ E0277
}

fn parts_of_images(queue: &CommandQueue, image: &Image, buffer: &Buffer) {
    let _ = enqueue_copy(queue, image, &[0_u8; 4], Linear::default()); //~ E0277
    let _ = enqueue_copy(queue, image, buffer, ImageRegion::new([4])); //~ E0277
    let _ = enqueue_copy(queue, buffer, image, ImageCopy::new([4])); //~ E0277
    let _ = enqueue_copy(queue, image, image, ImageBufferRegion::new([4])); //~ E0277
}

fn device_memory_by_value(queue: &CommandQueue, buffer: Buffer) {
    let _ = enqueue_copy(queue, &mut [0_u8; 4], buffer, ..); //~ E0277
}

fn a_fill_of_host_memory(queue: &CommandQueue) {
    let _ = enqueue_fill(queue, &mut [0_u8; 4], &1_u8, ..); //~ E0277
}

fn main() {}
