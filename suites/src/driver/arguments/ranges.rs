//! Ranges and groups of launches, as their work items see them (5.10).

use super::*;

/// `see` counts the work items that find another number than the host (its offset, global size, and size of a group, or
/// 0), keeps one of the numbers, and counts the runs of each work item. `items` is exchanged within a group.
const SOURCE: &str = "
#define CHECK(k, is, want) if ((is) != (want)) { wrong[3 * (k)] = 1; wrong[3 * (k) + 1] = (is); wrong[3 * (k) + 2] = (want); }
kernel void see(global const ulong *sizes, uint dims, local ulong *items, global ulong *wrong, global uint *runs) {
    size_t sx = get_local_size(0), sy = get_local_size(1), last = sx * sy * get_local_size(2) - 1;
    size_t item = (get_local_id(2) * sy + get_local_id(1)) * sx + get_local_id(0);
    items[item] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    CHECK(18, get_work_dim(), dims)
    CHECK(19, items[last - item], last - item)
    ulong place = 0;
    bool is_inside = true;
    _Pragma(\"unroll 1\") for (uint d = 3; d-- > 0;) {
        ulong o = sizes[d], n = sizes[3 + d], l = sizes[6 + d];
        ulong local_size = l ? l : get_local_size(d), first = get_group_id(d) * local_size;
        CHECK(d, get_global_offset(d), o)
        CHECK(3 + d, get_global_size(d), n)
        CHECK(6 + d, get_local_size(d), l ? min(local_size, n - first) : local_size)
        CHECK(9 + d, get_num_groups(d), (n + local_size - 1) / local_size)
        CHECK(12 + d, get_global_id(d), o + first + get_local_id(d))
        CHECK(15 + d, n % local_size, l ? n % local_size : 0)
        ulong at = get_global_id(d) - o;
        is_inside = is_inside && at < n;
        place = place * n + at;
    }
    if (is_inside) atomic_inc(runs + place);
}
";

/// The numbers that `see` checks, by dimension; the last one is that of the opposite work item, behind a barrier.
const NUMBERS: &str = "get_global_offset get_global_size get_local_size get_num_groups get_global_id \
    get_global_size%get_local_size get_work_dim:local_memory";

/// Offset, global size and size of a group.
fn at<'a>(offset: &'a [usize], size: &'a [usize], local: &'a [usize]) -> Range<'a> {
    [offset, size, local]
}

/// The call in messages.
fn call([offset, size, local]: Range<'_>) -> String {
    format!("clEnqueueNDRangeKernel(offset {offset:?}, global size {size:?}, local size {local:?})")
}

/// Returns whether a group is larger than those of the device in a dimension.
fn exceeds(bench: &Bench, local: &[usize]) -> bool {
    let most = Subject::Device(bench.device).list(named!(CL_DEVICE_MAX_WORK_ITEM_SIZES));
    local.iter().zip(most).any(|(size, most)| *size > most)
}

/// Launches one kernel object with each range. Groups of one size are prime, odd or many; 16 bits do not count the
/// latter, which take a simulator too long. Sizes may be the driver's choice.
#[rstest]
#[case::groups_and_offsets(vec![at(&[], &[12], &[4]), at(&[], &[12, 1], &[4, 1]),
    at(&[], &[4, 6, 5], &[4, 2, 1]), at(&[], &[12, 6], &[2, 3]), at(&[], &[381], &[127]), at(&[], &[31, 17], &[]),
    at(&[], &[3, 5, 7], &[]), at(&[5, 6, 7], &[3, 5, 7], &[]), at(&[], &[65_539], &[1]),
    at(&[], &[1, 65_539], &[1; 2]), at(&[], &[1, 1, 65_539], &[1; 3]), at(&[5], &[8], &[4]),
    at(&[100, 1000, 9999], &[4, 4, 2], &[4, 2, 1]), at(&[0, 0, 7], &[4, 2, 2], &[4, 2, 1]),
    at(&[], &[4], &[4]), at(&[(1 << 32) - 3], &[8], &[4]),
    at(&[1 << 40, (1 << 32) - 1], &[4, 4], &[4, 2]),
    at(&[1 << 33, 1 << 34, (1 << 32) - 2], &[4, 2, 4], &[4, 2, 1])])]
#[case::a_smaller_last_group(vec![at(&[], &[7, 5], &[3, 2]),
    at(&[9, 8, 7], &[5, 4, 7], &[2, 2, 3])])]
#[clmatrix_harness::test]
fn work_items_see_their_range(bench: Bench, #[case] ranges: Vec<Range<'static>>) {
    let mut options = OPTIONS;
    if !ranges.iter().all(|[_, n, l]| n.iter().zip(*l).all(|(n, l)| n % l == 0)) {
        let query = named!(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT);
        if !bench.is(2, 0) || bench.is(3, 0) && bench.value::<u32>(query) == 0 {
            skip!("all groups of a launch have one size");
        }
        options = if bench.is(3, 0) { "-cl-std=CL3.0" } else { "-cl-std=CL2.0" };
    }
    let kernel = bench.new_kernel(&bench.build(SOURCE, options), "see");
    let most: usize = bench.value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    succeeds("clSetKernelArg", try_set(&kernel, 2, 8 * most.min(1024), vec![]));
    let of_kernel = Subject::WorkGroup(kernel.raw(), bench.device);
    let most: usize = of_kernel.value(named!(CL_KERNEL_WORK_GROUP_SIZE));
    let bits: u32 = bench.value(named!(CL_DEVICE_ADDRESS_BITS));
    for range in ranges {
        let [offset, size, local] = range;
        let count = size.iter().product();
        let ends = offset.iter().zip(size).map(|(offset, size)| offset + size);
        let is_far = bits == 32 && ends.max() >= Some(1 << 32);
        let is_long = bench.is_simulated() && count > 60_000;
        if is_far || is_long || local.iter().product::<usize>() > most || exceeds(&bench, local) {
            continue;
        }
        let pad = |of: &[usize], rest| [0, 1, 2].map(|d| of.get(d).map_or(rest, |n| *n as u64));
        let sizes = [pad(offset, 0), pad(size, 1), pad(local, u64::from(!local.is_empty()))];
        let (sizes, wrong) = (bench.buffer_of(&sizes), bench.buffer_of(&[0_u64; 60]));
        let runs = bench.buffer_of(&vec![0_u32; count]);
        set(kernel.raw(), 0, sizes.raw());
        set(kernel.raw(), 1, size.len() as u32);
        set(kernel.raw(), 3, wrong.raw());
        set(kernel.raw(), 4, runs.raw());
        succeeds(&call(range), launch(&kernel, bench.queue, range, &[]));
        for (k, wrong) in bench.contents_of::<u64>(wrong.raw(), 60).chunks(3).enumerate() {
            let name = NUMBERS.split(' ').nth(k / 3).expect("a name");
            let rule = format!("{name}, number {} of it, is {} (5.10)", k % 3, wrong[2]);
            bench.check(wrong[0] == 0, call(range), rule, wrong[1]);
        }
        let runs = bench.contents_of::<u32>(runs.raw(), count);
        if let Some(n) = runs.iter().position(|runs| *runs != 1) {
            let answer = format!("item {n} has run {} times", runs[n]);
            bench.report(call(range), "each work item runs once (5.10)", answer);
        }
    }
}

/// Launches a kernel that counts its work items, with an attribute, with ranges that break a rule, or with no work items.
/// Without ranges, the group has more work items than the device allows, and no more in a dimension.
#[rstest]
#[case::dimensions("", "there are 1 to 3",
    &[at(&[], &[], &[]), at(&[], &[1; 4], &[])], CL_INVALID_WORK_DIMENSION)]
#[case::a_part_of_a_group("", "all groups of OpenCL C 1.2 have one size",
    &[at(&[], &[10], &[4]), at(&[], &[12, 9], &[4, 2]), at(&[], &[2, 2, 5], &[1, 1, 3]),
    at(&[], &[3], &[4])], CL_INVALID_WORK_GROUP_SIZE)]
#[case::required_groups("__attribute__((reqd_work_group_size(4, 2, 1)))",
    "the kernel requires groups of 4, 2 and 1",
    &[at(&[], &[8, 8], &[2, 4]), at(&[], &[8, 8, 8], &[4, 2, 2])], CL_INVALID_WORK_GROUP_SIZE)]
#[case::no_work_items("", "0 work items are allowed from OpenCL 2.1 on",
    &[at(&[], &[0], &[]), at(&[], &[4, 0], &[]), at(&[5], &[4, 4, 0], &[])],
    CL_INVALID_GLOBAL_WORK_SIZE)]
#[case::large_groups("", "the device has smaller groups", &[], CL_INVALID_WORK_GROUP_SIZE)]
#[clmatrix_harness::test]
fn ranges_that_break_a_rule_are_refused(
    bench: Bench,
    #[case] attribute: &str,
    #[case] rule: &str,
    #[case] ranges: &[Range<'static>],
    #[case] code: cl_int,
) {
    let most: usize = bench.value(named!(CL_DEVICE_MAX_WORK_GROUP_SIZE));
    if !attribute.is_empty() && most < 8 {
        skip!("CL_DEVICE_MAX_WORK_GROUP_SIZE is below 8");
    }
    let sizes = Subject::Device(bench.device).list::<usize>(named!(CL_DEVICE_MAX_WORK_ITEM_SIZES));
    let first = sizes[0].min(most);
    let large = [first, 2 * most / first];
    let large = [at(&[], &large, &large)];
    let ranges = if ranges.is_empty() { &large[..] } else { ranges };
    let is_allowed = code == CL_INVALID_GLOBAL_WORK_SIZE && bench.is(2, 1);
    let code = if is_allowed { CL_SUCCESS } else { code };
    let source = format!("kernel {attribute} void count(global uint *n) {{ atomic_inc(n); }}");
    let kernel = bench.new_kernel(&bench.build(&source, OPTIONS), "count");
    let runs = bench.buffer_of(&[0_u32]);
    set(kernel.raw(), 0, runs.raw());
    // A device may have more dimensions than 3.
    for range in ranges.iter().filter(|range| range[1].len() <= 3 || sizes.len() == 3) {
        let found = launch(&kernel, bench.queue, *range, &[]);
        let rule = format!("{}: {rule} (5.10)", code_name(code));
        let is_item = found == CL_INVALID_WORK_ITEM_SIZE && exceeds(&bench, range[2]);
        bench.check(found == code || is_item, call(*range), rule, code_name(found));
    }
    let runs = bench.contents_of::<u32>(runs.raw(), 1)[0];
    bench.check(runs == 0, format_args!("launches, {rule}"), "no work item runs (5.10)", runs);
}

/// Launches one group of as many work items as a kernel may have.
#[rstest]
#[case::without_local_memory("")]
#[case::with_local_memory(
    "local uint l[64]; if (get_local_id(0) < 64) l[get_local_id(0)] = 1; barrier(CLK_LOCAL_MEM_FENCE); if (l[0])"
)]
#[clmatrix_harness::test]
fn the_largest_group_runs(bench: Bench, #[case] body: &str) {
    let source = format!("kernel void k(global uint *n) {{ {body} atomic_inc(n); }}");
    let kernel = bench.new_kernel(&bench.build(&source, ""), "k");
    let of_kernel = Subject::WorkGroup(kernel.raw(), bench.device);
    let most: usize = of_kernel.value(named!(CL_KERNEL_WORK_GROUP_SIZE));
    let sizes = Subject::Device(bench.device).list::<usize>(named!(CL_DEVICE_MAX_WORK_ITEM_SIZES));
    let most = most.min(sizes[0]);
    SETTING.set("with one group of CL_KERNEL_WORK_GROUP_SIZE work items (5.9.4)");
    let found = bench.run(&kernel, &[0_u32], [&[], &[most], &[most]])[0];
    let rule = "each work item of a group of CL_KERNEL_WORK_GROUP_SIZE runs (5.9.4, 5.10)";
    bench.check(found as usize == most, call(at(&[], &[most], &[most])), rule, found);
}

#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn a_launch_without_work_items_waits(bench: Bench) {
    let kernel = bench.new_kernel(&bench.build("kernel void k() {}", ""), "k");
    let queue = bench.new_queue(0);
    for size in [&[0][..], &[3, 0], &[0, 1, 2]] {
        let gate = Gate::closed(bench.context);
        let event = launched(&kernel, queue, [&[], size, &[]], &[gate.raw()]);
        let call = format!("clEnqueueNDRangeKernel(global_work_size {size:?})");
        before_opening(&bench, &gate, || {
            let (found, call) = (status(event.raw()), format!("{call} behind a user event"));
            let rule = "it ends after its wait list (5.10)";
            bench.check(found > CL_COMPLETE, call, rule, status_name(found));
        });
        wait_for(&event);
        check_type(&bench, &event, Kind::Kernel.command_type(), &call);
    }
}

#[clmatrix_harness::test]
fn a_task_is_one_work_item(bench: Bench) {
    let source = "kernel void k(global uint *n) { n[0] += get_global_size(0); }";
    let (kernel, count) = (bench.new_kernel(&bench.build(source, ""), "k"), bench.buffer_of(&[0]));
    set(kernel.raw(), 0, count.raw());
    // SAFETY: the queue and the kernel are valid.
    unsafe { enqueued!(clEnqueueTask(bench.queue, kernel.raw())) };
    let found = bench.contents_of::<u32>(count.raw(), 1)[0];
    bench.check(found == 1, "clEnqueueTask", "one work item runs (OpenCL 1.2, 5.8)", found);
}
