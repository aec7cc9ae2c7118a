//! Queries of devices: least values, answers that other answers decide (4.2), and parts of devices (4.3).

use super::objects::devices;
use super::versions::words;
use super::*;

/// A rule of a number.
#[derive(Clone, Copy)]
enum Rule {
    Least(u64),
    Bits(u64),
    OneOf(&'static [u64]),
}

use Rule::{Bits, Least, OneOf};

/// A query, the bytes of its answer, and a rule of the answer.
type Row = (Named<u32>, usize, Rule);

/// Rows: first a rule, then the size and the queries.
macro_rules! rows {
    ($($rule:expr => $($size:literal $query:ident),+);+ $(;)?) => {
        &[$($((named!($query), $size, $rule)),+),+]
    };
}

/// Skips a custom device, and one of the embedded profile, which have least values of their own.
fn full<'a>(bench: &Bench, findings: &'a Findings) -> Asked<'a> {
    let asked = Asked::new(findings, Subject::Device(bench.device), "the device");
    let profiles = ["FULL_PROFILE", "EMBEDDED_PROFILE"];
    let rule = format!("one of {profiles:?}");
    let profile = asked.read(named!(CL_DEVICE_PROFILE), rule, |found| profiles.contains(&found));
    let kind = asked.number(named!(CL_DEVICE_TYPE), 8);
    if profile != profiles[0] || kind == CL_DEVICE_TYPE_CUSTOM {
        skip!("the least values are those of the full profile");
    }
    asked
}

/// Values of all devices, and of those with a feature. Without it, the numbers are 0.
#[rstest]
#[case::sizes("", (1, 2), rows![
    Least(1) => 4 CL_DEVICE_MAX_COMPUTE_UNITS, 8 CL_DEVICE_MAX_WORK_GROUP_SIZE;
    Least(3) => 4 CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS; Least(8) => 4 CL_DEVICE_MAX_CONSTANT_ARGS;
    Least(1024) => 8 CL_DEVICE_MAX_PARAMETER_SIZE, 4 CL_DEVICE_MEM_BASE_ADDR_ALIGN;
    Least(1 << 15) => 8 CL_DEVICE_LOCAL_MEM_SIZE; Least(1 << 16) => 8 CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE])]
#[case::widths("", (1, 2), rows![Least(1) =>
    4 CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR,
    4 CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
    4 CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
    4 CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
    4 CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT])]
#[case::constants("", (1, 2), rows![
    OneOf(&[1]) => 4 CL_DEVICE_AVAILABLE, 4 CL_DEVICE_COMPILER_AVAILABLE, 4 CL_DEVICE_LINKER_AVAILABLE,
        4 CL_DEVICE_REFERENCE_COUNT;
    OneOf(&[0, 1]) => 4 CL_DEVICE_IMAGE_SUPPORT, 4 CL_DEVICE_ERROR_CORRECTION_SUPPORT,
        4 CL_DEVICE_ENDIAN_LITTLE, 4 CL_DEVICE_HOST_UNIFIED_MEMORY, 4 CL_DEVICE_PREFERRED_INTEROP_USER_SYNC;
    OneOf(&[1, 2]) => 4 CL_DEVICE_LOCAL_MEM_TYPE; OneOf(&[0, 1, 2]) => 4 CL_DEVICE_GLOBAL_MEM_CACHE_TYPE;
    OneOf(&[32, 64]) => 4 CL_DEVICE_ADDRESS_BITS;
    Bits(CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST) => 8 CL_DEVICE_SINGLE_FP_CONFIG;
    Bits(CL_EXEC_KERNEL) => 8 CL_DEVICE_EXECUTION_CAPABILITIES;
    Bits(CL_QUEUE_PROFILING_ENABLE) => 8 CL_DEVICE_QUEUE_ON_HOST_PROPERTIES])]
#[case::kind("", (1, 2), rows![OneOf(&[2, 4, 8, 16]) => 8 CL_DEVICE_TYPE])]
#[case::alignment("", (1, 2), rows![Least(128) => 4 CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE])]
#[case::printf("", (1, 2), rows![Least(1 << 20) => 8 CL_DEVICE_PRINTF_BUFFER_SIZE])]
#[case::atomics("", (3, 0), rows![
    Bits(CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP) =>
        8 CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, 8 CL_DEVICE_ATOMIC_FENCE_CAPABILITIES;
    Bits(CL_DEVICE_ATOMIC_ORDER_ACQ_REL) => 8 CL_DEVICE_ATOMIC_FENCE_CAPABILITIES])]
#[case::enqueue("", (3, 0), rows![OneOf(&[0, 1, 3]) => 8 CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES])]
#[case::images("CL_DEVICE_IMAGE_SUPPORT", (1, 2), rows![
    Least(16) => 4 CL_DEVICE_MAX_SAMPLERS; Least(128) => 4 CL_DEVICE_MAX_READ_IMAGE_ARGS;
    Least(2048) => 8 CL_DEVICE_IMAGE3D_MAX_WIDTH, 8 CL_DEVICE_IMAGE3D_MAX_HEIGHT,
        8 CL_DEVICE_IMAGE3D_MAX_DEPTH, 8 CL_DEVICE_IMAGE_MAX_ARRAY_SIZE;
    Least(8192) => 8 CL_DEVICE_IMAGE2D_MAX_WIDTH, 8 CL_DEVICE_IMAGE2D_MAX_HEIGHT;
    Least(8) => 4 CL_DEVICE_MAX_WRITE_IMAGE_ARGS; Least(1 << 16) => 8 CL_DEVICE_IMAGE_MAX_BUFFER_SIZE])]
#[case::doubles("cl_khr_fp64", (1, 2), rows![
    Bits(CL_FP_FMA | CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN | CL_FP_DENORM) => 8 CL_DEVICE_DOUBLE_FP_CONFIG;
    Least(1) => 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE])]
#[clmatrix_harness::test]
fn a_device_has_its_values(
    bench: Bench,
    #[case] feature: &str,
    #[case] since: (u32, u32),
    #[case] rows: &[Row],
) {
    if !bench.is(since.0, since.1) {
        skip!("the version lacks the queries");
    }
    let findings = Findings::default();
    let asked = full(&bench, &findings);
    let is_there = match feature {
        "" => true,
        "CL_DEVICE_IMAGE_SUPPORT" => bench.has_images,
        extension => words(&asked, named!(CL_DEVICE_EXTENSIONS)).contains(extension),
    };
    for &(query, size, rule) in rows {
        let found = asked.number(query, size);
        let (holds, rule) = match rule {
            _ if !is_there => (found == 0, format!("0, without {feature}")),
            Least(least) => (found >= least, format!("at least {least}")),
            Bits(bits) => (found & bits == bits, format!("the bits {bits:#x}")),
            OneOf(values) => (values.contains(&found), format!("one of {values:?}")),
        };
        if !holds {
            asked.add(query, rule, format_args!("{found} = {found:#x}"));
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn the_answers_of_a_device_agree(bench: Bench) {
    let findings = Findings::default();
    let asked = full(&bench, &findings);
    let dimensions = asked.number(named!(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS), 4) as usize;
    let rule =
        format!("{dimensions} sizes, as CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS is, none of them 0");
    let holds = |found: &[usize]| found.len() == dimensions && !found.contains(&0);
    asked.check(named!(CL_DEVICE_MAX_WORK_ITEM_SIZES), rule, holds);
    let all = asked.number(named!(CL_DEVICE_GLOBAL_MEM_SIZE), 8);
    let quarter = if bench.is(2, 0) { (all / 4).min(1 << 30) } else { all / 4 };
    let range = quarter.max(32 << 20)..=all;
    let rule = format!("{range:?}, of CL_DEVICE_GLOBAL_MEM_SIZE {all}");
    let holds = |found: &[u64]| found.iter().all(|most| range.contains(most));
    asked.check(named!(CL_DEVICE_MAX_MEM_ALLOC_SIZE), rule, holds);
    for query in [named!(CL_DEVICE_NAME), named!(CL_DEVICE_VENDOR), named!(CL_DRIVER_VERSION)] {
        asked.read(query, "a name", |found| !found.is_empty());
    }
    asked.pointer(named!(CL_DEVICE_PARENT_DEVICE), ptr::null_mut());
    let holds = |found: &[isize]| matches!(found, [] | [0]);
    asked.check(named!(CL_DEVICE_PARTITION_TYPE), "nothing, or 0", holds);
    let units = asked.number(named!(CL_DEVICE_MAX_COMPUTE_UNITS), 4);
    let rule = format!("at most CL_DEVICE_MAX_COMPUTE_UNITS, {units}");
    let holds = |found: &[u32]| found.iter().all(|most| u64::from(*most) <= units);
    asked.check(named!(CL_DEVICE_PARTITION_MAX_SUB_DEVICES), rule, holds);
    let rule = "a platform for which clGetDeviceIDs returns the device";
    let platform = Subject::Device(bench.device).handle(named!(CL_DEVICE_PLATFORM));
    let is_there = devices(platform, CL_DEVICE_TYPE_ALL).contains(&(bench.device as usize));
    asked.check(named!(CL_DEVICE_PLATFORM), rule, |found: &[usize]| found.len() == 1 && is_there);
}

#[rstest]
#[case::equally(CL_DEVICE_PARTITION_EQUALLY)]
#[case::by_counts(CL_DEVICE_PARTITION_BY_COUNTS)]
#[clmatrix_harness::test]
fn a_part_of_a_device_answers_as_it_was_made(bench: Bench, #[case] kind: isize) {
    let root = Subject::Device(bench.device);
    let kinds: Vec<isize> = root.list(named!(CL_DEVICE_PARTITION_PROPERTIES));
    let most: u32 = root.value(named!(CL_DEVICE_PARTITION_MAX_SUB_DEVICES));
    let units: u32 = root.value(named!(CL_DEVICE_MAX_COMPUTE_UNITS));
    if !kinds.contains(&kind) || most < 2 || most < units {
        skip!("the device cannot be divided in this way");
    }
    let findings = Findings::default();
    let list = [kind, 1, 0, 0];
    let (mut count, mut parts) = (0, vec![ptr::null_mut(); units as usize]);
    let (device, given, space) = (bench.device, list.as_ptr(), parts.as_mut_ptr());
    // SAFETY: the device is valid, the list ends with 0, and there is space for a device of each unit.
    unsafe { ok!(clCreateSubDevices(device, given, units, space, &raw mut count)) };
    let wanted = if kind == CL_DEVICE_PARTITION_EQUALLY { units } else { 1 };
    let call = format!("clCreateSubDevices({list:x?}) of {units} compute units");
    findings.check(count == wanted, call, format_args!("{wanted} devices (4.3)"), count);
    for part in parts.into_iter().take(count as usize) {
        // SAFETY: the driver has created the device.
        let part = unsafe { Object::new(Class::SubDevice, part) };
        let asked = Asked::new(&findings, Subject::Device(part.raw()), "a part of a device");
        answers!(asked; pointer CL_DEVICE_PARENT_DEVICE bench.device, is CL_DEVICE_MAX_COMPUTE_UNITS 1_u32,
            is CL_DEVICE_REFERENCE_COUNT 1_u32, text CL_DEVICE_NAME &root.text(named!(CL_DEVICE_NAME)),
            pointer CL_DEVICE_PLATFORM root.handle(named!(CL_DEVICE_PLATFORM)),
            is CL_DEVICE_TYPE root.value::<u64>(named!(CL_DEVICE_TYPE)));
        // The end of the counts may be the end of the list.
        let holds = |found: &[isize]| found == list || *found == list[..3];
        let rule = format!("the list of the call, {list:x?}");
        asked.check(named!(CL_DEVICE_PARTITION_TYPE), rule, holds);
    }
}
