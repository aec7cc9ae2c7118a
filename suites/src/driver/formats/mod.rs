//! Formats of images: which ones a device has, and what commands and kernels make of the pixels (5.3;
//! OpenCL C 6.15.15 and 8).

mod format;
mod host;
mod kernel;
mod pitches;
mod samplers;

use std::fmt;

use super::memory::{MAP_FLAGS, move_box, touch};
use super::prelude::*;
use crate::support::pattern::same;
use format::Format;

/// The types of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    OneD,
    OfBuffer,
    OneDArray,
    TwoD,
    TwoDArray,
    ThreeD,
}

/// Declares a test with a case for each type of images.
macro_rules! per_type {
    (fn $name:ident($bench:ident, $of_type:ident) $body:block) => {
        #[rstest]
        #[case::one_d($crate::driver::formats::Type::OneD)]
        #[case::of_buffer($crate::driver::formats::Type::OfBuffer)]
        #[case::one_d_array($crate::driver::formats::Type::OneDArray)]
        #[case::two_d($crate::driver::formats::Type::TwoD)]
        #[case::two_d_array($crate::driver::formats::Type::TwoDArray)]
        #[case::three_d($crate::driver::formats::Type::ThreeD)]
        #[clmatrix_harness::test(requires(images))]
        fn $name(#[from(bench)] $bench: Bench, #[case] $of_type: Type) $body
    };
}

use per_type;

impl Type {
    /// The constant, the type in kernels, the coordinates of the vector `p` there, and the pixels of these tests; the
    /// layers of an array are the last dimension.
    fn row(self) -> (Named<u32>, &'static str, &'static str, [usize; 3]) {
        match self {
            Self::OneD => (named!(CL_MEM_OBJECT_IMAGE1D), "1d", "p.x", [5, 1, 1]),
            Self::OfBuffer => (named!(CL_MEM_OBJECT_IMAGE1D_BUFFER), "1d_buffer", "p.x", [5, 1, 1]),
            Self::OneDArray => (named!(CL_MEM_OBJECT_IMAGE1D_ARRAY), "1d_array", "p.xy", [5, 4, 1]),
            Self::TwoD => (named!(CL_MEM_OBJECT_IMAGE2D), "2d", "p.xy", [5, 4, 1]),
            Self::TwoDArray => (named!(CL_MEM_OBJECT_IMAGE2D_ARRAY), "2d_array", "p", [5, 4, 3]),
            Self::ThreeD => (named!(CL_MEM_OBJECT_IMAGE3D), "3d", "p", [5, 4, 3]),
        }
    }

    fn whole(self) -> Region {
        Region { origin: [0; 3], size: self.row().3 }
    }

    /// All but the first and the last pixel of each dimension.
    fn part(self) -> Region {
        let size = self.row().3.map(|size| if size > 1 { size - 2 } else { 1 });
        Region { origin: self.row().3.map(|size| usize::from(size > 1)), size }
    }

    /// The kinds of memory that images may have.
    fn memory(self) -> &'static [Named<u64>] {
        static MEMORY: [Named<u64>; 5] = [
            named!(CL_MEM_READ_WRITE),
            named!(CL_MEM_ALLOC_HOST_PTR),
            named!(CL_MEM_USE_HOST_PTR),
            named!(CL_MEM_COPY_HOST_PTR),
            named!(CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR),
        ];
        if self == Self::OfBuffer { &MEMORY[..1] } else { &MEMORY }
    }
}

/// A box of pixels.
#[derive(Clone, Copy, Debug)]
struct Region {
    origin: [usize; 3],
    size: [usize; 3],
}

impl Region {
    /// The positions of its pixels, in the order of memory.
    fn pixels(self) -> impl Iterator<Item = [usize; 3]> {
        let ([x, y, z], [width, height, depth]) = (self.origin, self.size);
        (0..width * height * depth)
            .map(move |i| [x + i % width, y + i / width % height, z + i / width / height])
    }
}

/// The formats that a device lists (5.3.2).
fn list(bench: &Bench, of_type: Type, flags: u64) -> Vec<Format> {
    let (context, of_type, mut count) = (bench.context, of_type.row().0.value, 0);
    let mut formats = vec![[0; 2]; 1000];
    let (list, n) = (formats.as_mut_ptr().cast(), &raw mut count);
    // SAFETY: the context is valid, and the list has as many elements as the call gets.
    unsafe { ok!(clGetSupportedImageFormats(context, flags, of_type, 1000, list, n)) };
    formats.into_iter().take(count as usize).map(Format::of).collect()
}

/// Images of the formats that these tests know, and of the usual ones alone if they are not 2D images.
fn kinds(bench: &Bench, of_type: Type, flags: u64) -> impl Iterator<Item = Kind<'_>> {
    let known = list(bench, of_type, flags).into_iter().filter(Format::is_known);
    let all = known.filter(move |format| of_type == Type::TwoD || format.is_usual());
    all.map(move |format| Kind { bench, of_type, format })
}

/// A byte of the host that no pixel uses.
const GAP: u8 = 0xee;

/// Images of one type and format.
#[derive(Clone, Copy)]
struct Kind<'a> {
    bench: &'a Bench,
    of_type: Type,
    format: Format,
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.of_type.row().0.name, self.format)
    }
}

impl<'a> Kind<'a> {
    /// Images with a format that each device has.
    fn usual(bench: &'a Bench, of_type: Type, channel: u32) -> Self {
        Self { bench, of_type, format: Format::of([CL_RGBA, channel]) }
    }

    /// Creates an image over host memory with these pitches, or returns the driver's error code.
    fn over(self, flags: u64, host: *mut c_void, [row, slice]: [usize; 2]) -> Result<Object, i32> {
        let (bench, (constant, .., [width, height, depth])) = (self.bench, self.of_type.row());
        let mut buffer = ptr::null_mut();
        if self.of_type == Type::OfBuffer {
            buffer = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, 80));
        }
        let desc = cl_image_desc {
            image_type: constant.value,
            image_width: width,
            image_height: height,
            image_depth: depth,
            image_array_size: if depth > 1 { depth } else { height },
            image_row_pitch: row,
            image_slice_pitch: slice,
            buffer,
            ..no_image()
        };
        let (context, mut code) = (bench.context, UNWRITTEN);
        let (format, desc) = (self.format.values.as_ptr().cast(), &raw const desc);
        // SAFETY: the context is valid, and the host memory has these pitches, or is null.
        unsafe {
            let raw = cl!(clCreateImage(context, flags, format, desc, host, &raw mut code));
            if raw.is_null() { Err(code) } else { Ok(Object::new(Class::Memory, raw)) }
        }
    }

    /// Creates an image with these pixels, or returns the driver's error code. The pixels are in host memory with these
    /// pitches if the flags say so.
    fn create(self, flags: u64, pitches: [usize; 2], pixels: &[u8]) -> Result<Image<'a>, i32> {
        let (whole, mut host) = (self.of_type.whole(), ptr::null_mut::<c_void>());
        let mut spread = self.spread(pixels, whole, pitches);
        let (size, from) = (spread.len(), spread.as_ptr());
        if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 {
            host = self.bench.new_host(size);
            // SAFETY: the memory, which the bench keeps longer than the image, has that many bytes.
            unsafe { ptr::copy_nonoverlapping(from, host.cast(), size) };
        }
        let mut image = Image { kind: self, object: self.over(flags, host, pitches)?, host };
        if flags & CL_MEM_COPY_HOST_PTR != 0 {
            image.host = ptr::null_mut();
            // SAFETY: as above; the image has pixels of its own.
            unsafe { ptr::write_bytes(host.cast::<u8>(), GAP, size) };
        } else if host.is_null() {
            image.transfer(true, whole, pitches, &mut spread);
        }
        Ok(image)
    }

    /// Creates an image with these pixels.
    fn with(self, flags: u64, pixels: &[u8]) -> Image<'a> {
        self.create(flags, [0; 2], pixels).unwrap_or_else(|code| {
            let answer = code_name(code);
            panic!("clCreateImage({self}): the format is listed (5.3.2); the driver: {answer}")
        })
    }

    /// Pixels of a whole image with these bits in each channel, by the numbers of pixel and component.
    fn pixels(self, code: impl Fn(usize, usize) -> u32) -> Vec<u8> {
        let pixels = self.of_type.whole().pixels().enumerate();
        let channels = pixels.flat_map(|(i, _)| self.format.components().map(move |c| (i, c)));
        channels
            .flat_map(|(i, c)| code(i, c).to_le_bytes().into_iter().take(self.format.bytes))
            .collect()
    }

    /// Pixels of a whole image, all of whose bytes differ.
    fn pattern(self, seed: usize) -> Vec<u8> {
        let bytes = self.shape(self.of_type.whole()).iter().product();
        (0..bytes).map(|i: usize| ((i + seed) * 73 % 251) as u8).collect()
    }

    /// The bytes of a region.
    fn shape(self, Region { size: [width, height, depth], .. }: Region) -> [usize; 3] {
        [width * self.format.size(), height, depth]
    }

    /// Where a region lies among the pixels of a whole image.
    fn inside(self, Region { origin: [x, y, z], .. }: Region) -> Side {
        let [row, height, _] = self.shape(self.of_type.whole());
        ([x * self.format.size(), y, z], [row, row * height])
    }

    /// Where a region lies in memory of the host with these pitches, which begins with it.
    fn outside(self, [row, slice]: [usize; 2]) -> Side {
        ([0; 3], [if self.of_type == Type::OneDArray { slice } else { row }, slice])
    }

    /// Memory of the host with these pitches and a region of these pixels.
    fn spread(self, pixels: &[u8], region: Region, pitches: [usize; 2]) -> Vec<u8> {
        let mut memory = vec![GAP; 140 * self.format.size()];
        let (from, to) = ((pixels, self.inside(region)), (&mut memory[..], self.outside(pitches)));
        move_box(self.shape(region), from, to);
        memory
    }
}

/// An image, and the host memory that it uses or null.
struct Image<'a> {
    kind: Kind<'a>,
    object: Object,
    host: *mut c_void,
}

impl Image<'_> {
    /// Writes or reads pixels, which have these pitches in memory.
    fn transfer(
        &self,
        is_write: bool,
        region: Region,
        [row, slice]: [usize; 2],
        memory: &mut [u8],
    ) {
        let (queue, raw) = (self.kind.bench.queue, self.object.raw());
        let (at, size) = (region.origin.as_ptr(), region.size.as_ptr());
        let memory = memory.as_mut_ptr().cast();
        // SAFETY: the memory has the pixels of the region, and the call blocks.
        unsafe {
            if is_write {
                enqueued!(clEnqueueWriteImage(queue, raw, 1, at, size, row, slice, memory));
            } else {
                enqueued!(clEnqueueReadImage(queue, raw, 1, at, size, row, slice, memory));
            }
        }
    }

    /// Reads all pixels.
    fn read(&self) -> Vec<u8> {
        let mut pixels = self.kind.pattern(0);
        self.transfer(false, self.kind.of_type.whole(), [0; 2], &mut pixels);
        pixels
    }
}

/// Reports the first of some bytes that a rule makes others.
fn check_bytes(bench: &Bench, call: &str, rule: &str, found: &[u8], wanted: &[u8]) {
    bench.check_result(same(found, wanted, "the pixels"), call, rule);
}
