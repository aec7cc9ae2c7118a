//! Queries of kernels, their arguments and work-groups (5.9.4).

use super::program::{Step, take};
use super::*;
use crate::driver::order::of_two_parts;

/// A kernel without arguments, which NVIDIA's compiler refuses with `-cl-kernel-arg-info`. Its name begins with that of
/// the other one, as drivers look kernels of binaries up by their names.
const NOTHING: &str = "kernel void fixed_not(void) {}";

/// A kernel for groups of 8, with 1024 bytes of local memory.
const FIXED: &str = "
kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void fixed(local int *x, local int *y, global int *to) {
    local int values[256];
    values[get_local_id(0)] = x[0] = y[0] = to[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[1] = x[0] + y[0] + values[3 - get_local_id(0)];
}";

/// The bytes of local memory and the size of work-groups that the device has. Skips the test unless these are enough for
/// [`FIXED`].
fn most(bench: &Bench) -> (u64, usize) {
    let local: u64 = bench.value(named!(CL_DEVICE_LOCAL_MEM_SIZE));
    let group: usize = bench.value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    if group < 8 || local < 1 << 14 {
        skip!("the device has groups below 8, or local memory below 16 KiB");
    }
    (local, group)
}

#[rstest]
#[case::built(&[], "built from source")]
#[case::loaded(&[Step::Load(c""), Step::Build(c"")], "built from a binary")]
#[clmatrix_harness::test]
fn a_kernel_answers_as_it_was_made(bench: Bench, #[case] steps: &[Step], #[case] of: &str) {
    let (most_local, most) = most(&bench);
    let program = bench.build(&[NOTHING, FIXED].concat(), "");
    let program = steps.iter().fold(program, |program, step| take(step, &bench, program).0);
    let rows = [("fixed_not", 0_u32, [0_usize; 3], 0_u64), ("fixed", 3, [4, 2, 1], 1024)];
    for (name, arguments, group, local) in rows {
        let kernel = bench.new_kernel(&program, name);
        let (raw, called) = (kernel.raw(), format!("kernel `{name}`, {of}"));
        answers!(bench, Kernel(raw), called;
            text CL_KERNEL_FUNCTION_NAME name, is CL_KERNEL_NUM_ARGS arguments,
            pointer CL_KERNEL_CONTEXT bench.context, pointer CL_KERNEL_PROGRAM program.raw(),
            counted CL_KERNEL_REFERENCE_COUNT (Class::Kernel, raw));
        answers!(bench, WorkGroup(raw, bench.device), called; number CL_KERNEL_PRIVATE_MEM_SIZE 8,
            list CL_KERNEL_COMPILE_WORK_GROUP_SIZE &group,
            within CL_KERNEL_WORK_GROUP_SIZE group.iter().product::<usize>().max(1)..=most,
            within CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 1..=most,
            within CL_KERNEL_LOCAL_MEM_SIZE local..=most_local);
    }
}

#[clmatrix_harness::test]
fn a_program_of_one_of_two_devices_has_its_kernels(bench: Bench) {
    let mut bench = of_two_parts(&bench);
    bench.devices.truncate(1);
    let program = bench.build("kernel void k(global uint *n) { n[0] = 7; }", "");
    let (raw, mut kernel) = (program.raw(), ptr::null_mut());
    SETTING.set("of a program that is built for one of two sub-devices (5.9.1)");
    // SAFETY: the program is valid, and has one kernel; the call creates a reference.
    let kernel = unsafe {
        ok!(clCreateKernelsInProgram(raw, 1, &raw mut kernel, ptr::null_mut()));
        assert!(!kernel.is_null(), "clCreateKernelsInProgram returned null and CL_SUCCESS");
        Object::new(Class::Kernel, kernel)
    };
    SETTING.set("");
    let found = bench.run(&kernel, &[0_u32], [&[], &[1], &[]])[0];
    let call = "clEnqueueNDRangeKernel on the sub-device for which the program is built";
    bench.check(found == 7, call, "the kernel writes 7 (5.10)", found);
}

#[clmatrix_harness::test]
fn an_argument_is_that_of_the_last_build(bench: Bench) {
    let mut program = bench.build("kernel void k(global T *NAME) {}", "-DT=int -DNAME=zero");
    let steps = [
        (c"-cl-kernel-arg-info -DT=uchar -DNAME=one", "uchar*", "one"),
        (c"-cl-kernel-arg-info -DT=float -DNAME=two", "float*", "two"),
    ];
    for (options, kind, name) in steps {
        program = take(&Step::Build(options), &bench, program).0;
        let kernel = bench.new_kernel(&program, "k");
        answers!(bench, Argument(kernel.raw(), 0), format!("a program built with {options:?}");
            text CL_KERNEL_ARG_TYPE_NAME kind, text CL_KERNEL_ARG_NAME name);
    }
}

/// Rules that some drivers break: attributes, local memory that arguments add, and a null device.
#[rstest]
#[case::attributes(named!(CL_KERNEL_ATTRIBUTES))]
#[case::local_memory(named!(CL_KERNEL_LOCAL_MEM_SIZE))]
#[case::null_device(named!(CL_KERNEL_WORK_GROUP_SIZE))]
#[clmatrix_harness::test]
fn a_kernel_tells(bench: Bench, #[case] query: Query) {
    let (mut most, _) = most(&bench);
    let made = bench.new_kernel(&bench.build(FIXED, "-cl-kernel-arg-info"), "fixed");
    let (raw, of_device) = (made.raw(), Subject::WorkGroup(made.raw(), bench.device));
    match query.value {
        CL_KERNEL_ATTRIBUTES => check_attribute(&bench, &made, "reqd_work_group_size(4,2,1)", true),
        CL_KERNEL_LOCAL_MEM_SIZE => {
            // The last one is smaller than before. A driver may use memory of its own.
            for (index, bytes, sum) in [(0, 4096, 4096), (1, 512, 4608), (0, 256, 768)] {
                // SAFETY: the argument is a pointer to local memory.
                unsafe { ok!(clSetKernelArg(raw, index, bytes, ptr::null())) };
                let name = format!("a kernel with 1024 bytes, and {sum} of arguments");
                Asked(&bench, of_device, &name).within(query, 1024 + sum..=most);
                if index == 1 {
                    most = of_device.value::<u64>(query).saturating_sub(1);
                }
            }
        }
        _ => answers!(bench, WorkGroup(raw, ptr::null_mut()), "a null device, for the only one";
            is CL_KERNEL_WORK_GROUP_SIZE of_device.value::<usize>(query)),
    }
}

/// Checks that a kernel has an attribute, but for spaces, and no other text if that is alone.
fn check_attribute(bench: &Bench, kernel: &Object, wanted: &str, is_alone: bool) {
    let rest = if is_alone { " alone" } else { "" };
    let holds = |found: &str| {
        let found = found.replace(' ', "");
        found == wanted || !is_alone && found.contains(wanted)
    };
    answers!(bench, Kernel(kernel.raw()), "a kernel";
        read CL_KERNEL_ATTRIBUTES (format!("`{wanted}`{rest}"), holds));
}

/// Attributes that change no kernel. In the last case, text around them is wrong, too.
#[rstest]
#[case::numbers(&["vec_type_hint(float)", "vec_type_hint(int)"], false)]
#[case::signed(&["vec_type_hint(short2)", "vec_type_hint(int4)"], false)]
#[case::unsigned(&["vec_type_hint(uint4)", "vec_type_hint(uchar16)", "vec_type_hint(ulong8)"], false)]
#[case::sizes(&["work_group_size_hint(8,1,1)", "work_group_size_hint(1,2,3)"], false)]
#[case::alone(&["vec_type_hint(float4)", "work_group_size_hint(2,2,2)"], true)]
#[case::several(&["vec_type_hint(float4)+work_group_size_hint(1,2,3)"], false)]
#[clmatrix_harness::test]
fn a_kernel_has_its_attributes(bench: Bench, #[case] attributes: &[&str], #[case] is_alone: bool) {
    let declare = |(n, it): (usize, &&str)| {
        let all = it.replace('+', ")) __attribute__((");
        format!("kernel __attribute__(({all})) void k{n}() {{}}\n")
    };
    let program = bench.build(&attributes.iter().enumerate().map(declare).collect::<String>(), "");
    for (n, attribute) in attributes.iter().enumerate() {
        let kernel = bench.new_kernel(&program, &format!("k{n}"));
        attribute.split('+').for_each(|it| check_attribute(&bench, &kernel, it, is_alone));
    }
}

/// Asks for the size and the number of the sub-groups of work-groups.
#[clmatrix_harness::test(requires(opencl = "2.1", subgroup))]
fn sub_groups_make_up_a_work_group(bench: Bench) {
    let kernel = bench.new_kernel(&bench.build(NOTHING, ""), "fixed_not");
    let (raw, device) = (kernel.raw(), bench.device);
    let most: usize = Subject::WorkGroup(raw, device).value(named!(CL_KERNEL_WORK_GROUP_SIZE));
    let queries =
        named![CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE; CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE];
    let names = queries.map(|query| query.name).join(", ");
    for local in [&[1][..], &[7], &[64], &[8, 3], &[4, 2, 2]] {
        let all: usize = local.iter().product();
        let [[size, bytes], [count, _]] = queries.map(|Named { value: query, .. }| {
            let (bytes, given, mut found) = (size_of_val(local), local.as_ptr().cast(), [0; 2]);
            let (to, size) = ((&raw mut found[0]).cast(), &raw mut found[1]);
            // SAFETY: the kernel and the device are valid, and the answer has 8 bytes.
            unsafe { ok!(clGetKernelSubGroupInfo(raw, device, query, bytes, given, 8, to, size)) };
            found
        });
        let holds = (1..=all).contains(&count) && size * count >= all && bytes == 8;
        let call = format!("clGetKernelSubGroupInfo({names}) for groups of {local:?}");
        let rule = "1 to as many sub-groups as work items, with room for all of them (5.9.4)";
        let answer = format!("size {size} in {bytes} bytes, count {count}");
        bench.check(all > most || holds, call, rule, answer);
    }
}

const NONE: Query = named!(CL_KERNEL_ARG_ACCESS_NONE);
const WRITE: Query = named!(CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
const PRIVATE: Query = named!(CL_KERNEL_ARG_ADDRESS_PRIVATE);
const GLOBAL: Query = named!(CL_KERNEL_ARG_ADDRESS_GLOBAL);
const LOCAL: Query = named!(CL_KERNEL_ARG_ADDRESS_LOCAL);
const CONST: u64 = CL_KERNEL_ARG_TYPE_CONST as u64;
const VOLATILE: u64 = CL_KERNEL_ARG_TYPE_VOLATILE as u64;
const RESTRICT: u64 = CL_KERNEL_ARG_TYPE_RESTRICT as u64;

/// Arguments, each with its declaration without a name, the name of its type, the address space, the access, and the
/// qualifiers. The last three need images.
static ARGUMENTS: [(&str, &str, Query, Query, u64); 12] = [
    ("unsigned int", "uint", PRIVATE, NONE, 0),
    ("pair", "pair", PRIVATE, NONE, 0),
    ("const ushort3", "ushort3", PRIVATE, NONE, 0),
    ("const volatile pair", "pair", PRIVATE, NONE, 0),
    ("global uchar16 *", "uchar16*", GLOBAL, NONE, 0),
    ("global volatile pair *", "pair*", GLOBAL, NONE, VOLATILE),
    ("global const unsigned char * restrict", "uchar*", GLOBAL, NONE, CONST | RESTRICT),
    ("constant long *", "long*", named!(CL_KERNEL_ARG_ADDRESS_CONSTANT), NONE, CONST),
    ("local volatile float4 * restrict", "float4*", LOCAL, NONE, VOLATILE | RESTRICT),
    ("read_only image2d_t", "image2d_t", GLOBAL, named!(CL_KERNEL_ARG_ACCESS_READ_ONLY), 0),
    ("write_only image2d_array_t", "image2d_array_t", GLOBAL, WRITE, 0),
    ("sampler_t", "sampler_t", PRIVATE, NONE, 0),
];

#[clmatrix_harness::test]
fn an_argument_answers_as_it_was_declared(bench: Bench) {
    let rows = &ARGUMENTS[..if bench.has_images { 12 } else { 9 }];
    let declared = rows.iter().enumerate().map(|(index, row)| format!("{} a{index}", row.0));
    let declared: Vec<_> = declared.collect();
    let list = declared.join(", ");
    let source = format!("typedef struct {{ int a; }} pair; kernel void k({list}) {{}}");
    let kernel = bench.new_kernel(&bench.build(&source, "-cl-kernel-arg-info"), "k");
    for (index, &(_, kind, space, access, qualifiers)) in rows.iter().enumerate() {
        // The arguments with an access are images, for which the specification names no address space.
        answers!(bench, Argument(kernel.raw(), index as u32), format!("`{}`", declared[index]);
            text CL_KERNEL_ARG_TYPE_NAME kind, text CL_KERNEL_ARG_NAME &format!("a{index}"),
            constant CL_KERNEL_ARG_ACCESS_QUALIFIER access,
            is CL_KERNEL_ARG_TYPE_QUALIFIER qualifiers,
            [access == NONE] constant CL_KERNEL_ARG_ADDRESS_QUALIFIER space);
    }
}
