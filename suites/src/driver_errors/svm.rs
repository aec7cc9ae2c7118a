//! Shared virtual memory (5.6).

use super::prelude::*;

/// Returns whether the driver allocates the memory. Where it does, the memory is freed.
fn is_allocated(bench: &Bench, flags: cl_svm_mem_flags, size: usize, alignment: u32) -> bool {
    // SAFETY: the context is valid, and nothing uses the memory.
    unsafe {
        let memory = cl!(clSVMAlloc(bench.context, flags, size, alignment));
        if !memory.is_null() {
            cl!(clSVMFree(bench.context, memory));
        }
        !memory.is_null()
    }
}

#[rstest]
#[case::valid(CL_MEM_READ_WRITE, SIZE, 0, true)]
#[case::valid_with_the_largest_alignment(CL_MEM_READ_WRITE, SIZE, 128, true)]
#[case::no_bytes(CL_MEM_READ_WRITE, 0, 0, false)]
#[case::an_alignment_of_3(CL_MEM_READ_WRITE, SIZE, 3, false)]
#[case::an_alignment_of_96(CL_MEM_READ_WRITE, SIZE, 96, false)]
#[case::read_only_and_write_only(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, SIZE, 0, false)]
#[case::read_write_and_read_only(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, SIZE, 0, false)]
#[case::read_write_and_write_only(CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY, SIZE, 0, false)]
#[case::atomics_without_fine_grain(CL_MEM_READ_WRITE | CL_MEM_SVM_ATOMICS, SIZE, 0, false)]
#[case::an_unknown_flag(CL_MEM_READ_WRITE | 1 << 62, SIZE, 0, false)]
#[clmatrix_harness::test(requires(svm))]
fn allocate_checks_its_arguments(
    bench: Bench,
    #[case] flags: cl_svm_mem_flags,
    #[case] size: usize,
    #[case] alignment: cl_uint,
    #[case] is_valid: bool,
) {
    let names = |is_allocated| if is_allocated { "memory" } else { "NULL" };
    let [found, named] = [is_allocated(&bench, flags, size, alignment), is_valid].map(names);
    assert!(found == named, "clSVMAlloc returned {found}, where OpenCL names {named} (5.6.1)");
}

#[clmatrix_harness::test(requires(svm))]
fn allocate_refuses_more_than_the_maximum_allocation(bench: Bench) {
    let size = bench.value::<u64>(named!(CL_DEVICE_MAX_MEM_ALLOC_SIZE)) as usize + 1;
    assert!(
        !is_allocated(&bench, CL_MEM_READ_WRITE, size, 0),
        "clSVMAlloc returned {size} bytes, more than CL_DEVICE_MAX_MEM_ALLOC_SIZE"
    );
}

#[rstest]
#[case::fine_grain(CL_DEVICE_SVM_FINE_GRAIN_BUFFER, CL_MEM_SVM_FINE_GRAIN_BUFFER)]
#[case::atomics(CL_DEVICE_SVM_ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)]
#[clmatrix_harness::test(requires(opencl = "2.0"))]
fn allocate_refuses_unsupported_kinds(
    bench: Bench,
    #[case] capability: u64,
    #[case] flags: cl_svm_mem_flags,
) {
    if bench.svm_capabilities & capability != 0 {
        skip!("the device has this kind of shared memory");
    }
    assert!(
        !is_allocated(&bench, CL_MEM_READ_WRITE | flags, SIZE, 0),
        "clSVMAlloc returned memory of a kind that CL_DEVICE_SVM_CAPABILITIES lacks"
    );
}

#[clmatrix_harness::test(requires(svm))]
fn a_free_of_null_does_nothing(bench: Bench) {
    // SAFETY: null is no memory.
    unsafe { cl!(clSVMFree(bench.context, NULL)) };
    check(&bench, Kind::SvmFill, "a valid command behind the call", |_| (), CL_SUCCESS);
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn copy_checks_its_arguments(bench, c: Arguments of SvmCopy);
    valid() => CL_SUCCESS;
    valid_within_one_allocation(c.within_one(0, 16, 16)) => CL_SUCCESS;
    null_target(c.memory[1] = NULL) => CL_INVALID_VALUE;
    null_source(c.memory[0] = NULL) => CL_INVALID_VALUE;
    onto_itself(c.within_one(0, 0, SIZE)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_forwards(c.within_one(0, 15, 16)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_backwards(c.within_one(15, 0, 16)) => CL_MEM_COPY_OVERLAP;
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn fill_checks_its_arguments(bench, c: Arguments of SvmFill);
    valid() => CL_SUCCESS;
    valid_with_the_longest_pattern(c.with_pattern_of(128)) => CL_SUCCESS;
    null_memory(c.memory[0] = NULL) => CL_INVALID_VALUE;
    memory_within_a_pattern(c.part(8, 1024)) => CL_INVALID_VALUE;
    null_pattern(c.pattern.0 = None) => CL_INVALID_VALUE;
    a_pattern_of_0_bytes(c.pattern.1 = 0) => CL_INVALID_VALUE;
    a_pattern_of_3_bytes(c.with_pattern_of(3)) => CL_INVALID_VALUE;
    an_end_within_a_pattern(c.size = 40) => CL_INVALID_VALUE;
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(requires(svm), own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(bench: Bench) {
    check(&bench, Kind::SvmFill, "256 bytes", |c| c.with_pattern_of(256), CL_INVALID_VALUE);
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn map_checks_its_arguments(bench, c: Arguments of SvmMap);
    valid() => CL_SUCCESS;
    null_memory(c.memory[0] = NULL) => CL_INVALID_VALUE;
    no_bytes(c.size = 0) => CL_INVALID_VALUE;
    an_unknown_flag(c.flags |= 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
}

#[clmatrix_harness::test(requires(svm))]
fn an_unmap_of_null_is_refused(bench: Bench) {
    let mut call = Arguments::valid(&bench, Kind::SvmMap).unmap().expect("a map");
    call.mapped = NULL;
    assert_code(call.answer(), "null", &[CL_INVALID_VALUE]);
}

cases! {
    #[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
    fn migrate_checks_its_arguments(bench, c: Arguments of SvmMigrate);
    valid() => CL_SUCCESS;
    valid_without_sizes(c.sizes = None) => CL_SUCCESS;
    no_pointers(c.count = 0) => CL_INVALID_VALUE;
    a_null_list(c.list = None) => CL_INVALID_VALUE;
    an_unknown_flag(c.flags = CL_MIGRATE_MEM_OBJECT_HOST | 1 << 40) => CL_INVALID_VALUE;
}

cases! {
    #[clmatrix_harness::test(requires(svm, opencl = "2.1"), own_worker)]
    fn migrate_refuses_ranges_outside(bench, c: Arguments of SvmMigrate) => [CL_INVALID_VALUE];
    past_the_end(c.sizes = Some([SIZE + 1, 0]));
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn free_checks_its_arguments(bench, c: Arguments of SvmFree) => [CL_INVALID_VALUE];
    no_pointers(c.count = 0);
    a_null_list(c.list = None);
}
