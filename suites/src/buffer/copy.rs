//! `clEnqueueCopyBuffer` (OpenCL 3.0, 5.2.2).

use super::*;

/// A kernel has written the source, and a kernel reads the destination.
#[clmatrix_harness::test]
fn a_copy_uses_both_offsets(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    for size in [1, 13, 64] {
        let (from, to) = (source(100), before(80));
        let (src, dst) = (inverter.written(&from)?, inverter.written(&to)?);
        enqueue_copy(&on_device.queue, &dst, &src, linear(23, 5, Some(size)))?;
        assert_moved(&inverter.read(&dst)?, &to, 5, &from[23..23 + size]);
        assert_same(&inverter.read(&src)?, &from, "the source");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_moves_all_bytes_of_any_size(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (from, to) = (source(size + 40), before(size + 20));
        let (src, dst) = (buffer_with(&on_device, &from)?, buffer_with(&on_device, &to)?);
        enqueue_copy(&on_device.queue, &dst, &src, linear(23, 5, Some(size)))?;
        assert_moved(&bytes_in(&on_device, &dst)?, &to, 5, &from[23..23 + size]);
        assert_same(&bytes_in(&on_device, &src)?, &from, "the source");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_runs_between_the_kernels_around_it(on_device: OnDevice) -> Result<()> {
    let n = 10_000;
    let first = buffer_of(&on_device, &counting(n))?;
    let second = Buffer::new(&on_device.context, MemFlags::READ_WRITE, first.size())?;
    on_device.run(DOUBLE, &[&first], n as usize)?;
    enqueue_copy(&on_device.queue, &second, &first, Linear::default().byte_count(first.size()))?;
    on_device.run(DOUBLE, &[&second], n as usize)?;
    assert!(contents(&on_device, &second)?.iter().zip(0..).all(|(found, i)| *found == 4 * i));
    Ok(())
}

#[clmatrix_harness::test]
fn overlapping_ranges_of_one_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    let copy =
        |from, to| enqueue_copy(&on_device.queue, &buffer, &buffer, linear(from, to, Some(8)));
    for (from, to) in [(0, 4), (4, 0), (0, 0), (1, 8)] {
        assert_eq!(refusal(copy(from, to)), "CL_MEM_COPY_OVERLAP", "{from} to {to}");
    }
    copy(0, 8)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 1, 0, 1, 4, 5, 6, 7]);
    Ok(())
}

#[clmatrix_harness::test]
fn bytes_past_the_end_of_either_buffer_are_refused(on_device: OnDevice) -> Result<()> {
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
            enqueue_copy(&on_device.queue, to, from, linear(from_offset, to_offset, Some(size)));
        assert_eq!(refusal(copy), "CL_INVALID_VALUE", "{from_offset}, {to_offset}, {size}");
    }
    Ok(())
}
