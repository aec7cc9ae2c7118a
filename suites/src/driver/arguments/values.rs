//! Arguments by value: their sizes, and their bytes in the kernel (5.9.2).

use super::*;

/// An argument that is passed by value, with numbers: an expression, which the kernel widens to 64 bits, an offset and a
/// size. The bytes are no zeros, and neither infinite nor denormal numbers at any offset.
fn value(declaration: String, size: usize, numbers: Vec<(String, usize, usize)>) -> Argument {
    let byte = |n: usize| (0x40 + n * 37 % 0x38) as u8 | ((n * 5 / 3 % 2) as u8) << 7;
    let bytes: Vec<_> = (0..size).map(byte).collect();
    let wide = |n: u64, byte: &u8| n << 8 | u64::from(*byte);
    let wide = |at: usize, width: usize| bytes[at..at + width].iter().rev().fold(0, wide);
    let numbers = numbers.into_iter().map(|(number, at, width)| (number, vec![wide(at, width)]));
    Argument(declaration, numbers.collect(), vec![Memory(size, bytes)])
}

/// A scalar type and its vectors.
fn vectors(base: &str, width: usize, read: &str) -> Vec<Argument> {
    let vector = |count: usize| {
        let ty = if count == 1 { base.into() } else { format!("{base}{count}") };
        let element = |n| if count == 1 { "@".into() } else { format!("@.s{n:x}") };
        let number = |n| (read.replace('@', &element(n)), n * width, width);
        let size = width * count.next_power_of_two();
        value(format!("{ty} @"), size, (0..count).map(number).collect())
    };
    [16, 1, 8, 3, 2, 4].map(vector).into()
}

/// A structure with these numbers: `member:offset:size`. Those of a kernel have different sizes.
fn structure(members: &str, size: usize, numbers: &str) -> Argument {
    let number = |number: &str| {
        let [path, offset, size] = [0, 1, 2].map(|n| number.split(':').nth(n).expect("3 parts"));
        (format!("@.{path}"), offset.parse().expect("a number"), size.parse().expect("a number"))
    };
    let declaration = format!("struct S{size} {{ {members} }}; struct S{size} @");
    value(declaration, size, numbers.split(' ').map(number).collect())
}

/// The arguments of kernels: integers; floats, since a device may have no more bytes; structures and 64
/// arguments; as many bytes as the device takes, or nearly 4 KiB; and a structure of structures.
fn kernels(bench: &Bench) -> Vec<Vec<Argument>> {
    let most: usize = bench.value(named!(CL_DEVICE_MAX_PARAMETER_SIZE));
    if most < 1024 {
        skip!("CL_DEVICE_MAX_PARAMETER_SIZE is below the 1024 bytes of the full profile");
    }
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    let has = |width| width == 4 || extensions.contains(&format!("cl_khr_fp{}", 8 * width));
    let all = [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8)];
    let integers = all.into_iter().flat_map(|(ty, width)| vectors(ty, width, "@"));
    let floats = [("float", all[2]), ("double", all[3]), ("half", all[1])];
    let floats = floats.into_iter().filter(|(_, (_, width))| has(*width));
    let floats = floats.flat_map(|(ty, (bits, n))| vectors(ty, n, &format!("as_{bits}(@)")));
    let mut small = vec![
        structure("uchar x[3];", 3, "x[0]:0:1 x[2]:2:1"),
        structure("uchar a; uint b; uchar c; ulong d;", 24, "b:4:4 c:8:1 d:16:8"),
        structure("uchar a; uint3 v; uchar2 w;", 48, "v.s0:16:4 v.s2:24:4 w.s1:33:1"),
        structure("uint w[75];", 300, "w[0]:0:4 w[63]:252:4 w[64]:256:4 w[74]:296:4"),
    ];
    small.extend((0..60).map(|_| value("uint @".into(), 4, vec![("@".into(), 0, 4)])));
    let words = most.min(4096) / 4 - 2;
    let last = [64, 200, words - 1].map(|n| format!("w[{n}]:{}:4", 4 * n)).join(" ");
    let large = structure(&format!("uint w[{words}];"), 4 * words, &last);
    let members = "uchar a; struct { ushort b; uchar c; } n[2]; uchar d;";
    let nested = structure(members, 12, "a:0:1 n[0].c:4:1 n[1].b:6:2 d:10:1");
    vec![integers.collect(), floats.collect(), small, vec![large], vec![nested]]
}

#[rstest]
#[case::numbers_and_structures(0..4)]
#[case::nested_structures(4..5)]
#[clmatrix_harness::test]
fn a_value_arrives_whole(bench: Bench, #[case] which: std::ops::Range<usize>) {
    for arguments in kernels(&bench).drain(which) {
        let probe = Probe::build(&bench, "", arguments);
        probe.expect("clSetKernelArg (5.9.2)", &probe.kernel(0), |_| 0);
    }
}

/// Three quarters are tried apart from other sizes: a vector of 3 elements takes the bytes of 4.
#[rstest]
#[case::other_sizes(|size| vec![size + 1, 2 * size, size / 2, if size == 4 { 1 } else { size - 1 }])]
#[case::three_quarters(|size| vec![size / 4 * 3])]
#[clmatrix_harness::test]
fn values_of_other_sizes_are_refused(bench: Bench, #[case] sizes: fn(usize) -> Vec<usize>) {
    let probe = Probe::build(&bench, "", kernels(&bench).swap_remove(0));
    let kernel = bench.new_kernel(&probe.1, "probe");
    for (index, Argument(name, _, settings)) in (0..).zip(&probe.2) {
        let Memory(right, _) = settings[0] else { unreachable!("all are values") };
        for size in sizes(right).into_iter().filter(|size| *size > 0) {
            let code = try_set(&kernel, index, size, vec![0x41; 2 * 128]);
            let call = format_args!("clSetKernelArg(argument {index}, {name}, {size} bytes)");
            let rule = format_args!("the type has {right} bytes (5.9.2)");
            bench.check_code(code, CL_INVALID_ARG_SIZE, call, rule);
        }
    }
}
