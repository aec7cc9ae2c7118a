//! Parts of images of many sizes, with offsets on both sides: all pixels are compared afterwards.

use super::*;

/// Bytes of a pixel.
const PIXEL: usize = 4;

/// Widths and heights of parts: of one pixel, an odd number, and a little more than a page, 64 KiB,
/// 1 MiB and 16 MiB.
const PARTS: [[usize; 2]; 6] = [[1, 1], [7, 11], [1025, 1], [129, 129], [513, 513], [2049, 2049]];

/// An image around a part, and where the part begins.
struct Around {
    image: Image,
    part: [usize; 2],
    shape: [usize; 2],
    origin: [usize; 2],
}

impl Around {
    fn new(
        on_device: &OnDevice,
        part: [usize; 2],
        origin: [usize; 2],
        bytes: fn(usize) -> Vec<u8>,
    ) -> Result<Self> {
        let shape = [part[0] + 3, part[1] + 4];
        let pixels = bytes(shape[0] * shape[1] * PIXEL);
        let builder = Image::builder(&on_device.context, RGBA_U8).flags(MemFlags::READ_WRITE);
        Ok(Self { image: builder.shape(shape).copy_from(&pixels).build()?, part, shape, origin })
    }

    /// Its bytes.
    fn bytes(&self, on_device: &OnDevice) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.shape[0] * self.shape[1] * PIXEL];
        enqueue_copy(&on_device.queue, &mut bytes, &self.image, ..)?;
        Ok(bytes)
    }

    /// Its row and slice pitch.
    fn pitches(&self) -> [usize; 2] {
        [self.shape[0] * PIXEL, self.shape[0] * self.shape[1] * PIXEL]
    }

    /// The first byte of the part.
    fn start(&self) -> usize {
        (self.origin[1] * self.shape[0] + self.origin[0]) * PIXEL
    }

    /// The part, as commands with host memory take it.
    fn region(&self) -> ImageRegion {
        ImageRegion::new(self.part).origin(self.origin)
    }

    /// Checks that a command has written the rows of the part, from byte `start` of `from` on, and
    /// nothing else.
    #[track_caller]
    fn assert_written(
        &self,
        on_device: &OnDevice,
        (from, start): (&[u8], usize),
        row_pitch: usize,
    ) -> Result<()> {
        let region = [self.part[0] * PIXEL, self.part[1], 1];
        let mut expected = before(self.pitches()[1]);
        let pitches = [self.pitches(), [row_pitch, 0]];
        copy_rows((&mut expected, self.start()), (from, start), region, pitches);
        assert_same(&self.bytes(on_device)?, &expected, "the destination");
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_written_and_read(on_device: OnDevice) -> Result<()> {
    for part in PARTS {
        let to = Around::new(&on_device, part, [2, 1], before)?;
        let row = part[0] * PIXEL;
        let (data, host) = (source(row * part[1]), bytes(2, row * part[1] + 20));
        enqueue_copy(&on_device.queue, &to.image, &data, to.region())?;
        to.assert_written(&on_device, (&data, 0), row)?;
        let mut found = host.clone();
        enqueue_copy(&on_device.queue, &mut found[7..7 + data.len()], &to.image, to.region())?;
        assert_moved(&found, &host, 7, &data);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_copied_to_another_image(on_device: OnDevice) -> Result<()> {
    for part in PARTS {
        let from = Around::new(&on_device, part, [1, 3], source)?;
        let to = Around::new(&on_device, part, [2, 1], before)?;
        let args = ImageCopy::new(part).src_origin(from.origin).dst_origin(to.origin);
        enqueue_copy(&on_device.queue, &to.image, &from.image, args)?;
        let pixels = source(from.pitches()[1]);
        to.assert_written(&on_device, (&pixels, from.start()), from.pitches()[0])?;
        assert_same(&from.bytes(&on_device)?, &pixels, "the source");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_copied_to_and_from_a_buffer(on_device: OnDevice) -> Result<()> {
    for part in PARTS {
        let image = Around::new(&on_device, part, [2, 1], before)?;
        let row = part[0] * PIXEL;
        let size = row * part[1];
        let in_buffer = source(size + 40);
        let buffer = buffer_with(&on_device, &in_buffer)?;
        let args = ImageBufferRegion::new(part).origin(image.origin).offset(12);
        enqueue_copy(&on_device.queue, &image.image, &buffer, args)?;
        image.assert_written(&on_device, (&in_buffer, 12), row)?;
        assert_same(&bytes_in(&on_device, &buffer)?, &in_buffer, "the buffer");

        let other = bytes(2, size + 40);
        let buffer = buffer_with(&on_device, &other)?;
        enqueue_copy(&on_device.queue, &buffer, &image.image, args.offset(20))?;
        assert_moved(&bytes_in(&on_device, &buffer)?, &other, 20, &in_buffer[12..12 + size]);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_filled(on_device: OnDevice) -> Result<()> {
    let color = source(PIXEL);
    let channels: [u32; 4] = std::array::from_fn(|channel| color[channel].into());
    for part in PARTS {
        let to = Around::new(&on_device, part, [2, 1], before)?;
        enqueue_fill(&on_device.queue, &to.image, channels, to.region())?;
        let filled = color.repeat(part[0] * part[1]);
        to.assert_written(&on_device, (&filled, 0), part[0] * PIXEL)?;
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn all_pixels_are_mapped(on_device: OnDevice) -> Result<()> {
    for part in PARTS {
        let to = Around::new(&on_device, part, [2, 1], before)?;
        let data = source(part[0] * part[1] * PIXEL);
        let mut map = to.image.map_read_write::<[u8; 4]>(&on_device.queue, to.region())?;
        for (pixel, new) in map.pixels_mut().iter_mut().zip(data.chunks(PIXEL)) {
            pixel.copy_from_slice(new);
        }
        map.unmap()?;
        to.assert_written(&on_device, (&data, 0), part[0] * PIXEL)?;
        let map = to.image.map_read::<[u8; 4]>(&on_device.queue, to.region())?;
        let found: Vec<u8> = map.pixels().iter().flatten().copied().collect();
        assert_same(&found, &data, "the map");
    }
    Ok(())
}
