//! Arguments by value: their sizes, and their bytes in the kernel (5.9.2).

use super::*;

/// An argument that is passed by value: its type, its size, and the numbers within, each with an expression of the
/// argument `@`, which the kernel widens to 64 bits, an offset and a size.
struct Value(String, usize, Vec<(String, usize, usize)>);

/// Bytes that are no zeros, and neither infinite nor denormal numbers at any offset.
fn bytes(count: usize, seed: usize) -> Vec<u8> {
    let byte = |n| (0x40 + (n * 37 + seed * 11) % 0x38) | (((n * 5 / 3 + seed) % 2) << 7);
    (0..count).map(|n| byte(n) as u8).collect()
}

/// A scalar type and its vectors.
fn vectors(base: &str, width: usize, read: &str) -> Vec<Value> {
    let vector = |count| {
        let path =
            |n| if count == 1 { read.into() } else { read.replace('@', &format!("@.s{n:x}")) };
        let ty = if count == 1 { base.into() } else { format!("{base}{count}") };
        let numbers = (0..count).map(|n| (path(n), n * width, width)).collect();
        Value(ty, width * usize::next_power_of_two(count), numbers)
    };
    [16, 1, 8, 3, 2, 4].map(vector).into()
}

/// A structure with these numbers.
fn structure(members: &str, size: usize, numbers: &[(&str, usize, usize)]) -> Value {
    let number = |&(path, offset, width): &_| (format!("@.{path}"), offset, width);
    Value(format!("struct {{ {members} }}"), size, numbers.iter().map(number).collect())
}

/// The integers, in a kernel for each sign.
fn integers(_: &Bench) -> Vec<Vec<Value>> {
    let of = |types: [_; 4]| {
        types.into_iter().zip([1, 2, 4, 8]).flat_map(|(ty, n)| vectors(ty, n, "@")).collect()
    };
    vec![of(["char", "short", "int", "long"]), of(["uchar", "ushort", "uint", "ulong"])]
}

/// The floating-point numbers that the device has.
fn floats(bench: &Bench) -> Vec<Vec<Value>> {
    let extensions = Subject::Device(bench.device).text(named!(CL_DEVICE_EXTENSIONS));
    let types =
        [("float", 4, "as_uint(@)"), ("double", 8, "as_ulong(@)"), ("half", 2, "as_ushort(@)")];
    let has = |width| width == 4 || extensions.contains(&format!("cl_khr_fp{}", 8 * width));
    let types = types.into_iter().filter(|(_, width, _)| has(*width));
    types.map(|(ty, width, read)| vectors(ty, width, read)).collect()
}

/// Structures, 64 arguments, and an argument of as many bytes as the device takes, or nearly 4 KiB.
fn structures(bench: &Bench) -> Vec<Vec<Value>> {
    let most: usize = Subject::Device(bench.device).value(named!(CL_DEVICE_MAX_PARAMETER_SIZE));
    let words = most.min(4096) / 4 - 2;
    let last = (&*format!("w[{}]", words - 1), 4 * words - 4, 4);
    let small = [
        structure("uchar x[3];", 3, &[("x[0]", 0, 1), ("x[2]", 2, 1)]),
        structure(
            "uchar a; uint b; uchar c; ulong d;",
            24,
            &[("b", 4, 4), ("c", 8, 1), ("d", 16, 8)],
        ),
        structure(
            "uchar a; uint3 v; uchar2 w;",
            48,
            &[("v.s0", 16, 4), ("v.s2", 24, 4), ("w.s1", 33, 1)],
        ),
        structure(
            "uchar a[5]; ushort b[3]; ulong c;",
            24,
            &[("a[4]", 4, 1), ("b[2]", 10, 2), ("c", 16, 8)],
        ),
        structure(
            "uint w[75];",
            300,
            &[("w[0]", 0, 4), ("w[63]", 252, 4), ("w[64]", 256, 4), ("w[74]", 296, 4)],
        ),
    ];
    let large = structure(
        &format!("uint w[{words}];"),
        4 * words,
        &[("w[64]", 256, 4), ("w[200]", 800, 4), last],
    );
    let many = (0..63).filter_map(|_| vectors("uint", 4, "@").pop()).collect();
    vec![small.into(), many, vec![large]]
}

/// A structure of structures.
fn nested(_: &Bench) -> Vec<Vec<Value>> {
    let members = "uchar a; struct { ushort b; uchar c; } n[2]; uchar d;";
    let numbers = [("a", 0, 1), ("n[0].c", 4, 1), ("n[1].b", 6, 2), ("d", 10, 1)];
    vec![vec![structure(members, 12, &numbers)]]
}

/// The source of kernels `k0`, `k1`..., each of which writes all numbers of its arguments to a buffer.
fn source(kernels: &[Vec<Value>]) -> String {
    let mut code =
        "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n".to_owned();
    for (k, values) in kernels.iter().enumerate() {
        let (mut parameters, mut body) = (String::new(), String::new());
        for (n, Value(ty, _, numbers)) in values.iter().enumerate() {
            let members = ty.strip_prefix("struct");
            let name = members.map_or(ty.clone(), |_| format!("struct S{k}_{n}"));
            code += &members.map_or(String::new(), |members| format!("{name} {members};\n"));
            parameters += &format!(", {name} a{n}");
            let write = |(path, ..): &(String, _, _)| {
                format!("*to++ = {path};").replace('@', &format!("a{n}"))
            };
            body.extend(numbers.iter().map(write));
        }
        code += &format!("kernel void k{k}(global ulong *to{parameters}) {{ {body} }}\n");
    }
    code
}

/// Each kernel runs twice, with values that differ. The caller changes the memory of a value after the call.
#[rstest]
#[case::integers(integers)]
#[case::floats(floats)]
#[case::structures(structures)]
#[case::nested_structures(nested)]
#[clmatrix_harness::test]
fn a_value_arrives_whole(bench: Bench, #[case] kernels: fn(&Bench) -> Vec<Vec<Value>>) {
    let (findings, kernels) = (Findings::default(), kernels(&bench));
    let program = bench.build(&source(&kernels), "");
    for (seed, (k, values)) in
        [1, 2].iter().flat_map(|seed| kernels.iter().enumerate().map(move |k| (*seed, k)))
    {
        let kernel = bench.new_kernel(&program, &format!("k{k}"));
        let count = values.iter().map(|value| value.2.len()).sum();
        let to = buffer_of(&bench, &vec![0_u64; count]);
        set(&kernel, 0, to.raw());
        let call = |index, Value(ty, size, _): &_| {
            format!("clSetKernelArg(argument {index}, {ty}, {size} bytes)")
        };
        for (index, value) in (1..).zip(values) {
            let mut memory = bytes(value.1, seed);
            // SAFETY: the memory has the bytes of the type.
            let code = unsafe { try_set(&kernel, index, value.1, memory.as_ptr().cast()) };
            succeeds(&call(index, value), code);
            memory.fill(0xee);
        }
        succeeds("clEnqueueNDRangeKernel", launch(&kernel, bench.queue, ONE, &[]));
        let mut found = contents_of::<u64>(&bench, &to, count).into_iter();
        for (index, value) in (1..).zip(values) {
            let is_signed =
                ["char", "short", "int", "long"].iter().any(|ty| value.0.starts_with(ty));
            for ((path, offset, width), found) in value.2.iter().zip(&mut found) {
                let bytes = &bytes(value.1, seed)[*offset..][..*width];
                let mut wide = [if is_signed && bytes[width - 1] >= 0x80 { 0xff } else { 0 }; 8];
                wide[..*width].copy_from_slice(bytes);
                let expected = u64::from_le_bytes(wide);
                let rule =
                    format!("{} in the kernel is {expected:#x} (5.9.2)", path.replace('@', "it"));
                findings.check(
                    found == expected,
                    call(index, value),
                    rule,
                    format_args!("{found:#x}"),
                );
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
    let (findings, kernels) = (Findings::default(), integers(&bench));
    let program = bench.build(&source(&kernels), "");
    let kernel = bench.new_kernel(&program, "k1");
    let memory = bytes(2 * 128, 1);
    for (index, Value(ty, right, _)) in (1..).zip(&kernels[1]) {
        for size in sizes(*right).into_iter().filter(|size| *size > 0) {
            // SAFETY: the memory has as many bytes.
            let code = unsafe { try_set(&kernel, index, size, memory.as_ptr().cast()) };
            let rule = format!("CL_INVALID_ARG_SIZE, as the type has {right} bytes (5.9.2)");
            let call = format!("clSetKernelArg(argument {index}, {ty}, {size} bytes)");
            findings.check(code == CL_INVALID_ARG_SIZE, call, rule, code_name(code));
        }
    }
}
