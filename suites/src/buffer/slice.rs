//! Slices of buffers, and the methods that move all of a buffer.

use super::*;
use crate::support::pattern::counting;

const LEN: usize = 4 * 1000;

/// The first word of the slices, and their number of words.
const START: usize = 3;
const COUNT: usize = 500;

#[rstest]
#[case::write(|on: &OnDevice, buffer: &Buffer, data: &[u32]| {
    buffer.slice::<u32>(START..START + COUNT).write(&on.queue, data).map(drop)
})]
#[case::write_async(|on: &OnDevice, buffer: &Buffer, data: &[u32]| {
    let pending = buffer.slice::<u32>(START..).write_async(&on.queue, data.to_vec())?;
    pending.wait().map(drop).map_err(Into::into)
})]
#[case::fill(|on: &OnDevice, buffer: &Buffer, data: &[u32]| {
    for (position, value) in (START..).zip(data) {
        buffer.slice::<u32>(position..=position).fill(&on.queue, value)?;
    }
    Ok(())
})]
#[case::copy_to(|on: &OnDevice, buffer: &Buffer, data: &[u32]| {
    let all = [&words([7, 8])[..], data].concat();
    let from = buffer_of(on, &all)?;
    from.slice::<u32>(2..).copy_to(&on.queue, buffer.slice(START..))?.wait()
})]
#[clmatrix_harness::test]
fn commands_use_the_elements_of_the_slice_only(
    on_device: OnDevice,
    #[case] write: fn(&OnDevice, &Buffer, &[u32]) -> Result<()>,
) -> Result<()> {
    let (buffer, moved) = (buffer_with(&on_device, &before(LEN))?, source(4 * COUNT));
    write(&on_device, &buffer, bytemuck::cast_slice(&moved))?;
    assert_moved(&bytes_in(&on_device, &buffer)?, &before(LEN), 4 * START, &moved);
    let words: &[u32] = bytemuck::cast_slice(&moved);
    let slice = buffer.slice::<u32>(START..START + COUNT);
    assert_eq!(slice.to_vec(&on_device.queue)?, words);
    let pending = buffer.slice::<u32>(START..).read_async(&on_device.queue, vec![0_u32; COUNT])?;
    assert_eq!(pending.wait()?, words);
    let mut host = [0_u32; COUNT];
    slice.read(&on_device.queue, &mut host)?;
    assert_eq!(host, words);
    Ok(())
}

#[clmatrix_harness::test]
fn elements_that_are_not_there_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &counting(8))?;
    let mut host = [0_u32; 4];
    let invalid = "CL_INVALID_VALUE";
    for range in [5..9, 8..9, 9..10, 4..4] {
        let slice = buffer.slice::<u32>(range);
        assert_eq!(refusal(slice.write(queue, &[1_u32])), invalid);
        assert_eq!(refusal(slice.read(queue, &mut host[..1])), invalid);
        assert_eq!(refusal(slice.fill(queue, &1)), invalid);
        assert_eq!(refusal(slice.to_vec(queue)), invalid);
        assert_eq!(refusal(slice.copy_to(queue, buffer.slice(..1))), invalid);
        assert_eq!(refusal(buffer.slice(..1).copy_to(queue, slice)), invalid);
    }
    assert_eq!(refusal(buffer.slice::<u32>(..3).write(queue, &[1_u32; 4])), invalid);
    assert_eq!(refusal(buffer.slice::<u32>(..3).read(queue, &mut host)), invalid);
    assert_eq!(refusal(buffer.slice::<u32>(..4).copy_to(queue, buffer.slice(5..))), invalid);
    assert_eq!(
        refusal(buffer.slice::<[u32; 3]>(..).to_vec(queue)),
        invalid,
        "8 words are not 3 each"
    );
    assert_eq!(refusal(buffer.write(queue, &[1_u32; 9])), invalid);
    assert_eq!(contents(&on_device, &buffer)?, counting(8));
    Ok(())
}

#[clmatrix_harness::test]
fn all_of_the_source_is_copied_to_a_buffer_that_has_room(on_device: OnDevice) -> Result<()> {
    let (small, large) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 6])?);
    small.copy_to(&on_device.queue, &large)?;
    assert_eq!(large.to_vec::<u32>(&on_device.queue)?, [&counting(4)[..], &[9; 2]].concat());
    assert_eq!(refusal(large.copy_to(&on_device.queue, &small)), "CL_INVALID_VALUE");
    large.fill(&on_device.queue, &word(5))?;
    assert_eq!(large.to_vec::<u32>(&on_device.queue)?, [word(5); 6]);
    Ok(())
}
