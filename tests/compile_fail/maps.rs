//! Maps and what is seen through them.

use clmatrix::memory::Buffer;
use clmatrix::{CommandQueue, Result};

fn a_view_that_outlives_its_map(queue: &CommandQueue, buffer: &Buffer) -> Result<u32> {
    let view: &[u32] = {
        let map = buffer.map_read::<u32>(queue, ..)?;
        &map[..] //~ E0597
    };
    Ok(view[0])
}

fn a_view_after_the_unmap(queue: &CommandQueue, buffer: &Buffer) -> Result<u32> {
    let map = buffer.map_read::<u32>(queue, ..)?;
    let view = map.array([4])?;
    map.unmap()?; //~ E0505
    Ok(view[0])
}

fn two_views_for_writing(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    let mut map = buffer.map_read_write::<u32>(queue, ..)?;
    let first = &mut map[..];
    let second = &mut map[..]; //~ E0499
    first[0] = second[0];
    Ok(())
}

fn a_map_for_reading_is_written(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    let mut map = buffer.map_read::<u32>(queue, ..)?;
    map[0] = 1; //~ E0594
    Ok(())
}

fn a_map_for_reading_as_an_array_to_be_written(
    queue: &CommandQueue,
    buffer: &Buffer,
) -> Result<()> {
    let mut map = buffer.map_read::<u32>(queue, ..)?;
    map.array_mut([4])?[0] = 1; //~ E0599
    Ok(())
}

fn bytes_that_are_not_always_an_element(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    buffer.map_read::<bool>(queue, ..)?; //~ E0277
    Ok(())
}

fn main() {}
