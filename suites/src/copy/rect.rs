//! Rectangles of bytes (OpenCL 3.0, 5.2.2 and 5.2.3).

use super::*;

/// Turns each byte round, on the device.
const INVERT: &str = "kernel void k(global uchar *x) { x[get_global_id(0)] ^= 255; }";

/// Three rows of four bytes.
fn three_rows(on_device: &OnDevice) -> Result<Buffer> {
    Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, b"abcdefghijkl")
}

fn text(on_device: &OnDevice, buffer: &Buffer) -> Result<String> {
    let mut bytes = vec![0; buffer.size()];
    enqueue_copy(&on_device.queue, &mut bytes, buffer, ..)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[clmatrix_harness::test]
fn origins_and_regions_may_be_shorter(on_device: OnDevice) -> Result<()> {
    let buffer = three_rows(&on_device)?;
    let read = |rect: HostRect| -> Result<String> {
        let mut bytes = *b"............";
        enqueue_copy(&on_device.queue, &mut bytes, &buffer, rect)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    assert_eq!(read(HostRect::new([3]).buffer_origin([2]))?, "cde.........");
    assert_eq!(read(HostRect::new([3]).buffer_origin([2]).host_origin([1]))?, ".cde........");
    let rows = HostRect::new([2, 3]).buffer_pitches([4]);
    assert_eq!(read(rows)?, "abefij......");
    assert_eq!(read(rows.host_pitches([3]))?, "ab.ef.ij....");
    assert_eq!(read(rows.buffer_origin([1, 0, 0]).host_origin([2, 1]))?, "....bcfgjk..");
    // Two slices of two rows, a byte apart.
    assert_eq!(read(HostRect::new([1, 2, 2]).buffer_pitches([2, 6]))?, "acgi........");
    Ok(())
}

#[clmatrix_harness::test]
fn a_rectangular_write_changes_the_rectangle_only(on_device: OnDevice) -> Result<()> {
    let buffer = three_rows(&on_device)?;
    let rect = HostRect::new([2, 2]).buffer_origin([1, 1]).buffer_pitches([4]).host_pitches([3]);
    enqueue_copy(&on_device.queue, &buffer, b"12.34.", rect)?;
    on_device.run(INVERT, &[&buffer], 12)?;
    let mut found = [0; 12];
    enqueue_copy(&on_device.queue, &mut found, &buffer, ..)?;
    assert_eq!(found.map(|byte| !byte), *b"abcde12hi34l");
    Ok(())
}

#[clmatrix_harness::test]
fn rectangles_are_copied_between_buffers(on_device: OnDevice) -> Result<()> {
    let (from, to) = (three_rows(&on_device)?, three_rows(&on_device)?);
    on_device.run(INVERT, &[&from], 12)?;
    let rect = Rect::new([2, 3]).src_origin([2]).src_pitches([4]).dst_pitches([4]);
    enqueue_copy(&on_device.queue, &to, &from, rect)?;
    on_device.run(INVERT, &[&to], 12)?;
    let inverted = |text: &[u8; 12]| text.map(|byte| if byte < b'a' { !byte } else { byte });
    let mut found = [0; 12];
    enqueue_copy(&on_device.queue, &mut found, &to, ..)?;
    let unchanged = found.map(|byte| if byte > 127 { !byte } else { byte });
    assert_eq!(inverted(&unchanged), *b"cdcdghghklkl");
    Ok(())
}

/// Bytes of one, of an odd number, of a page and more, up to 16 MiB and more, with gaps between rows
/// and slices.
#[rstest]
#[case::one_byte([1, 1, 1])]
#[case::odd([7, 3, 5])]
#[case::a_page([4097, 3, 2])]
#[case::rows_of_64_kib([(64 << 10) + 1, 4, 2])]
#[case::rows_of_1_mib([(1 << 20) + 1, 4, 4])]
#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_copied(on_device: OnDevice, #[case] region: [usize; 3]) -> Result<()> {
    let [row, rows, slices] = region;
    let pitches = |gap: usize| [row + gap, (rows + 1) * (row + gap)];
    let (near, far) = (pitches(3), pitches(5));
    let (from, to) = (source(slices * far[1] + 40), before(slices * near[1] + 40));
    let (src, dst) = (buffer_with(&on_device, &from)?, buffer_with(&on_device, &to)?);
    let rect = Rect::new(region).src_origin([23]).src_pitches(far);
    enqueue_copy(&on_device.queue, &dst, &src, rect.dst_origin([5]).dst_pitches(near))?;
    let mut expected = to.clone();
    copy_rows((&mut expected, 5), (&from, 23), region, [near, far]);
    assert_same(&bytes_in(&on_device, &dst)?, &expected, "the destination");
    assert_same(&bytes_in(&on_device, &src)?, &from, "the source");

    let host = bytes(2, from.len());
    let rect = HostRect::new(region).host_origin([11]).host_pitches(far);
    let rect = rect.buffer_origin([8]).buffer_pitches(near);
    let mut found = host.clone();
    enqueue_copy(&on_device.queue, &mut found, &dst, rect)?;
    let mut expected_host = host.clone();
    copy_rows((&mut expected_host, 11), (&expected, 8), region, [far, near]);
    assert_same(&found, &expected_host, "the host memory");
    enqueue_copy(&on_device.queue, &dst, &host, rect)?;
    copy_rows((&mut expected, 8), (&host, 11), region, [near, far]);
    assert_same(&bytes_in(&on_device, &dst)?, &expected, "the destination");
    Ok(())
}

/// A region counts its own bytes, also where the driver sees the whole.
#[clmatrix_harness::test]
fn rectangles_of_sub_buffers_are_copied(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let whole = buffer_of(&on_device, &counting(part as u32))?;
    let region = whole.sub_buffer(part..2 * part)?;
    let rect = HostRect::new([4, 3]).buffer_origin([4, 1]).buffer_pitches([16]);
    let mut found = [0_u32; 3];
    enqueue_copy(&on_device.queue, &mut found, &region, rect)?;
    let first = part as u32 / 4;
    assert_eq!(found, [first + 5, first + 9, first + 13]);
    enqueue_copy(&on_device.queue, &region, &[7_u32, 8, 9], rect)?;
    on_device.run(crate::buffer::DOUBLE, &[&region], part / 4)?;
    let all = contents(&on_device, &whole)?;
    assert_eq!(all[..part / 4], counting(first)[..], "what is before the region stays");
    assert_eq!(all[part / 4 + 5], 14);
    assert_eq!(all[part / 4 + 13], 18);
    // As large as the region is, not the whole.
    let rows = HostRect::new([part, 2]);
    let mut large = vec![0_u8; 2 * part];
    let refused = enqueue_copy(&on_device.queue, &mut large, &region, rows);
    assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    Ok(())
}

/// The origin, region and pitches of one side of 12 bytes.
type Side = (ByteOrigin, ByteRegion, Pitches);

fn side<const O: usize, const R: usize, const P: usize>(
    origin: [usize; O],
    region: [usize; R],
    pitches: [usize; P],
) -> Side
where
    ByteOrigin: From<[usize; O]>,
    ByteRegion: From<[usize; R]>,
    Pitches: From<[usize; P]>,
{
    (origin.into(), region.into(), pitches.into())
}

#[rstest]
#[case::past_the_end_in_x(side([9], [4], [0]))]
#[case::past_the_end_in_y(side([0, 1], [4, 3], [4]))]
#[case::past_the_end_in_z(side([0, 0, 1], [2, 2, 3], [0]))]
#[case::past_the_end_by_the_pitch(side([0], [3, 3], [5]))]
#[case::past_the_end_by_the_slice_pitch(side([0], [2, 1, 2], [2, 12]))]
#[case::no_bytes(side([0], [0], [0]))]
#[case::no_rows(side([0], [4, 0], [0]))]
#[case::no_slices(side([0], [4, 1, 0], [0]))]
#[case::rows_closer_than_they_are_long(side([0], [4, 2], [3]))]
#[case::slices_closer_than_they_are_long(side([0], [2, 2, 2], [2, 3]))]
#[case::slices_that_are_no_multiple_of_rows(side([0], [2, 1, 2], [2, 5]))]
#[case::an_origin_beyond_all_memory(side([usize::MAX], [4], [0]))]
#[case::an_overflow_in_y(side([0, usize::MAX], [2], [0]))]
#[case::an_overflow_in_z(side([0, 0, usize::MAX / 2], [2, 2], [0]))]
#[case::a_region_beyond_all_memory(side([0], [usize::MAX, usize::MAX, 2], [0]))]
#[case::a_pitch_beyond_all_memory(side([0], [1, 2, 2], [usize::MAX]))]
#[clmatrix_harness::test]
fn rectangles_past_the_end_are_refused(on_device: OnDevice, #[case] side: Side) -> Result<()> {
    let queue = &on_device.queue;
    let (origin, region, pitches) = side;
    let (small, large) = (three_rows(&on_device)?, buffer_of(&on_device, &counting(100))?);
    let mut large_host = [0_u8; 400];
    let mut small_host = [0_u8; 12];
    // On the device's side.
    let rect = HostRect::new(region).buffer_origin(origin).buffer_pitches(pitches);
    assert_eq!(refusal(enqueue_copy(queue, &mut large_host, &small, rect)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &small, &large_host, rect)), "CL_INVALID_VALUE");
    // On the host's side.
    let rect = HostRect::new(region).host_origin(origin).host_pitches(pitches);
    assert_eq!(refusal(enqueue_copy(queue, &mut small_host, &large, rect)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &large, &small_host, rect)), "CL_INVALID_VALUE");
    // On either side of two buffers.
    let rect = Rect::new(region).src_origin(origin).src_pitches(pitches);
    assert_eq!(refusal(enqueue_copy(queue, &large, &small, rect)), "CL_INVALID_VALUE");
    let rect = Rect::new(region).dst_origin(origin).dst_pitches(pitches);
    assert_eq!(refusal(enqueue_copy(queue, &small, &large, rect)), "CL_INVALID_VALUE");
    assert_eq!(text(&on_device, &small)?, "abcdefghijkl", "nothing was changed");
    assert_eq!((small_host, large_host), ([0; 12], [0; 400]));
    Ok(())
}

#[clmatrix_harness::test]
fn overlapping_rectangles_of_one_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = three_rows(&on_device)?;
    let copy = |region: [usize; 2], from: [usize; 2], to: [usize; 2]| {
        let rect = Rect::new(region).src_origin(from).dst_origin(to);
        enqueue_copy(&on_device.queue, &buffer, &buffer, rect.src_pitches([4]).dst_pitches([4]))
    };
    for (region, from, to) in [
        ([2, 2], [0, 0], [0, 0]),
        ([2, 2], [0, 0], [1, 0]),
        ([2, 2], [0, 0], [1, 1]),
        ([3, 1], [2, 0], [0, 1]),
        ([4, 2], [0, 0], [0, 1]),
    ] {
        let refused = copy(region, from, to);
        assert_eq!(refusal(refused), "CL_MEM_COPY_OVERLAP", "{region:?}, {from:?}, {to:?}");
    }
    assert_eq!(text(&on_device, &buffer)?, "abcdefghijkl");
    // Side by side, their hulls overlap and they do not.
    copy([2, 3], [0, 0], [2, 0])?;
    assert_eq!(text(&on_device, &buffer)?, "ababefefijij");
    copy([4, 1], [0, 0], [0, 2])?;
    assert_eq!(text(&on_device, &buffer)?, "ababefefabab");
    Ok(())
}

/// Rows that reach beyond their pitch: the start of the buffer goes right behind itself.
#[clmatrix_harness::test]
fn adjacent_rectangles_of_one_buffer_are_copied(on_device: OnDevice) -> Result<()> {
    let buffer = three_rows(&on_device)?;
    let rect = Rect::new([4]).dst_origin([6]);
    enqueue_copy(&on_device.queue, &buffer, &buffer, rect)?;
    assert_eq!(text(&on_device, &buffer)?, "abcdefabcdkl");
    Ok(())
}

#[clmatrix_harness::test]
fn different_pitches_within_one_buffer_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = three_rows(&on_device)?;
    let rect = Rect::new([1, 2]).dst_origin([8]).src_pitches([4]).dst_pitches([2]);
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &buffer, &buffer, rect)), "CL_INVALID_VALUE");
    // Regions are of their whole buffer.
    let refused = enqueue_copy(&on_device.queue, &buffer.sub_buffer(..)?, &buffer, rect);
    assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn overlapping_rectangles_of_sub_buffers_are_refused(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let whole = buffer_of(&on_device, &counting(part as u32))?;
    let (first, second) = (whole.sub_buffer(..2 * part)?, whole.sub_buffer(part..)?);
    let copy = |region: [usize; 2], from: [usize; 1]| {
        let rect = Rect::new(region).src_origin(from).src_pitches([16]).dst_pitches([16]);
        enqueue_copy(&on_device.queue, &second, &first, rect)
    };
    // The last two rows of the first begin where the second does.
    assert_eq!(refusal(copy([8, 3], [part - 16])), "CL_MEM_COPY_OVERLAP");
    // Side by side.
    copy([8, 2], [part + 8])?;
    let found = contents(&on_device, &whole)?;
    let start = part / 4;
    assert_eq!(found[start..start + 4], [2, 3, 2, 3].map(|i| start as u32 + i));
    Ok(())
}
