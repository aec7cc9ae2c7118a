//! ndarray's arrays and views as the host's side.

use ndarray::{ArcArray, Array, Array1, ArrayView2, Axis, CowArray, Ix2, SliceInfo, SliceInfoElem};

use super::*;
use crate::support::pattern::counting;

/// The words of 0, 1, 2, ... in five rows of six.
fn plane() -> Array2<u32> {
    Array1::from(counting(30)).into_shape_with_order((5, 6)).expect("thirty elements")
}

/// Inverts what `write` has put into a buffer of as many elements as `read` takes out again.
fn inverted(
    on_device: &OnDevice,
    elements: usize,
    write: impl FnOnce(&Buffer) -> Result<Event>,
    read: impl FnOnce(&Buffer) -> Result<Event>,
) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, elements * 4)?;
    write(&buffer)?;
    on_device.run(INVERT, &[&buffer], elements)?;
    read(&buffer)?;
    Ok(())
}

#[clmatrix_harness::test]
fn arrays_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let plane = plane();
    let mut found = Array2::<u32>::zeros((5, 6));
    inverted(
        &on_device,
        30,
        |buffer| enqueue_copy(&on_device.queue, buffer, &plane, ..),
        |buffer| enqueue_copy(&on_device.queue, &mut found, buffer, ..),
    )?;
    assert_eq!(found, plane.mapv(|word| !word));
    let shared: ArcArray<u32, _> = plane.to_shared();
    let mut copy = shared.clone();
    inverted(
        &on_device,
        30,
        |buffer| enqueue_copy(&on_device.queue, buffer, &shared, ..),
        |buffer| enqueue_copy(&on_device.queue, &mut copy, buffer, ..),
    )?;
    assert_eq!(copy, plane.mapv(|word| !word));
    assert_eq!(shared, plane, "the elements were shared until they were written");
    Ok(())
}

/// An array that shares its elements makes them its own, perhaps in another layout, when it is
/// written.
#[clmatrix_harness::test]
fn a_read_into_a_shared_array_does_not_change_its_other_owners(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(10))?;
    on_device.run(INVERT, &[&buffer], 10)?;
    let inverted = Array::from_shape_fn((5, 2), |(row, column)| !word((2 * row + column) as u32));
    let whole: ArcArray<u32, _> = plane().to_shared();
    let mut part = whole.clone();
    part.slice_collapse(s![.., 2..4]);
    enqueue_copy(&on_device.queue, &mut part, &buffer, ..)?;
    assert_eq!(part, inverted);
    let whole = plane();
    let mut part = CowArray::from(whole.slice(s![.., 2..4]));
    enqueue_copy(&on_device.queue, &mut part, &buffer, ..)?;
    assert_eq!(part, inverted);
    assert_eq!(whole, plane());
    Ok(())
}

#[clmatrix_harness::test]
fn views_are_passed_by_value_or_by_reference(on_device: OnDevice) -> Result<()> {
    let plane = plane();
    let mut found = Array2::<u32>::zeros((4, 6));
    let rows = plane.slice(s![1..3, ..]);
    inverted(
        &on_device,
        12,
        |buffer| enqueue_copy(&on_device.queue, buffer, &rows, ..),
        |buffer| enqueue_copy(&on_device.queue, found.slice_mut(s![..2, ..]), buffer, ..),
    )?;
    inverted(
        &on_device,
        12,
        |buffer| enqueue_copy(&on_device.queue, buffer, rows, ..),
        |buffer| enqueue_copy(&on_device.queue, &mut found.slice_mut(s![2.., ..]), buffer, ..),
    )?;
    assert_eq!(found.slice(s![..2, ..]), rows.mapv(|word| !word));
    assert_eq!(found.slice(s![2.., ..]), rows.mapv(|word| !word));
    Ok(())
}

/// As it lies in memory, whichever axis that begins with.
#[clmatrix_harness::test]
fn elements_are_copied_in_memory_order(on_device: OnDevice) -> Result<()> {
    let columns = Array::from_shape_vec((2, 3).f(), counting(6)).expect("six elements");
    assert_eq!(columns, ndarray::arr2(&[words([0, 2, 4]), words([1, 3, 5])]));
    let buffer = buffer_of(&on_device, &words([60; 6]))?;
    enqueue_copy(&on_device.queue, &buffer, &columns, ..)?;
    on_device.run(INVERT, &[&buffer], 6)?;
    assert_eq!(contents(&on_device, &buffer)?, words([0, 1, 2, 3, 4, 5]).map(|word| !word));
    let mut found = Array2::<u32>::zeros((2, 3).f());
    enqueue_copy(&on_device.queue, &mut found, &buffer, ..)?;
    assert_eq!(found, columns.mapv(|word| !word));
    Ok(())
}

#[rstest]
#[case::a_part_of_rows(s![1..4, 2..5])]
#[case::a_column(s![.., 3..4])]
#[case::every_second_row(s![..;2, ..])]
#[case::every_third_of_a_row(s![2..3, ..;3])]
#[case::every_second_of_both(s![..;2, ..;2])]
#[clmatrix_harness::test]
fn a_copy_of_a_view_with_gaps_leaves_the_gaps_unchanged(
    on_device: OnDevice,
    #[case] part: SliceInfo<[SliceInfoElem; 2], Ix2, Ix2>,
) -> Result<()> {
    let plane = plane();
    let elements = plane.slice(part).len();
    let mut found = Array2::from_elem((5, 6), word(60));
    inverted(
        &on_device,
        elements,
        |buffer| enqueue_copy(&on_device.queue, buffer, plane.slice(part), ..),
        |buffer| enqueue_copy(&on_device.queue, found.slice_mut(part), buffer, ..),
    )?;
    let mut expected = Array2::from_elem((5, 6), word(60));
    expected.slice_mut(part).assign(&plane.slice(part).mapv(|word| !word));
    assert_eq!(found, expected);
    Ok(())
}

#[clmatrix_harness::test]
fn views_may_have_gaps_in_three_dimensions(on_device: OnDevice) -> Result<()> {
    let block = Array1::from(counting(4 * 5 * 6)).into_shape_with_order((4, 5, 6)).expect("120");
    let part = s![1..3, 1..4, 2..6];
    let mut found = Array3::from_elem((4, 5, 6), word(60));
    inverted(
        &on_device,
        24,
        |buffer| enqueue_copy(&on_device.queue, buffer, block.slice(part), ..),
        |buffer| enqueue_copy(&on_device.queue, found.slice_mut(part), buffer, ..),
    )?;
    let mut expected = Array3::from_elem((4, 5, 6), word(60));
    expected.slice_mut(part).assign(&block.slice(part).mapv(|word| !word));
    assert_eq!(found, expected);
    Ok(())
}

#[clmatrix_harness::test]
fn gaps_of_a_view_are_not_in_the_buffer(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &words([60; 8]))?;
    let plane = plane();
    let view = plane.slice(s![1..3, 2..4]);
    enqueue_copy(queue, &buffer, &view, Linear::default().dst_offset(12))?;
    on_device.run(INVERT, &[&buffer], 8)?;
    let expected = words([60, 60, 60, 8, 9, 14, 15, 60]).map(|word| !word);
    assert_eq!(contents(&on_device, &buffer)?, expected);
    // One element too far.
    let too_far = Linear::default().dst_offset(20);
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &view, too_far)), "CL_INVALID_VALUE");
    // A part of its bytes, or a rectangle of them, is not to be had.
    let some = Linear::default().byte_count(8);
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &view, some)), "CL_INVALID_VALUE");
    let rect = HostRect::new([4]);
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &view, rect)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn views_that_are_no_rows_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 30])?;
    let mut plane = plane();
    let one_row = counting(6);
    let row = ArrayView2::from_shape((1, 6), &one_row).expect("a row");
    for refused in [
        enqueue_copy(&on_device.queue, &buffer, plane.slice(s![.., ..;-1]), ..),
        enqueue_copy(&on_device.queue, &buffer, plane.slice(s![..;-1, ..]), ..),
        enqueue_copy(&on_device.queue, &buffer, row.broadcast((5, 6)).expect("five rows"), ..),
        enqueue_copy(&on_device.queue, plane.slice_mut(s![..;-1, ..]), &buffer, ..),
        // Rows, but in the order of memory they are the columns.
        enqueue_copy(&on_device.queue, &buffer, plane.slice(s![1..4, 2..5]).reversed_axes(), ..),
        enqueue_copy(&on_device.queue, plane.slice_mut(s![.., 2..5]).reversed_axes(), &buffer, ..),
    ] {
        let error = refused.expect_err("it was not refused");
        assert_eq!(error.code_name(), "CL_INVALID_VALUE");
        assert!(error.detail().contains("standard layout"), "{error}");
    }
    plane.invert_axis(Axis(0));
    enqueue_copy(&on_device.queue, &buffer, &plane.as_standard_layout(), ..)?;
    on_device.run(INVERT, &[&buffer], 30)?;
    assert_eq!(contents(&on_device, &buffer)?[..2], words([24, 25]).map(|word| !word));
    Ok(())
}
