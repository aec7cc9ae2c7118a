//! Transfers and the host memory that they use.

use clmatrix::memory::{Buffer, HostMemory, MemFlags, PendingTransfer, enqueue_copy};
use clmatrix::{CommandQueue, Context, Result};

fn a_borrow_where_the_transfer_does_not_block(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    let mut data = [0_u8; 4];
    let _: PendingTransfer<&mut [u8]> = enqueue_copy(queue, &mut data[..], buffer, .., [])?; //~ E0308
    Ok(())
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
    let transfer = enqueue_copy(queue, data, buffer, .., []);
    drop(data); //~ E0382
    drop(transfer);
}

fn from_host_to_host(queue: &CommandQueue) {
    let _ = enqueue_copy(queue, &mut [0_u8; 4], &[1_u8; 4], .., []); //~ E0277
}

fn to_memory_that_cannot_be_written(queue: &CommandQueue, buffer: &Buffer) {
    let _ = enqueue_copy(queue, &[0_u8; 4], buffer, .., []); //~ E0277
}

fn main() {}
