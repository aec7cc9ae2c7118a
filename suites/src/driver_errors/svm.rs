//! Shared virtual memory (5.6).

use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer};

use super::prelude::*;

/// Two allocations of `SIZE` bytes, and the operands on buffers.
pub struct Svm {
    /// Dropped first, to finish the queue: a driver that accepts an invalid command may still use
    /// the memory.
    objects: Objects,
    memory: SvmAllocation,
    other: SvmAllocation,
}

/// The fixture of that name.
#[fixture]
pub fn svm(objects: Objects) -> Svm {
    let context = &objects.on_device.context;
    let memory = || SvmAllocation::new(context, SIZE, 0, SvmFlags::READ_WRITE).expect("memory");
    Svm { memory: memory(), other: memory(), objects }
}

impl Fixture for Svm {
    fn of_device_under_test() -> Self {
        svm(Fixture::of_device_under_test())
    }
}

impl Deref for Svm {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

/// Returns whether the driver allocates the memory. Where it does, the memory is freed.
fn is_allocated(objects: &Objects, flags: cl_svm_mem_flags, size: usize, alignment: u32) -> bool {
    let context = objects.context();
    // SAFETY: the call takes numbers only, and nothing uses the memory.
    unsafe {
        svm_alloc(context, flags, size, alignment).map(|memory| svm_free(context, memory)).is_ok()
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
    objects: Objects,
    #[case] flags: cl_svm_mem_flags,
    #[case] size: usize,
    #[case] alignment: cl_uint,
    #[case] is_valid: bool,
) {
    let names = |is_allocated| if is_allocated { "memory" } else { "NULL" };
    let [found, named] = [is_allocated(&objects, flags, size, alignment), is_valid].map(names);
    assert!(found == named, "clSVMAlloc returned {found}, where OpenCL names {named} (5.6.1)");
}

#[clmatrix_harness::test(requires(svm))]
fn allocate_refuses_more_than_the_maximum_allocation(objects: Objects) -> Result<()> {
    let size = objects.device().max_mem_alloc_size().map_err(unanswered)? as usize + 1;
    assert!(
        !is_allocated(&objects, CL_MEM_READ_WRITE, size, 0),
        "clSVMAlloc returned {size} bytes, more than CL_DEVICE_MAX_MEM_ALLOC_SIZE"
    );
    Ok(())
}

/// CL_DEVICE_SVM_FINE_GRAIN_BUFFER and CL_DEVICE_SVM_ATOMICS.
const FINE_GRAIN_BUFFER: u64 = 1 << 1;
const ATOMICS: u64 = 1 << 3;

#[rstest]
#[case::fine_grain(FINE_GRAIN_BUFFER, CL_MEM_SVM_FINE_GRAIN_BUFFER)]
#[case::atomics(ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)]
#[clmatrix_harness::test(requires(opencl = "2.0"))]
fn allocate_refuses_unsupported_kinds(
    objects: Objects,
    #[case] capability: u64,
    #[case] flags: cl_svm_mem_flags,
) {
    if objects.device().svm_mem_capability() & capability != 0 {
        skip!("the device has this kind of shared memory");
    }
    assert!(
        !is_allocated(&objects, CL_MEM_READ_WRITE | flags, SIZE, 0),
        "clSVMAlloc returned memory of a kind that CL_DEVICE_SVM_CAPABILITIES lacks"
    );
}

#[clmatrix_harness::test(requires(svm))]
fn a_free_of_null_does_nothing(svm: Svm) {
    // SAFETY: null is no memory.
    let freed = unsafe { svm_free(svm.context(), ptr::null_mut()) };
    assert_eq!(freed, Ok(()));
    assert_code(Fill::valid(&svm).code(), CL_SUCCESS);
}

command! {
    /// The arguments of clEnqueueSVMMemcpy, which blocks.
    Copy(svm: &Svm) {
        target: *mut c_void = svm.memory.svm_ptr(),
        source: *const c_void = svm.other.svm_ptr(),
        size: usize = SIZE,
    }
    // SAFETY: the memory, if any, has the bytes that the driver may copy.
    unsafe |c| call!(c, enqueue_svm_mem_cpy(CL_TRUE, c.target, c.source, c.size))
}

impl Copy {
    fn within_one(&mut self, from: usize, to: usize, size: usize) {
        self.source = self.target.wrapping_byte_add(from);
        self.target = self.target.wrapping_byte_add(to);
        self.size = size;
    }
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn copy_checks_its_arguments(svm: Svm, c: Copy);
    valid() => CL_SUCCESS;
    valid_within_one_allocation(c.within_one(0, 16, 16)) => CL_SUCCESS;
    null_target(c.target = ptr::null_mut()) => CL_INVALID_VALUE;
    null_source(c.source = ptr::null()) => CL_INVALID_VALUE;
    onto_itself(c.within_one(0, 0, SIZE)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_forwards(c.within_one(0, 15, 16)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_backwards(c.within_one(15, 0, 16)) => CL_MEM_COPY_OVERLAP;
}

command! {
    /// The arguments of clEnqueueSVMMemFill.
    Fill(svm: &Svm) {
        memory: *mut c_void = svm.memory.svm_ptr(),
        pattern: Option<[u8; 256]> = Some([1; 256]),
        pattern_size: usize = 16,
        size: usize = 1024,
    }
    // SAFETY: the memory, if any, has the bytes that the driver may fill, and the pattern, if any,
    // is longer than any pattern size of the tests.
    unsafe |c| call!(c, enqueue_svm_mem_fill(
        c.memory, pointer(&c.pattern), c.pattern_size, c.size
    ))
}

impl Fill {
    fn with_pattern_of(&mut self, bytes: usize) {
        (self.pattern_size, self.size) = (bytes, 3 * bytes);
    }
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn fill_checks_its_arguments(svm: Svm, c: Fill);
    valid() => CL_SUCCESS;
    valid_with_the_longest_pattern(c.with_pattern_of(128)) => CL_SUCCESS;
    null_memory(c.memory = ptr::null_mut()) => CL_INVALID_VALUE;
    memory_within_a_pattern(c.memory = c.memory.wrapping_byte_add(8)) => CL_INVALID_VALUE;
    null_pattern(c.pattern = None) => CL_INVALID_VALUE;
    a_pattern_of_0_bytes(c.pattern_size = 0) => CL_INVALID_VALUE;
    a_pattern_of_3_bytes(c.with_pattern_of(3)) => CL_INVALID_VALUE;
    an_end_within_a_pattern(c.size = 40) => CL_INVALID_VALUE;
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(requires(svm), own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(svm: Svm) {
    check(Fill::valid(&svm), |c| c.with_pattern_of(256), CL_INVALID_VALUE);
}

command! {
    /// The arguments of clEnqueueSVMMap, which blocks.
    Map(svm: &Svm) {
        flags: cl_map_flags = CL_MAP_READ | CL_MAP_WRITE,
        memory: *mut c_void = svm.memory.svm_ptr(),
        size: usize = SIZE,
    }
    // SAFETY: the memory, if any, has the bytes that the driver may map.
    unsafe |c| {
        let event = call!(c, enqueue_svm_map(CL_TRUE, c.flags, c.memory, c.size))?;
        // Unmaps the memory that a driver has mapped.
        Unmap { common: Common::new(c.common.queue), memory: c.memory }.code();
        Ok(event)
    }
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn map_checks_its_arguments(svm: Svm, c: Map);
    valid() => CL_SUCCESS;
    null_memory(c.memory = ptr::null_mut()) => CL_INVALID_VALUE;
    no_bytes(c.size = 0) => CL_INVALID_VALUE;
    an_unknown_flag(c.flags = 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
}

command! {
    /// The arguments of clEnqueueSVMUnmap, which are valid once the memory is mapped.
    Unmap(svm: &Svm) {
        memory: *mut c_void = svm.memory.svm_ptr(),
    }
    // SAFETY: nothing uses the memory that was mapped.
    unsafe |c| call!(c, enqueue_svm_unmap(c.memory))
}

#[clmatrix_harness::test(requires(svm))]
fn an_unmap_of_null_is_refused(svm: Svm) {
    check(Unmap::valid(&svm), |c| c.memory = ptr::null_mut(), CL_INVALID_VALUE);
}

command! {
    /// The arguments of clEnqueueSVMMigrateMem.
    Migrate(svm: &Svm) {
        pointer_count: cl_uint = 2,
        pointers: Option<[*mut c_void; 2]> = Some([svm.memory.svm_ptr(), svm.other.svm_ptr()]),
        sizes: Option<[usize; 2]> = Some([SIZE, 0]),
        flags: cl_mem_migration_flags = 0,
    }
    // SAFETY: the lists are null or have as many elements as the call says, or more.
    unsafe |c| call!(c, enqueue_svm_migrate_mem(
        c.pointer_count, pointer(&c.pointers), pointer(&c.sizes), c.flags
    ))
}

cases! {
    #[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
    fn migrate_checks_its_arguments(svm: Svm, c: Migrate);
    valid() => CL_SUCCESS;
    valid_without_sizes(c.sizes = None) => CL_SUCCESS;
    no_pointers(c.pointer_count = 0) => CL_INVALID_VALUE;
    a_null_list(c.pointers = None) => CL_INVALID_VALUE;
    an_unknown_flag(c.flags = 1 << 40) => CL_INVALID_VALUE;
}

cases! {
    #[clmatrix_harness::test(requires(svm, opencl = "2.1"), own_worker)]
    fn migrate_refuses_ranges_outside(svm: Svm, c: Migrate) => [CL_INVALID_VALUE];
    past_the_end(c.sizes = Some([SIZE + 1, 0]));
}

command! {
    /// The arguments of clEnqueueSVMFree.
    Free(svm: &Svm) {
        pointer_count: cl_uint = 1,
        pointers: Option<[*mut c_void; 1]> = Some([svm.memory.svm_ptr()]),
    }
    // SAFETY: the list is null, or the call says that it is empty, or it has memory that nothing
    // else frees.
    unsafe |c| call!(c, enqueue_svm_free(
        c.pointer_count, pointer(&c.pointers), None, ptr::null_mut()
    ))
}

cases! {
    #[clmatrix_harness::test(requires(svm))]
    fn free_checks_its_arguments(svm: Svm, c: Free) => [CL_INVALID_VALUE];
    no_pointers(c.pointer_count = 0);
    a_null_list(c.pointers = None);
}
