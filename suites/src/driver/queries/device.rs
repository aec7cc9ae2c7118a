//! Queries of devices: least values, answers that other answers decide (4.2), and parts of devices (4.3).

use std::{borrow::Cow, ffi::CStr};

use super::*;

/// A query, the bytes of its answer, and a rule of the answer, in words and as a function.
type Row = (Query, usize, &'static str, fn(u64) -> bool);

/// Rows: first a rule of a number, then the size and the queries.
macro_rules! rows {
    ($n:ident; $($rule:expr => $($size:literal $query:ident),+);+ $(;)?) => {
        &[$($((named!($query), $size, stringify!($rule), (|$n| $rule) as fn(u64) -> bool)),+),+]
    };
}

/// Skips the test unless the device has the least values that OpenCL names for the full profile.
fn requires_least_values(device: Subject) {
    let is_custom = device.value::<u64>(named!(CL_DEVICE_TYPE)) & CL_DEVICE_TYPE_CUSTOM != 0;
    if is_custom || device.text(named!(CL_DEVICE_PROFILE)) != "FULL_PROFILE" {
        skip!("the device is custom or of the embedded profile, with other least values");
    }
}

/// Values of all devices, and of those with a feature. Without an extension or images, the numbers are 0. Rules that some
/// drivers break stand apart.
#[rstest]
#[case::numbers("", rows![n;
    n <= 1 => 4 CL_DEVICE_IMAGE_SUPPORT, 4 CL_DEVICE_HOST_UNIFIED_MEMORY, 4 CL_DEVICE_ENDIAN_LITTLE,
        4 CL_DEVICE_ERROR_CORRECTION_SUPPORT, 4 CL_DEVICE_PREFERRED_INTEROP_USER_SYNC;
    n == 1 => 4 CL_DEVICE_AVAILABLE, 4 CL_DEVICE_COMPILER_AVAILABLE, 4 CL_DEVICE_LINKER_AVAILABLE;
    n == 1 || n == 2 => 4 CL_DEVICE_LOCAL_MEM_TYPE; n <= 2 => 4 CL_DEVICE_GLOBAL_MEM_CACHE_TYPE;
    n == 32 || n == 64 => 4 CL_DEVICE_ADDRESS_BITS;
    n >= 3 => 4 CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS; n >= 8 => 4 CL_DEVICE_MAX_CONSTANT_ARGS;
    n >= 1024 => 8 CL_DEVICE_MAX_PARAMETER_SIZE, 4 CL_DEVICE_MEM_BASE_ADDR_ALIGN;
    n >= 32768 => 8 CL_DEVICE_LOCAL_MEM_SIZE; n >= 65536 => 8 CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE;
    n < 1 << 20 => 4 CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE;
    n < 1 << 40 => 8 CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8 CL_DEVICE_PROFILING_TIMER_RESOLUTION,
        4 CL_DEVICE_MAX_CLOCK_FREQUENCY, 4 CL_DEVICE_VENDOR_ID;
    !n & (CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST) == 0 => 8 CL_DEVICE_SINGLE_FP_CONFIG;
    n & CL_EXEC_KERNEL != 0 => 8 CL_DEVICE_EXECUTION_CAPABILITIES;
    n & CL_QUEUE_PROFILING_ENABLE != 0 => 8 CL_DEVICE_QUEUE_ON_HOST_PROPERTIES;
    n >= 1 => 4 CL_DEVICE_MAX_COMPUTE_UNITS, 8 CL_DEVICE_MAX_WORK_GROUP_SIZE,
        4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
        4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
        4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
        4 CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_INT,
        4 CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT])]
#[case::kind("", rows![n; matches!(n, 2 | 4 | 8 | 16) => 8 CL_DEVICE_TYPE])]
#[case::alignment("", rows![n; n >= 128 => 4 CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE])]
#[case::printf("", rows![n; n >= 1 << 20 => 8 CL_DEVICE_PRINTF_BUFFER_SIZE])]
#[case::enqueue("OpenCL 3.0", rows![n; n < 2 || n == 3 => 8 CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES])]
#[case::images("CL_DEVICE_IMAGE_SUPPORT", rows![n;
    n >= 8192 => 8 CL_DEVICE_IMAGE2D_MAX_WIDTH, 8 CL_DEVICE_IMAGE2D_MAX_HEIGHT;
    n >= 2048 => 8 CL_DEVICE_IMAGE3D_MAX_WIDTH, 8 CL_DEVICE_IMAGE3D_MAX_HEIGHT,
        8 CL_DEVICE_IMAGE3D_MAX_DEPTH, 8 CL_DEVICE_IMAGE_MAX_ARRAY_SIZE;
    n >= 128 => 4 CL_DEVICE_MAX_READ_IMAGE_ARGS; n >= 8 => 4 CL_DEVICE_MAX_WRITE_IMAGE_ARGS;
    n >= 16 => 4 CL_DEVICE_MAX_SAMPLERS; n >= 1 << 16 => 8 CL_DEVICE_IMAGE_MAX_BUFFER_SIZE])]
#[case::doubles("cl_khr_fp64", rows![n;
    !n & (CL_FP_FMA | CL_FP_INF_NAN | CL_FP_DENORM) == 0 => 8 CL_DEVICE_DOUBLE_FP_CONFIG;
    n >= 1 => 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE])]
#[case::halves("cl_khr_fp16", rows![n;
    n >= 1 => 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF;
    n & CL_FP_ROUND_TO_ZERO != 0 || !n & (CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN) == 0 =>
        8 CL_DEVICE_HALF_FP_CONFIG])]
#[clmatrix_harness::test]
fn a_device_has_its_values(bench: Bench, #[case] feature: &str, #[case] rows: &[Row]) {
    let asked = Asked(&bench, Subject::Device(bench.device), "the device");
    requires_least_values(asked.1);
    let is_there = match feature {
        "OpenCL 3.0" if !bench.is(3, 0) => skip!("the version lacks the query"),
        "" | "OpenCL 3.0" => true,
        "CL_DEVICE_IMAGE_SUPPORT" => bench.has_images,
        extension => asked.1.text(named!(CL_DEVICE_EXTENSIONS)).contains(extension),
    };
    for &(query, size, rule, holds) in rows {
        // The extension alone has this query.
        if is_there || query.value != CL_DEVICE_HALF_FP_CONFIG {
            let n = asked.number(query, size);
            let lacking = format!("n == 0 without {feature}");
            let (holds, rule) = if is_there { (holds(n), rule) } else { (n == 0, &*lacking) };
            asked.expect(holds, query, rule, format_args!("n is {n} = {n:#x}"));
        }
    }
}

/// The form of a text, in words and as a function.
type Form = (&'static str, fn(&str) -> bool);

const ANY: Form = ("a text", |_| true);
const PROFILE: Form = ("a profile", |text| ["FULL_PROFILE", "EMBEDDED_PROFILE"].contains(&text));
const VERSION: Form = ("`OpenCL <n>.<m> ...`", |text| is_version(text, "OpenCL "));
const OF_C: Form = ("`OpenCL C <n>.<m> ...`", |text| is_version(text, "OpenCL C "));

fn is_version(text: &str, prefix: &str) -> bool {
    let numbers = text.strip_prefix(prefix).and_then(|rest| rest.split_once(' '));
    let numbers = numbers.and_then(|(numbers, _)| numbers.split_once('.'));
    numbers.is_some_and(|(n, m)| [n, m].iter().all(|n| n.parse::<u8>().is_ok()))
}

#[clmatrix_harness::test]
fn a_device_and_its_platform_have_texts(bench: Bench) {
    answers!(bench, Device(bench.device), "the device"; read CL_DEVICE_NAME ANY,
        read CL_DEVICE_VENDOR ANY, read CL_DEVICE_EXTENSIONS ANY, read CL_DRIVER_VERSION ANY,
        read CL_DEVICE_BUILT_IN_KERNELS ANY, read CL_DEVICE_OPENCL_C_VERSION OF_C,
        read CL_DEVICE_VERSION VERSION, read CL_DEVICE_PROFILE PROFILE);
    answers!(bench, Platform(bench.platform()), "the platform"; read CL_PLATFORM_NAME ANY,
        read CL_PLATFORM_VENDOR ANY, read CL_PLATFORM_EXTENSIONS ANY,
        read CL_PLATFORM_VERSION VERSION, read CL_PLATFORM_PROFILE PROFILE);
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn extensions_have_versions(bench: Bench, #[values(false, true)] of_platform: bool) {
    let n = usize::from(of_platform);
    let subject = [Subject::Device(bench.device), Subject::Platform(bench.platform())][n];
    let all = named![CL_DEVICE_EXTENSIONS; CL_PLATFORM_EXTENSIONS][n];
    let versions =
        named![CL_DEVICE_EXTENSIONS_WITH_VERSION; CL_PLATFORM_EXTENSIONS_WITH_VERSION][n];
    let (asked, text) = (Asked(&bench, subject, "the extensions"), subject.text(all));
    let answer = asked.answer(versions).unwrap_or_default();
    // A version of 4 bytes, and a name of 64.
    let found = answer.chunks_exact(68).map(|entry| CStr::from_bytes_until_nul(&entry[4..]));
    let have: Vec<_> = found.map(|it| it.unwrap_or_default().to_string_lossy()).collect();
    let names: Vec<_> = text.split_whitespace().map(Cow::from).collect();
    let lacking: Vec<_> = names.iter().filter(|name| !have.contains(name)).collect();
    let more: Vec<_> = have.iter().filter(|name| !names.contains(name)).collect();
    let (size, wanted) = (answer.len(), 68 * names.len());
    let rule = format!("{wanted} bytes, each name of {} once with its version", all.name);
    let answer = format!("{size} bytes, which lack {lacking:?}, and have {more:?}");
    asked.expect(size == wanted && lacking.is_empty() && more.is_empty(), versions, rule, answer);
}

#[clmatrix_harness::test]
fn a_device_is_one_of_its_platform(bench: Bench) {
    let (platform, own) = (bench.platform(), bench.value::<u64>(named!(CL_DEVICE_TYPE)));
    if platform.is_null() {
        return bench.report("clGetDeviceInfo(CL_DEVICE_PLATFORM)", "a platform (4.2)", "null");
    }
    for types in [own, own | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL] {
        let (mut list, null) = ([ptr::null_mut(); 256], ptr::null_mut());
        // SAFETY: the driver has named the platform for its device; the list has as many places.
        let code = unsafe { cl!(clGetDeviceIDs(platform, types, 256, list.as_mut_ptr(), null)) };
        let count = list.iter().filter(|device| **device == bench.device).count();
        let call = format_args!("clGetDeviceIDs(device_type {types:#x})");
        let rule = "the list has the device, which has one of the types, once (4.2)";
        let answer = format!("{}, {count} times", code_name(code));
        bench.check(code == CL_SUCCESS && count == 1, call, rule, answer);
    }
}

#[clmatrix_harness::test]
fn the_answers_of_a_device_agree(bench: Bench) {
    requires_least_values(Subject::Device(bench.device));
    let dimensions: u32 = bench.value(named!(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS));
    let all: u64 = bench.value(named!(CL_DEVICE_GLOBAL_MEM_SIZE));
    let (major, minor) = (bench.version.major, bench.version.minor);
    answers!(bench, Device(bench.device), format!("a device with CL_DEVICE_GLOBAL_MEM_SIZE {all}");
        check CL_DEVICE_MAX_WORK_ITEM_SIZES (
            format!("{dimensions} sizes, by CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, none of them 0"),
            |found: &[usize]| found.len() == dimensions as usize && !found.contains(&0)),
        within CL_DEVICE_MAX_MEM_ALLOC_SIZE (all / 4).min(1 << 30)..=all,
        pointer CL_DEVICE_PARENT_DEVICE ptr::null_mut(),
        check CL_DEVICE_PARTITION_TYPE ("nothing, or 0",
            |found: &[isize]| matches!(found, [] | [0])),
        [bench.is(3, 0)] check CL_DEVICE_NUMERIC_VERSION (
            format!("{major} and {minor} from bits 22 and 12 on, as in CL_DEVICE_VERSION"),
            |found: &[u32]| matches!(found, [n] if (n >> 22, n >> 12 & 1023) == (major, minor))));
}

#[rstest]
#[case::equally(Partition::Equally(1), &[CL_DEVICE_PARTITION_EQUALLY, 1])]
#[case::by_counts(Partition::ByCounts(&[1, 1]), &[CL_DEVICE_PARTITION_BY_COUNTS, 1, 1])]
#[clmatrix_harness::test]
fn a_part_of_a_device_answers_as_it_was_made(
    bench: Bench,
    #[case] partition: Partition<'_>,
    #[case] properties: &[isize],
) {
    let parts = parts(bench.on_device.context.default_device(), partition);
    for part in parts.expect("parts of one compute unit") {
        answers!(bench, Device(part.as_raw()), "a part of a device";
            pointer CL_DEVICE_PARENT_DEVICE bench.device, is CL_DEVICE_MAX_COMPUTE_UNITS 1_u32,
            pointer CL_DEVICE_PLATFORM bench.platform(),
            check CL_DEVICE_PARTITION_TYPE (format!("{properties:x?}, and one or two zeros"),
                |found: &[isize]| matches!(found.strip_prefix(properties), Some([0] | [0, 0]))),
            check CL_DEVICE_PARTITION_PROPERTIES ("ways to divide it, or 0",
                |found: &[isize]| !found.is_empty()),
            counted CL_DEVICE_REFERENCE_COUNT (Class::Device, part.as_raw()));
    }
}

#[clmatrix_harness::test]
fn a_root_device_is_not_counted(bench: Bench) {
    let retained = Object::retained(Class::Device, bench.device);
    answers!(bench, Device(retained.raw()), "a root device, after clRetainDevice";
        is CL_DEVICE_REFERENCE_COUNT 1_u32);
}
