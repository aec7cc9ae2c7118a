//! `enqueue_fill`: patterns of any legal size, wherever they go (`pyopencl.enqueue_fill`).

use clmatrix::memory::{Buffer, MemFlags, enqueue_copy, enqueue_fill};
use clmatrix::{Device, Result};
use proptest::prelude::*;

use crate::buffer::{DOUBLE, buffer_of, contents, counting, refusal};
use crate::support::inverter::Inverter;
use crate::support::on_device::{OnDevice, region_offset};
use crate::support::pattern::{before, check_moved, source};
use crate::support::property::holds_for;

/// A pattern, and where it goes in a buffer, in patterns.
#[derive(Clone, Debug)]
struct Case {
    pattern: Vec<u8>,
    offset: usize,
    times: usize,
    rest: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    (0..8_u32, 0..5_usize, 1..7_usize, 0..40_usize).prop_map(|(log, offset, times, rest)| Case {
        pattern: source(1 << log),
        offset,
        times,
        rest,
    })
}

#[clmatrix_harness::test]
fn a_fill_matches_the_model(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |Case { pattern, offset, times, rest }| {
        let (start, len) = (offset * pattern.len(), times * pattern.len());
        let before = before(start + len + rest);
        let buffer = inverter.written(&before)?;
        enqueue_fill(&on_device.queue, &buffer, &pattern[..], start..start + len)?;
        Ok(check_moved(&inverter.read(&buffer)?, &before, start, &pattern.repeat(*times)))
    });
    Ok(())
}

#[clmatrix_harness::test]
fn values_and_bytes_are_patterns(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &[0; 4])?;
    enqueue_fill(queue, &buffer, &7_u32, ..)?;
    enqueue_fill(queue, &buffer, &[1_u16, 0], 4..8)?;
    enqueue_fill(queue, &buffer, &2_u32.to_ne_bytes()[..], 8..=11)?;
    enqueue_fill(queue, &buffer, &3_u32.to_ne_bytes()[..], 12..)?;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    assert_eq!(contents(&on_device, &buffer)?, [14, 2, 4, 6]);
    Ok(())
}

#[clmatrix_harness::test]
fn patterns_of_illegal_sizes_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(192))?;
    let bytes = [0_u8; 256];
    for size in [0, 3, 5, 6, 7, 12, 24, 96, 127, 129, 192, 256] {
        let refused = enqueue_fill(&on_device.queue, &buffer, &bytes[..size], ..);
        assert_eq!(refusal(refused), "CL_INVALID_VALUE", "{size}");
    }
    for range in [0..769, 1..9, 4..8, 766..768, 8..8] {
        let refused = enqueue_fill(&on_device.queue, &buffer, &bytes[..8], range.clone());
        assert_eq!(refusal(refused), "CL_INVALID_VALUE", "{range:?}");
    }
    assert_eq!(contents(&on_device, &buffer)?, counting(192));
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_is_filled(on_device: OnDevice, device: Device) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let whole = buffer_of(&on_device, &vec![1; 3 * part / 4])?;
    let region = whole.sub_buffer(part..2 * part)?;
    enqueue_fill(&on_device.queue, &region, &5_u32, 4..)?;
    on_device.run(DOUBLE, &[&whole], 3 * part / 4)?;
    let mut expected = vec![2; 3 * part / 4];
    expected[part / 4 + 1..2 * part / 4].fill(10);
    assert_eq!(contents(&on_device, &whole)?, expected);
    Ok(())
}

/// A fill runs on the device, so flags about access of the host do not refuse it.
#[clmatrix_harness::test]
fn memory_without_host_access_is_filled(on_device: OnDevice) -> Result<()> {
    let flags = MemFlags::READ_WRITE | MemFlags::HOST_NO_ACCESS;
    let (hidden, seen) =
        (Buffer::new(&on_device.context, flags, 16)?, buffer_of(&on_device, &[0; 4])?);
    enqueue_fill(&on_device.queue, &hidden, &5_u32, ..)?;
    on_device.run(DOUBLE, &[&hidden], 4)?;
    enqueue_copy(&on_device.queue, &seen, &hidden, ..)?;
    assert_eq!(contents(&on_device, &seen)?, [10; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn fills_of_mapped_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let fill = |range| enqueue_fill(queue, &buffer, &5_u32, range);
    let map = buffer.map_read::<u32>(queue, 2..3)?;
    assert_eq!(refusal(fill(0..16)), "CL_INVALID_OPERATION");
    fill(0..8)?;
    drop(map);
    let map = buffer.map_read_write::<u32>(queue, ..2)?;
    assert_eq!(refusal(fill(4..12)), "CL_INVALID_OPERATION");
    fill(12..16)?;
    drop(map);
    assert_eq!(contents(&on_device, &buffer)?, [5, 5, 2, 5]);
    Ok(())
}
