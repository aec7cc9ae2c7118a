//! Kernels that read and write pixels of each format (OpenCL C 6.15.15).

use super::format::{COMPONENTS, Class};
use super::host::{Colours, check_pixels, writes_3d};
use super::*;

/// A kernel for images of the type IMAGE. `class` is 0 for floating-point numbers, and 1 and 2 for integers.
const SOURCE: &str = "
#ifdef cl_khr_3d_image_writes
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
#endif
constant sampler_t how = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
kernel void move(global uint4 *words, int class, read_only IMAGE image, write_only TARGET to) {
    int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    size_t i = (p.z * get_global_size(1) + p.y) * get_global_size(0) + p.x;
    uint4 in = words[i];
    words[i] = class == 0 ? as_uint4(read_imagef(image, SAMPLER AT)) :
        class == 1 ? as_uint4(read_imagei(image, SAMPLER AT)) : read_imageui(image, SAMPLER AT);
#if WRITES
    if (class == 0) write_imagef(to, AT, as_float4(in));
    else if (class == 1) write_imagei(to, AT, as_int4(in));
    else write_imageui(to, AT, in);
#endif
}";

/// Runs a kernel, whose first argument is a buffer with these words, and returns what is there then. The caller has set
/// the other arguments.
pub fn run(bench: &Bench, kernel: &Object, words: &[[u32; 4]], size: [usize; 3]) -> Vec<[u32; 4]> {
    let buffer = bench.buffer_of(words);
    set(kernel.raw(), 0, buffer.raw());
    let code = launch(kernel.raw(), bench.queue, [&[], &size, &[1; 3]], &[]);
    succeeds("clEnqueueNDRangeKernel", code);
    bench.contents_of(buffer.raw(), words.len())
}

/// Reports the first component that kernels do not read from these pixels, of those with channels or without.
fn check_read(kind: Kind<'_>, (pixels, has_channels): (&[u8], bool), found: &[[u32; 4]]) {
    let format = kind.format;
    let pixels = pixels.chunks_exact(format.size()).zip(found);
    for (at, (pixel, words)) in kind.of_type.whole().pixels().zip(pixels) {
        for component in 0..4 {
            let found = format.of_word(words[component]);
            let without = if component == 3 { 1.0 } else { 0.0 };
            let code = format.code(pixel, component);
            let wanted = code.map_or(without, |code| format.value(code));
            if code.is_some() == has_channels && !format.reads(found, wanted) {
                let name = COMPONENTS[component];
                let rule = format_args!(
                    "{name} of pixel {at:?} with the bytes {pixel:x?} is {wanted} (OpenCL C 6.15.15.7, 8.3)"
                );
                return kind.bench.report(format_args!("read_image of {kind}"), rule, found);
            }
        }
    }
}

/// Sets the arguments of the kernel but the first one: the class of the format, and the images to read and to write.
fn set_arguments(kernel: &Object, format: Format, images: [&Image<'_>; 2]) {
    let class = match format.class {
        Class::Signed => 1,
        Class::Unsigned => 2,
        _ => 0,
    };
    set(kernel.raw(), 1, class);
    set(kernel.raw(), 2, images[0].object.raw());
    set(kernel.raw(), 3, images[1].object.raw());
}

/// The source for images of this type, and for those that it writes.
fn source(of_type: Type, to_type: Type, writes: bool) -> String {
    let ((_, image, at, _), target) = (of_type.row(), to_type.row().1);
    let sampler = if of_type == Type::OfBuffer { "" } else { "how," };
    let writes = u8::from(writes);
    format!(
        "#define IMAGE image{image}_t\n#define TARGET image{target}_t\n#define AT {at}\n\
         #define SAMPLER {sampler}\n#define WRITES {writes}\n{SOURCE}"
    )
}

/// Lets a kernel read and write images of formats.
fn check(bench: &Bench, of_type: Type, is_tested: fn(&Format) -> bool) {
    let whole = of_type.whole();
    let writes = of_type != Type::ThreeD || writes_3d(bench);
    let to_type = if writes { of_type } else { Type::TwoD };
    let kernel = bench.new_kernel(&bench.build(&source(of_type, to_type, writes), ""), "move");
    let all: &[Colours] = match of_type {
        Type::TwoD => &[Colours::Inside, Colours::Beyond, Colours::Huge],
        _ => &[Colours::Inside],
    };
    for kind in kinds(bench, of_type, CL_MEM_READ_ONLY).filter(|kind| is_tested(&kind.format)) {
        let (format, bits) = (kind.format, kind.format.remarkable());
        let pixels = kind.pixels(|i, component| bits[(i + 3 * component) % 8]);
        let image = kind.with(CL_MEM_READ_ONLY, &pixels);
        let target = Kind { of_type: to_type, ..kind };
        let target = target.with(CL_MEM_WRITE_ONLY, &target.pattern(1));
        set_arguments(&kernel, format, [&image, &target]);
        for colours in all.iter().map(|colours| colours.of(format)) {
            let colour = |at: [usize; 3]| colours[at.iter().sum::<usize>() % 2];
            let words: Vec<_> = whole.pixels().map(|at| format.words(colour(at))).collect();
            let words = run(bench, &kernel, &words, whole.size);
            check_read(kind, (&pixels, true), &words);
            if writes {
                let call = format!("write_image to {kind}");
                check_pixels(&call, (&target, 0.6), &pixels, |at| Some(colour(at)));
            }
        }
    }
}

#[clmatrix_harness::test(requires(images))]
fn components_without_a_channel_are_0_or_1(bench: Bench) {
    let of_type = Type::TwoD;
    let kernel = bench.new_kernel(&bench.build(&source(of_type, of_type, false), ""), "move");
    let target = Kind::usual(&bench, of_type, CL_UNSIGNED_INT8);
    let target = target.with(CL_MEM_WRITE_ONLY, &target.pattern(1));
    for kind in kinds(&bench, of_type, CL_MEM_READ_ONLY) {
        let pixels = kind.pattern(1);
        let image = kind.with(CL_MEM_READ_ONLY, &pixels);
        let words = vec![[7; 4]; of_type.whole().pixels().count()];
        set_arguments(&kernel, kind.format, [&image, &target]);
        let words = run(&bench, &kernel, &words, of_type.whole().size);
        check_read(kind, (&pixels, false), &words);
    }
}

/// Returns whether a pixel is one number of 16 bits.
fn is_one_half(format: &Format) -> bool {
    format.class == Class::Half && format.size() == 2
}

per_type! {
    fn kernels_read_and_write_pixels(bench, of_type) {
        check(&bench, of_type, |format| !is_one_half(format));
    }
}

#[clmatrix_harness::test(requires(images))]
fn kernels_read_and_write_half_numbers_of_one_channel(bench: Bench) {
    check(&bench, Type::TwoD, is_one_half);
}
