//! `clEnqueueCopyBuffer` (OpenCL 3.0, 5.2.2).

use clmatrix::Result;
use clmatrix::memory::{Buffer, MemFlags, MemoryObject, enqueue_copy_buffer};
use rstest::rstest;

use super::{DOUBLE, buffer_of, contents, counting, refusal};
use crate::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test]
fn takes_the_bytes_from_and_to_their_offsets(on_device: OnDevice) -> Result<()> {
    let from = buffer_of(&on_device, &counting(16))?;
    let to = buffer_of(&on_device, &[99; 8])?;
    enqueue_copy_buffer(&on_device.queue, &from, 12 * 4, &to, 4, 3 * 4, [])?;
    assert_eq!(contents(&on_device, &to)?, [99, 12, 13, 14, 99, 99, 99, 99]);
    assert_eq!(contents(&on_device, &from)?, counting(16), "the source stays");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn follows_the_kernel_before_it_and_precedes_the_one_after(on_device: OnDevice) -> Result<()> {
    let n = 10_000;
    let first = buffer_of(&on_device, &counting(n))?;
    let second = Buffer::new(&on_device.context, MemFlags::READ_WRITE, first.size())?;
    on_device.run(DOUBLE, &[&first], n as usize)?;
    enqueue_copy_buffer(&on_device.queue, &first, 0, &second, 0, first.size(), [])?;
    on_device.run(DOUBLE, &[&second], n as usize)?;
    assert!(contents(&on_device, &second)?.iter().zip(0..).all(|(found, i)| *found == 4 * i));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn within_one_buffer_parts_must_not_overlap(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    let copy = |from, to| enqueue_copy_buffer(&on_device.queue, &buffer, from, &buffer, to, 8, []);
    for (from, to) in [(0, 4), (4, 0), (0, 0), (1, 8)] {
        assert_eq!(refusal(copy(from, to)), "CL_MEM_COPY_OVERLAP", "{from} to {to}");
    }
    copy(0, 8)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 1, 0, 1, 4, 5, 6, 7]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn refuses_bytes_past_the_end_of_either(on_device: OnDevice) -> Result<()> {
    let (small, large) = (buffer_of(&on_device, &[7; 2])?, buffer_of(&on_device, &[7; 4])?);
    for (from, from_offset, to, to_offset, size) in [
        (&small, 0, &large, 0, 9),
        (&large, 0, &small, 0, 9),
        (&small, 5, &large, 0, 4),
        (&large, 0, &small, 5, 4),
        (&small, usize::MAX, &large, 0, 2),
        (&small, 0, &large, 0, 0),
    ] {
        let copy =
            enqueue_copy_buffer(&on_device.queue, from, from_offset, to, to_offset, size, []);
        assert_eq!(refusal(copy), "CL_INVALID_VALUE", "{from_offset}, {to_offset}, {size}");
    }
    Ok(())
}
