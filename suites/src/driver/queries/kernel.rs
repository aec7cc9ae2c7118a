//! Queries of kernels, their arguments and work-groups (5.9.4).

use super::*;

const SOURCE: &str = "
kernel void three(global int *to, int a, float b) { to[get_global_id(0)] = a + (int)b; }";

/// A kernel for groups of 8, with local memory.
const FIXED: &str = "
kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void fixed(local int *x, local int *y, global int *to) {
    local int values[256];
    values[get_local_id(0)] = x[0] = y[0] = to[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[1] = x[0] + y[0] + values[3 - get_local_id(0)];
}";

/// A kernel without arguments. NVIDIA's compiler refuses it with `-cl-kernel-arg-info`.
const NO_ARGUMENTS: &str = "kernel void none(void) {}";

/// Returns whether the device has room for [`FIXED`] and its arguments.
fn takes_fixed(bench: &Bench) -> bool {
    bench.value::<usize>(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE)) >= 8
        && bench.value::<u64>(named!(CL_DEVICE_LOCAL_MEM_SIZE)) >= 1 << 14
}

/// Each kernel with its arguments, its work-group size and its bytes of local memory.
static KERNELS: [(&str, u32, [usize; 3], u64); 3] =
    [("none", 0, [0; 3], 0), ("three", 3, [0; 3], 0), ("fixed", 3, [4, 2, 1], 1024)];

#[clmatrix_harness::test]
fn a_kernel_answers_as_it_was_made(bench: Bench) {
    let count = if takes_fixed(&bench) { 3 } else { 2 };
    let program = bench.build(&[SOURCE, NO_ARGUMENTS, FIXED][..count].concat(), "");
    let most: usize = bench.value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    for (name, arguments, fixed, local) in KERNELS.into_iter().take(count) {
        let kernel = bench.new_kernel(&program, name);
        let called = format!("kernel `{name}`");
        answers!(bench.asked(Subject::Kernel(kernel.raw()), &*called);
            text CL_KERNEL_FUNCTION_NAME name, is CL_KERNEL_NUM_ARGS arguments,
            pointer CL_KERNEL_CONTEXT bench.context, pointer CL_KERNEL_PROGRAM program.raw());
        let least = fixed.iter().product::<usize>().max(1);
        answers!(bench.asked(Subject::WorkGroup(kernel.raw(), bench.device), called);
            list CL_KERNEL_COMPILE_WORK_GROUP_SIZE &fixed,
            within CL_KERNEL_WORK_GROUP_SIZE least..=most,
            within CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE 1..=most,
            number CL_KERNEL_PRIVATE_MEM_SIZE 8,
            within CL_KERNEL_LOCAL_MEM_SIZE local..=bench.value(named!(CL_DEVICE_LOCAL_MEM_SIZE)));
    }
}

/// Rules that some drivers break: attributes, local memory that arguments add, and a null device.
#[rstest]
#[case::attributes(named!(CL_KERNEL_ATTRIBUTES))]
#[case::local_memory(named!(CL_KERNEL_LOCAL_MEM_SIZE))]
#[case::null_device(named!(CL_KERNEL_WORK_GROUP_SIZE))]
#[clmatrix_harness::test]
fn a_kernel_tells(bench: Bench, #[case] query: Query) {
    if !takes_fixed(&bench) {
        skip!("the device has groups below 8, or local memory below 16 KiB");
    }
    let kernel = bench.new_kernel(&bench.build(FIXED, "-cl-kernel-arg-info"), "fixed");
    let (raw, of_device) = (kernel.raw(), Subject::WorkGroup(kernel.raw(), bench.device));
    match query.value {
        CL_KERNEL_ATTRIBUTES => {
            let wanted = "reqd_work_group_size(4,2,1)";
            let asked = bench.asked(Subject::Kernel(raw), "a kernel");
            asked.read(query, format_args!("`{wanted}`"), |found| found.replace(' ', "") == wanted);
        }
        CL_KERNEL_LOCAL_MEM_SIZE => {
            let mut most = bench.value(named!(CL_DEVICE_LOCAL_MEM_SIZE));
            // The last one is smaller than before. A driver may use memory of its own.
            for (index, bytes, sum) in [(0, 4096, 4096), (1, 512, 4608), (0, 256, 768)] {
                // SAFETY: the argument is a pointer to local memory.
                unsafe { ok!(clSetKernelArg(raw, index, bytes, ptr::null())) };
                let name = format!("a kernel with 1024 bytes, and {sum} of arguments");
                bench.asked(of_device, name).within(query, 1024 + sum..=most);
                if index == 1 {
                    most = of_device.value::<u64>(query).saturating_sub(1);
                }
            }
        }
        _ => {
            let subject = Subject::WorkGroup(raw, ptr::null_mut());
            let asked = bench.asked(subject, "a null device, for the only one");
            asked.is(query, of_device.value::<usize>(query));
        }
    }
}

/// Asks for the size and the number of the sub-groups of work-groups.
#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn sub_groups_make_up_a_work_group(bench: Bench) {
    if bench.value::<u32>(named!(CL_DEVICE_MAX_NUM_SUB_GROUPS)) == 0 {
        skip!("CL_DEVICE_MAX_NUM_SUB_GROUPS is 0");
    }
    let kernel = bench.new_kernel(&bench.build(SOURCE, ""), "three");
    let most: usize =
        Subject::WorkGroup(kernel.raw(), bench.device).value(named!(CL_KERNEL_WORK_GROUP_SIZE));
    for local in [&[1][..], &[7], &[64], &[8, 3], &[4, 2, 2]] {
        let all: usize = local.iter().product();
        let ask = |query| {
            let (kernel, device, given) = (kernel.raw(), bench.device, local.as_ptr().cast());
            let (bytes, mut answer, mut size) = (size_of_val(local), 0_usize, 0);
            let (to, written) = ((&raw mut answer).cast(), &raw mut size);
            // SAFETY: the kernel and the device are valid, and the answer has 8 bytes.
            unsafe {
                ok!(clGetKernelSubGroupInfo(kernel, device, query, bytes, given, 8, to, written))
            };
            [answer, size]
        };
        let [[size, bytes], [count, _]] =
            [CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE]
                .map(ask);
        let rule = "1 to as many sub-groups as work items, with room for all of them (5.9.4)";
        let holds =
            (1..=all).contains(&count) && size * count >= all && bytes == size_of::<usize>();
        let queries = "CL_KERNEL_{MAX_SUB_GROUP_SIZE,SUB_GROUP_COUNT}_FOR_NDRANGE";
        let call = format!("clGetKernelSubGroupInfo({queries}) for groups of {local:?}");
        let answer = format!("size {size} in {bytes} bytes, count {count}");
        bench.check(all > most || holds, call, rule, answer);
    }
}

const NONE: Query = named!(CL_KERNEL_ARG_ACCESS_NONE);
const READ: Query = named!(CL_KERNEL_ARG_ACCESS_READ_ONLY);
const WRITE: Query = named!(CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
const PRIVATE: Option<Query> = Some(named!(CL_KERNEL_ARG_ADDRESS_PRIVATE));
const GLOBAL: Option<Query> = Some(named!(CL_KERNEL_ARG_ADDRESS_GLOBAL));
const CONSTANT: Option<Query> = Some(named!(CL_KERNEL_ARG_ADDRESS_CONSTANT));
const LOCALS: Option<Query> = Some(named!(CL_KERNEL_ARG_ADDRESS_LOCAL));
const CONST: u64 = CL_KERNEL_ARG_TYPE_CONST as u64;
const RESTRICT: u64 = CL_KERNEL_ARG_TYPE_RESTRICT as u64;
const VOLATILE: u64 = CL_KERNEL_ARG_TYPE_VOLATILE as u64;

/// An argument: its declaration without a name, the name of its type, the address space, the access, and the
/// qualifiers. The specification names no address space of images.
type Argument = (&'static str, &'static str, Option<Query>, Query, u64);

/// The arguments; the last three need images.
static ARGUMENTS: [Argument; 12] = [
    ("unsigned int", "uint", PRIVATE, NONE, 0),
    ("uchar16", "uchar16", PRIVATE, NONE, 0),
    ("pair", "pair", PRIVATE, NONE, 0),
    ("global pair *", "pair*", GLOBAL, NONE, 0),
    ("global const float4 *", "float4*", GLOBAL, NONE, CONST),
    ("global unsigned char * restrict", "uchar*", GLOBAL, NONE, RESTRICT),
    ("global volatile uint *", "uint*", GLOBAL, NONE, VOLATILE),
    ("constant long *", "long*", CONSTANT, NONE, CONST),
    ("local const int * restrict", "int*", LOCALS, NONE, CONST | RESTRICT),
    ("read_only image2d_t", "image2d_t", None, READ, 0),
    ("write_only image2d_array_t", "image2d_array_t", None, WRITE, 0),
    ("sampler_t", "sampler_t", PRIVATE, NONE, 0),
];

#[clmatrix_harness::test]
fn an_argument_answers_as_it_was_declared(bench: Bench) {
    let rows = &ARGUMENTS[..if bench.has_images { 12 } else { 9 }];
    let declare = |(index, row): (usize, &Argument)| format!("{} a{index}", row.0);
    let declared: Vec<String> = rows.iter().enumerate().map(declare).collect();
    let list = declared.join(", ");
    let source = format!("typedef struct {{ int a; }} pair; kernel void k({list}) {{}}");
    let kernel = bench.new_kernel(&bench.build(&source, "-cl-kernel-arg-info"), "k");
    for (index, &(_, kind, space, access, qualifiers)) in rows.iter().enumerate() {
        let subject = Subject::Argument(kernel.raw(), index as u32);
        let asked = bench.asked(subject, format!("`{}`", declared[index]));
        answers!(asked; text CL_KERNEL_ARG_TYPE_NAME kind,
            text CL_KERNEL_ARG_NAME &format!("a{index}"),
            constant CL_KERNEL_ARG_ACCESS_QUALIFIER access,
            is CL_KERNEL_ARG_TYPE_QUALIFIER qualifiers);
        if let Some(space) = space {
            asked.constant(named!(CL_KERNEL_ARG_ADDRESS_QUALIFIER), space);
        }
    }
}
