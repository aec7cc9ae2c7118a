//! Images of all kinds of memory, and their pixels in memory of the host with gaps between rows and slices (5.3.1,
//! 5.3.1.2, 5.3.3, 5.3.6).

use super::*;

/// Pitches of rows with room for two more pixels, and of slices with room for one more row; layers of a 1D array have
/// no gaps but those of their rows, where drivers agree.
fn with_gaps(kind: Kind<'_>) -> [usize; 2] {
    let row = 7 * kind.format.size();
    match kind.of_type {
        Type::OneDArray => [row, row],
        Type::TwoDArray | Type::ThreeD => [row, row * 5],
        _ => [row, 0],
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn images_take_host_memory_with_gaps(
    bench: Bench,
    #[values(Type::OneD, Type::OneDArray, Type::TwoD, Type::TwoDArray, Type::ThreeD)] of_type: Type,
) {
    let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
    let (pixels, gaps) = (kind.pattern(1), with_gaps(kind));
    // Without a pitch of slices, these have no gaps.
    let ways: &[_] = match of_type {
        Type::TwoDArray | Type::ThreeD => &[gaps, [gaps[0], 0]],
        _ => &[gaps],
    };
    let memory = of_type.memory()[2..].iter();
    for (flags, pitches) in memory.flat_map(|flags| ways.iter().map(move |way| (flags, *way))) {
        let call = format!("clCreateImage({}, {kind}, pitches {pitches:?})", flags.name);
        match kind.create(flags.value, pitches, &pixels) {
            Ok(image) => {
                let rule = "the image has the pixels at these pitches (5.3.1.2)";
                check_bytes(&bench, &call, rule, &image.read(), &pixels);
            }
            Err(code) => bench.check_code(code, CL_SUCCESS, &call, "a valid call (5.3.1)"),
        }
    }
}

per_type! {
    fn transfers_have_gaps_in_host_memory(bench, of_type) {
        let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
        let [pixels, before] = [1, 100].map(|seed| kind.pattern(seed));
        for (region, flags, pitches) in of_type.memory().iter().flat_map(|flags| {
            let (whole, part, gaps) = (of_type.whole(), of_type.part(), with_gaps(kind));
            let rows = if gaps[1] == 0 || of_type == Type::OneDArray { gaps } else { [gaps[0], 0] };
            [gaps, rows, [0; 2]].map(|pitches| (part, flags, pitches)).into_iter().chain([(whole, flags, gaps)])
        }) {
            let image = kind.with(flags.value, &before);
            let (mut spread, mut wanted) = (kind.spread(&pixels, region, pitches), before.clone());
            let (from, to) = ((&spread[..], kind.outside(pitches)), (&mut wanted[..], kind.inside(region)));
            move_box(kind.shape(region), from, to);
            image.transfer(true, region, pitches, &mut spread);
            let about = format!("{kind} with {}, {region:?}, pitches {pitches:?}", flags.name);
            let rule = "writes the pixels at these pitches (0: packed), and no others (5.3.3)";
            let call = format!("clEnqueueWriteImage({about})");
            check_bytes(&bench, &call, rule, &image.read(), &wanted);
            let image = kind.with(flags.value, &pixels);
            let mut found = vec![GAP; spread.len()];
            image.transfer(false, region, pitches, &mut found);
            let rule = "puts the pixels at these pitches (0: packed), and nothing between them (5.3.3)";
            let call = format!("clEnqueueReadImage({about})");
            check_bytes(&bench, &call, rule, &found, &spread);
        }
    }
}

/// Maps a region, checks its pixels, and changes them if the flags say so.
fn check_map(call: &str, image: &Image<'_>, flags: Named<u64>, region: Region) {
    let Image { kind, object, host } = image;
    let (bench, queue, raw, flag) = (kind.bench, kind.bench.queue, object.raw(), flags.value);
    let (at, size, mut code) = (region.origin.as_ptr(), region.size.as_ptr(), UNWRITTEN);
    let blocks = u32::from(region.origin == [0; 3]);
    let (list, event, to, [mut row, mut slice]) =
        (ptr::null(), ptr::null_mut(), &raw mut code, [7; 2]);
    let (r, s) = (&raw mut row, &raw mut slice);
    // SAFETY: the region is within the image.
    let pointer = unsafe {
        cl!(clEnqueueMapImage(queue, raw, blocks, flag, at, size, r, s, 0, list, event, to))
    };
    succeeds("clEnqueueMapImage", code);
    assert!(!pointer.is_null(), "clEnqueueMapImage returned null and CL_SUCCESS");
    finish(queue);
    let inside = start(kind.inside(region));
    let wanted = if host.is_null() { pointer } else { host.wrapping_byte_add(inside) };
    let rule = format_args!("the map is in the host memory, at {wanted:?} (5.3.6)");
    bench.check(pointer == wanted, call, rule, format_args!("{pointer:?}"));
    let [width, height, depth] = kind.shape(region);
    let rule = format_args!("image_row_pitch is at least {width} (5.3.6)");
    bench.check(row >= width, call, rule, row);
    let is_flat = matches!(kind.of_type, Type::OneD | Type::OfBuffer | Type::TwoD);
    let rule = "image_slice_pitch is 0, or at least a row for an array and a 3D image (5.3.6)";
    bench.check((slice == 0) == is_flat && (is_flat || slice >= row), call, rule, slice);
    let mut pixels = kind.pattern(1);
    for [y, z] in (0..depth).flat_map(|z| (0..height).map(move |y| [y, z])) {
        let mapped = pointer.wrapping_byte_add(start(([0, y, z], kind.outside([row, slice]).1)));
        let mapped = ptr::slice_from_raw_parts_mut(mapped.cast(), width);
        let own = &mut pixels[inside + start(([0, y, z], kind.inside(region).1))..][..width];
        let rule =
            format!("row {y} of slice {z} has its pixels at the pitches {row}, {slice} (5.3.6)");
        bench.check_result(touch(flag, mapped, own), call, rule);
    }
    // SAFETY: the region is mapped, and nothing uses it any more.
    unsafe { enqueued!(clEnqueueUnmapMemObject(queue, raw, pointer)) };
    finish(queue);
    let call = format!("clEnqueueUnmapMemObject after {call}");
    let rule = "the image has what the host wrote (5.5.2)";
    check_bytes(bench, &call, rule, &image.read(), &pixels);
}

per_type! {
    fn a_map_has_its_pixels_at_its_pitches(bench, of_type) {
        let kind = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
        let pixels = kind.pattern(1);
        for (memory, region) in of_type.memory().iter().flat_map(|memory| {
            [of_type.whole(), of_type.part()].map(|region| (memory, region))
        }) {
            for flags in MAP_FLAGS {
                let image = kind.with(memory.value, &pixels);
                let (flag, memory) = (flags.name, memory.name);
                let call = format!("clEnqueueMapImage({flag}, {kind} with {memory}, {region:?})");
                check_map(&call, &image, flags, region);
            }
        }
    }
}
