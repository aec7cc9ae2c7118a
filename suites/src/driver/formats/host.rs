//! The lists of formats, and commands of the host on pixels of each format: fills and copies (5.3.1 to 5.3.5;
//! OpenCL C 8.3).

use super::format::{COMPONENTS, Class, Format};
use super::*;

/// The uses by kernels for which a device lists formats.
static USES: [Named<u64>; 3] =
    [named!(CL_MEM_WRITE_ONLY), named!(CL_MEM_READ_ONLY), named!(CL_MEM_READ_WRITE)];

/// Returns whether kernels may write 3D images.
pub fn writes_3d(bench: &Bench) -> bool {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    extensions.contains("cl_khr_3d_image_writes") || (bench.is(2, 0) && !bench.is(3, 0))
}

/// Formats with all orders and types of channels.
fn all() -> impl Iterator<Item = Format> {
    let types = CL_SNORM_INT8..=CL_FLOAT;
    (CL_R..CL_R + 20)
        .flat_map(move |order| types.clone().map(move |channel| Format::of([order, channel])))
}

per_type! {
    fn formats_are_listed(bench, of_type) {
        for flag in &USES {
            let call = format!("clGetSupportedImageFormats({}, {})", flag.name, of_type.row().0.name);
            let list = list(&bench, of_type, flag.value);
            let is_possible = flag.value == CL_MEM_READ_ONLY || of_type != Type::ThreeD || writes_3d(&bench);
            for format in all().filter(|_| is_possible) {
                let is_wide = format.order == "RGBA" && format.class != Class::Snorm;
                let is_required = format.is_known() && is_wide || format.is_usual() && format.order == "BGRA";
                let rule = format_args!("{format} is one of the minimum list (5.3.2.1)");
                bench.check(!is_required || list.contains(&format), &call, rule, "not listed");
            }
        }
    }
}

#[rstest]
#[case::for_all(|count: usize| count)]
#[case::for_more(|count: usize| count + 2)]
#[case::for_one(|_: usize| 1)]
#[clmatrix_harness::test(requires(images))]
fn a_list_fills_its_room(bench: Bench, #[case] room: fn(usize) -> usize) {
    let (context, flags, of_type) = (bench.context, CL_MEM_READ_WRITE, Type::TwoD.row().0.value);
    let (all, mut count) = (list(&bench, Type::TwoD, flags).len(), 0);
    let (room, mut found) = (room(all), vec![[7_u32; 2]; all + 2]);
    let (to, n) = (found.as_mut_ptr().cast(), &raw mut count);
    // SAFETY: the context is valid, and the list has room for what the call gets.
    unsafe { ok!(clGetSupportedImageFormats(context, flags, of_type, room as u32, to, n)) };
    let call = format!("clGetSupportedImageFormats with num_entries {room}");
    let rule = format_args!("num_image_formats is {all} (5.3.2)");
    bench.check(count as usize == all, &call, rule, count);
    let written = found.iter().filter(|entry| **entry != [7; 2]).count();
    let rule = format!("{} entries are written (5.3.2)", all.min(room));
    bench.check(written == all.min(room), call, rule, written);
}

per_type! {
    fn images_have_the_listed_formats(bench, of_type) {
        for flag in &USES {
            for format in list(&bench, of_type, flag.value) {
                let kind = Kind { bench: &bench, of_type, format };
                let call = format!("clCreateImage({}, {kind})", flag.name);
                let image = kind.over(flag.value, ptr::null_mut(), [0; 2]).map_err(|code| {
                    bench.report(&call, "the format is listed (5.3.2)", code_name(code));
                });
                if let (Ok(image), true) = (image, format.is_known()) {
                    let found: usize = Subject::Image(image.raw()).value(named!(CL_IMAGE_ELEMENT_SIZE));
                    let rule = format!("CL_IMAGE_ELEMENT_SIZE is {} (5.3.1.1, 5.3.7)", format.size());
                    bench.check(format.size() == found, &call, rule, found);
                }
            }
        }
    }
}

per_type! {
    fn images_of_other_formats_are_refused(bench, of_type) {
        let lists = [0, 1, 2].map(|i| list(&bench, of_type, USES[i].value)).concat();
        for format in all().filter(|format| !lists.contains(format)) {
            let kind = Kind { bench: &bench, of_type, format };
            let is_refused = kind.over(CL_MEM_READ_WRITE, ptr::null_mut(), [0; 2]).is_err();
            let call = format!("clCreateImage({kind})");
            bench.check(is_refused, call, "no list has the format (5.3.1, 5.3.2)", "CL_SUCCESS");
        }
    }
}

/// Colours for fills and kernels.
#[derive(Clone, Copy, Debug)]
pub enum Colours {
    /// Each channel has a value near it.
    Inside,
    /// A channel has the nearest value that it can have; but for integers, one is no number, and some are zero with a
    /// sign, or too small to be normalized.
    Beyond,
    /// The same of values that no integer of 32 bits has.
    Huge,
}

impl Colours {
    /// The colours for a format.
    pub fn of(self, format: Format) -> [[f64; 4]; 2] {
        use Class::*;
        const MOST: f64 = f64::INFINITY;
        let [low, high] = format.range();
        let least = low / high;
        let (lowest, highest) = match format.class {
            Signed => (f64::from(i32::MIN), f64::from(i32::MAX)),
            _ => (0.0, u32::MAX.into()),
        };
        let colours = match (self, format.class) {
            (Self::Inside, Signed | Unsigned) => {
                [[high, low, 1.0, 77.0], [low + 1.0, 3.0, high - 1.0, 0.0]]
            }
            (Self::Inside, Unorm | Snorm) => {
                [[least, 1.0, 0.3, 0.71], [0.45, 0.0, 0.9 * least, 0.6]]
            }
            (Self::Inside, _) => [[0.25, -1.5, 1000.25, 3.0], [0.1, 0.0, -65504.0, 1.0]],
            (Self::Beyond, Signed | Unsigned) => {
                [[highest, lowest, high + 1.0, low - 1.0], [high + 2.0, 1.0, highest, 65537.0]]
            }
            (Self::Beyond, Unorm | Snorm) => {
                [[-1.5, 2.0, f64::NAN, -7.0], [300.0, -0.0, 1.01, 1e-40]]
            }
            (Self::Beyond, _) => [[65536.0, f64::NAN, 65504.0, 1e9], [1e-6, -0.0, -65536.0, 1e-40]],
            (Self::Huge, _) => [[MOST, -1e30, 65519.0, -MOST], [1e10, 1e30, -MOST, -1e10]],
        };
        colours.map(|colour| format.words(colour).map(|word| format.of_word(word)))
    }
}

/// Reports the first component of the image's pixels that its colour does not explain, but for so many steps
/// of a normalized integer; pixels without a colour are those of `before`.
pub fn check_pixels(
    call: &str,
    (image, step): (&Image<'_>, f64),
    before: &[u8],
    colour: impl Fn([usize; 3]) -> Option<[f64; 4]>,
) {
    let (Kind { bench, of_type, format }, found) = (image.kind, image.read());
    let pixels = before.chunks_exact(format.size()).zip(found.chunks_exact(format.size()));
    for (at, (before, found)) in of_type.whole().pixels().zip(pixels) {
        let Some(colour) = colour(at) else {
            let rule = format_args!("pixel {at:?}, outside the region, stays {before:x?} (5.3.4)");
            bench.check(before == found, call, rule, format_args!("{found:x?}"));
            continue;
        };
        for component in format.components() {
            let (code, value) = (format.code(found, component).unwrap_or(0), colour[component]);
            if !format.encodes(code, value, step) {
                let (name, found) = (COMPONENTS[component], format.value(code));
                let rule = format_args!(
                    "{name} of pixel {at:?} is {value} of {colour:?}, or the nearest value (OpenCL C 8.3)"
                );
                return bench.report(call, rule, format_args!("{found}, the bits {code:#x}"));
            }
        }
    }
}

/// Fills a part of an image of each format with each colour.
fn check_fills(bench: &Bench, of_type: Type, colours: Colours, is_tested: fn(&Format) -> bool) {
    let part = of_type.part();
    let memory = of_type.memory().iter().rev().cycle();
    for kind in kinds(bench, of_type, CL_MEM_READ_WRITE).filter(|kind| is_tested(&kind.format)) {
        let before = kind.pattern(1);
        for (colour, flags) in colours.of(kind.format).into_iter().zip(memory.clone()) {
            let image = kind.with(flags.value, &before);
            let (queue, raw, words) = (bench.queue, image.object.raw(), kind.format.words(colour));
            let (at, region) = (part.origin.as_ptr(), part.size.as_ptr());
            // SAFETY: the region is within the image, and the colour has four components.
            unsafe { enqueued!(clEnqueueFillImage(queue, raw, words.as_ptr().cast(), at, region)) };
            let inside = |at| part.pixels().any(|other| other == at).then_some(colour);
            let call = format!("clEnqueueFillImage({kind} with {})", flags.name);
            check_pixels(&call, (&image, 1.0), &before, inside);
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
        let (part, start) = (of_type.part(), Region { origin: [0; 3], ..of_type.part() });
        let (at, to, region) = (part.origin.as_ptr(), start.origin.as_ptr(), part.size.as_ptr());
        for kind in kinds(&bench, of_type, CL_MEM_READ_WRITE) {
            for flags in of_type.memory() {
                let (queue, size) = (bench.queue, kind.format.size());
                let [from, before] = [1, 100].map(|seed| kind.pattern(seed));
                let before_each = [&from, &before, &before, &before];
                let images = before_each.map(|pixels| kind.with(flags.value, pixels));
                let buffer = bench.new_buffer(CL_MEM_READ_WRITE, from.len() + size);
                let [image, copy, moved, back] = images.each_ref().map(|image| image.object.raw());
                let raw = buffer.raw();
                // SAFETY: the regions are within images and buffers.
                unsafe {
                    enqueued!(clEnqueueCopyImage(queue, image, copy, at, to, region));
                    enqueued!(clEnqueueCopyImage(queue, image, moved, to, at, region));
                    enqueued!(clEnqueueCopyImageToBuffer(queue, image, raw, to, region, size));
                    enqueued!(clEnqueueCopyBufferToImage(queue, raw, back, size, at, region));
                }
                let way = "CopyImageToBuffer and clEnqueueCopyBufferToImage";
                for (call, i) in [("CopyImage", 1), ("CopyImage", 2), (way, 3)] {
                    let [source, target] = if i == 1 { [part, start] } else { [start, part] };
                    let mut wanted = before.clone();
                    let to = (&mut wanted[..], kind.inside(target));
                    move_box(kind.shape(part), (&from, kind.inside(source)), to);
                    let ([at, to], size) = ([source.origin, target.origin], part.size);
                    let about = format!("{kind} with {}, {at:?} to {to:?}, {size:?}", flags.name);
                    let call = format!("clEnqueue{call}({about})");
                    let rule = "copies the region alone (5.3.3, 5.3.5)";
                    check_bytes(&bench, &call, rule, &images[i].read(), &wanted);
                }
            }
        }
    }
}
