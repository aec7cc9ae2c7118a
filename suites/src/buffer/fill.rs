//! `clEnqueueFillBuffer` (OpenCL 3.0, 5.2.2).

use super::*;

#[rstest]
#[case::of_1(0x5a_u8)]
#[case::of_2(0x1234_u16)]
#[case::of_4(1.25_f32)]
#[case::of_8(0x0123_4567_89ab_cdef_u64)]
#[case::of_16([1_u32, 2, 3, 4])]
#[case::of_32([1_u64, 2, 3, 4])]
#[case::of_64([1.5_f64, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5])]
#[case::of_128([[1_u64, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15, 16]])]
#[clmatrix_harness::test]
fn a_fill_repeats_patterns_of_any_legal_size<T: Pod>(
    on_device: OnDevice,
    #[case] pattern: T,
) -> Result<()> {
    let to = before(1024);
    let buffer = buffer_with(&on_device, &to)?;
    enqueue_fill(&on_device.queue, &buffer, &pattern, ..)?;
    let filled = bytemuck::bytes_of(&pattern).repeat(1024 / size_of::<T>());
    assert_moved(&bytes_in(&on_device, &buffer)?, &to, 0, &filled);
    Ok(())
}

/// A kernel reads what was filled.
#[rstest]
#[clmatrix_harness::test]
fn a_fill_writes_its_range_only(
    on_device: OnDevice,
    #[values(1, 2, 4, 8, 16, 32, 64, 128)] pattern_len: usize,
) -> Result<()> {
    let (pattern, to) = (source(pattern_len), before(10 * pattern_len));
    let inverter = Inverter::new(&on_device)?;
    for times in [1, 3, 5] {
        let buffer = inverter.written(&to)?;
        let range = 2 * pattern_len..(2 + times) * pattern_len;
        enqueue_fill(&on_device.queue, &buffer, &pattern[..], range.clone())?;
        assert_moved(&inverter.read(&buffer)?, &to, range.start, &pattern.repeat(times));
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_fill_writes_all_bytes_of_any_size(
    on_device: OnDevice,
    #[values(1, 4, 16, 128)] pattern_len: usize,
) -> Result<()> {
    let pattern = source(pattern_len);
    for size in SIZES {
        let filled = pattern.repeat(size.div_ceil(pattern_len));
        let (start, to) = (3 * pattern_len, before(filled.len() + 7 * pattern_len));
        let buffer = buffer_with(&on_device, &to)?;
        let range = start..start + filled.len();
        enqueue_fill(&on_device.queue, &buffer, &pattern[..], range)?;
        assert_moved(&bytes_in(&on_device, &buffer)?, &to, start, &filled);
    }
    Ok(())
}

/// The library must refuse it: Oclgrind accepts any size.
// quirk: OCLGRIND-8
#[rstest]
#[case::of_3([1_u8; 3])]
#[case::of_12([1_u32; 3])]
#[case::of_256([1_u64; 32])]
#[clmatrix_harness::test]
fn patterns_of_illegal_sizes_are_refused<T: Pod>(
    on_device: OnDevice,
    #[case] pattern: T,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 192])?;
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &buffer, &pattern, ..)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn ranges_that_are_no_multiple_of_the_pattern_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 4])?;
    for range in [2..6, 0..6, 1..5, 12..20, 4..4] {
        let fill = enqueue_fill(&on_device.queue, &buffer, &1_u32, range.clone());
        assert_eq!(refusal(fill), "CL_INVALID_VALUE", "{range:?}");
    }
    assert_eq!(contents(&on_device, &buffer)?, [0; 4]);
    Ok(())
}
