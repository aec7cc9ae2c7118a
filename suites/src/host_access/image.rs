//! Images of each type, with host memory that the driver copies or uses.

use super::*;

/// Bytes of a pixel.
const PIXEL: usize = 4;

/// A type of image.
#[derive(Clone, Copy, Debug)]
enum Type {
    Image1d,
    Image2d,
    Image3d,
    Image1dArray,
    Image2dArray,
}

impl Type {
    fn raw(self) -> cl_mem_object_type {
        match self {
            Self::Image1d => CL_MEM_OBJECT_IMAGE1D,
            Self::Image2d => CL_MEM_OBJECT_IMAGE2D,
            Self::Image3d => CL_MEM_OBJECT_IMAGE3D,
            Self::Image1dArray => CL_MEM_OBJECT_IMAGE1D_ARRAY,
            Self::Image2dArray => CL_MEM_OBJECT_IMAGE2D_ARRAY,
        }
    }

    /// All pixels.
    fn all(self) -> Part {
        let region = match self {
            Self::Image1d => [19, 1, 1],
            Self::Image2d => [19, 5, 1],
            Self::Image1dArray => [19, 3, 1],
            Self::Image3d | Self::Image2dArray => [19, 5, 3],
        };
        Part { origin: [0; 3], region }
    }

    /// Pixels that begin and end within a row, and do not begin with the first row or layer.
    fn part(self) -> Part {
        let [_, rows, layers] = self.all().region;
        let inner = |count: usize| if count == 1 { (0, 1) } else { (1, count - 1) };
        let ((y, rows), (z, layers)) = (inner(rows), inner(layers));
        Part { origin: [2, y, z], region: [13, rows, layers] }
    }
}

/// A region of an image.
#[derive(Clone, Copy)]
struct Part {
    origin: [usize; 3],
    region: [usize; 3],
}

impl Part {
    /// Its origin and region, as commands take them.
    fn pointers(&self) -> (*const usize, *const usize) {
        (self.origin.as_ptr(), self.region.as_ptr())
    }

    fn byte_count(&self) -> usize {
        self.region.iter().product::<usize>() * PIXEL
    }

    /// Where each row of the region begins in memory that has these pitches, the pixel `origin`
    /// first or, if `from_first` holds, the first pixel of the image.
    fn rows(&self, [row_pitch, slice_pitch]: [usize; 2], from_first: bool) -> Vec<usize> {
        let [x, y, z] = if from_first { self.origin } else { [0; 3] };
        let [_, rows, layers] = self.region;
        let row = move |layer, row| (z + layer) * slice_pitch + (y + row) * row_pitch + x * PIXEL;
        (0..layers).flat_map(|l| (0..rows).map(move |r| row(l, r))).collect()
    }

    fn row_bytes(&self) -> usize {
        self.region[0] * PIXEL
    }
}

/// An image of the pixels `bytes`, without gaps.
struct Image {
    object: Object,
    image_type: Type,
}

impl Image {
    fn new(on: &OnDevice, image_type: Type, host: Host, memory: Memory, bytes: &[u8]) -> Self {
        let [width, height, depth] = image_type.all().region;
        let is_array = matches!(image_type, Type::Image1dArray | Type::Image2dArray);
        let is_1d = matches!(image_type, Type::Image1d | Type::Image1dArray);
        let shape = cl_image_desc {
            image_type: image_type.raw(),
            image_width: width,
            image_height: if is_1d { 0 } else { height },
            image_depth: if let Type::Image3d = image_type { depth } else { 0 },
            image_array_size: match image_type {
                Type::Image1dArray => height,
                _ if is_array => depth,
                _ => 0,
            },
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: ptr::null_mut(),
        };
        let format = cl_image_format {
            image_channel_order: CL_RGBA,
            image_channel_data_type: CL_UNSIGNED_INT8,
        };
        let context = on.context.as_raw();
        // SAFETY: the host memory has the bytes of all pixels.
        let create = |flags, data| unsafe { create_image(context, flags, &format, &shape, data) };
        Self { object: Object::new(on.queue.as_raw(), host, memory, bytes, create), image_type }
    }

    /// The distances of rows and of layers without gaps.
    fn pitches(&self) -> [usize; 2] {
        let [width, rows, _] = self.image_type.all().region;
        match self.image_type {
            // Layers are what rows are to a 2D image.
            Type::Image1dArray => [width * PIXEL; 2],
            _ => [width * PIXEL, width * rows * PIXEL],
        }
    }

    /// The bytes of a part, taken from those of all pixels.
    fn bytes_of(&self, part: Part, all: &[u8]) -> Vec<u8> {
        let rows = part.rows(self.pitches(), true).into_iter();
        rows.flat_map(|at| all[at..at + part.row_bytes()].to_vec()).collect()
    }

    /// The bytes of all pixels after a part has been replaced.
    fn with(&self, part: Part, bytes: &[u8], mut all: Vec<u8>) -> Vec<u8> {
        let rows = part.rows(self.pitches(), true);
        for (at, row) in rows.into_iter().zip(bytes.chunks(part.row_bytes())) {
            all[at..at + row.len()].copy_from_slice(row);
        }
        all
    }

    /// The bytes of all pixels, by way of a buffer, which no flag forbids.
    fn contents(&self, on: &OnDevice) -> Result<Vec<u8>> {
        let all = self.image_type.all();
        let buffer = Buffer::new(&on.context, MemFlags::READ_WRITE, all.byte_count())?;
        let (origin, region) = all.pointers();
        let raw = buffer.as_raw();
        // SAFETY: the buffer has room for all pixels.
        unsafe { command!(self.object, enqueue_copy_image_to_buffer(raw, origin, region, 0)) }
            .expect("a copy");
        let mut bytes = vec![0; all.byte_count()];
        enqueue_copy(&on.queue, &mut bytes, &buffer, ..)?;
        Ok(bytes)
    }

    /// Maps a part, and returns the pointer and the pitches.
    fn map(
        &self,
        part: Part,
        flags: cl_map_flags,
        blocking: bool,
    ) -> Answer<(*mut c_void, [usize; 2])> {
        let (mut rows, mut slices, mut data) = (0, 0, ptr::null_mut());
        let ((origin, region), blocking) = (part.pointers(), blocking.into());
        // SAFETY: origin and region are three numbers each.
        unsafe {
            command!(
                self.object,
                enqueue_map_image(
                    blocking,
                    flags,
                    origin,
                    region,
                    &mut rows,
                    &mut slices,
                    &mut data
                )
            )
        }?;
        let is_1d_array = matches!(self.image_type, Type::Image1dArray);
        Ok((data, [if is_1d_array { slices } else { rows }, slices]))
    }

    /// Reads a part.
    fn read(&self, part: Part, way: Read, blocking: bool) -> Answer<Vec<u8>> {
        if let Read::Map = way {
            let (mapped, pitches) = self.map(part, CL_MAP_READ, blocking)?;
            let rows = part.rows(pitches, false).into_iter();
            // SAFETY: the rows of the part are mapped.
            let row = |at| unsafe {
                std::slice::from_raw_parts(mapped.cast::<u8>().add(at), part.row_bytes())
            };
            let bytes = rows.flat_map(|at| row(at).to_vec()).collect();
            self.object.unmap(mapped);
            return Ok(bytes);
        }
        let mut bytes = vec![0; part.byte_count()];
        let ((origin, region), data) = (part.pointers(), bytes.as_mut_ptr().cast());
        let blocking = blocking.into();
        // SAFETY: there is room for the part, and the command ends before the bytes are used.
        unsafe { command!(self.object, enqueue_read_image(blocking, origin, region, 0, 0, data)) }?;
        Ok(bytes)
    }

    /// Writes a part.
    fn write(&self, part: Part, bytes: &[u8], way: Write, blocking: bool) -> Answer<()> {
        if let Write::Map | Write::MapInvalidate = way {
            let (mapped, pitches) = self.map(part, way.map_flags(), blocking)?;
            let rows = part.rows(pitches, false);
            for (at, row) in rows.into_iter().zip(bytes.chunks(part.row_bytes())) {
                // SAFETY: the rows of the part are mapped.
                unsafe { mapped.cast::<u8>().add(at).copy_from(row.as_ptr(), row.len()) };
            }
            self.object.unmap(mapped);
            return Ok(());
        }
        let ((origin, region), data) = (part.pointers(), bytes.as_ptr().cast_mut().cast());
        let blocking = blocking.into();
        // SAFETY: these are the bytes of the part, and the command ends before they are freed.
        unsafe { command!(self.object, enqueue_write_image(blocking, origin, region, 0, 0, data)) }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn reads_follow_host_access_flags(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Type::Image1d, Type::Image2d, Type::Image3d, Type::Image1dArray, Type::Image2dArray)]
    image_type: Type,
    #[values(Read::Command, Read::Map)] way: Read,
) -> Result<()> {
    let pixels = source(image_type.all().byte_count());
    let image = Image::new(&on_device, image_type, host, memory, &pixels);
    for blocking in [true, false] {
        for part in [image_type.all(), image_type.part()] {
            let found = image.read(part, way, blocking);
            let access = (way, if blocking { "CL_TRUE" } else { "CL_FALSE" });
            if let Some(found) = permitted(found, host.may_read(), access, ("an image", host)) {
                assert_same(&found, &image.bytes_of(part, &pixels), "the part");
            }
        }
    }
    assert_same(&image.contents(&on_device)?, &pixels, "the image");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn writes_follow_host_access_flags(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Type::Image1d, Type::Image2d, Type::Image3d, Type::Image1dArray, Type::Image2dArray)]
    image_type: Type,
    #[values(Write::Command, Write::Map, Write::MapInvalidate)] way: Write,
) -> Result<()> {
    for blocking in [true, false] {
        for part in [image_type.all(), image_type.part()] {
            let earlier = before(image_type.all().byte_count());
            let image = Image::new(&on_device, image_type, host, memory, &earlier);
            let bytes = source(part.byte_count());
            let written = image.write(part, &bytes, way, blocking);
            let access = (way, if blocking { "CL_TRUE" } else { "CL_FALSE" });
            let expected = match permitted(written, host.may_write(), access, ("an image", host)) {
                Some(()) => image.with(part, &bytes, earlier),
                None => earlier,
            };
            assert_same(&image.contents(&on_device)?, &expected, "the image");
        }
    }
    Ok(())
}

/// Copies and fills on the device are not the host's accesses.
#[rstest]
#[clmatrix_harness::test(requires(images))]
fn device_copies_and_fills_ignore_host_access_flags(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Type::Image1d, Type::Image2d, Type::Image3d, Type::Image1dArray, Type::Image2dArray)]
    image_type: Type,
) -> Result<()> {
    let (all, part) = (image_type.all(), image_type.part());
    let image = Image::new(&on_device, image_type, host, memory, &before(all.byte_count()));
    let (queue, raw) = (image.object.queue, image.object.raw);
    let pixels = source(all.byte_count());
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &pixels)?;
    let (origin, region) = all.pointers();
    // SAFETY: the buffer has all pixels.
    let copied = unsafe {
        enqueue_copy_buffer_to_image(queue, buffer.as_raw(), raw, 0, origin, region, 0, ptr::null())
    };
    image.object.wait(copied.expect("a copy"));
    assert_same(&image.contents(&on_device)?, &pixels, "the copy");
    let (origin, region) = part.pointers();
    let colour = [251_u32, 252, 253, 254];
    // SAFETY: a colour of four integers, and an image of integers.
    unsafe { command!(image.object, enqueue_fill_image(colour.as_ptr().cast(), origin, region)) }
        .expect("a fill");
    let colours = [251, 252, 253, 254].repeat(part.byte_count() / PIXEL);
    let expected = image.with(part, &colours, pixels);
    assert_same(&image.contents(&on_device)?, &expected, "the filled image");
    Ok(())
}

/// The pointer of a map is derived from that of CL_MEM_USE_HOST_PTR (5.3.6).
#[rstest]
#[clmatrix_harness::test(requires(images))]
fn maps_point_into_the_host_memory(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly)] host: Host,
    #[values(Type::Image1d, Type::Image2d, Type::Image3d, Type::Image1dArray, Type::Image2dArray)]
    image_type: Type,
) {
    let (all, part) = (image_type.all(), image_type.part());
    let image = Image::new(&on_device, image_type, host, Memory::Used, &source(all.byte_count()));
    let flags = if host.may_read() { CL_MAP_READ } else { Write::Map.map_flags() };
    for part in [all, part] {
        let (mapped, _) = image.map(part, flags, true).expect("a map");
        let offset = (mapped as usize).wrapping_sub(image.object.host() as usize);
        image.object.unmap(mapped);
        assert_eq!(offset, part.rows(image.pitches(), true)[0], "bytes into the host memory");
    }
}
