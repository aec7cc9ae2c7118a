//! Formats of images: which ones a device has, and what commands and kernels make of the pixels (5.3;
//! OpenCL C 6.15.15 and 8).

mod format;
mod host;
mod kernel;
mod pitches;
mod samplers;

use std::fmt;

use super::command::Kind::{
    self as Command, CopyImage, FillImage, MapImage, ReadImage, WriteImage,
};
use super::memory::{MAP_FLAGS, move_box, touch};
use super::prelude::*;
use crate::plain_calls::arguments::Arguments;
use format::{COMPONENTS, ChannelClass, Format};

/// The types of images. The rows of a wide one have more than 64 pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    OneD,
    OfBuffer,
    OneDArray,
    TwoD,
    TwoDArray,
    ThreeD,
    Wide,
}

/// Declares a test with a case for each type of images.
macro_rules! per_type {
    (fn $name:ident($bench:ident, $of_type:ident) $body:block) => {
        #[rstest]
        #[case::one_d(Type::OneD)]
        #[case::of_buffer(Type::OfBuffer)]
        #[case::one_d_array(Type::OneDArray)]
        #[case::two_d(Type::TwoD)]
        #[case::two_d_array(Type::TwoDArray)]
        #[case::three_d(Type::ThreeD)]
        #[case::wide(Type::Wide)]
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
            Self::TwoDArray => (named!(CL_MEM_OBJECT_IMAGE2D_ARRAY), "2d_array", "p", [5, 4, 4]),
            Self::ThreeD => (named!(CL_MEM_OBJECT_IMAGE3D), "3d", "p", [5, 4, 4]),
            Self::Wide => (named!(CL_MEM_OBJECT_IMAGE2D), "2d", "p.xy", [67, 4, 1]),
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
    fn memory(self) -> impl DoubleEndedIterator<Item = Named<u64>> + Clone {
        const MEMORY: [Named<u64>; 5] = named![CL_MEM_READ_WRITE; CL_MEM_ALLOC_HOST_PTR;
            CL_MEM_USE_HOST_PTR; CL_MEM_COPY_HOST_PTR;
            CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR];
        MEMORY.into_iter().take(if self == Self::OfBuffer { 1 } else { MEMORY.len() })
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
        let ([x, y, z], [w, h, d]) = (self.origin, self.size);
        (0..w * h * d).map(move |i| [x + i % w, y + i / w % h, z + i / w / h])
    }
}

/// Calls clGetSupportedImageFormats (5.3.2) with this number of entries. Returns those that it writes, and the number of
/// formats.
fn entries(bench: &Bench, of_type: Type, flags: u64, room: usize) -> (Vec<Format>, usize) {
    let (context, of_type, mut count) = (bench.context, of_type.row().0.value, 0);
    let mut entries = vec![[7; 2]; 2000];
    let (to, n) = (entries.as_mut_ptr().cast(), &raw mut count);
    // SAFETY: the context is valid, and the list has more entries than the call gets.
    unsafe { ok!(clGetSupportedImageFormats(context, flags, of_type, room as u32, to, n)) };
    (entries.into_iter().filter(|entry| *entry != [7; 2]).map(Format::of).collect(), count as usize)
}

/// The formats that a device lists.
fn list(bench: &Bench, of_type: Type, flags: u64) -> Vec<Format> {
    let (list, count) = entries(bench, of_type, flags, 1000);
    let rule = "num_image_formats is the number of entries (5.3.2)";
    bench.check(list.len() == count, "clGetSupportedImageFormats", rule, count);
    list
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
        write!(f, "{} {}", self.of_type.row().0.name, self.format.name())
    }
}

impl<'a> Kind<'a> {
    /// Images with a format that each device has.
    fn usual(bench: &'a Bench, of_type: Type) -> Self {
        Self { bench, of_type, format: Format::of([CL_RGBA, CL_UNSIGNED_INT8]) }
    }

    /// Creates an image over host memory with these pitches, or returns the name of the driver's error code.
    fn over(self, flags: u64, host: *mut c_void, pitches: [usize; 2]) -> Result<Object, String> {
        let (bench, (constant, .., [width, height, depth])) = (self.bench, self.of_type.row());
        let (context, mut code, mut desc) = (bench.context, UNWRITTEN, no_image());
        (desc.image_type, desc.image_width, desc.image_height) = (constant.value, width, height);
        (desc.image_depth, desc.image_array_size) = (depth, if depth > 1 { depth } else { height });
        [desc.image_row_pitch, desc.image_slice_pitch] = pitches;
        if self.of_type == Type::OfBuffer {
            desc.buffer = bench.keep(bench.new_buffer(CL_MEM_READ_WRITE, 80));
        }
        let (format, desc) = (self.format.values.as_ptr().cast(), &raw const desc);
        // SAFETY: the context is valid, and the host memory has these pitches, or is null.
        let raw = unsafe { cl!(clCreateImage(context, flags, format, desc, host, &raw mut code)) };
        // SAFETY: the driver has just created the image.
        let object = (!raw.is_null()).then(|| unsafe { Object::new(Class::Memory, raw) });
        object.ok_or_else(|| code_name(code).to_owned())
    }

    /// Creates an image with these pixels, or returns the name of the driver's error code. The pixels are in host
    /// memory with these pitches if the flags say so.
    fn create(self, flags: u64, pitches: [usize; 2], pixels: &[u8]) -> Result<Image<'a>, String> {
        let (whole, mut host) = (self.of_type.whole(), ptr::null_mut::<c_void>());
        let mut spread = self.spread(pixels, whole, pitches);
        if flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0 {
            host = self.bench.new_host(spread.len());
            // SAFETY: the memory, which the bench keeps longer than the image, has that many bytes.
            unsafe { ptr::copy_nonoverlapping(spread.as_ptr(), host.cast(), spread.len()) };
        }
        let mut image = Image { kind: self, object: self.over(flags, host, pitches)?, host };
        if flags & CL_MEM_COPY_HOST_PTR != 0 {
            image.host = ptr::null_mut();
            // SAFETY: as above; the image has pixels of its own.
            unsafe { ptr::write_bytes(host.cast::<u8>(), GAP, spread.len()) };
        } else if host.is_null() {
            image.transfer(WriteImage, whole, pitches, &mut spread);
        }
        Ok(image)
    }

    /// Creates an image with these pixels.
    fn with(self, flags: u64, pixels: &[u8]) -> Image<'a> {
        self.create(flags, [0; 2], pixels).unwrap_or_else(|answer| {
            panic!("clCreateImage({self}): the format is listed (5.3.2); the driver: {answer}")
        })
    }

    /// Pixels of a whole image with these bits in each channel, by the numbers of pixel and component.
    fn pixels(self, code: impl Fn(usize, usize) -> u32) -> Vec<u8> {
        let pixels = self.of_type.whole().pixels().enumerate();
        let all = pixels.flat_map(|(i, _)| self.format.components().map(move |c| (i, c)));
        all.flat_map(|(i, c)| code(i, c).to_le_bytes()[..self.format.bytes].to_vec()).collect()
    }

    /// Pixels of a whole image, whose neighbouring bytes differ.
    fn pattern(self, seed: usize) -> Vec<u8> {
        let bytes = self.shape(self.of_type.whole()).iter().product();
        (0..bytes).map(|i: usize| ((i + seed) * 73 % 251) as u8).collect()
    }

    /// The bytes of a region.
    fn shape(self, Region { size: [width, height, depth], .. }: Region) -> [usize; 3] {
        [width * self.format.size(), height, depth]
    }

    /// Where a region begins among the bytes of a whole image.
    fn inside(self, [x, y, z]: [usize; 3]) -> Side {
        let [row, height, _] = self.shape(self.of_type.whole());
        ([x * self.format.size(), y, z], [row, row * height])
    }

    /// Where a region lies in memory of the host with these pitches, which begins with it.
    fn outside(self, [row, slice]: [usize; 2]) -> Side {
        ([0; 3], [if self.of_type == Type::OneDArray { slice } else { row }, slice])
    }

    /// Memory of the host with these pitches and a region of these pixels.
    fn spread(self, pixels: &[u8], region: Region, pitches: [usize; 2]) -> Vec<u8> {
        let room: usize = self.of_type.row().3.map(|size| size + 2).iter().product();
        let mut memory = vec![GAP; room * self.format.size()];
        let from = (pixels, self.inside(region.origin));
        move_box(self.shape(region), from, (&mut memory[..], self.outside(pitches)));
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
    /// The arguments of a command on these pixels, which blocks where it can.
    fn arguments(&self, command: Command, Region { origin, size }: Region) -> Arguments {
        let (bench, images) = (self.kind.bench, [self.object.raw(); 2]);
        let call = Call::on(bench.queue).blocking().of(Span::of(size, [(origin, [0; 2]); 2]));
        command.arguments(&Operands { images, ..bench.no_operands() }, call)
    }

    /// Writes or reads pixels, which have these pitches in memory.
    fn transfer(&self, command: Command, region: Region, pitches: [usize; 2], memory: &mut [u8]) {
        let mut transfer = self.arguments(command, region);
        (transfer.memory[1], transfer.pitches[1]) = (memory.as_mut_ptr().cast(), pitches);
        succeeds(command.function(), transfer.call(ptr::null_mut()));
    }

    /// Reads all pixels.
    fn read(&self) -> Vec<u8> {
        let mut pixels = self.kind.pattern(0);
        self.transfer(ReadImage, self.kind.of_type.whole(), [0; 2], &mut pixels);
        pixels
    }

    /// Reports the first byte that a rule makes another one.
    fn check(&self, call: impl Display, rule: &str, wanted: &[u8]) {
        self.kind.bench.check_result(same(&self.read(), wanted, "the pixels"), call, rule);
    }
}
