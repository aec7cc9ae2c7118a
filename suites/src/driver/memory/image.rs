//! Images, and commands on their pixels (5.3.3 to 5.3.6).

use std::{ptr, slice};

use Way::*;
use clmatrix::cl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_IMAGE2D,
    CL_MEM_OBJECT_IMAGE3D, CL_MEM_USE_HOST_PTR, CL_RGBA, CL_UNSIGNED_INT8,
};
use clmatrix::cl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_map_flags};

use super::area::Area;
use super::maps::FLAGS;
use super::operand::{Operand, check};
use super::shape::{Shape, Side};
use super::target::{Memory, Target};
use crate::driver::api::{Named, UNWRITTEN, accepted, cl, created, enqueue, enqueued, ok};
use crate::driver::bench::{Bench, no_image};
use crate::driver::findings::Findings;
use crate::driver::object::{Class, Object};
use crate::support::pattern::{bytes, same};

static ZERO: [usize; 3] = [0; 3];

/// The pixel that fills write.
const PIXEL: [u8; 4] = [0xf1, 0xe2, 0xd3, 0xc4];

/// The first byte of pixels in buffers.
const OFFSET: usize = 20;

/// Pixels that commands use: their first one in the image under test and in another image, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Pixels {
    pub origin: [usize; 3],
    pub other: [usize; 3],
    pub region: [usize; 3],
}

/// Commands on an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Write,
    Read,
    CopyIn,
    CopyOut,
    FromBuffer,
    ToBuffer,
    Fill,
    Map(Named<cl_map_flags>),
}

impl Way {
    /// All but the maps.
    pub const TRANSFERS: [Self; 7] = [Write, Read, CopyIn, CopyOut, FromBuffer, ToBuffer, Fill];

    fn call(self) -> [&'static str; 2] {
        match self {
            Write => ["clEnqueueWriteImage to", "5.3.3"],
            Read => ["clEnqueueReadImage of", "5.3.3"],
            CopyIn => ["clEnqueueCopyImage from another image to", "5.3.3"],
            CopyOut => ["clEnqueueCopyImage to another image from", "5.3.3"],
            FromBuffer => ["clEnqueueCopyBufferToImage to", "5.3.5"],
            ToBuffer => ["clEnqueueCopyImageToBuffer from", "5.3.5"],
            Fill => ["clEnqueueFillImage of", "5.3.4"],
            Map(_) => ["clEnqueueMapImage of", "5.3.6"],
        }
    }
}

/// A 2D or 3D image with pixels of four unsigned bytes.
pub struct Image<'a> {
    bench: &'a Bench,
    pub name: String,
    object: Object,
    size: [usize; 3],
    pub area: Option<Area<'a>>,
    is_used: bool,
}

impl<'a> Image<'a> {
    /// Creates an image. Its host memory is overwritten after CL_MEM_COPY_HOST_PTR.
    pub fn new(bench: &'a Bench, memory: Memory, size: [usize; 3]) -> Self {
        let [image_width, image_height, image_depth] = size;
        let (bytes_in_all, flags) = (size.iter().product::<usize>() * 4, memory.flags());
        let area = memory.area(bench, bytes_in_all);
        let format = cl_image_format {
            image_channel_order: CL_RGBA,
            image_channel_data_type: CL_UNSIGNED_INT8,
        };
        let image_type = if size[2] == 1 { CL_MEM_OBJECT_IMAGE2D } else { CL_MEM_OBJECT_IMAGE3D };
        let shape =
            cl_image_desc { image_type, image_width, image_height, image_depth, ..no_image() };
        let host = area.as_ref().map_or(ptr::null_mut(), |area| area.pointer.cast());
        // SAFETY: the context is valid, and the host memory has all pixels.
        let object = unsafe {
            let (format, shape) = (&raw const format, &raw const shape);
            let raw = created!(clCreateImage(bench.context, flags.value, format, shape, host));
            Object::new(Class::Memory, raw)
        };
        if let Some(area) = area.as_ref().filter(|_| flags.value & CL_MEM_COPY_HOST_PTR != 0) {
            area.put(&bytes(2, bytes_in_all));
        }
        let name = format!("an image of {size:?} pixels with {}", flags.name);
        Self { bench, name, object, size, area, is_used: flags.value & CL_MEM_USE_HOST_PTR != 0 }
    }

    /// Where pixels are in the bytes of all pixels.
    fn side(&self, origin: [usize; 3]) -> Side {
        let row = self.size[0] * 4;
        Side { origin: [origin[0] * 4, origin[1], origin[2]], pitches: [row, row * self.size[1]] }
    }

    /// Maps pixels, and calls a function with the first byte and the mapped bytes of each row. A map of
    /// CL_MEM_USE_HOST_PTR lies in the host memory (5.3.6).
    fn map(
        &self,
        flags: Named<cl_map_flags>,
        [origin, region]: [[usize; 3]; 2],
        mut function: impl FnMut(usize, &mut [u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let (queue, image, none, event) =
            (self.bench.queue, self.object.raw(), ptr::null(), ptr::null_mut());
        let ([mut row, mut slice], mut code, map) = ([0; 2], UNWRITTEN, flags.value);
        // SAFETY: the pixels lie in the image.
        let pointer = unsafe {
            let (from, size, code) = (origin.as_ptr(), region.as_ptr(), &raw mut code);
            let (row, slice) = (&raw mut row, &raw mut slice);
            let e = event;
            cl!(clEnqueueMapImage(
                queue, image, CL_TRUE, map, from, size, row, slice, 0, none, e, code
            ))
        };
        accepted(code).map_err(|code| format!("clEnqueueMapImage returned {code}"))?;
        let side = self.side(origin);
        let host = self.area.as_ref().filter(|_| self.is_used);
        let wanted = host.map_or(pointer, |area| area.pointer.wrapping_add(side.start()).cast());
        let mut rows = (0..region[2]).flat_map(|z| (0..region[1]).map(move |y| [y, z]));
        let result = if pointer == wanted {
            rows.try_for_each(|[y, z]| {
                // SAFETY: the driver has mapped the rows with these pitches.
                let mapped = unsafe {
                    let first = pointer.cast::<u8>().add(y * row + z * slice);
                    slice::from_raw_parts_mut(first, region[0] * 4)
                };
                function(side.start() + y * side.pitches[0] + z * side.pitches[1], mapped)
            })
        } else {
            Err(format!("a map is at {pointer:?}; host_ptr and the offset are {wanted:?} (5.3.6)"))
        };
        // SAFETY: the pixels are mapped, and not used after it.
        unsafe {
            enqueued!(clEnqueueUnmapMemObject(queue, image, pointer));
            ok!(clFinish(queue));
        }
        result
    }

    /// Runs commands on pixels, and reports those that leave wrong bytes in an operand.
    pub fn check(&self, ways: &[Way], pixels: Pixels, findings: &Findings) {
        let peer = Image::new(self.bench, Memory::Plain, self.size);
        let room = self.size() + OFFSET + pixels.region[1] * pixels.region[2] * 32;
        let buffer = Target::plain(self.bench, room);
        let host = Area::host(self.bench, room, 1);
        for way in ways {
            let Pixels { origin, region, .. } = pixels;
            if let Err(answer) = self.run(*way, pixels, &peer, &buffer, &host) {
                let [call, section] = way.call();
                let rule = format_args!("the pixels change, and no others ({section})");
                let call = format!("{call} {}, {region:?} pixels at {origin:?}", self.name);
                findings.add(call, rule, answer);
            }
        }
    }

    fn run(
        &self,
        way: Way,
        pixels: Pixels,
        peer: &Image<'_>,
        buffer: &Target<'_>,
        host: &Area<'_>,
    ) -> Result<(), String> {
        let Pixels { origin, other, region } = pixels;
        let [width, height, depth] = [region[0] * 4, region[1], region[2]];
        let shape =
            |other| Shape { region: [width, height, depth], sides: [self.side(origin), other] };
        let packed = |start| Side { origin: [start, 0, 0], pitches: [width, width * height] };
        let (row, slice) = (width + 12, (width + 12) * (height + 1));
        let host_slice = if depth == 1 { 0 } else { slice };
        let in_host = Side { origin: [0; 3], pitches: [row, slice] };
        let (queue, image, colour) = (self.bench.queue, self.object.raw(), PIXEL.map(u32::from));
        let [own, theirs, size] = [&origin, &other, &region].map(|size| size.as_ptr());
        let (second, memory, raw) = (peer.object.raw(), host.pointer.cast(), buffer.raw());
        check([host, self, peer, buffer], |[host, pixels, peer, buffer]| {
            // SAFETY: all operands have the pixels.
            accepted(unsafe {
                match way {
                    Write => {
                        shape(in_host).move_in(pixels, host);
                        enqueue!(clEnqueueWriteImage(
                            queue, image, CL_TRUE, own, size, row, host_slice, memory
                        ))
                    }
                    Read => {
                        shape(in_host).move_out(pixels, host);
                        enqueue!(clEnqueueReadImage(
                            queue, image, CL_TRUE, own, size, row, host_slice, memory
                        ))
                    }
                    CopyIn => {
                        shape(self.side(other)).move_in(pixels, peer);
                        enqueue!(clEnqueueCopyImage(queue, second, image, theirs, own, size))
                    }
                    CopyOut => {
                        shape(self.side(other)).move_out(pixels, peer);
                        enqueue!(clEnqueueCopyImage(queue, image, second, own, theirs, size))
                    }
                    FromBuffer => {
                        shape(packed(OFFSET)).move_in(pixels, buffer);
                        enqueue!(clEnqueueCopyBufferToImage(queue, raw, image, OFFSET, own, size))
                    }
                    ToBuffer => {
                        shape(packed(OFFSET)).move_out(pixels, buffer);
                        enqueue!(clEnqueueCopyImageToBuffer(queue, image, raw, own, size, OFFSET))
                    }
                    Fill => {
                        shape(packed(0)).move_in(pixels, &PIXEL.repeat(region.iter().product()));
                        let colour = colour.as_ptr().cast();
                        enqueue!(clEnqueueFillImage(queue, image, colour, own, size))
                    }
                    Map(flags) => {
                        return self.map(flags, [origin, region], |first, mapped| {
                            let model = &mut pixels[first..first + mapped.len()];
                            if flags.value != CL_MAP_WRITE_INVALIDATE_REGION {
                                same(mapped, model, format_args!("bytes {first}.. as mapped"))?;
                            }
                            if flags.value != CL_MAP_READ {
                                model.copy_from_slice(&bytes(0, mapped.len()));
                                mapped.copy_from_slice(model);
                            }
                            Ok(())
                        });
                    }
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
        let (queue, image, from) =
            (self.bench.queue, self.object.raw(), bytes.as_ptr().cast_mut().cast());
        let (origin, size) = (ZERO.as_ptr(), self.size.as_ptr());
        // SAFETY: image and memory have all pixels; the call blocks.
        unsafe { enqueued!(clEnqueueWriteImage(queue, image, CL_TRUE, origin, size, 0, 0, from)) };
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        let (queue, image) = (self.bench.queue, self.object.raw());
        let mut found = vec![0; self.size()];
        let (origin, size, to) = (ZERO.as_ptr(), self.size.as_ptr(), found.as_mut_ptr().cast());
        // SAFETY: image and memory have all pixels; the call blocks.
        accepted(unsafe {
            ok!(clFinish(queue));
            enqueue!(clEnqueueReadImage(queue, image, CL_TRUE, origin, size, 0, 0, to))
        })?;
        same(&found, expected, format_args!("clEnqueueReadImage of {}", self.name))?;
        self.map(FLAGS[0], [ZERO, self.size], |first, mapped| {
            let what = format_args!("bytes {first}.. of a map of {}", self.name);
            same(mapped, &expected[first..first + mapped.len()], what)
        })
    }
}
