//! Pixels in memory of the host, with gaps between rows and slices (5.3.1, 5.3.1.2, 5.3.3, 5.3.6).

use clmatrix::cl3::memory::*;

use super::{Image, Kind, Region, Type, check_bytes, create, per_type};
use crate::driver::api::{UNWRITTEN, enqueued};
use crate::driver::prelude::*;

/// The bytes of a pixel of these images, and a byte of the host that no pixel uses.
const PIXEL: usize = 4;
const GAP: u8 = 0xee;

/// The distances between rows and between slices or layers, in bytes.
#[derive(Clone, Copy, Debug)]
struct Pitches {
    of_type: Type,
    row: usize,
    slice: usize,
}

impl Pitches {
    /// Rows with room for two more pixels, and slices with room for one more row; layers of a 1D array have
    /// no gaps but those of their rows, where drivers agree.
    fn with_gaps(of_type: Type) -> Self {
        let row = 7 * PIXEL;
        let slice = match of_type {
            Type::OneDArray => row,
            Type::TwoDArray | Type::ThreeD => row * 5,
            _ => 0,
        };
        Self { of_type, row, slice }
    }

    /// The offset of a pixel from the one at `origin`.
    fn offset(self, [x, y, z]: [usize; 3], origin: [usize; 3]) -> usize {
        let [x, y, z] = [x - origin[0], y - origin[1], z - origin[2]];
        let (rows, slices) = if self.of_type == Type::OneDArray { (0, y) } else { (y, z) };
        x * PIXEL + rows * self.row + slices * self.slice
    }

    /// Memory with gaps, which begins with the pixels of a region; `pixels` are those of the whole image.
    fn spread(self, pixels: &[u8], region: Region) -> Vec<u8> {
        let mut memory = vec![GAP; (4 * self.row).max(4 * self.slice)];
        for at in region.pixels() {
            let pixel = &pixels[self.of_type.index(at) * PIXEL..][..PIXEL];
            memory[self.offset(at, region.origin)..][..PIXEL].copy_from_slice(pixel);
        }
        memory
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn images_take_host_memory_with_gaps(
    bench: Bench,
    #[values(Type::OneD, Type::OneDArray, Type::TwoD, Type::TwoDArray, Type::ThreeD)] of_type: Type,
) {
    let (findings, pitches) = (Findings::default(), Pitches::with_gaps(of_type));
    let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
    let (pixels, format) = (kind.pattern(1), [CL_RGBA, CL_UNSIGNED_INT8]);
    let spread = pitches.spread(&pixels, of_type.whole());
    for flag in [named!(CL_MEM_COPY_HOST_PTR), named!(CL_MEM_USE_HOST_PTR)] {
        let memory = bench.new_host(spread.len());
        // SAFETY: the memory, which the bench keeps longer than the image, has that many bytes.
        unsafe { ptr::copy_nonoverlapping(spread.as_ptr(), memory.cast(), spread.len()) };
        let call = format!("clCreateImage({}, {kind}, {pitches:?})", flag.name);
        let (host, flags) =
            ((memory, [pitches.row, pitches.slice]), CL_MEM_READ_WRITE | flag.value);
        let image = create(&bench, of_type, format, flags, host);
        let image = image.map_err(|code| findings.add(&call, "succeeds (5.3.1)", code_name(code)));
        let Ok((object, _buffer)) = image else { continue };
        let found = Image { kind, object, _buffer }.read();
        let rule = "the image has the pixels at these pitches (5.3.1.2)";
        check_bytes(&findings, &call, rule, &found, &pixels);
    }
}

per_type! {
    fn transfers_have_gaps_in_host_memory(bench, of_type) {
        let (findings, pitches) = (Findings::default(), Pitches::with_gaps(of_type));
        let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
        let [pixels, before] = [1, 100].map(|seed| kind.pattern(seed));
        for region in [of_type.whole(), of_type.part()] {
            let image = kind.with(CL_MEM_READ_WRITE, &before);
            let (mut spread, mut wanted) = (pitches.spread(&pixels, region), before.clone());
            let both = [pitches.row, pitches.slice];
            image.transfer(true, region, both, spread.as_mut_ptr());
            for at in region.pixels().map(|at| of_type.index(at) * PIXEL) {
                wanted[at..][..PIXEL].copy_from_slice(&pixels[at..][..PIXEL]);
            }
            let call = format!("clEnqueueWriteImage({kind}, {region:?}, {pitches:?})");
            let rule = "writes the pixels at these pitches, and no others (5.3.3)";
            check_bytes(&findings, &call, rule, &image.read(), &wanted);
            let image = kind.with(CL_MEM_READ_WRITE, &pixels);
            let mut found = vec![GAP; spread.len()];
            image.transfer(false, region, both, found.as_mut_ptr());
            let call = format!("clEnqueueReadImage({kind}, {region:?}, {pitches:?})");
            let rule = "puts the pixels at these pitches, and nothing between them (5.3.3)";
            check_bytes(&findings, &call, rule, &found, &spread);
        }
    }
}

impl Image<'_> {
    /// Maps a region for reading and writing.
    fn map(&self, region: Region) -> (*mut c_void, Pitches) {
        let mut pitches = Pitches { of_type: self.kind.of_type, row: 7, slice: 7 };
        let (row, slice) = (&raw mut pitches.row, &raw mut pitches.slice);
        let (queue, image, flags) =
            (self.kind.bench.queue, self.object.raw(), CL_MAP_READ | CL_MAP_WRITE);
        let (at, size, mut code) = (region.origin.as_ptr(), region.size.as_ptr(), UNWRITTEN);
        let (list, event, to) = (ptr::null(), ptr::null_mut(), &raw mut code);
        // SAFETY: the region is within the image, and the call blocks.
        let pointer = unsafe {
            cl!(clEnqueueMapImage(queue, image, 1, flags, at, size, row, slice, 0, list, event, to))
        };
        succeeds("clEnqueueMapImage", code);
        (pointer, pitches)
    }
}

per_type! {
    fn a_map_has_its_pixels_at_its_pitches(bench, of_type) {
        let findings = Findings::default();
        let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
        for region in [of_type.whole(), of_type.part()] {
            let mut pixels = kind.pattern(1);
            let image = kind.with(CL_MEM_READ_WRITE, &pixels);
            let (pointer, pitches) = image.map(region);
            let call = format!("clEnqueueMapImage({kind}, {region:?})");
            let Pitches { row, slice, .. } = pitches;
            findings.check(row >= 12, &call, "image_row_pitch is at least 12 (5.3.6)", row);
            let is_flat = matches!(of_type, Type::OneD | Type::OfBuffer | Type::TwoD);
            let rule = "image_slice_pitch is 0, or at least a row for an array and a 3D image (5.3.6)";
            findings.check((slice == 0) == is_flat && (is_flat || slice >= row), &call, rule, slice);
            for at in region.pixels() {
                let place = pitches.offset(at, region.origin);
                // SAFETY: the pixel is in the region that is mapped with these pitches.
                let found = unsafe { &mut *pointer.wrapping_byte_add(place).cast::<[u8; PIXEL]>() };
                let pixel = &mut pixels[of_type.index(at) * PIXEL..][..PIXEL];
                let rule = format_args!("pixel {at:?} is {pixel:x?}, at {place} by {pitches:?} (5.3.6)");
                findings.check(found == pixel, &call, rule, format_args!("{found:x?}"));
                pixel.reverse();
                found.copy_from_slice(pixel);
            }
            // SAFETY: the region is mapped, and nothing uses it any more.
            unsafe {
                enqueued!(clEnqueueUnmapMemObject(bench.queue, image.object.raw(), pointer));
                ok!(clFinish(bench.queue));
            }
            let call = format!("clEnqueueUnmapMemObject after {call}");
            let rule = "the image has what the host wrote (5.5.2)";
            check_bytes(&findings, &call, rule, &image.read(), &pixels);
        }
    }
}
