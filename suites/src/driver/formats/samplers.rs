//! The pixels that kernels read with a sampler, at coordinates inside and outside of an image (5.7; OpenCL C
//! 6.15.15.1, 8.1 to 8.4).

use super::*;

/// Coordinates in pixels of the first dimension, without integers, where devices may round.
static PLACES: [f64; 11] = [-9.75, -1.25, -0.25, 0.25, 0.75, 1.25, 2.25, 4.75, 5.25, 6.75, 12.25];

/// The addressing mode of a sampler, and whether its coordinates are normalized and its filter linear.
type Mode = (Named<u32>, bool, bool);

/// Returns whether the dimension is the layer of an array, which has rules of its own (OpenCL C 8.4).
fn is_layer(of_type: Type, d: usize) -> bool {
    matches!((of_type, d), (Type::OneDArray, 1) | (Type::TwoDArray, 2))
}

/// The pixels of a dimension that are read at `x`, or none for the border, and their weights (OpenCL C 8.2).
fn taps(of_type: Type, d: usize, mode: Mode, x: f64) -> [(Option<usize>, f64); 2] {
    let (Named { value: addressing, .. }, is_normalized, is_linear) = mode;
    let n = of_type.row().3[d] as f64;
    let edge = |i: f64| Some(i.clamp(0.0, n - 1.0) as usize);
    if n == 1.0 || is_layer(of_type, d) {
        return [1.0, 0.0].map(|weight| (edge(x.round_ties_even()), weight));
    }
    let u = match addressing {
        CL_ADDRESS_REPEAT => (x - x.floor()) * n,
        CL_ADDRESS_MIRRORED_REPEAT => (x - 2.0 * (0.5 * x).round_ties_even()).abs() * n,
        _ if is_normalized => x * n,
        _ => x,
    };
    let first = if is_linear { u - 0.5 } else { u.floor() };
    [0.0, 1.0].map(|next| {
        let i = first.floor() + next;
        let place = match addressing {
            CL_ADDRESS_REPEAT => Some(i.rem_euclid(n) as usize),
            CL_ADDRESS_NONE | CL_ADDRESS_CLAMP => (0.0..n).contains(&i).then_some(i as usize),
            _ => edge(i),
        };
        (place, 1.0 - (first - i).abs())
    })
}

/// Checks what a kernel reads from an image of numbers between 0 and 1.
fn check(kind: Kind<'_>, kernel: &Object, mode: Mode) {
    let Kind { bench, of_type, format } = kind;
    let (Named { name, value: addressing }, is_normalized, is_linear) = mode;
    let pixels = kind.pixels(|i, component| {
        let code = (i * 37 + component * 59 + 11) as u32 % 256;
        if format.bytes == 4 { (code as f32 / 255.0).to_bits() } else { code }
    });
    let coordinate = |d: usize, i: usize| match PLACES[i % PLACES.len()] {
        // Devices round a half in different ways.
        x if is_layer(of_type, d) => x + 0.125,
        x if is_normalized => f64::from((x / of_type.row().3[d] as f64) as f32),
        x => x,
    };
    let taps = |x: [f64; 3]| [0, 1, 2].map(|d| taps(of_type, d, mode, x[d]));
    // Without an addressing mode, all pixels must be inside.
    let is_inside = |x| taps(x).as_flattened().iter().all(|tap| tap.0.is_some());
    let all = (0..PLACES.len()).map(|i| [0, 1, 2].map(|d| coordinate(d, (2 * d + 1) * i + d)));
    let all: Vec<_> = all.filter(|x| addressing != CL_ADDRESS_NONE || is_inside(*x)).collect();
    let given: Vec<_> = all.iter().map(|[x, y, z]| [*x, *y, *z, 0.0].map(|x| x as f32)).collect();
    let filter = if is_linear { CL_FILTER_LINEAR } else { CL_FILTER_NEAREST };
    let sampler = bench.sampler(is_normalized, addressing, filter);
    let image = kind.with(CL_MEM_READ_ONLY, &pixels);
    set(kernel.raw(), 1, image.object.raw());
    set(kernel.raw(), 2, sampler.raw());
    let found = bench.run(kernel, &given, [&[], &[given.len(), 1, 1], &[1; 3]]);
    // A step of weights of 8 bits, in each dimension.
    let bound = if is_linear { 3.0 / 256.0 } else { 1e-6 };
    for (x, found) in all.into_iter().zip(found) {
        for (component, found) in found.into_iter().enumerate() {
            let corners = (0..8).map(|n| [0, 1, 2].map(|d| taps(x)[d][n >> d & 1]));
            let weighted = corners.map(|[x, y, z]| {
                let at = x.0.zip(y.0).zip(z.0).map(|((x, y), z)| start(kind.inside([x, y, z])));
                // The border has the components of a pixel without channels (OpenCL C 8.2).
                let code = at.and_then(|at| format.code(&pixels[at..], component));
                x.1 * y.1 * z.1 * format.component(code, component)
            });
            let wanted: f64 = weighted.sum();
            if (f64::from(found) - wanted).abs() > bound || found.is_nan() {
                let call = format_args!(
                    "read_imagef of {kind} at {x:?} with {name}, linear: {is_linear}, normalized: {is_normalized}"
                );
                let rule = format_args!("{} is {wanted:.4} (OpenCL C 8.2)", COMPONENTS[component]);
                return bench.report(call, rule, found);
            }
        }
    }
}

/// The modes of samplers with normalized coordinates; the first three are for others, too.
static ADDRESSING: [Named<u32>; 5] = named![CL_ADDRESS_CLAMP_TO_EDGE; CL_ADDRESS_CLAMP;
    CL_ADDRESS_NONE; CL_ADDRESS_REPEAT; CL_ADDRESS_MIRRORED_REPEAT];

#[rstest]
#[case::one_d(Type::OneD, &[false, true], false, CL_RGBA)]
#[case::one_d_array(Type::OneDArray, &[false], false, CL_RGBA)]
#[case::one_d_array_normalized(Type::OneDArray, &[true], false, CL_RGBA)]
#[case::two_d(Type::TwoD, &[false, true], false, CL_RGBA)]
#[case::two_d_array(Type::TwoDArray, &[false], false, CL_RGBA)]
#[case::two_d_array_normalized(Type::TwoDArray, &[true], false, CL_RGBA)]
#[case::three_d(Type::ThreeD, &[false, true], false, CL_RGBA)]
#[case::linear_without_addressing(Type::TwoD, &[false, true], true, CL_RGBA)]
#[case::red(Type::TwoD, &[false, true], false, CL_R)]
#[clmatrix_harness::test(requires(images))]
fn kernels_read_with_samplers(
    bench: Bench,
    #[case] of_type: Type,
    #[case] normalized: &[bool],
    #[case] lacks_addressing: bool,
    #[case] order: u32,
) {
    let listed = list(&bench, of_type, CL_MEM_READ_ONLY);
    let formats = [CL_UNORM_INT8, CL_FLOAT].map(|channel| Format::of([order, channel]));
    if formats.iter().any(|format| !listed.contains(format)) {
        skip!("the device does not list the formats (5.3.2)");
    }
    let (_, name, at, _) = of_type.row();
    // Puts pixels in the place of their coordinates.
    let source = format!(
        "kernel void at(global uint4 *x, read_only image{name}_t image, sampler_t how) {{
            float4 p = as_float4(x[get_global_id(0)]);
            x[get_global_id(0)] = as_uint4(read_imagef(image, how, {at}));
        }}"
    );
    let kernel = bench.new_kernel(&bench.build(&source, ""), "at");
    for (is_normalized, is_linear) in normalized.iter().flat_map(|n| [(*n, false), (*n, true)]) {
        for addressing in ADDRESSING.into_iter().take(if is_normalized { 5 } else { 3 }) {
            let lacks_it = is_linear && addressing.value == CL_ADDRESS_NONE;
            for format in formats.into_iter().filter(|_| lacks_it == lacks_addressing) {
                let kind = Kind { bench: &bench, of_type, format };
                check(kind, &kernel, (addressing, is_normalized, is_linear));
            }
        }
    }
}
