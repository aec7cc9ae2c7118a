//! Queries of kernels, their arguments, work-groups and sub-groups (5.9.4).

use super::*;

const SOURCE: &str = "
kernel void none(void) {}
kernel void three(global int *to, int a, float b) { to[get_global_id(0)] = a + (int)b; }
kernel __attribute__((reqd_work_group_size(4, 2, 1))) void fixed(global int *to) { to[0] = 1; }
kernel __attribute__((work_group_size_hint(2, 1, 1))) void hinted(global int *to) { to[0] = 1; }";

/// Each kernel with its arguments and its work-group size.
static KERNELS: [(&str, u32, [usize; 3]); 4] =
    [("none", 0, [0; 3]), ("three", 3, [0; 3]), ("fixed", 1, [4, 2, 1]), ("hinted", 1, [0; 3])];

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_answers_as_it_was_made(bench: Bench) {
    let findings = Findings::default();
    let program = bench.build(SOURCE, "");
    let most: usize = Subject::Device(bench.device).value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    for (name, arguments, fixed) in KERNELS {
        let kernel = bench.new_kernel(&program, name);
        let called = format!("kernel `{name}`");
        let asked = Asked::new(&findings, Subject::Kernel(kernel.raw()), &*called);
        answers!(asked; text CL_KERNEL_FUNCTION_NAME name, is CL_KERNEL_NUM_ARGS arguments,
            pointer CL_KERNEL_CONTEXT bench.context, pointer CL_KERNEL_PROGRAM program.raw());
        let asked = Asked::new(&findings, Subject::WorkGroup(kernel.raw(), bench.device), called);
        let size = fixed.iter().product::<usize>().max(1);
        asked.list(named!(CL_KERNEL_COMPILE_WORK_GROUP_SIZE), &fixed);
        within(&asked, named!(CL_KERNEL_WORK_GROUP_SIZE), size, most);
        within(&asked, named!(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE), 1, most);
        within(&asked, named!(CL_KERNEL_LOCAL_MEM_SIZE), 0, 1_u64 << 10);
        within(&asked, named!(CL_KERNEL_PRIVATE_MEM_SIZE), 0, 1_u64 << 20);
        asked.refuses(named!(CL_KERNEL_GLOBAL_WORK_SIZE), CL_INVALID_VALUE);
    }
    let asked = Asked::new(&findings, Subject::Device(bench.device), "the device");
    if bench.is(3, 0) && asked.number(named!(CL_DEVICE_MAX_NUM_SUB_GROUPS), 4) > 0 {
        check_sub_groups(&bench, &findings, bench.new_kernel(&program, "three").raw());
    }
}

/// Checks that the answer is a number from `least` to `most`.
fn within<T: Number + PartialOrd>(asked: &Asked<'_>, query: Named<u32>, least: T, most: T) {
    let is_within = |found: &[T]| matches!(found, [found] if (least..=most).contains(found));
    asked.check(query, format_args!("{least} to {most}"), is_within);
}

/// Rules that some drivers break: attributes, local memory that arguments add, and a null device.
#[rstest]
#[case::attributes(named!(CL_KERNEL_ATTRIBUTES))]
#[case::local_memory(named!(CL_KERNEL_LOCAL_MEM_SIZE))]
#[case::null_device(named!(CL_KERNEL_WORK_GROUP_SIZE))]
#[clmatrix_harness::test]
fn a_kernel_tells(bench: Bench, #[case] query: Named<u32>) {
    let findings = Findings::default();
    let program = bench.build(
        "kernel __attribute__((reqd_work_group_size(4, 2, 1)))
        void k(local int *x, local int *y, global int *to) {
            local int values[256];
            values[get_local_id(0)] = x[0] = y[0] = to[0];
            barrier(CLK_LOCAL_MEM_FENCE);
            to[1] = x[0] + y[0] + values[3 - get_local_id(0)];
        }",
        "-cl-kernel-arg-info",
    );
    let kernel = bench.new_kernel(&program, "k");
    let (raw, of_device) = (kernel.raw(), Subject::WorkGroup(kernel.raw(), bench.device));
    match query.value {
        CL_KERNEL_ATTRIBUTES => {
            let wanted = "reqd_work_group_size(4,2,1)";
            let asked = Asked::new(&findings, Subject::Kernel(raw), "a kernel");
            asked.read(query, format_args!("`{wanted}`"), |found| found.replace(' ', "") == wanted);
        }
        CL_KERNEL_LOCAL_MEM_SIZE => {
            let asked = Asked::new(&findings, of_device, "a kernel with an array of 1024 bytes");
            within(&asked, query, 1024, 2048_u64);
            let without: u64 = of_device.value(query);
            for (index, bytes, sum) in [(0, 4096, 4096), (1, 512, 4608), (0, 256, 768)] {
                // SAFETY: the argument is a pointer to local memory.
                unsafe { ok!(clSetKernelArg(raw, index, bytes, ptr::null())) };
                let name = format!("a kernel with {without} bytes, and {sum} of arguments");
                Asked::new(&findings, of_device, name).is(query, without + sum);
            }
        }
        _ => {
            let subject = Subject::WorkGroup(raw, ptr::null_mut());
            let asked = Asked::new(&findings, subject, "a null device, for the only one");
            asked.is(query, of_device.value::<usize>(query));
        }
    }
}

/// Checks that sub-groups divide a work-group of 8 by 4 items.
fn check_sub_groups(bench: &Bench, findings: &Findings, kernel: *mut c_void) {
    let ask = |query: Named<u32>, least: usize| {
        let (local, mut found, mut needed) = ([8_usize, 4], 0_usize, 0);
        // SAFETY: kernel and device are valid; the spaces have their sizes.
        let code = unsafe {
            let (device, query, needed) = (bench.device, query.value, &raw mut needed);
            let (given, space) = (local.as_ptr().cast(), (&raw mut found).cast());
            cl!(clGetKernelSubGroupInfo(kernel, device, query, 16, given, 8, space, needed))
        };
        let holds = code == CL_SUCCESS && needed == 8 && (least..=32).contains(&found);
        let call = format!("clGetKernelSubGroupInfo({}) for {local:?}", query.name);
        let answer = format!("{}, {needed} bytes: {found}", code_name(code));
        findings.check(holds, call, format_args!("{least} to 32 in 8 bytes (5.9.4)"), answer);
        found
    };
    let size = ask(named!(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE), 1);
    ask(named!(CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE), 32_usize.div_ceil(size.max(1)));
}

const NONE: Named<u32> = named!(CL_KERNEL_ARG_ACCESS_NONE);
const READ: Named<u32> = named!(CL_KERNEL_ARG_ACCESS_READ_ONLY);
const WRITE: Named<u32> = named!(CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
const PRIVATE: Option<Named<u32>> = Some(named!(CL_KERNEL_ARG_ADDRESS_PRIVATE));
const GLOBAL: Option<Named<u32>> = Some(named!(CL_KERNEL_ARG_ADDRESS_GLOBAL));
const CONSTANT: Option<Named<u32>> = Some(named!(CL_KERNEL_ARG_ADDRESS_CONSTANT));
const LOCALS: Option<Named<u32>> = Some(named!(CL_KERNEL_ARG_ADDRESS_LOCAL));
const CONST: u32 = CL_KERNEL_ARG_TYPE_CONST;
const RESTRICT: u32 = CL_KERNEL_ARG_TYPE_RESTRICT;
const VOLATILE: u32 = CL_KERNEL_ARG_TYPE_VOLATILE;

/// An argument: its declaration without a name, the name of its type, the address space, the access, and the
/// qualifiers. The specification names no address space of images.
type Argument = (&'static str, &'static str, Option<Named<u32>>, Named<u32>, u32);

/// The arguments; those after the first 10 need images.
static ARGUMENTS: [Argument; 14] = [
    ("unsigned int", "uint", PRIVATE, NONE, 0),
    ("uchar16", "uchar16", PRIVATE, NONE, 0),
    ("pair", "pair", PRIVATE, NONE, 0),
    ("global pair *", "pair*", GLOBAL, NONE, 0),
    ("global const float4 *", "float4*", GLOBAL, NONE, CONST),
    ("global unsigned char * restrict", "uchar*", GLOBAL, NONE, RESTRICT),
    ("global volatile uint *", "uint*", GLOBAL, NONE, VOLATILE),
    ("constant long *", "long*", CONSTANT, NONE, CONST),
    ("local ushort2 *", "ushort2*", LOCALS, NONE, 0),
    ("local const int * restrict", "int*", LOCALS, NONE, CONST | RESTRICT),
    ("read_only image2d_t", "image2d_t", None, READ, 0),
    ("write_only image2d_array_t", "image2d_array_t", None, WRITE, 0),
    ("read_only image3d_t", "image3d_t", None, READ, 0),
    ("sampler_t", "sampler_t", PRIVATE, NONE, 0),
];

#[rstest]
#[clmatrix_harness::test]
fn an_argument_answers_as_it_was_declared(bench: Bench) {
    let findings = Findings::default();
    let rows = &ARGUMENTS[..if bench.has_images { 14 } else { 10 }];
    let declare = |(index, row): (usize, &Argument)| format!("{} a{index}", row.0);
    let declared: Vec<String> = rows.iter().enumerate().map(declare).collect();
    let list = declared.join(", ");
    let source = format!("typedef struct {{ int a; }} pair; kernel void k({list}) {{}}");
    let program = bench.build(&source, "-cl-kernel-arg-info");
    let kernel = bench.new_kernel(&program, "k");
    for (index, &(_, kind, space, access, qualifiers)) in rows.iter().enumerate() {
        let subject = Subject::Argument(kernel.raw(), index as u32);
        let asked = Asked::new(&findings, subject, format!("`{}`", declared[index]));
        answers!(asked; text CL_KERNEL_ARG_TYPE_NAME kind, text CL_KERNEL_ARG_NAME &format!("a{index}"),
            constant CL_KERNEL_ARG_ACCESS_QUALIFIER access,
            is CL_KERNEL_ARG_TYPE_QUALIFIER u64::from(qualifiers));
        if let Some(space) = space {
            asked.constant(named!(CL_KERNEL_ARG_ADDRESS_QUALIFIER), space);
        }
    }
}
