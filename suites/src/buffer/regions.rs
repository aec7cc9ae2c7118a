//! Commands on whole buffers and on regions of them, with offsets on both sides: the bytes of the
//! whole buffers are compared afterwards.

use super::sub_region::alignment;
use super::*;

/// The handle that a command gets.
#[derive(Clone, Copy, Debug)]
enum Handle {
    Whole,
    Region,
}

/// The whole buffers of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wholes {
    One,
    Two,
}

/// A part of a buffer, as a command is told of it.
struct Part {
    buffer: Buffer,
    /// Offset in `buffer`, in bytes.
    offset: usize,
}

/// The bytes of `whole` from `start + offset` on. A region begins at `start` and has `len` bytes.
fn part(handle: Handle, whole: &Buffer, start: usize, len: usize, offset: usize) -> Result<Part> {
    Ok(match handle {
        Handle::Whole => Part { buffer: whole.clone(), offset: start + offset },
        Handle::Region => Part { buffer: whole.sub_buffer(start..start + len)?, offset },
    })
}

/// Sizes of which five fit into memory several times.
fn sizes() -> impl Iterator<Item = usize> {
    SIZES.into_iter().filter(|size| *size < 16 << 20)
}

/// The length of a region with room around `size` bytes: regions may begin at multiples of it.
fn region_len(on_device: &OnDevice, size: usize) -> Result<usize> {
    Ok((size + 64).next_multiple_of(alignment(on_device)?))
}

const SRC_OFFSET: usize = 13;
const DST_OFFSET: usize = 6;

/// Two parts of `size` bytes in the middle of buffers of five regions.
struct Pair {
    src: Part,
    dst: Part,
    /// The whole buffer with the destination, and its bytes before the copy.
    whole: Buffer,
    before: Vec<u8>,
    /// The whole buffer with the source, if it is another one.
    other: Option<Buffer>,
    /// Offset of the destination in `whole`.
    start: usize,
    /// The bytes from the beginning of the source on.
    moved: Vec<u8>,
}

impl Pair {
    fn new(
        on_device: &OnDevice,
        [src, dst]: [Handle; 2],
        wholes: Wholes,
        size: usize,
    ) -> Result<Self> {
        let len = region_len(on_device, size)?;
        let (from, mut to) = (source(5 * len), before(5 * len));
        if wholes == Wholes::One {
            to[..2 * len].copy_from_slice(&from[..2 * len]);
        }
        let whole = buffer_with(on_device, &to)?;
        let other = (wholes == Wholes::Two).then(|| buffer_with(on_device, &from)).transpose()?;
        Ok(Self {
            src: part(src, other.as_ref().unwrap_or(&whole), len, len, SRC_OFFSET)?,
            dst: part(dst, &whole, 3 * len, len, DST_OFFSET)?,
            whole,
            before: to,
            other,
            start: 3 * len + DST_OFFSET,
            moved: from[len + SRC_OFFSET..][..len - SRC_OFFSET].to_vec(),
        })
    }

    /// Checks that the copy has written `len` bytes at each of `offsets` from the beginnings of both
    /// parts, and nothing else.
    #[track_caller]
    fn assert_moved(&self, on_device: &OnDevice, offsets: &[usize], len: usize) -> Result<()> {
        let mut expected = self.before.clone();
        for offset in offsets {
            expected[self.start + offset..][..len].copy_from_slice(&self.moved[*offset..][..len]);
        }
        assert_same(&bytes_in(on_device, &self.whole)?, &expected, "the destination");
        if let Some(other) = &self.other {
            assert_same(&bytes_in(on_device, other)?, &source(expected.len()), "the source");
        }
        Ok(())
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_copy_of_a_sub_buffer_moves_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] src: Handle,
    #[values(Handle::Whole, Handle::Region)] dst: Handle,
    #[values(Wholes::One, Wholes::Two)] wholes: Wholes,
) -> Result<()> {
    for size in sizes() {
        let pair = Pair::new(&on_device, [src, dst], wholes, size)?;
        let (from, to) = (&pair.src, &pair.dst);
        let queue = &on_device.queue;
        enqueue_copy(queue, &to.buffer, &from.buffer, linear(from.offset, to.offset, Some(size)))?;
        pair.assert_moved(&on_device, &[0], size)?;
    }
    Ok(())
}

/// Three rows of five bytes, 16 bytes apart.
#[rstest]
#[clmatrix_harness::test]
fn a_rectangular_copy_of_a_sub_buffer_moves_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] src: Handle,
    #[values(Handle::Whole, Handle::Region)] dst: Handle,
    #[values(Wholes::One, Wholes::Two)] wholes: Wholes,
) -> Result<()> {
    let pair = Pair::new(&on_device, [src, dst], wholes, 64)?;
    let rect = Rect::new([5, 3])
        .src_origin([pair.src.offset])
        .src_pitches([16])
        .dst_origin([pair.dst.offset])
        .dst_pitches([16]);
    enqueue_copy(&on_device.queue, &pair.dst.buffer, &pair.src.buffer, rect)?;
    pair.assert_moved(&on_device, &[0, 16, 32], 5)
}

/// A buffer of three regions, the one in the middle as `handle`, and the offset of this region.
fn middle(
    on_device: &OnDevice,
    handle: Handle,
    size: usize,
    offset: usize,
) -> Result<(Buffer, Part, usize)> {
    let len = region_len(on_device, size + offset)?;
    let whole = buffer_with(on_device, &before(3 * len))?;
    let part = part(handle, &whole, len, len, offset)?;
    Ok((whole, part, len))
}

#[rstest]
#[clmatrix_harness::test]
fn writes_and_reads_of_a_sub_buffer_move_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] handle: Handle,
) -> Result<()> {
    for size in sizes() {
        let (whole, part, start) = middle(&on_device, handle, size, DST_OFFSET)?;
        let data = source(size);
        part.buffer.slice::<u8>(part.offset..).write(&on_device.queue, &data)?;
        let found = bytes_in(&on_device, &whole)?;
        assert_moved(&found, &before(whole.size()), start + DST_OFFSET, &data);
        let mut host = bytes(2, size + 20);
        part.buffer.slice::<u8>(part.offset..).read(&on_device.queue, &mut host[7..7 + size])?;
        assert_moved(&host, &bytes(2, size + 20), 7, &data);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn rectangular_writes_and_reads_of_a_sub_buffer_move_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] handle: Handle,
) -> Result<()> {
    let (whole, part, start) = middle(&on_device, handle, 64, DST_OFFSET)?;
    let rows = HostRect::new([5, 3])
        .buffer_origin([part.offset])
        .buffer_pitches([16])
        .host_origin([3])
        .host_pitches([9]);
    let data = source(40);
    enqueue_copy(&on_device.queue, &part.buffer, &data, rows)?;
    let mut expected = before(whole.size());
    let mut host = bytes(2, 40);
    let mut expected_host = host.clone();
    for row in 0..3 {
        let moved = &data[3 + 9 * row..][..5];
        expected[start + DST_OFFSET + 16 * row..][..5].copy_from_slice(moved);
        expected_host[3 + 9 * row..][..5].copy_from_slice(moved);
    }
    assert_same(&bytes_in(&on_device, &whole)?, &expected, "the buffer");
    enqueue_copy(&on_device.queue, &mut host, &part.buffer, rows)?;
    assert_same(&host, &expected_host, "the host memory");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_fill_of_a_sub_buffer_writes_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] handle: Handle,
    #[values(1, 4, 128)] pattern_len: usize,
) -> Result<()> {
    let pattern = source(pattern_len);
    for size in sizes() {
        let filled = pattern.repeat(size.div_ceil(pattern_len));
        let offset = 3 * pattern_len;
        let (whole, part, start) = middle(&on_device, handle, filled.len(), offset)?;
        let range = part.offset..part.offset + filled.len();
        enqueue_fill(&on_device.queue, &part.buffer, &pattern[..], range)?;
        let found = bytes_in(&on_device, &whole)?;
        assert_moved(&found, &before(whole.size()), start + offset, &filled);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_map_of_a_sub_buffer_covers_its_bytes_only(
    on_device: OnDevice,
    #[values(Handle::Whole, Handle::Region)] handle: Handle,
) -> Result<()> {
    for size in sizes() {
        let (whole, part, start) = middle(&on_device, handle, size, DST_OFFSET)?;
        let (range, data) = (part.offset..part.offset + size, source(size));
        let mut map = part.buffer.map_write_invalidate::<u8>(&on_device.queue, range.clone())?;
        map.copy_from_slice(&data);
        map.unmap()?;
        let found = bytes_in(&on_device, &whole)?;
        assert_moved(&found, &before(whole.size()), start + DST_OFFSET, &data);
        let map = part.buffer.map_read::<u8>(&on_device.queue, range)?;
        assert_same(&map, &data, "the map");
    }
    Ok(())
}
