//! Commands on images of all kinds of memory (5.3.3 to 5.3.6).

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_TRUE, cl_map_flags};

use super::area::Area;
use super::maps::FLAGS;
use super::operand::*;
use super::target::*;
use crate::driver::api::{accepted, enqueue, enqueued};
use crate::driver::prelude::*;
use crate::support::pattern::{bytes, same};

/// Commands on an image.
const WRITE: &str = "clEnqueueWriteImage (5.3.3) to";
const READ: &str = "clEnqueueReadImage (5.3.3) of";
const COPY_IN: &str = "clEnqueueCopyImage (5.3.3) from another image to";
const COPY_OUT: &str = "clEnqueueCopyImage (5.3.3) to another image from";
const FROM_BUFFER: &str = "clEnqueueCopyBufferToImage (5.3.5) to";
const TO_BUFFER: &str = "clEnqueueCopyImageToBuffer (5.3.5) from";

/// The pixel that fills write.
const PIXEL: [u8; 4] = [0xf1, 0xe2, 0xd3, 0xc4];

/// A 2D or 3D image with pixels of four unsigned bytes.
struct Image<'a> {
    bench: &'a Bench,
    object: Object,
    size: [usize; 3],
    area: Option<Area<'a>>,
    flags: u64,
}

impl<'a> Image<'a> {
    /// Creates an image. Its host memory is overwritten after CL_MEM_COPY_HOST_PTR.
    fn new(bench: &'a Bench, memory: Memory, size: [usize; 3]) -> Self {
        let (count, flags) = (size.iter().product::<usize>() * 4, memory.0.value);
        let area = memory.area(bench, count);
        let host = area.as_ref().map_or(ptr::null_mut(), |area| area.pointer.cast());
        let object = bench.image_of(flags, size, host);
        if let Some(area) = area.as_ref().filter(|_| flags & CL_MEM_COPY_HOST_PTR != 0) {
            area.put(&bytes(2, count));
        }
        Self { bench, object, size, area, flags }
    }

    /// The place of pixels in the bytes of all pixels.
    fn side(&self, [x, y, z]: [usize; 3]) -> Side {
        ([x * 4, y, z], [self.size[0] * 4, self.size[0] * 4 * self.size[1]])
    }

    /// Maps pixels, checks them, and writes them if the flags say so. A map of CL_MEM_USE_HOST_PTR lies in the host
    /// memory (5.3.6).
    fn map(
        &self,
        flags: Named<cl_map_flags>,
        [origin, region]: [[usize; 3]; 2],
        model: &mut [u8],
    ) -> Result<(), String> {
        let (q, i, l, v) = (self.bench.queue, self.object.raw(), ptr::null(), ptr::null_mut());
        let ([mut row, mut slice], map) = ([0; 2], flags.value);
        // SAFETY: the pixels lie in the image.
        let pointer = unsafe {
            let (o, p) = (origin.as_ptr(), region.as_ptr());
            let (r, s) = (&raw mut row, &raw mut slice);
            created!(clEnqueueMapImage(q, i, CL_TRUE, map, o, p, r, s, 0, l, v))
        };
        let side = self.side(origin);
        let host = self.area.as_ref().filter(|_| self.flags & CL_MEM_USE_HOST_PTR != 0);
        let wanted = host.map_or(pointer, |area| area.pointer.wrapping_add(start(side)).cast());
        let mut result = (pointer == wanted).then_some(()).ok_or_else(|| {
            format!("the map is at {pointer:?}; host_ptr and the offset are {wanted:?}")
        });
        for [y, z] in (0..region[2]).flat_map(|z| (0..region[1]).map(move |y| [y, z])) {
            let mapped = pointer.cast::<u8>().wrapping_add(y * row + z * slice);
            let own = &mut model[start(side) + y * side.1[0] + z * side.1[1]..][..region[0] * 4];
            let mapped = ptr::slice_from_raw_parts_mut(mapped, own.len());
            result = result.and_then(|()| touch(flags.value, mapped, own));
        }
        // SAFETY: the pixels are mapped, and not used after it.
        unsafe {
            enqueued!(clEnqueueUnmapMemObject(q, i, pointer));
            ok!(clFinish(q));
        }
        result
    }

    /// Runs a command and its model, and compares all bytes of all operands.
    fn run(&self, call: &str, [origin, other, region]: [[usize; 3]; 3]) -> Result<(), String> {
        let row = region[0] * 4;
        let shape = [row, region[1], region[2]];
        // Rows of the host have gaps, and slices too; those of a buffer have none.
        let (pitch, slice) = (row + 12, (row + 12) * (region[1] + 1));
        let (in_host, in_buffer) = (([0; 3], [pitch, slice]), ([20, 0, 0], [0, 0]));
        let peer = Image::new(self.bench, PLAIN, self.size);
        let room = slice * region[2] + 20;
        let (buffer, host) = (Target::plain(self.bench, room), Area::host(self.bench, room, 1));
        let (q, i, j, b, bl) =
            (self.bench.queue, self.object.raw(), peer.object.raw(), buffer.raw(), CL_TRUE);
        let slice = if region[2] == 1 { 0 } else { slice };
        let [o, p, r] = [&origin, &other, &region].map(|size| size.as_ptr());
        let (h, at, peer_at) = (host.pointer.cast(), self.side(origin), self.side(other));
        let colour = PIXEL.map(u32::from);
        check([self, &peer, &buffer, &host], |[pixels, peer, buffer, host]| {
            match call {
                WRITE => move_box(shape, (pixels, at), (host, in_host)),
                READ => move_box(shape, (host, in_host), (pixels, at)),
                COPY_IN => move_box(shape, (pixels, at), (peer, peer_at)),
                COPY_OUT => move_box(shape, (peer, peer_at), (pixels, at)),
                FROM_BUFFER => move_box(shape, (pixels, at), (buffer, in_buffer)),
                TO_BUFFER => move_box(shape, (buffer, in_buffer), (pixels, at)),
                _ => move_box(shape, (pixels, at), (&PIXEL.repeat(room), in_buffer)),
            }
            // SAFETY: all operands have the pixels; the comparison waits for the commands.
            accepted(unsafe {
                match call {
                    WRITE => enqueue!(clEnqueueWriteImage(q, i, bl, o, r, pitch, slice, h)),
                    READ => enqueue!(clEnqueueReadImage(q, i, bl, o, r, pitch, slice, h)),
                    COPY_IN => enqueue!(clEnqueueCopyImage(q, j, i, p, o, r)),
                    COPY_OUT => enqueue!(clEnqueueCopyImage(q, i, j, o, p, r)),
                    FROM_BUFFER => enqueue!(clEnqueueCopyBufferToImage(q, b, i, 20, o, r)),
                    TO_BUFFER => enqueue!(clEnqueueCopyImageToBuffer(q, i, b, o, r, 20)),
                    _ => enqueue!(clEnqueueFillImage(q, i, colour.as_ptr().cast(), o, r)),
                }
            })
        })
    }
}

impl Operand for Image<'_> {
    fn size(&self) -> usize {
        self.size.iter().product::<usize>() * 4
    }

    fn put(&self, bytes: &[u8]) {
        let (queue, image, zero) = (self.bench.queue, self.object.raw(), [0; 3]);
        let (zero, size, from) = (zero.as_ptr(), self.size.as_ptr(), bytes.as_ptr().cast_mut());
        let from = from.cast();
        // SAFETY: image and memory have all pixels; the call blocks.
        unsafe { enqueued!(clEnqueueWriteImage(queue, image, CL_TRUE, zero, size, 0, 0, from)) };
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        let (queue, image, zero) = (self.bench.queue, self.object.raw(), [0; 3]);
        let mut found = vec![0; self.size()];
        let (zero, size, to) = (zero.as_ptr(), self.size.as_ptr(), found.as_mut_ptr().cast());
        // SAFETY: image and memory have all pixels; the call blocks.
        unsafe {
            ok!(clFinish(queue));
            enqueued!(clEnqueueReadImage(queue, image, CL_TRUE, zero, size, 0, 0, to));
        }
        same(&found, expected, "the image")?;
        self.map(FLAGS[0], [[0; 3], self.size], &mut expected.to_vec())
    }
}

#[rstest]
#[case::plain(PLAIN, [13, 7, 1])]
#[case::alloc_host_ptr(ALLOC, [13, 7, 1])]
#[case::use_host_ptr(USE, [13, 7, 1])]
#[case::copy_host_ptr(COPY, [13, 7, 1])]
#[case::alloc_and_copy_host_ptr(ALLOC_COPY, [13, 7, 1])]
#[case::three_dimensions(USE, [13, 7, 5])]
#[clmatrix_harness::test(requires(images))]
fn commands_change_their_pixels_only(
    bench: Bench,
    #[case] memory: Memory,
    #[case] size: [usize; 3],
) {
    let (findings, image) = (Findings::default(), Image::new(&bench, memory, size));
    let name = format!("an image of {size:?} pixels with {}", memory.0.name);
    if image.area.is_some()
        && let Err(answer) = image.compare(&bytes(0, image.size()))
    {
        let rule = "the image has the pixels of the host memory at the time of the call (5.3.1)";
        findings.add(format_args!("clCreateImage of {name}"), rule, answer);
    }
    let (z, depth) = (size[2] / 2, size[2].div_ceil(2));
    let ([origin, other], region) = ([[3, 2, z], [1, 3, 0]], [size[0] - 7, 4, depth]);
    let about = format!("{name}, {region:?} pixels at {origin:?}");
    for call in
        [WRITE, READ, COPY_IN, COPY_OUT, FROM_BUFFER, TO_BUFFER, "clEnqueueFillImage (5.3.4) of"]
    {
        if let Err(answer) = image.run(call, [origin, other, region]) {
            let call = format_args!("{call} {about}");
            findings.add(call, "these pixels change, and no others", answer);
        }
    }
    for flags in FLAGS {
        let call = format_args!("clEnqueueMapImage({}) of {about}", flags.name);
        if let Err(answer) = check([&image], |[model]| image.map(flags, [origin, region], model)) {
            findings.add(call, "a map has the pixels, and keeps those written (5.3.6)", answer);
        }
    }
}
