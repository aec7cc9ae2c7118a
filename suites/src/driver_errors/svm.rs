//! Shared virtual memory (5.6).

use crate::support::unanswered;
use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{
    enqueue_svm_free, enqueue_svm_map, enqueue_svm_mem_cpy, enqueue_svm_mem_fill,
    enqueue_svm_migrate_mem, enqueue_svm_unmap,
};
use clmatrix::cl3::error_codes::{CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP, CL_SUCCESS};
use clmatrix::cl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE,
    CL_MEM_SVM_ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER, CL_MEM_WRITE_ONLY, svm_alloc, svm_free,
};
use clmatrix::cl3::types::{
    CL_TRUE, cl_event, cl_int, cl_map_flags, cl_mem_migration_flags, cl_svm_mem_flags, cl_uint,
};
use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer};
use clmatrix::{Device, Result};
use clmatrix_harness::{Fixture, device, skip};
use rstest::{fixture, rstest};

use super::command::{Command, Common, check, pointer};
use super::objects::{Objects, SIZE, objects};
use super::{Answer, assert_code};

/// Two allocations of `SIZE` bytes, and the operands on buffers.
pub struct Svm {
    pub objects: Objects,
    memory: SvmAllocation,
    other: SvmAllocation,
}

/// The fixture of that name.
#[fixture]
pub fn svm(objects: Objects) -> Svm {
    let [memory, other] = [(); 2].map(|()| {
        let context = &objects.on_device.context;
        SvmAllocation::new(context, SIZE, 0, SvmFlags::READ_WRITE).expect("shared memory")
    });
    Svm { objects, memory, other }
}

impl Fixture for Svm {
    fn of_device_under_test() -> Self {
        svm(Fixture::of_device_under_test())
    }
}

impl Drop for Svm {
    fn drop(&mut self) {
        // A driver that accepts an invalid command may still use the memory.
        _ = self.objects.on_device.queue.finish();
    }
}

impl Svm {
    fn common(&self) -> Common {
        Common::new(self.objects.queue())
    }

    fn memory(&self) -> *mut c_void {
        self.memory.svm_ptr()
    }
}

/// The arguments of clSVMAlloc.
struct Allocate {
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
}

/// Returns whether the driver allocates the memory. Where it does, the memory is freed.
fn is_allocated(objects: &Objects, change: impl FnOnce(&mut Allocate)) -> bool {
    let mut call = Allocate { flags: CL_MEM_READ_WRITE, size: SIZE, alignment: 0 };
    change(&mut call);
    let context = objects.context();
    // SAFETY: the call takes numbers only, and nothing uses the memory.
    unsafe {
        svm_alloc(context, call.flags, call.size, call.alignment)
            .map(|memory| svm_free(context, memory))
            .is_ok()
    }
}

#[rstest]
#[case::valid(|_: &mut Allocate| (), true)]
#[case::valid_with_the_largest_alignment(|c: &mut Allocate| c.alignment = 128, true)]
#[case::no_bytes(|c: &mut Allocate| c.size = 0, false)]
#[case::an_alignment_of_3(|c: &mut Allocate| c.alignment = 3, false)]
#[case::an_alignment_of_96(|c: &mut Allocate| c.alignment = 96, false)]
#[case::read_only_and_write_only(
    |c: &mut Allocate| c.flags = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, false
)]
#[case::read_write_and_read_only(|c: &mut Allocate| c.flags |= CL_MEM_READ_ONLY, false)]
#[case::read_write_and_write_only(|c: &mut Allocate| c.flags |= CL_MEM_WRITE_ONLY, false)]
#[case::atomics_without_fine_grain(|c: &mut Allocate| c.flags |= CL_MEM_SVM_ATOMICS, false)]
#[case::an_unknown_flag(|c: &mut Allocate| c.flags |= 1 << 62, false)]
#[clmatrix_harness::test(requires(svm))]
fn allocate_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Allocate),
    #[case] is_valid: bool,
) {
    let names = |is_allocated| if is_allocated { "memory" } else { "NULL" };
    let [found, named] = [is_allocated(&objects, change), is_valid].map(names);
    assert!(found == named, "clSVMAlloc returned {found}, where OpenCL names {named} (5.6.1)");
}

#[clmatrix_harness::test(requires(svm))]
fn allocate_refuses_more_than_the_maximum_allocation(
    objects: Objects,
    device: Device,
) -> Result<()> {
    let size = device.opencl3().max_mem_alloc_size().map_err(unanswered)? as usize + 1;
    let is_allocated = is_allocated(&objects, |call| call.size = size);
    assert!(
        !is_allocated,
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
    device: Device,
    #[case] capability: u64,
    #[case] flags: cl_svm_mem_flags,
) {
    if device.opencl3().svm_mem_capability() & capability != 0 {
        skip!("the device has this kind of shared memory");
    }
    let is_allocated = is_allocated(&objects, |call| call.flags |= flags);
    assert!(
        !is_allocated,
        "clSVMAlloc returned memory of a kind that CL_DEVICE_SVM_CAPABILITIES lacks"
    );
}

#[clmatrix_harness::test(requires(svm))]
fn a_free_of_null_does_nothing(svm: Svm) {
    // SAFETY: null is no memory.
    let freed = unsafe { svm_free(svm.objects.context(), ptr::null_mut()) };
    assert_eq!(freed, Ok(()));
    check(Fill::valid(&svm), |_| (), CL_SUCCESS);
}

/// The arguments of clEnqueueSVMMemcpy, which blocks.
pub struct Copy {
    common: Common,
    target: *mut c_void,
    source: *const c_void,
    size: usize,
}

impl Copy {
    pub fn valid(svm: &Svm) -> Self {
        let (target, source) = (svm.memory(), svm.other.svm_ptr());
        Self { common: svm.common(), target, source, size: SIZE }
    }

    fn within_one(&mut self, from: usize, to: usize, size: usize) {
        self.source = self.target.wrapping_byte_add(from);
        self.target = self.target.wrapping_byte_add(to);
        self.size = size;
    }
}

impl Command for Copy {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: the memory, if any, has the bytes that the driver may copy.
        unsafe {
            enqueue_svm_mem_cpy(queue, CL_TRUE, self.target, self.source, self.size, count, events)
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Copy| (), CL_SUCCESS)]
#[case::valid_within_one_allocation(|c: &mut Copy| c.within_one(0, 16, 16), CL_SUCCESS)]
#[case::null_target(|c: &mut Copy| c.target = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::null_source(|c: &mut Copy| c.source = ptr::null(), CL_INVALID_VALUE)]
#[case::onto_itself(|c: &mut Copy| c.within_one(0, 0, SIZE), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_a_byte_forwards(
    |c: &mut Copy| c.within_one(0, 15, 16), CL_MEM_COPY_OVERLAP
)]
#[case::overlap_of_a_byte_backwards(
    |c: &mut Copy| c.within_one(15, 0, 16), CL_MEM_COPY_OVERLAP
)]
#[clmatrix_harness::test(requires(svm))]
fn copy_checks_its_arguments(svm: Svm, #[case] change: fn(&mut Copy), #[case] expected: cl_int) {
    check(Copy::valid(&svm), change, expected);
}

/// The arguments of clEnqueueSVMMemFill.
pub struct Fill {
    common: Common,
    memory: *mut c_void,
    pattern: Option<[u8; 256]>,
    pattern_size: usize,
    size: usize,
}

impl Fill {
    pub fn valid(svm: &Svm) -> Self {
        Self {
            common: svm.common(),
            memory: svm.memory(),
            pattern: Some([1; 256]),
            pattern_size: 16,
            size: 1024,
        }
    }

    fn with_pattern_of(&mut self, bytes: usize) {
        (self.pattern_size, self.size) = (bytes, 3 * bytes);
    }
}

impl Command for Fill {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let (pattern, size) = (pointer(&self.pattern).cast(), self.pattern_size);
        // SAFETY: the memory, if any, has the bytes that the driver may fill, and the pattern, if
        // any, is longer than any pattern size of the tests.
        unsafe { enqueue_svm_mem_fill(queue, self.memory, pattern, size, self.size, count, events) }
    }
}

#[rstest]
#[case::valid(|_: &mut Fill| (), CL_SUCCESS)]
#[case::valid_with_the_longest_pattern(|c: &mut Fill| c.with_pattern_of(128), CL_SUCCESS)]
#[case::null_memory(|c: &mut Fill| c.memory = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::memory_within_a_pattern(
    |c: &mut Fill| c.memory = c.memory.wrapping_byte_add(8), CL_INVALID_VALUE
)]
#[case::null_pattern(|c: &mut Fill| c.pattern = None, CL_INVALID_VALUE)]
#[case::a_pattern_of_0_bytes(|c: &mut Fill| c.pattern_size = 0, CL_INVALID_VALUE)]
#[case::a_pattern_of_3_bytes(|c: &mut Fill| c.with_pattern_of(3), CL_INVALID_VALUE)]
#[case::an_end_within_a_pattern(|c: &mut Fill| c.size = 40, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(svm))]
fn fill_checks_its_arguments(svm: Svm, #[case] change: fn(&mut Fill), #[case] expected: cl_int) {
    check(Fill::valid(&svm), change, expected);
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(requires(svm), own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(svm: Svm) {
    check(Fill::valid(&svm), |call| call.with_pattern_of(256), CL_INVALID_VALUE);
}

/// The arguments of clEnqueueSVMMap, which blocks.
pub struct Map {
    common: Common,
    flags: cl_map_flags,
    memory: *mut c_void,
    size: usize,
}

impl Map {
    pub fn valid(svm: &Svm) -> Self {
        let (memory, flags) = (svm.memory(), CL_MAP_READ | CL_MAP_WRITE);
        Self { common: svm.common(), flags, memory, size: SIZE }
    }
}

impl Command for Map {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Unmaps what a driver has mapped.
    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: the memory, if any, has the bytes that the driver may map.
        let event = unsafe {
            enqueue_svm_map(queue, CL_TRUE, self.flags, self.memory, self.size, count, events)
        }?;
        Unmap { common: Common::new(queue), memory: self.memory }.code();
        Ok(event)
    }
}

#[rstest]
#[case::valid(|_: &mut Map| (), CL_SUCCESS)]
#[case::null_memory(|c: &mut Map| c.memory = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::no_bytes(|c: &mut Map| c.size = 0, CL_INVALID_VALUE)]
#[case::an_unknown_flag(|c: &mut Map| c.flags = 1 << 40, CL_INVALID_VALUE)]
#[case::read_and_invalidate(
    |c: &mut Map| c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_VALUE
)]
#[clmatrix_harness::test(requires(svm))]
fn map_checks_its_arguments(svm: Svm, #[case] change: fn(&mut Map), #[case] expected: cl_int) {
    check(Map::valid(&svm), change, expected);
}

/// The arguments of clEnqueueSVMUnmap.
pub struct Unmap {
    common: Common,
    memory: *mut c_void,
}

impl Command for Unmap {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: nothing uses the memory that was mapped.
        unsafe { enqueue_svm_unmap(queue, self.memory, count, events) }
    }
}

#[clmatrix_harness::test(requires(svm))]
fn an_unmap_of_null_is_refused(svm: Svm) {
    let unmap = Unmap { common: svm.common(), memory: ptr::null_mut() };
    assert_code(unmap.code(), CL_INVALID_VALUE);
}

/// The arguments of clEnqueueSVMMigrateMem.
pub struct Migrate {
    common: Common,
    pointer_count: cl_uint,
    pointers: Option<[*const c_void; 2]>,
    sizes: Option<[usize; 2]>,
    flags: cl_mem_migration_flags,
}

impl Migrate {
    pub fn valid(svm: &Svm) -> Self {
        Self {
            common: svm.common(),
            pointer_count: 2,
            pointers: Some([svm.memory().cast_const(), svm.other.svm_ptr().cast_const()]),
            sizes: Some([SIZE, 0]),
            flags: 0,
        }
    }
}

impl Command for Migrate {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let (pointers, sizes) = (pointer(&self.pointers).cast(), pointer(&self.sizes).cast());
        let (pointer_count, flags) = (self.pointer_count, self.flags);
        // SAFETY: the lists are null or have as many elements as the call says, or more.
        unsafe {
            enqueue_svm_migrate_mem(queue, pointer_count, pointers, sizes, flags, count, events)
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Migrate| (), CL_SUCCESS)]
#[case::valid_without_sizes(|c: &mut Migrate| c.sizes = None, CL_SUCCESS)]
#[case::no_pointers(|c: &mut Migrate| c.pointer_count = 0, CL_INVALID_VALUE)]
#[case::a_null_list(|c: &mut Migrate| c.pointers = None, CL_INVALID_VALUE)]
#[case::an_unknown_flag(|c: &mut Migrate| c.flags = 1 << 40, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn migrate_checks_its_arguments(
    svm: Svm,
    #[case] change: fn(&mut Migrate),
    #[case] expected: cl_int,
) {
    check(Migrate::valid(&svm), change, expected);
}

#[rstest]
#[case::past_the_end(|c: &mut Migrate| c.sizes = Some([SIZE + 1, 0]))]
#[clmatrix_harness::test(requires(svm, opencl = "2.1"), own_worker)]
fn migrate_refuses_ranges_outside(svm: Svm, #[case] change: fn(&mut Migrate)) {
    check(Migrate::valid(&svm), change, CL_INVALID_VALUE);
}

/// The arguments of clEnqueueSVMFree.
struct Free {
    common: Common,
    pointer_count: cl_uint,
    pointers: Option<[*const c_void; 1]>,
}

impl Command for Free {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let pointers = pointer(&self.pointers).cast();
        // SAFETY: the list is null, or the call says that it is empty, or it has memory that
        // nothing else frees.
        unsafe {
            enqueue_svm_free(
                queue,
                self.pointer_count,
                pointers,
                None,
                ptr::null_mut(),
                count,
                events,
            )
        }
    }
}

#[rstest]
#[case::no_pointers(|c: &mut Free| c.pointer_count = 0, CL_INVALID_VALUE)]
#[case::a_null_list(|c: &mut Free| c.pointers = None, CL_INVALID_VALUE)]
#[clmatrix_harness::test(requires(svm))]
fn free_checks_its_arguments(svm: Svm, #[case] change: fn(&mut Free), #[case] expected: cl_int) {
    let pointers = Some([svm.memory().cast_const()]);
    check(Free { common: svm.common(), pointer_count: 1, pointers }, change, expected);
}
