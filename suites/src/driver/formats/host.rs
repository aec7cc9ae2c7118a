//! The lists of formats, and commands of the host on pixels of each format: fills and copies (5.3.1 to 5.3.5;
//! OpenCL C 8.3).

use clmatrix::cl3::device::{CL_DEVICE_EXTENSIONS, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS};
use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::cl_mem_flags;

use super::format::{COMPONENTS, Class, Format};
use super::{Image, Kind, Region, Type, check_bytes, create, kinds, list, per_type};
use crate::driver::api::enqueued;
use crate::driver::prelude::*;

/// The uses by kernels for which a device lists formats, each of which is one of the uses before.
static USES: [Named<cl_mem_flags>; 4] = [
    named!(CL_MEM_WRITE_ONLY),
    named!(CL_MEM_READ_ONLY),
    named!(CL_MEM_READ_WRITE),
    named!(CL_MEM_KERNEL_READ_AND_WRITE),
];

/// Returns whether kernels may write 3D images.
pub fn writes_3d(bench: &Bench) -> bool {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    extensions.contains("cl_khr_3d_image_writes") || (bench.is(2, 0) && !bench.is(3, 0))
}

/// Returns whether a device has the format for a use (5.3.2.1).
fn is_required(bench: &Bench, of_type: Type, flag: cl_mem_flags, format: Format) -> bool {
    let [order, channel] = format.constants();
    let is_wide = format.class != Class::Snorm;
    if flag == CL_MEM_KERNEL_READ_AND_WRITE {
        let most = named!(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS);
        let is_usual = matches!(order, CL_R | CL_RGBA) && is_wide && channel != CL_UNORM_INT16;
        return is_usual && Subject::Device(bench.device).value::<u32>(most) > 0;
    }
    let is_usual = order == CL_RGBA && is_wide || [order, channel] == [CL_BGRA, CL_UNORM_INT8];
    is_usual && (flag == CL_MEM_READ_ONLY || of_type != Type::ThreeD || writes_3d(bench))
}

/// The values of all orders and types of channels.
fn all() -> impl Iterator<Item = [u32; 2]> {
    (CL_R..CL_R + 20)
        .flat_map(|order| (CL_SNORM_INT8..=CL_FLOAT).map(move |channel| [order, channel]))
}

per_type! {
    fn formats_are_listed(bench, of_type) {
        let findings = Findings::default();
        let mut wider = Vec::new();
        for (i, flag) in USES[..if bench.is(2, 0) { 4 } else { 3 }].iter().enumerate() {
            let call = format!("clGetSupportedImageFormats({}, {})", flag.name, of_type.row().0.name);
            let list = list(&bench, of_type, flag.value);
            for format in all().filter_map(Format::of) {
                let is_listed = list.contains(&format.constants());
                let is_right = is_listed || !is_required(&bench, of_type, flag.value, format);
                let name = Format::name(format.constants());
                let rule = format_args!("{name} is one of the minimum list (5.3.2.1)");
                findings.check(is_right, &call, rule, "not listed");
            }
            for (i, format) in list.iter().enumerate() {
                let is_once = !list[..i].contains(format);
                let rule = format_args!("{} is listed once (5.3.2)", Format::name(*format));
                findings.check(is_once, &call, rule, "again");
            }
            // Kernels that read and write are kernels that read, and kernels that write.
            let narrow = list.iter().find(|format| i > 1 && !wider.contains(*format));
            let answer = narrow.map_or_else(String::new, |format| Format::name(*format));
            let rule = "has no format that other flags lack (5.3.2)";
            findings.check(narrow.is_none(), &call, rule, answer);
            wider = list;
        }
    }
}

#[rstest]
#[case::for_all(|count: usize| count)]
#[case::for_more(|count: usize| count + 2)]
#[case::for_one(|_: usize| 1)]
#[clmatrix_harness::test(requires(images))]
fn a_list_fills_its_room(bench: Bench, #[case] room: fn(usize) -> usize) {
    let findings = Findings::default();
    let (context, flags, of_type) = (bench.context, CL_MEM_READ_WRITE, Type::TwoD.row().0.value);
    let (all, mut count) = (list(&bench, Type::TwoD, flags).len(), 0);
    let (room, mut found) = (room(all), vec![[7_u32; 2]; all + 2]);
    let (to, n) = (found.as_mut_ptr().cast(), &raw mut count);
    // SAFETY: the context is valid, and the list has room for what the call gets.
    unsafe { ok!(clGetSupportedImageFormats(context, flags, of_type, room as u32, to, n)) };
    let call = format!("clGetSupportedImageFormats with num_entries {room}");
    let rule = format_args!("num_image_formats is {all} (5.3.2)");
    findings.check(count as usize == all, &call, rule, count);
    let written = found.iter().filter(|entry| **entry != [7; 2]).count();
    let rule = format_args!("{} entries are written (5.3.2)", all.min(room));
    findings.check(written == all.min(room), call, rule, written);
}

per_type! {
    fn images_have_the_listed_formats(bench, of_type) {
        let findings = Findings::default();
        for flag in &USES[..3] {
            for format in list(&bench, of_type, flag.value) {
                let (of, name) = (of_type.row().0.name, Format::name(format));
                let call = format!("clCreateImage({}, {of} {name})", flag.name);
                let image = create(&bench, of_type, format, flag.value, (ptr::null_mut(), [0; 2]));
                let answer = image.as_ref().map_or_else(|code| code_name(*code), |_| "CL_SUCCESS");
                findings.check(image.is_ok(), &call, "the format is listed (5.3.2)", answer);
                let (Ok((image, _)), Some(known)) = (image, Format::of(format)) else { continue };
                let info = Subject::Image(image.raw());
                let (size, found) = (known.size(), info.value::<usize>(named!(CL_IMAGE_ELEMENT_SIZE)));
                let rule = format_args!("CL_IMAGE_ELEMENT_SIZE is {size} (5.3.1.1, 5.3.7)");
                findings.check(size == found, &call, rule, found);
                let found = info.value::<[u32; 2]>(named!(CL_IMAGE_FORMAT));
                let rule = "CL_IMAGE_FORMAT is that format (5.3.7)";
                findings.check(format == found, &call, rule, format_args!("{found:x?}"));
            }
        }
    }
}

per_type! {
    fn images_of_other_formats_are_refused(bench, of_type) {
        let findings = Findings::default();
        let lists = [0, 1, 2].map(|i| list(&bench, of_type, USES[i].value));
        for format in all().filter(|format| lists.iter().all(|list| !list.contains(format))) {
            let host = (ptr::null_mut(), [0; 2]);
            let is_refused = create(&bench, of_type, format, CL_MEM_READ_WRITE, host).is_err();
            let call = format!("clCreateImage({} {})", of_type.row().0.name, Format::name(format));
            findings.check(is_refused, call, "no list has the format (5.3.1, 5.3.2)", "CL_SUCCESS");
        }
    }
}

/// Colours for fills and kernels.
#[derive(Clone, Copy, Debug)]
pub enum Colours {
    /// Each channel has a value near it.
    Inside,
    /// A channel has the nearest value that it can have.
    Beyond,
    /// The same of values that no integer of 32 bits has.
    Huge,
    /// No number, zero with a sign, and numbers too small to be normalized.
    Special,
}

impl Colours {
    /// The colours for a format.
    pub fn of(self, format: Format) -> [[f64; 4]; 2] {
        const MOST: f64 = f64::INFINITY;
        let ([low, high], is_norm) = (format.range(), format.is_normalized());
        let (lowest, highest) = match format.class {
            Class::Signed => (f64::from(i32::MIN), f64::from(i32::MAX)),
            _ => (0.0, u32::MAX.into()),
        };
        let colours = match self {
            Self::Inside if format.is_integer() => {
                [[high, low, 1.0, 77.0], [low + 1.0, 3.0, high - 1.0, 0.0]]
            }
            Self::Inside if format.class == Class::Unorm => {
                [[0.0, 1.0, 0.3, 0.71], [0.45, 0.13, 0.9, 0.6]]
            }
            Self::Inside if is_norm => [[-1.0, 1.0, -0.3, 0.71], [0.45, 0.0, -0.9, 0.6]],
            Self::Inside => [[0.25, -1.5, 1000.25, 3.0], [0.1, 0.0, -65504.0, 1.0]],
            Self::Beyond if is_norm => [[-1.5, 2.0, 1.01, -7.0], [300.0, -1.01, -2.0, 1.5]],
            Self::Beyond if format.is_integer() => {
                [[highest, lowest, high + 1.0, low - 1.0], [high + 2.0, 1.0, highest, 65537.0]]
            }
            Self::Beyond => [[65536.0, -1e9, 65504.0, 1e9], [1e-6, -65536.0, 1e-4, 3e38]],
            Self::Huge => [[MOST, -1e30, 65519.0, -MOST], [1e10, 1e30, -MOST, -1e10]],
            Self::Special => [[f64::NAN, 0.5, -0.0, 1e-40], [0.25, f64::NAN, -6e-8, f64::NAN]],
        };
        // Components that share a channel have one value.
        let shared = |colour: [f64; 4]| if format.is_shared() { [colour[0]; 4] } else { colour };
        colours.map(|colour| format.words(shared(colour)).map(|word| format.of_word(word)))
    }
}

/// Reports the first component of the image's pixels that its colour does not explain, but for so many steps
/// of a normalized integer; pixels without a colour are those of `before`.
pub fn check_pixels(
    (findings, call): (&Findings, &str),
    (image, step): (&Image<'_>, f64),
    before: &[u8],
    colour: impl Fn([usize; 3]) -> Option<[f64; 4]>,
) {
    let (Kind { of_type, format, .. }, found) = (image.kind, image.read());
    let pixels = before.chunks_exact(format.size()).zip(found.chunks_exact(format.size()));
    for (at, (before, found)) in of_type.whole().pixels().zip(pixels) {
        let Some(colour) = colour(at) else {
            if before == found {
                continue;
            }
            let rule = format_args!("pixel {at:?}, outside the region, stays {before:x?} (5.3.4)");
            return findings.add(call, rule, format_args!("{found:x?}"));
        };
        for component in format.components() {
            let (code, value) = (format.code(found, component).unwrap_or(0), colour[component]);
            if !format.encodes(code, value, step) {
                let (name, found) = (COMPONENTS[component], format.value(code));
                let rule = format_args!(
                    "{name} of pixel {at:?} is {value} of {colour:?}, or the nearest value (OpenCL C 8.3)"
                );
                return findings.add(call, rule, format_args!("{found}, the bits {code:#x}"));
            }
        }
    }
}

/// Fills a part of an image of each format with each colour.
fn check_fills(bench: &Bench, of_type: Type, colours: Colours, is_tested: fn(&Format) -> bool) {
    let findings = Findings::default();
    let Region { origin, size } = of_type.part();
    for kind in kinds(bench, of_type, CL_MEM_READ_WRITE).filter(|kind| is_tested(&kind.format)) {
        let before = kind.pattern(1);
        for colour in colours.of(kind.format) {
            let image = kind.with(CL_MEM_READ_WRITE, &before);
            let (queue, raw, words) = (bench.queue, image.object.raw(), kind.format.words(colour));
            let (at, region, words) = (origin.as_ptr(), size.as_ptr(), words.as_ptr().cast());
            // SAFETY: the region is within the image, and the colour has four components.
            unsafe { enqueued!(clEnqueueFillImage(queue, raw, words, at, region)) };
            let inside = |at| of_type.part().pixels().any(|other| other == at).then_some(colour);
            let call = format!("clEnqueueFillImage({kind})");
            check_pixels((&findings, &call), (&image, 1.0), &before, inside);
        }
    }
}

per_type! {
    fn a_fill_writes_its_colour(bench, of_type) {
        check_fills(&bench, of_type, Colours::Inside, |_| true);
    }
}

#[rstest]
#[case::normalized_beyond(Colours::Beyond, Format::is_normalized)]
#[case::integers_beyond(Colours::Beyond, Format::is_integer)]
#[case::numbers_beyond(Colours::Beyond, |format: &Format| !format.is_normalized() && !format.is_integer())]
#[case::normalized_huge(Colours::Huge, Format::is_normalized)]
#[case::half_huge(Colours::Huge, |format: &Format| format.class == Class::Half)]
#[case::special(Colours::Special, |format: &Format| !format.is_integer())]
#[clmatrix_harness::test(requires(images))]
fn a_fill_converts_its_colour(
    bench: Bench,
    #[case] colours: Colours,
    #[case] is_tested: fn(&Format) -> bool,
) {
    check_fills(&bench, Type::TwoD, colours, is_tested);
}

per_type! {
    fn copies_keep_the_bits(bench, of_type) {
        let findings = Findings::default();
        let (part, start) = (of_type.part(), Region { origin: [0; 3], ..of_type.part() });
        let (at, to, region) = (part.origin.as_ptr(), start.origin.as_ptr(), part.size.as_ptr());
        for kind in kinds(&bench, of_type, CL_MEM_READ_WRITE) {
            let (queue, size, flags) = (bench.queue, kind.format.size(), CL_MEM_READ_WRITE);
            let [from, before] = [1, 100].map(|seed| kind.pattern(seed));
            let images = [&from, &before, &before].map(|pixels| kind.with(flags, pixels));
            let buffer = bench.new_buffer(flags, from.len() + size);
            let [image, copy, back] = images.each_ref().map(|image| image.object.raw());
            let raw = buffer.raw();
            // SAFETY: the regions are within images and buffers.
            unsafe {
                enqueued!(clEnqueueCopyImage(queue, image, copy, at, to, region));
                enqueued!(clEnqueueCopyImageToBuffer(queue, image, raw, at, region, size));
                enqueued!(clEnqueueCopyBufferToImage(queue, raw, back, size, to, region));
            }
            let mut wanted = before.clone();
            for (at, to) in part.pixels().zip(start.pixels()) {
                let (at, to) = (of_type.index(at) * size, of_type.index(to) * size);
                wanted[to..][..size].copy_from_slice(&from[at..][..size]);
            }
            for (call, i) in [("CopyImage", 1), ("CopyImageToBuffer and clEnqueueCopyBufferToImage", 2)] {
                let call = format!("clEnqueue{call}({kind}, {part:?})");
                let rule = "copies the region alone (5.3.3, 5.3.5)";
                check_bytes(&findings, &call, rule, &images[i].read(), &wanted);
            }
        }
    }
}
