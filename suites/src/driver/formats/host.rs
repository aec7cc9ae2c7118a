//! The lists of formats, and commands of the host on pixels of each format: fills and copies (5.3.1 to 5.3.5;
//! OpenCL C 8.3).

use super::*;

/// The uses by kernels for which a device lists formats.
static USES: [Named<u64>; 3] = named![CL_MEM_WRITE_ONLY; CL_MEM_READ_ONLY; CL_MEM_READ_WRITE];

/// Returns whether kernels may write 3D images.
pub fn writes_3d(bench: &Bench) -> bool {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    extensions.contains("cl_khr_3d_image_writes") || (bench.is(2, 0) && !bench.is(3, 0))
}

/// Formats with all orders and types of channels.
fn all() -> impl Iterator<Item = Format> {
    let of_order = |order| (CL_SNORM_INT8..=CL_FLOAT).map(move |kind| Format::of([order, kind]));
    (CL_R..CL_R + 20).flat_map(of_order)
}

per_type! {
    fn formats_are_listed(bench, of_type) {
        for flag in &USES {
            let call = format!("clGetSupportedImageFormats({}, {})", flag.name, of_type.row().0.name);
            let list = list(&bench, of_type, flag.value);
            let is_possible = flag.value == CL_MEM_READ_ONLY || of_type != Type::ThreeD || writes_3d(&bench);
            for format in all().filter(|_| is_possible) {
                let is_wide = format.order == "RGBA" && format.class != ChannelClass::Snorm;
                let is_required = format.is_known() && is_wide || format.is_usual() && format.order == "BGRA";
                let rule = format!("{} is one of the minimum list (5.3.2.1)", format.name());
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
    let all = list(&bench, Type::TwoD, CL_MEM_READ_WRITE).len();
    let room = room(all);
    let (written, count) = entries(&bench, Type::TwoD, CL_MEM_READ_WRITE, room);
    let call = format!("clGetSupportedImageFormats with num_entries {room}");
    let (answer, wanted) = ([count, written.len()], [all, all.min(room)]);
    let rule = format_args!("num_image_formats and the written entries number {wanted:?} (5.3.2)");
    bench.check(answer == wanted, call, rule, format_args!("{answer:?}"));
}

#[clmatrix_harness::test(requires(images))]
fn a_list_needs_no_place_for_its_number(bench: Bench) {
    let all = list(&bench, Type::TwoD, CL_MEM_READ_WRITE);
    let (mut found, of_type) = (vec![[7; 2]; all.len()], Type::TwoD.row().0.value);
    let (to, room, none) = (found.as_mut_ptr().cast(), all.len() as u32, ptr::null_mut());
    let (context, flags, function) =
        (bench.context, CL_MEM_READ_WRITE, "clGetSupportedImageFormats");
    SETTING.set("with null as num_image_formats (5.3.2)");
    // SAFETY: the context is valid, and the list has as many entries.
    unsafe { ok!(clGetSupportedImageFormats(context, flags, of_type, room, to, none)) };
    let is_same = found.into_iter().map(Format::of).eq(all);
    let call = format_args!("{function} with null as num_image_formats");
    bench.check(is_same, call, "the formats are those of other calls (5.3.2)", "others");
}

per_type! {
    fn images_have_the_listed_formats(bench, of_type) {
        for flag in &USES {
            for format in list(&bench, of_type, flag.value) {
                let kind = Kind { bench: &bench, of_type, format };
                let call = format!("clCreateImage({}, {kind})", flag.name);
                let image = kind.over(flag.value, ptr::null_mut(), [0; 2]);
                if let (Ok(image), true) = (&image, format.is_known()) {
                    let found: usize = Subject::Image(image.raw()).value(named!(CL_IMAGE_ELEMENT_SIZE));
                    let rule = format!("CL_IMAGE_ELEMENT_SIZE is {} (5.3.1.1, 5.3.7)", format.size());
                    bench.check(format.size() == found, &call, rule, found);
                }
                bench.check_result(image.map(drop), call, "the format is listed (5.3.2)");
            }
        }
    }
}

per_type! {
    fn images_of_other_formats_are_refused(bench, of_type) {
        let lists = USES.each_ref().map(|flag| list(&bench, of_type, flag.value)).concat();
        for format in all().filter(|format| !lists.contains(format)) {
            let kind = Kind { bench: &bench, of_type, format };
            let is_refused = kind.over(CL_MEM_READ_WRITE, ptr::null_mut(), [0; 2]).is_err();
            let call = format!("clCreateImage({kind})");
            bench.check(is_refused, call, "no list has the format (5.3.1, 5.3.2)", "CL_SUCCESS");
        }
    }
}

/// The sets of [`colours`].
const INSIDE: usize = 0;
const BEYOND: usize = 1;
const HUGE: usize = 2;

/// Colours for fills and kernels, as their words. In the first set, each channel has a value near that of the colour.
/// In the second one, it has the nearest value that it can have; but for integers, one is no number, and some are zero
/// with a sign, or too small to be normalized. The third one is the same of values that no integer of 32 bits has.
pub fn colours(format: Format) -> [[[u32; 4]; 2]; 3] {
    const MOST: f64 = f64::INFINITY;
    let [low, high] = format.range().0;
    let [inside, beyond] = match format.class {
        ChannelClass::Signed | ChannelClass::Unsigned => [
            [[high, low, 1.0, 77.0], [low + 1.0, 3.0, high - 1.0, 0.0]],
            [[MOST, -MOST, high + 1.0, low - 1.0], [high + 2.0, 1.0, MOST, 65537.0]],
        ],
        ChannelClass::Unorm | ChannelClass::Snorm => [
            [[low, 1.0, 0.3, 0.71], [0.45, 0.0, 0.9 * low, 0.6]],
            [[-1.5, 2.0, f64::NAN, -7.0], [300.0, -0.0, 1.01, 1e-40]],
        ],
        _ => [
            [[0.25, -1.5, 1000.25, 3.0], [0.1, 0.0, -65504.0, 1.0]],
            [[65536.0, f64::NAN, 65504.0, 1e9], [1e-6, -0.0, -65536.0, 1e-40]],
        ],
    };
    let huge = [[MOST, -1e30, 65519.0, -MOST], [1e10, 1e30, -MOST, -1e10]];
    // The conversion takes the nearest integer of 32 bits.
    let word = |value: f64| match format.class {
        ChannelClass::Signed => value as i32 as u32,
        ChannelClass::Unsigned => value as u32,
        _ => (value as f32).to_bits(),
    };
    [inside, beyond, huge].map(|colours| colours.map(|colour| colour.map(word)))
}

/// The words of the colour of a pixel, unless it keeps its bytes.
type Words<'a> = &'a dyn Fn([usize; 3]) -> Option<[u32; 4]>;

/// Reports the first component of the image's pixels that its colour does not explain, but for so many steps
/// of a normalized integer; pixels without a colour are those of `kept`.
pub fn check_pixels(call: &str, (image, steps): (&Image<'_>, f64), kept: &[u8], words: Words<'_>) {
    let (Kind { bench, of_type, format }, found) = (image.kind, image.read());
    let pixels = kept.chunks_exact(format.size()).zip(found.chunks_exact(format.size()));
    for (at, (kept, found)) in of_type.whole().pixels().zip(pixels) {
        let Some(words) = words(at) else {
            let rule = format_args!("pixel {at:?}, outside the region, stays {kept:x?} (5.3.4)");
            bench.check(kept == found, call, rule, format_args!("{found:x?}"));
            continue;
        };
        let colour = words.map(|word| format.words().value(word));
        for component in format.components() {
            let (code, value) = (format.code(found, component).unwrap_or(0), colour[component]);
            if !format.encodes(code, value, format.step().map(|step| step * steps)) {
                let (name, found) = (COMPONENTS[component], format.value(code));
                let rule = format_args!(
                    "{name} of pixel {at:?} is {value} of {colour:?}, or the nearest value (OpenCL C 8.3)"
                );
                return bench.report(call, rule, format_args!("{found}, the bits {code:#x}"));
            }
        }
    }
}

/// Fills a part of an image of each kind with each colour.
fn check_fills<'a>(kinds: impl Iterator<Item = Kind<'a>>, set: usize) {
    for kind in kinds {
        let (part, before) = (kind.of_type.part(), kind.pattern(1));
        let memory = kind.of_type.memory().rev().cycle();
        for (colour, flags) in colours(kind.format)[set].into_iter().zip(memory) {
            let image = kind.with(flags.value, &before);
            let mut fill = image.arguments(FillImage, part);
            fill.colour = Some(colour);
            succeeds("clEnqueueFillImage", fill.call(ptr::null_mut()));
            let inside = |at: [usize; 3]| part.pixels().any(|other| other == at).then_some(colour);
            let call = format!("clEnqueueFillImage({kind} with {})", flags.name);
            check_pixels(&call, (&image, 1.0), &before, &inside);
        }
    }
}

per_type! {
    fn a_fill_writes_its_colour(bench, of_type) {
        check_fills(kinds(&bench, of_type, CL_MEM_READ_WRITE), INSIDE);
    }
}

#[clmatrix_harness::test(requires(images))]
fn flags_of_access_are_not_for_commands(bench: Bench) {
    const FLAGS: [Named<u64>; 5] = named![CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR;
        CL_MEM_HOST_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_HOST_WRITE_ONLY | CL_MEM_COPY_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR];
    let (kind, part) = (Kind::usual(&bench, Type::TwoD), Type::TwoD.part());
    let [before, mut filled] = [(); 2].map(|()| kind.pattern(1));
    let to = (&mut filled[..], kind.inside(part.origin));
    move_box(kind.shape(part), (&[7; 80], kind.outside([0; 2])), to);
    for flags in FLAGS {
        let [image, copied] = [flags.value, CL_MEM_READ_WRITE].map(|it| kind.with(it, &before));
        SETTING.set(flags.name);
        let mut fill = image.arguments(FillImage, part);
        fill.colour = Some([7; 4]);
        succeeds("clEnqueueFillImage", fill.call(ptr::null_mut()));
        let mut copy = image.arguments(CopyImage, Type::TwoD.whole());
        copy.memory[1] = copied.object.raw();
        succeeds("clEnqueueCopyImage", copy.call(ptr::null_mut()));
        let call = format_args!("clEnqueueFillImage and clEnqueueCopyImage({})", flags.name);
        copied.check(call, "the flags are for kernels and the host (5.2.1, 5.3.1)", &filled);
    }
}

#[rstest]
#[case::normalized_beyond(BEYOND, &[ChannelClass::Unorm, ChannelClass::Snorm])]
#[case::integers_beyond(BEYOND, &[ChannelClass::Signed, ChannelClass::Unsigned])]
#[case::numbers_beyond(BEYOND, &[ChannelClass::Half, ChannelClass::Float])]
#[case::normalized_huge(HUGE, &[ChannelClass::Unorm, ChannelClass::Snorm])]
#[case::half_huge(HUGE, &[ChannelClass::Half])]
#[clmatrix_harness::test(requires(images))]
fn a_fill_converts_its_colour(bench: Bench, #[case] set: usize, #[case] classes: &[ChannelClass]) {
    let kinds = kinds(&bench, Type::TwoD, CL_MEM_READ_WRITE);
    check_fills(kinds.filter(|kind| classes.contains(&kind.format.class)), set);
}

per_type! {
    fn images_are_migrated(bench, of_type) {
        let kind = Kind::usual(&bench, of_type);
        let (pixels, buffer) = (kind.pattern(1), bench.new_buffer(CL_MEM_READ_WRITE, 4));
        let image = kind.with(CL_MEM_READ_WRITE, &pixels);
        let [host, undefined] = named![CL_MIGRATE_MEM_OBJECT_HOST; CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED];
        let to_device = Named { name: "0", value: 0 };
        let all = [host, to_device, undefined].into_iter().flat_map(|flags| [(flags, 1), (flags, 2)]);
        for (flags, count) in all {
            let mut migration = image.arguments(Command::Migrate, of_type.whole());
            (migration.list, migration.count) = (Some([image.object.raw(), buffer.raw()]), count);
            migration.flags = flags.value;
            let call = format!("clEnqueueMigrateMemObjects({count} objects, {kind}, {})", flags.name);
            let code = migration.call(ptr::null_mut());
            bench.check_code(code, CL_SUCCESS, &call, "an image is a memory object (5.5.4)");
            if flags != undefined {
                image.check(call, "it has the same pixels (5.5.4)", &pixels);
            }
            // The list lives until then.
            // quirk: NVIDIA-12
            finish(bench.queue);
        }
    }
}

per_type! {
    fn copies_keep_the_bits(bench, of_type) {
        let Region { origin: part, size: region } = of_type.part();
        let way = "CopyImageToBuffer and clEnqueueCopyBufferToImage";
        let ways = [("CopyImage", part, [0; 3]), ("CopyImage", [0; 3], part), (way, [0; 3], part)];
        let kinds = kinds(&bench, of_type, CL_MEM_READ_WRITE);
        let all = kinds.flat_map(|kind| of_type.memory().map(move |flags| (kind, flags)));
        for ((kind, flags), (call, source, target)) in all.flat_map(|it| ways.map(|at| (it, at))) {
            // The pixels of both images: those of the second one change as the copy says.
            let [from, mut model] = [1, 100].map(|seed| kind.pattern(seed));
            let images = [&from, &model].map(|pixels| kind.with(flags.value, pixels));
            let [image, copy] = images.each_ref().map(|image| image.object.raw());
            let pixel = kind.format.size();
            let buffer = bench.new_buffer(CL_MEM_READ_WRITE, from.len() + pixel);
            let (queue, raw) = (bench.queue, buffer.raw());
            let [at, to, size] = [&source, &target, &region].map(|it| it.as_ptr());
            // SAFETY: the regions are within images and buffers.
            unsafe {
                if call == way {
                    enqueued!(clEnqueueCopyImageToBuffer(queue, image, raw, at, size, pixel));
                    enqueued!(clEnqueueCopyBufferToImage(queue, raw, copy, pixel, to, size));
                } else {
                    enqueued!(clEnqueueCopyImage(queue, image, copy, at, to, size));
                }
            }
            let to = (&mut model[..], kind.inside(target));
            move_box(kind.shape(of_type.part()), (&from, kind.inside(source)), to);
            let about = format!("{kind} with {}, {source:?} to {target:?}, {region:?}", flags.name);
            let rule = "copies the region alone (5.3.3, 5.3.5)";
            images[1].check(format_args!("clEnqueue{call}({about})"), rule, &model);
        }
    }
}
