//! Arguments by value: their sizes, and their bytes in the kernel (5.9.2).

use super::*;

/// An argument that is passed by value: its type, its size, and the numbers within, each with an expression of the
/// argument `@`, which the kernel widens to 64 bits, an offset and a size.
struct Value(String, usize, Vec<(String, usize, usize)>);

/// Bytes that are no zeros, and neither infinite nor denormal numbers at any offset.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (0x40 + n * 37 % 0x38) as u8 | ((n * 5 / 3 % 2) as u8) << 7).collect()
}

/// A scalar type and its vectors.
fn vectors(base: &str, width: usize, read: &str) -> Vec<Value> {
    let vector = |count: usize| {
        let ty = if count == 1 { base.into() } else { format!("{base}{count}") };
        let element = |n| if count == 1 { "@".into() } else { format!("@.s{n:x}") };
        let number = |n| (read.replace('@', &element(n)), n * width, width);
        Value(ty, width * count.next_power_of_two(), (0..count).map(number).collect())
    };
    [16, 1, 8, 3, 2, 4].map(vector).into()
}

/// A structure with these numbers: `member:offset:size`.
fn structure(members: &str, size: usize, numbers: &str) -> Value {
    let number = |number: &str| {
        let [path, offset, size] = [0, 1, 2].map(|n| number.split(':').nth(n).expect("3 parts"));
        (format!("@.{path}"), offset.parse().expect("a number"), size.parse().expect("a number"))
    };
    Value(format!("struct {{ {members} }}"), size, numbers.split(' ').map(number).collect())
}

/// The arguments of kernels: integers; floats, in a kernel of their own, since a device may have no more bytes; structures and 64 arguments; as many bytes as the device takes, or nearly 4 KiB;
/// and a structure of structures.
fn kernels(bench: &Bench) -> Vec<Vec<Value>> {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    let has = |width| width == 4 || extensions.contains(&format!("cl_khr_fp{}", 8 * width));
    let integers = [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8)];
    let integers = integers.into_iter().flat_map(|(ty, width)| vectors(ty, width, "@"));
    let floats =
        [("float", 4, "as_uint(@)"), ("double", 8, "as_ulong(@)"), ("half", 2, "as_ushort(@)")];
    let floats = floats.into_iter().filter(|(_, width, _)| has(*width));
    let floats = floats.flat_map(|(ty, width, bits)| vectors(ty, width, bits));
    let most: usize = bench.value(named!(CL_DEVICE_MAX_PARAMETER_SIZE));
    let words = most.min(4096) / 4 - 2;
    let last = [64, 200, words - 1].into_iter().filter(|n| *n < words);
    let last: Vec<_> = last.map(|n| format!("w[{n}]:{}:4", 4 * n)).collect();
    let mut small = vec![
        structure("uchar x[3];", 3, "x[0]:0:1 x[2]:2:1"),
        structure("uchar a; uint b; uchar c; ulong d;", 24, "b:4:4 c:8:1 d:16:8"),
        structure("uchar a; uint3 v; uchar2 w;", 48, "v.s0:16:4 v.s2:24:4 w.s1:33:1"),
        structure("uint w[75];", 300, "w[0]:0:4 w[63]:252:4 w[64]:256:4 w[74]:296:4"),
    ];
    small.extend((0..60).filter_map(|_| vectors("uint", 4, "@").pop()));
    let large = structure(&format!("uint w[{words}];"), 4 * words, &last.join(" "));
    let members = "uchar a; struct { ushort b; uchar c; } n[2]; uchar d;";
    let nested = structure(members, 12, "a:0:1 n[0].c:4:1 n[1].b:6:2 d:10:1");
    let mut all = vec![integers.collect(), floats.collect(), small, vec![large], vec![nested]];
    for values in &mut all {
        // A device of the embedded profile may have no more than 256 bytes.
        let mut left = most - 8;
        values.retain(|Value(_, size, _)| {
            let rest = left.checked_sub(size.next_multiple_of(8));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
    }
    all
}

/// The source of kernels `k0`, `k1`..., each of which writes all numbers of its arguments to a buffer.
fn source(kernels: &[Vec<Value>]) -> String {
    let pragma = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable";
    let mut code = format!("#ifdef cl_khr_fp16\n{pragma}\n#endif\n");
    for (k, values) in kernels.iter().enumerate() {
        let (mut parameters, mut body) = (String::new(), String::new());
        for (n, Value(ty, _, numbers)) in values.iter().enumerate() {
            let mut name = ty.clone();
            if let Some(members) = ty.strip_prefix("struct") {
                name = format!("struct S{k}_{n}");
                code += &format!("{name} {members};\n");
            }
            parameters += &format!(", {name} a{n}");
            for (path, ..) in numbers {
                body += &format!("*to++ = {};", path.replace('@', &format!("a{n}")));
            }
        }
        code += &format!("kernel void k{k}(global ulong *to{parameters}) {{ {body} }}\n");
    }
    code
}

fn call(index: u32, ty: &str, size: usize) -> String {
    format!("clSetKernelArg(argument {index}, {ty}, {size} bytes)")
}

/// Each kernel gets values that the caller overwrites after the call. All tests have one program, which takes long to
/// build.
#[rstest]
#[case::numbers_and_structures(0..4)]
#[case::nested_structures(4..5)]
#[clmatrix_harness::test]
fn a_value_arrives_whole(bench: Bench, #[case] which: std::ops::Range<usize>) {
    let kernels = kernels(&bench);
    let program = bench.build(&source(&kernels), OPTIONS);
    for (k, values) in kernels.iter().enumerate().filter(|(k, _)| which.contains(k)) {
        let kernel = bench.new_kernel(&program, &format!("k{k}"));
        let count = values.iter().map(|value| value.2.len()).sum();
        let to = bench.buffer_of(&vec![0_u64; count]);
        set(kernel.raw(), 0, to.raw());
        for (index, Value(ty, size, _)) in (1..).zip(values) {
            let mut memory = bytes(*size);
            // SAFETY: the memory has the bytes of the type.
            let code = unsafe { try_set(&kernel, index, *size, memory.as_ptr().cast()) };
            succeeds(&call(index, ty, *size), code);
            memory.fill(0xee);
        }
        succeeds("clEnqueueNDRangeKernel", launch(kernel.raw(), bench.queue, ONE, &[]));
        let mut found = bench.contents_of::<u64>(to.raw(), count).into_iter();
        for (index, Value(ty, size, numbers)) in (1..).zip(values) {
            for ((path, at, width), found) in numbers.iter().zip(&mut found) {
                let mut wide = [0; 8];
                wide[..*width].copy_from_slice(&bytes(*size)[*at..][..*width]);
                let (want, path) = (u64::from_le_bytes(wide), path.replace('@', "it"));
                let rule = format!("{path} in the kernel is {want:#x} (5.9.2)");
                let answer = format!("{found:#x}");
                bench.check(found == want, call(index, ty, *size), rule, answer);
            }
        }
    }
}

/// Three quarters are tried apart from other sizes: a vector of 3 elements takes the bytes of 4.
#[rstest]
#[case::other_sizes(|size| vec![size + 1, 2 * size, size / 2, if size == 4 { 1 } else { size - 1 }])]
#[case::three_quarters(|size| vec![size / 4 * 3])]
#[clmatrix_harness::test]
fn values_of_other_sizes_are_refused(bench: Bench, #[case] sizes: fn(usize) -> Vec<usize>) {
    let kernels = kernels(&bench);
    let kernel = bench.new_kernel(&bench.build(&source(&kernels), OPTIONS), "k0");
    let memory = bytes(2 * 128);
    for (index, Value(ty, right, _)) in (1..).zip(&kernels[0]) {
        for size in sizes(*right).into_iter().filter(|size| *size > 0) {
            // SAFETY: the memory has as many bytes.
            let code = unsafe { try_set(&kernel, index, size, memory.as_ptr().cast()) };
            let rule = format!("the type has {right} bytes (5.9.2)");
            bench.check_code(code, CL_INVALID_ARG_SIZE, call(index, ty, size), rule);
        }
    }
}
