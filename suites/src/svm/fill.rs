//! Shared virtual memory that is filled (`clEnqueueSVMMemFill`; `pyopencl.enqueue_svm_memfill`).

use proptest::prelude::{Just, Strategy};

use super::*;
use crate::support::property::holds_for;

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_fill_repeats_its_pattern(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &[0; 4])?;
    enqueue_fill(&on_device.queue, &svm, &0x0102_0304_u32, ..)?;
    assert_on_device(&on_device, &svm, &[0x0102_0304; 4]);
    enqueue_fill(&on_device.queue, &svm, &7_u8, 5..7)?;
    let expected = [0x0102_0304, u32::from_le_bytes([4, 7, 7, 1])];
    assert_on_device(&on_device, &svm, &[expected[0], expected[1], expected[0], expected[0]]);
    Ok(())
}

/// A pattern, and how many of it where in how many.
fn fills() -> impl Strategy<Value = (Vec<u8>, usize, usize, usize)> {
    (0_u32..8).prop_flat_map(|log| (Just(source(1 << log)), 0_usize..20, 1_usize..40, 0_usize..20))
}

#[clmatrix_harness::test(requires(svm))]
fn a_fill_matches_the_model(on_device: OnDevice) {
    let queue = &on_device.queue;
    holds_for(fills(), |(pattern, offset, times, rest)| {
        let size = pattern.len();
        let to = before((offset + times + rest) * size);
        let svm = svm_with(&on_device, COARSE, &to)?;
        let range = offset * size..(offset + times) * size;
        enqueue_fill(queue, &svm, &pattern[..], range.clone())?;
        Ok(check_moved(&bytes_in(&on_device, &svm)?, &to, range.start, &pattern.repeat(*times)))
    });
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_fill_writes_all_bytes_of_any_size(
    on_device: OnDevice,
    #[values(1, 4, 16, 128)] pattern_len: usize,
) -> Result<()> {
    let pattern = source(pattern_len);
    for size in SIZES {
        let filled = pattern.repeat(size.div_ceil(pattern_len));
        let (start, to) = (3 * pattern_len, before(filled.len() + 7 * pattern_len));
        let svm = svm_with(&on_device, COARSE, &to)?;
        let range = start..start + filled.len();
        enqueue_fill(&on_device.queue, &svm, &pattern[..], range)?;
        assert_moved(&bytes_in(&on_device, &svm)?, &to, start, &filled);
    }
    Ok(())
}

#[rstest]
#[case::odd_size(&[1, 2, 3], 0..12)]
#[case::no_size(&[], 0..12)]
#[case::too_long(&[0; 256], 0..512)]
#[case::not_at_a_multiple(&[1, 2, 3, 4], 2..6)]
#[case::no_whole_number(&[1, 2, 3, 4], 4..10)]
#[case::nothing(&[1], 4..4)]
#[case::behind_the_end(&[1], 510..513)]
#[clmatrix_harness::test(requires(svm))]
fn invalid_patterns_and_ranges_are_refused(
    on_device: OnDevice,
    #[case] pattern: &[u8],
    #[case] range: Range<usize>,
) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(128))?;
    assert_eq!(refusal(enqueue_fill(&on_device.queue, &svm, pattern, range)), "CL_INVALID_VALUE");
    assert_on_device(&on_device, &svm, &counting(128));
    Ok(())
}

/// Where an allocation is may suit a pattern or not, whatever alignment was asked for.
#[clmatrix_harness::test(requires(svm))]
fn misaligned_addresses_are_refused(on_device: OnDevice) -> Result<()> {
    for _ in 0..32 {
        let svm = SvmAllocation::new(&on_device.context, 128, 1, COARSE)?;
        let result = enqueue_fill(&on_device.queue, &svm, &[7_u8; 128], ..);
        if svm.svm_ptr().addr().is_multiple_of(128) {
            result?;
            assert_on_device(&on_device, &svm, &[0x0707_0707; 32]);
        } else {
            assert_eq!(refusal(result), "CL_INVALID_VALUE");
        }
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_fill_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let filled = enqueue_fill(on_device.queue.after(&gate), &svm, &7_u32, ..)?;
    let mut before = [0_u32; 4];
    enqueue_copy(&on_device.another_queue(), &mut before, &svm, ..)?;
    open(&gate);
    filled.wait()?;
    assert_eq!(before[..], counting(4), "clEnqueueSVMMemFill: {EARLY}");
    assert_eq!(contents(&on_device, &svm)?, [7; 4], "a fill that has been waited for");
    Ok(())
}
