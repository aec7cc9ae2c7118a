//! The pixels that kernels read with a sampler, at coordinates inside and outside of an image (5.7; OpenCL C
//! 6.15.15.1, 8.1 to 8.4).

use super::format::COMPONENTS;
use super::kernel::{names, run};
use super::*;
use crate::driver::memory::model::start;

/// Coordinates in pixels of the first dimension: without integers, where devices may round, and with
/// integers.
static BETWEEN: [f64; 11] = [-9.75, -1.25, -0.25, 0.25, 0.75, 1.25, 2.25, 4.75, 5.25, 6.75, 12.25];
static AT: [f64; 11] = [-9.25, -1.0, 0.0, 0.5, 1.0, 1.75, 2.5, 4.5, 5.0, 6.0, 12.75];

/// The properties of a sampler.
#[derive(Clone, Copy, Debug)]
struct Mode {
    addressing: Named<u32>,
    is_normalized: bool,
    is_linear: bool,
}

/// Returns whether the dimension is the layer of an array, which has rules of its own (OpenCL C 8.4).
fn is_layer(of_type: Type, d: usize) -> bool {
    matches!((of_type, d), (Type::OneDArray, 1) | (Type::TwoDArray, 2))
}

/// A pixel, or none for the border, and its weight.
type Tap<T> = (Option<T>, f64);

impl Mode {
    /// The pixels of one dimension that are read at `x` (OpenCL C 8.2).
    fn taps(self, x: f64, size: usize) -> [Tap<usize>; 2] {
        let n = size as f64;
        let u = match self.addressing.value {
            CL_ADDRESS_REPEAT => (x - x.floor()) * n,
            CL_ADDRESS_MIRRORED_REPEAT => (x - 2.0 * (0.5 * x).round_ties_even()).abs() * n,
            _ if self.is_normalized => x * n,
            _ => x,
        };
        let place = |i: f64| match self.addressing.value {
            CL_ADDRESS_REPEAT => Some(i.rem_euclid(n) as usize),
            CL_ADDRESS_NONE | CL_ADDRESS_CLAMP => (0.0..n).contains(&i).then_some(i as usize),
            _ => Some(i.clamp(0.0, n - 1.0) as usize),
        };
        let first = if self.is_linear { u - 0.5 } else { u.floor() };
        let weight = first - first.floor();
        [(place(first.floor()), 1.0 - weight), (place(first.floor() + 1.0), weight)]
    }

    /// The same for all dimensions, without pixels that have no weight.
    fn all_taps(self, of_type: Type, x: [f64; 3]) -> Vec<Tap<[usize; 3]>> {
        let mut all = vec![(Some([0; 3]), 1.0)];
        for (d, size) in of_type.row().2.into_iter().enumerate() {
            let layer = x[d].round_ties_even().clamp(0.0, size as f64 - 1.0) as usize;
            let is_fixed = size == 1 || is_layer(of_type, d);
            let fixed = [(Some(layer), 1.0), (None, 0.0)];
            let taps = if is_fixed { fixed } else { self.taps(x[d], size) };
            let mut with = Vec::new();
            for (i, more) in taps.into_iter().filter(|tap| tap.1 > 0.0) {
                for (at, weight) in &all {
                    let at =
                        at.zip(i).map(|(at, i)| [0, 1, 2].map(|e| if e == d { i } else { at[e] }));
                    with.push((at, weight * more));
                }
            }
            all = with;
        }
        all
    }
}

/// Builds a kernel that puts pixels in the place of their coordinates. It declares its sampler, or has it as
/// an argument.
fn build(bench: &Bench, of_type: Type, declared: Option<Mode>) -> Object {
    let declaration = declared.map_or_else(String::new, |mode| {
        let is_normalized = if mode.is_normalized { "TRUE" } else { "FALSE" };
        let filter = if mode.is_linear { "LINEAR" } else { "NEAREST" };
        let addressing = &mode.addressing.name[3..];
        format!(
            "constant sampler_t how = CLK_NORMALIZED_COORDS_{is_normalized} | CLK_{addressing} | CLK_FILTER_{filter};"
        )
    });
    let argument = if declared.is_some() { "" } else { ", sampler_t how" };
    let ([at, ..], of_type) = (names(of_type), of_type.row().1);
    let source = format!(
        "{declaration}
        kernel void at(global uint4 *x, read_only image{of_type}_t image{argument}) {{
            float4 p = as_float4(x[get_global_id(0)]);
            x[get_global_id(0)] = as_uint4(read_imagef(image, how, {at}));
        }}"
    );
    bench.new_kernel(&bench.build(&source, ""), "at")
}

/// Coordinates for which the rules name pixels.
fn coordinates(of_type: Type, mode: Mode) -> Vec<[f64; 3]> {
    let list = if mode.is_normalized && !mode.is_linear { BETWEEN } else { AT };
    let coordinate = |d: usize, i: usize| match list[i % list.len()] {
        // Devices round a half in different ways.
        x if is_layer(of_type, d) => x + 0.125,
        x if mode.is_normalized => f64::from((x / of_type.row().2[d] as f64) as f32),
        x => x,
    };
    let all = (0..list.len())
        .map(|i| [coordinate(0, i), coordinate(1, 3 * i + 1), coordinate(2, 5 * i + 2)]);
    // Without an addressing mode, all pixels must be inside.
    let is_inside = |x: &[f64; 3]| mode.all_taps(of_type, *x).iter().all(|tap| tap.0.is_some());
    all.filter(|x| mode.addressing.value != CL_ADDRESS_NONE || is_inside(x)).collect()
}

/// Checks what a kernel reads from an image of numbers between 0 and 1.
fn check(findings: &Findings, kind: Kind<'_>, kernel: &Object, mode: Mode, is_declared: bool) {
    let Kind { bench, of_type, format } = kind;
    let pixels = kind.pixels(|i, component| {
        let code = (i * 37 + component * 59 + 11) as u32 % 256;
        if format.bytes == 4 { (code as f32 / 255.0).to_bits() } else { code }
    });
    let image = kind.with(CL_MEM_READ_ONLY, &pixels);
    let is_opaque = ["R", "RG"].contains(&format.order);
    let texel = |at: Option<[usize; 3]>, component: usize| {
        let pixel = at.map(|origin| start(kind.inside(Region { origin, size: [1; 3] })));
        let code = pixel.and_then(|pixel| format.code(&pixels[pixel..], component));
        let missing = f64::from(u8::from(component == 3 && (at.is_some() || is_opaque)));
        code.map_or(missing, |code| format.value(code))
    };
    let all = coordinates(of_type, mode);
    let words: Vec<_> =
        all.iter().map(|[x, y, z]| [*x, *y, *z, 0.0].map(|x| (x as f32).to_bits())).collect();
    let filter = if mode.is_linear { CL_FILTER_LINEAR } else { CL_FILTER_NEAREST };
    let sampler = bench.sampler(mode.is_normalized, mode.addressing.value, filter);
    let arguments: [&[u8]; 2] = [&image.argument(), &(sampler.raw() as usize).to_ne_bytes()];
    let arguments = &arguments[..if is_declared { 1 } else { 2 }];
    let found = run(bench, kernel, &words, arguments, [words.len(), 1, 1]);
    for (x, found) in all.into_iter().zip(found) {
        for (component, found) in found.map(f32::from_bits).into_iter().enumerate() {
            let taps = mode.all_taps(of_type, x);
            let wanted: f64 = taps.iter().map(|(at, weight)| weight * texel(*at, component)).sum();
            // A step of weights of 8 bits, in each dimension.
            let bound = if mode.is_linear { 3.0 / 256.0 } else { 1e-6 };
            if (f64::from(found) - wanted).abs() > bound || found.is_nan() {
                let (Mode { is_normalized, is_linear, .. }, name) = (mode, mode.addressing.name);
                let call = format_args!(
                    "read_imagef of {kind} at {x:?} with {name}, linear: {is_linear}, normalized: {is_normalized}"
                );
                let rule = format_args!("{} is {wanted:.4} (OpenCL C 8.2)", COMPONENTS[component]);
                return findings.add(call, rule, found);
            }
        }
    }
}

/// The modes of samplers with normalized coordinates; the first three are for others, too.
static ADDRESSING: [Named<u32>; 5] = [
    named!(CL_ADDRESS_CLAMP_TO_EDGE),
    named!(CL_ADDRESS_CLAMP),
    named!(CL_ADDRESS_NONE),
    named!(CL_ADDRESS_REPEAT),
    named!(CL_ADDRESS_MIRRORED_REPEAT),
];

#[rstest]
#[case::one_d(Type::OneD, &[false, true])]
#[case::one_d_array(Type::OneDArray, &[false])]
#[case::one_d_array_normalized(Type::OneDArray, &[true])]
#[case::two_d(Type::TwoD, &[false, true])]
#[case::two_d_array(Type::TwoDArray, &[false])]
#[case::two_d_array_normalized(Type::TwoDArray, &[true])]
#[case::three_d(Type::ThreeD, &[false, true])]
#[clmatrix_harness::test(requires(images))]
fn kernels_read_with_samplers(bench: Bench, #[case] of_type: Type, #[case] normalized: &[bool]) {
    let (findings, kernel) = (Findings::default(), build(&bench, of_type, None));
    for (is_normalized, is_linear) in normalized.iter().flat_map(|n| [(*n, false), (*n, true)]) {
        // A linear filter without an addressing mode has a test of its own.
        let modes = ADDRESSING[..if is_normalized { 5 } else { 3 }].iter();
        for addressing in modes.filter(|mode| !is_linear || mode.value != CL_ADDRESS_NONE) {
            let mode = Mode { addressing: *addressing, is_normalized, is_linear };
            let channels = if of_type == Type::TwoD { 2 } else { 1 };
            for channel in [CL_UNORM_INT8, CL_FLOAT].into_iter().take(channels) {
                check(&findings, Kind::usual(&bench, of_type, channel), &kernel, mode, false);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn kernels_filter_without_addressing_mode(bench: Bench) {
    let (findings, kernel) = (Findings::default(), build(&bench, Type::TwoD, None));
    for is_normalized in [false, true] {
        let mode = Mode { addressing: ADDRESSING[2], is_normalized, is_linear: true };
        let kind = Kind::usual(&bench, Type::TwoD, CL_UNORM_INT8);
        check(&findings, kind, &kernel, mode, false);
    }
}

#[rstest]
#[case::transparent(&["A", "RA", "RGBA", "BGRA", "ARGB", "ABGR"])]
#[case::opaque(&["R", "RG"])]
#[clmatrix_harness::test(requires(images))]
fn the_border_has_the_alpha_of_the_order(bench: Bench, #[case] orders: &[&str]) {
    let (findings, kernel) = (Findings::default(), build(&bench, Type::TwoD, None));
    let mode = Mode { addressing: ADDRESSING[1], is_normalized: false, is_linear: false };
    for kind in kinds(&bench, Type::TwoD, CL_MEM_READ_ONLY) {
        let is_tested = matches!(kind.format.channel, "UNORM_INT8" | "FLOAT");
        if is_tested && orders.contains(&kind.format.order) {
            check(&findings, kind, &kernel, mode, false);
        }
    }
}

#[rstest]
#[case::mirrored(ADDRESSING[4], false)]
#[case::clamp(ADDRESSING[1], true)]
#[clmatrix_harness::test(requires(images))]
fn kernels_declare_samplers(bench: Bench, #[case] addressing: Named<u32>, #[case] is_linear: bool) {
    let mode = Mode { addressing, is_normalized: !is_linear, is_linear };
    let kernel = build(&bench, Type::TwoD, Some(mode));
    let kind = Kind::usual(&bench, Type::TwoD, CL_UNORM_INT8);
    check(&Findings::default(), kind, &kernel, mode, true);
}
