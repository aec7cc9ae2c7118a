//! Queries of devices: least values, answers that other answers decide (4.2), and parts of devices (4.3).

use clmatrix::Partition;

use super::*;
use crate::support::on_device::{OnDevice, on_device};
use crate::support::parts::parts;

/// A query, the bytes of its answer, and a rule of the answer, in words and as a function.
type Row = (Query, usize, &'static str, fn(u64) -> bool);

/// Rows: first a rule of a number, then the size and the queries.
macro_rules! rows {
    ($n:ident; $($rule:expr => $($size:literal $query:ident),+);+ $(;)?) => {
        &[$($((named!($query), $size, stringify!($rule), (|$n| $rule) as fn(u64) -> bool)),+),+]
    };
}

/// Values of all devices, and of those with a feature. Without an extension or images, the numbers are 0.
#[rstest]
#[case::sizes("", rows![n;
    n >= 1 => 4 CL_DEVICE_MAX_COMPUTE_UNITS, 8 CL_DEVICE_MAX_WORK_GROUP_SIZE;
    n >= 1024 => 8 CL_DEVICE_MAX_PARAMETER_SIZE, 4 CL_DEVICE_MEM_BASE_ADDR_ALIGN;
    n >= 32768 => 8 CL_DEVICE_LOCAL_MEM_SIZE; n >= 65536 => 8 CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE])]
#[case::constants("", rows![n;
    n == 1 => 4 CL_DEVICE_AVAILABLE, 4 CL_DEVICE_COMPILER_AVAILABLE;
    n <= 1 => 4 CL_DEVICE_IMAGE_SUPPORT, 4 CL_DEVICE_HOST_UNIFIED_MEMORY;
    n <= 2 => 4 CL_DEVICE_GLOBAL_MEM_CACHE_TYPE; n == 1 || n == 2 => 4 CL_DEVICE_LOCAL_MEM_TYPE;
    n == 32 || n == 64 => 4 CL_DEVICE_ADDRESS_BITS;
    !n & (CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST) == 0 => 8 CL_DEVICE_SINGLE_FP_CONFIG;
    n & CL_EXEC_KERNEL != 0 => 8 CL_DEVICE_EXECUTION_CAPABILITIES;
    n & CL_QUEUE_PROFILING_ENABLE != 0 => 8 CL_DEVICE_QUEUE_ON_HOST_PROPERTIES])]
#[case::kind("", rows![n; matches!(n, 2 | 4 | 8 | 16) => 8 CL_DEVICE_TYPE])]
#[case::alignment("", rows![n; n >= 128 => 4 CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE])]
#[case::printf("", rows![n; n >= 1 << 20 => 8 CL_DEVICE_PRINTF_BUFFER_SIZE])]
#[case::enqueue("OpenCL 3.0", rows![n; n < 2 || n == 3 => 8 CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES])]
#[case::images("CL_DEVICE_IMAGE_SUPPORT", rows![n;
    n >= 8192 => 8 CL_DEVICE_IMAGE2D_MAX_WIDTH, 8 CL_DEVICE_IMAGE2D_MAX_HEIGHT;
    n >= 2048 => 8 CL_DEVICE_IMAGE3D_MAX_DEPTH, 8 CL_DEVICE_IMAGE_MAX_ARRAY_SIZE;
    n >= 16 => 4 CL_DEVICE_MAX_SAMPLERS; n >= 1 << 16 => 8 CL_DEVICE_IMAGE_MAX_BUFFER_SIZE])]
#[case::doubles("cl_khr_fp64", rows![n;
    !n & (CL_FP_FMA | CL_FP_INF_NAN | CL_FP_DENORM) == 0 => 8 CL_DEVICE_DOUBLE_FP_CONFIG;
    n >= 1 => 4 CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 4 CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE])]
#[clmatrix_harness::test]
fn a_device_has_its_values(bench: Bench, #[case] feature: &str, #[case] rows: &[Row]) {
    let asked = Asked::new(Subject::Device(bench.device), "the device");
    if asked.subject.text(named!(CL_DEVICE_PROFILE)) == "EMBEDDED_PROFILE" {
        skip!("the least values are those of the full profile");
    }
    let is_there = match feature {
        "" => true,
        "OpenCL 3.0" if !bench.is(3, 0) => skip!("the version lacks the query"),
        "OpenCL 3.0" => true,
        "CL_DEVICE_IMAGE_SUPPORT" => bench.has_images,
        extension => asked.subject.text(named!(CL_DEVICE_EXTENSIONS)).contains(extension),
    };
    for &(query, size, rule, holds) in rows {
        let found = asked.number(query, size);
        let answer = format_args!("n is {found} = {found:#x}");
        if is_there {
            asked.expect(holds(found), query, rule, answer);
        } else {
            asked.expect(found == 0, query, format_args!("n == 0 without {feature}"), answer);
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn the_answers_of_a_device_agree(bench: Bench) {
    let asked = Asked::new(Subject::Device(bench.device), "the device");
    let dimensions = asked.number(named!(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS), 4) as usize;
    let rule = format!("{dimensions} sizes, by CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, none of them 0");
    let holds = |found: &[usize]| found.len() == dimensions && !found.contains(&0);
    asked.check(named!(CL_DEVICE_MAX_WORK_ITEM_SIZES), rule, holds);
    let all = asked.number(named!(CL_DEVICE_GLOBAL_MEM_SIZE), 8);
    let range = (all / 4).min(1 << 30)..=all;
    let rule = format!("{range:?}, of CL_DEVICE_GLOBAL_MEM_SIZE {all}");
    let holds = |found: &[u64]| found.iter().all(|most| range.contains(most));
    asked.check(named!(CL_DEVICE_MAX_MEM_ALLOC_SIZE), rule, holds);
    asked.pointer(named!(CL_DEVICE_PARENT_DEVICE), ptr::null_mut());
    let holds = |found: &[isize]| matches!(found, [] | [0]);
    asked.check(named!(CL_DEVICE_PARTITION_TYPE), "nothing, or 0", holds);
    if bench.is(3, 0) {
        let version = (bench.version.major, bench.version.minor);
        let rule = format!("{version:?} from bits 22 and 12 on, as in CL_DEVICE_VERSION");
        let holds = |all: &[u32]| matches!(all, [all] if (all >> 22, all >> 12 & 1023) == version);
        asked.check(named!(CL_DEVICE_NUMERIC_VERSION), rule, holds);
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_part_of_a_device_answers_as_it_was_made(on_device: OnDevice) {
    let root = on_device.context.default_device();
    let platform = Subject::Device(root.as_raw()).handle(named!(CL_DEVICE_PLATFORM));
    for part in parts(root, Partition::Equally(1)).expect("parts of one compute unit") {
        answers!(Asked::new(Subject::Device(part.as_raw()), "a part of a device");
            pointer CL_DEVICE_PARENT_DEVICE root.as_raw(), is CL_DEVICE_MAX_COMPUTE_UNITS 1_u32,
            is CL_DEVICE_REFERENCE_COUNT 1_u32, pointer CL_DEVICE_PLATFORM platform,
            list CL_DEVICE_PARTITION_TYPE &[CL_DEVICE_PARTITION_EQUALLY, 1, 0]);
    }
}
