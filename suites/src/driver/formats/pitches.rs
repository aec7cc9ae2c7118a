//! Images of all kinds of memory, and their pixels in memory of the host with gaps between rows and slices (5.3.1,
//! 5.3.1.2, 5.3.3, 5.3.6).

use super::*;

/// Pitches of rows with room for two more pixels, and of slices with room for one more row, and the same without a
/// pitch of slices; layers of a 1D array have no gaps but those of their rows, where drivers agree.
fn with_gaps(kind: Kind<'_>) -> [[usize; 2]; 2] {
    let row = (kind.of_type.row().3[0] + 2) * kind.format.size();
    match kind.of_type {
        Type::OneDArray => [[row, row]; 2],
        Type::TwoDArray | Type::ThreeD => [[row, row * 5], [row, 0]],
        _ => [[row, 0]; 2],
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn images_take_host_memory_with_gaps(
    bench: Bench,
    #[values(Type::OneD, Type::OneDArray, Type::TwoD, Type::TwoDArray, Type::ThreeD)] of_type: Type,
) {
    let kind = Kind::usual(&bench, of_type);
    let (pixels, mut ways) = (kind.pattern(1), with_gaps(kind).to_vec());
    ways.dedup();
    let memory = of_type.memory().skip(2);
    for (flags, pitches) in memory.flat_map(|flags| ways.iter().map(move |way| (flags, *way))) {
        let call = format_args!("clCreateImage({}, {kind}, pitches {pitches:?})", flags.name);
        let rule = "the image has the pixels at these pitches (5.3.1, 5.3.1.2)";
        let image = kind.create(flags.value, pitches, &pixels);
        let result = image.and_then(|image| same(&image.read(), &pixels, "the pixels"));
        bench.check_result(result, call, rule);
    }
}

per_type! {
    fn transfers_have_gaps_in_host_memory(bench, of_type) {
        let kind = Kind::usual(&bench, of_type);
        let [pixels, before] = [1, 100].map(|seed| kind.pattern(seed));
        let ([gaps, rows], part) = (with_gaps(kind), of_type.part());
        let ways = [(part, gaps), (part, rows), (part, [0; 2]), (of_type.whole(), gaps)];
        for (flags, (region, pitches)) in of_type.memory().flat_map(|it| ways.map(|at| (it, at))) {
            let about = format!("{kind} with {}, {region:?}, pitches {pitches:?}", flags.name);
            let (mut spread, mut wanted) = (kind.spread(&pixels, region, pitches), before.clone());
            let to = (&mut wanted[..], kind.inside(region.origin));
            move_box(kind.shape(region), (&spread, kind.outside(pitches)), to);
            let image = kind.with(flags.value, &before);
            image.transfer(WriteImage, region, pitches, &mut spread);
            let rule = "writes the pixels at these pitches (0: packed), and no others (5.3.3)";
            image.check(format_args!("clEnqueueWriteImage({about})"), rule, &wanted);
            let mut found = vec![GAP; spread.len()];
            kind.with(flags.value, &pixels).transfer(ReadImage, region, pitches, &mut found);
            let rule = "puts the pixels at these pitches (0: packed), and nothing between them (5.3.3)";
            let call = format_args!("clEnqueueReadImage({about})");
            bench.check_result(same(&found, &spread, "the pixels"), call, rule);
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn slices_are_written_and_read_apart(
    bench: Bench,
    #[values(Type::OneDArray, Type::TwoDArray, Type::ThreeD)] of_type: Type,
    #[values(false, true)] is_copied: bool,
) {
    let kind = Kind::usual(&bench, of_type);
    let (mut pixels, image) = (kind.pattern(1), kind.with(CL_MEM_READ_WRITE, &kind.pattern(100)));
    let (size, axis) = (of_type.whole().size, if of_type == Type::OneDArray { 1 } else { 2 });
    let with = |mut sizes: [usize; 3], value| {
        sizes[axis] = value;
        sizes
    };
    let slice = |z| Region { origin: with([0; 3], z), size: with(size, 1) };
    let bytes = pixels.len() / size[axis];
    let written = pixels.chunks_mut(bytes).enumerate().rev();
    written.for_each(|(z, slice_of)| image.transfer(WriteImage, slice(z), [0; 2], slice_of));
    if is_copied {
        let (mut copy, last) = (image.arguments(CopyImage, slice(0)), size[axis] - 1);
        copy.origins[1] = Some(slice(last).origin);
        let call = format_args!("clEnqueueCopyImage({kind}, slice 0 to slice {last} of one image)");
        let rule = "the regions do not overlap (5.3.3)";
        bench.check_code(copy.call(ptr::null_mut()), CL_SUCCESS, call, rule);
        pixels.copy_within(..bytes, last * bytes);
    }
    for (z, wanted) in pixels.chunks(bytes).enumerate() {
        let mut found = vec![GAP; bytes];
        image.transfer(ReadImage, slice(z), [0; 2], &mut found);
        let call = format_args!(
            "clEnqueueReadImage({kind}, slice {z}), written alone, copies: {is_copied}"
        );
        let result = same(&found, wanted, "the pixels");
        bench.check_result(result, call, "the pixels are those of the slice (5.3.3)");
    }
}

/// Maps a part of an image in this memory, checks its pixels, and changes them if the flags of the map say so.
fn check_map(kind: Kind<'_>, [memory, flags]: [Named<u64>; 2], pitches: [usize; 2], part: Region) {
    let (bench, mut pixels) = (kind.bench, kind.pattern(1));
    let about = format!("{kind} with {}, pitches {pitches:?}, {part:?}", memory.name);
    let call = format!("clEnqueueMapImage({}, {about})", flags.name);
    let image = kind.create(memory.value, pitches, &pixels).unwrap_or_else(|answer| {
        panic!("clCreateImage({about}): the image is valid (5.3.1); the driver: {answer}")
    });
    let mut map = image.arguments(MapImage, part);
    (map.flags, map.blocking) = (flags.value, (part.origin == [0; 3]).into());
    map.mapped_pitches = [Some(7); 2];
    succeeds("clEnqueueMapImage", map.call(ptr::null_mut()));
    // The call returns them, also if the map has not ended.
    let (pointer, [row, slice]) = (map.mapped, map.mapped_pitches.map(Option::unwrap_or_default));
    assert!(!pointer.is_null(), "clEnqueueMapImage returned null and CL_SUCCESS");
    finish(bench.queue);
    let (first, packed) = (start(kind.inside(part.origin)), kind.inside([0; 3]).1);
    let wanted = if image.host.is_null() { pointer } else { image.host.wrapping_byte_add(first) };
    let rule = format_args!("the map is in the host memory, at {wanted:?} (5.3.6)");
    bench.check(pointer == wanted, &call, rule, format_args!("{pointer:?}"));
    let [width, height, depth] = kind.shape(part);
    let rule = format_args!("image_row_pitch is at least {width} (5.3.6)");
    bench.check(row >= width, &call, rule, row);
    let is_flat = matches!(kind.of_type, Type::OneD | Type::OfBuffer | Type::TwoD | Type::Wide);
    let rule = "image_slice_pitch is 0, or at least a row for an array and a 3D image (5.3.6)";
    bench.check((slice == 0) == is_flat && (is_flat || slice >= row), &call, rule, slice);
    for at in (0..depth).flat_map(|z| (0..height).map(move |y| [0, y, z])) {
        let mapped = pointer.wrapping_byte_add(start((at, kind.outside([row, slice]).1)));
        let own = &mut pixels[first + start((at, packed))..][..width];
        let rule = format!("the row {at:?} has its pixels at the pitches {row}, {slice} (5.3.6)");
        bench.check_result(touch(flags.value, mapped, own), &call, rule);
    }
    // SAFETY: the region is mapped, and nothing uses it any more.
    unsafe { enqueued!(clEnqueueUnmapMemObject(bench.queue, image.object.raw(), pointer)) };
    finish(bench.queue);
    let call = format_args!("clEnqueueUnmapMemObject after {call}");
    image.check(call, "the image has what the host wrote (5.5.2)", &pixels);
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_map_of_host_memory_is_at_its_pitches(
    bench: Bench,
    #[values(Type::OneDArray, Type::TwoD, Type::TwoDArray, Type::ThreeD)] of_type: Type,
) {
    let kind = Kind::usual(&bench, of_type);
    let [pitches, _] = with_gaps(kind);
    check_map(kind, [named!(CL_MEM_USE_HOST_PTR), MAP_FLAGS[0]], pitches, of_type.whole());
}

per_type! {
    fn a_map_has_its_pixels_at_its_pitches(bench, of_type) {
        let kind = Kind::usual(&bench, of_type);
        let regions = [of_type.whole(), of_type.part()];
        for (memory, region) in of_type.memory().flat_map(|it| regions.map(|at| (it, at))) {
            let check = |flags| check_map(kind, [memory, flags], [0; 2], region);
            MAP_FLAGS.into_iter().for_each(check);
        }
    }
}
