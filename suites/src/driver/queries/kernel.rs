//! Queries of kernels, their arguments and work-groups (5.9.4).

use super::*;

const SOURCE: &str = "
kernel void three(global int *to, int a, float b) { to[get_global_id(0)] = a + (int)b; }
kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void fixed(local int *x, local int *y, global int *to) {
    local int values[256];
    values[get_local_id(0)] = x[0] = y[0] = to[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[1] = x[0] + y[0] + values[3 - get_local_id(0)];
}";

/// A kernel without arguments. NVIDIA's compiler refuses it with `-cl-kernel-arg-info`.
const NO_ARGUMENTS: &str = "kernel void none(void) {}";

/// Each kernel with its arguments, its work-group size and its bytes of local memory.
static KERNELS: [(&str, u32, [usize; 3], u64); 3] =
    [("none", 0, [0; 3], 0), ("three", 3, [0; 3], 0), ("fixed", 3, [4, 2, 1], 1024)];

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_answers_as_it_was_made(bench: Bench) {
    let program = bench.build(&[SOURCE, NO_ARGUMENTS].concat(), "");
    let most: usize = Subject::Device(bench.device).value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    for (name, arguments, fixed, local) in KERNELS {
        let kernel = bench.new_kernel(&program, name);
        let called = format!("kernel `{name}`");
        answers!(Asked::new(Subject::Kernel(kernel.raw()), &*called);
            text CL_KERNEL_FUNCTION_NAME name, is CL_KERNEL_NUM_ARGS arguments,
            pointer CL_KERNEL_CONTEXT bench.context, pointer CL_KERNEL_PROGRAM program.raw());
        let asked = Asked::new(Subject::WorkGroup(kernel.raw(), bench.device), called);
        asked.list(named!(CL_KERNEL_COMPILE_WORK_GROUP_SIZE), &fixed);
        let least = fixed.iter().product::<usize>().max(1);
        within(&asked, named!(CL_KERNEL_WORK_GROUP_SIZE), least, most);
        within(&asked, named!(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE), 1, most);
        within(&asked, named!(CL_KERNEL_LOCAL_MEM_SIZE), local, local + 1024);
    }
}

/// Checks that the answer is a number from `least` to `most`.
fn within<T: Number + PartialOrd>(asked: &Asked, query: Query, least: T, most: T) {
    let is_within = |found: &[T]| matches!(found, [found] if (least..=most).contains(found));
    asked.check(query, format_args!("{least} to {most}"), is_within);
}

/// Rules that some drivers break: attributes, local memory that arguments add, and a null device.
#[rstest]
#[case::attributes(named!(CL_KERNEL_ATTRIBUTES))]
#[case::local_memory(named!(CL_KERNEL_LOCAL_MEM_SIZE))]
#[case::null_device(named!(CL_KERNEL_WORK_GROUP_SIZE))]
#[clmatrix_harness::test]
fn a_kernel_tells(bench: Bench, #[case] query: Query) {
    let kernel = bench.new_kernel(&bench.build(SOURCE, "-cl-kernel-arg-info"), "fixed");
    let (raw, of_device) = (kernel.raw(), Subject::WorkGroup(kernel.raw(), bench.device));
    match query.value {
        CL_KERNEL_ATTRIBUTES => {
            let wanted = "reqd_work_group_size(4,2,1)";
            let asked = Asked::new(Subject::Kernel(raw), "a kernel");
            asked.read(query, format_args!("`{wanted}`"), |found| found.replace(' ', "") == wanted);
        }
        CL_KERNEL_LOCAL_MEM_SIZE => {
            let without: u64 = of_device.value(query);
            for (index, bytes, sum) in [(0, 4096, 4096), (1, 512, 4608), (0, 256, 768)] {
                // SAFETY: the argument is a pointer to local memory.
                unsafe { ok!(clSetKernelArg(raw, index, bytes, ptr::null())) };
                let name = format!("a kernel with {without} bytes, and {sum} of arguments");
                Asked::new(of_device, name).is(query, without + sum);
            }
        }
        _ => {
            let subject = Subject::WorkGroup(raw, ptr::null_mut());
            let asked = Asked::new(subject, "a null device, for the only one");
            asked.is(query, of_device.value::<usize>(query));
        }
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

#[rstest]
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
        let asked = Asked::new(subject, format!("`{}`", declared[index]));
        answers!(asked; text CL_KERNEL_ARG_TYPE_NAME kind,
            text CL_KERNEL_ARG_NAME &format!("a{index}"),
            constant CL_KERNEL_ARG_ACCESS_QUALIFIER access,
            is CL_KERNEL_ARG_TYPE_QUALIFIER qualifiers);
        if let Some(space) = space {
            asked.constant(named!(CL_KERNEL_ARG_ADDRESS_QUALIFIER), space);
        }
    }
}
