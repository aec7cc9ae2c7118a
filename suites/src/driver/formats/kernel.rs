//! Kernels that read and write pixels of each format (OpenCL C 6.15.15).

use super::host::{check_pixels, colours, writes_3d};
use super::*;

/// Kernels that read images of the type IMAGE, and write those of the type TARGET if WRITES is not 0: one for each class
/// of words.
const SOURCE: &str = r"
#ifdef cl_khr_3d_image_writes
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
#endif
constant sampler_t how = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define KERNEL(class, kind, type) \
kernel void class(global uint4 *words, read_only IMAGE image, write_only TARGET to) { \
    int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0); \
    size_t i = (p.z * get_global_size(1) + p.y) * get_global_size(0) + p.x; \
    type in = as_##type(words[i]); \
    words[i] = as_uint4(read_image##kind(image, SAMPLER AT)); \
    if (WRITES) write_image##kind(to, TARGET_AT, in); \
}
KERNEL(Float, f, float4)
KERNEL(Signed, i, int4)
KERNEL(Unsigned, ui, uint4)";

/// Reports the first component that kernels do not read from these pixels, of those with channels or without.
fn check_read(kind: Kind<'_>, (pixels, has_channels): (&[u8], bool), found: &[[u32; 4]]) {
    let format = kind.format;
    let pixels = pixels.chunks_exact(format.size()).zip(found);
    for (at, (pixel, words)) in kind.of_type.whole().pixels().zip(pixels) {
        for component in 0..4 {
            let (word, code) = (words[component], format.code(pixel, component));
            let wanted = format.component(code, component);
            if code.is_some() == has_channels && !format.reads(word, wanted) {
                let (name, found) = (COMPONENTS[component], format.words().value(word));
                let rule = format_args!(
                    "{name} of pixel {at:?} with the bytes {pixel:x?} is {wanted} (OpenCL C 6.15.15.7, 8.3)"
                );
                return kind.bench.report(format_args!("read_image of {kind}"), rule, found);
            }
        }
    }
}

/// Lets kernels read images of formats, and write others where they can; or checks the components without a channel
/// alone.
fn check(bench: &Bench, of_type: Type, has_channels: bool, is_tested: fn(&Format) -> bool) {
    let writes = has_channels && (of_type != Type::ThreeD || writes_3d(bench));
    let to_type = if writes { of_type } else { Type::TwoD };
    let ((_, image, at, _), (_, target, target_at, _)) = (of_type.row(), to_type.row());
    let sampler = if of_type == Type::OfBuffer { "" } else { "how," };
    let source = format!(
        "#define IMAGE image{image}_t\n#define TARGET image{target}_t\n#define AT {at}\n\
         #define TARGET_AT {target_at}\n#define SAMPLER {sampler}\n#define WRITES {}\n{SOURCE}",
        u8::from(writes)
    );
    let (program, whole) = (bench.build(&source, ""), of_type.whole());
    for kind in kinds(bench, of_type, CL_MEM_READ_ONLY).filter(|kind| is_tested(&kind.format)) {
        let (format, bits) = (kind.format, kind.format.remarkable());
        let pixels = kind.pixels(|i, component| bits[(i + 3 * component) % 8]);
        let image = kind.with(CL_MEM_READ_ONLY, &pixels);
        let target = if writes { kind } else { Kind::usual(bench, to_type) };
        let target = target.with(CL_MEM_WRITE_ONLY, &target.pattern(1));
        let kernel = bench.new_kernel(&program, &format!("{:?}", format.words().class));
        set(kernel.raw(), 1, image.object.raw());
        set(kernel.raw(), 2, target.object.raw());
        for colours in &colours(format)[..if of_type == Type::TwoD { 3 } else { 1 }] {
            let colour = |at: [usize; 3]| colours[at.iter().sum::<usize>() % 2];
            let words: Vec<_> = whole.pixels().map(colour).collect();
            let words = bench.run(&kernel, &words, [&[], &whole.size, &[1; 3]]);
            check_read(kind, (&pixels, has_channels), &words);
            if writes {
                let call = format!("write_image to {kind}");
                check_pixels(&call, (&target, 0.6), &pixels, &|at| Some(colour(at)));
            }
        }
    }
}

/// Returns whether a pixel is one number of 16 bits.
fn is_one_half(format: &Format) -> bool {
    format.class == ChannelClass::Half && format.size() == 2
}

per_type! {
    fn kernels_read_and_write_pixels(bench, of_type) {
        check(&bench, of_type, true, |format| !is_one_half(format));
    }
}

#[clmatrix_harness::test(requires(images))]
fn components_without_a_channel_are_0_or_1(bench: Bench) {
    check(&bench, Type::TwoD, false, |_| true);
}

#[clmatrix_harness::test(requires(images))]
fn kernels_read_and_write_half_numbers_of_one_channel(bench: Bench) {
    check(&bench, Type::TwoD, true, is_one_half);
}
