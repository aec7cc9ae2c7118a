//! Migration of memory objects (5.5.4).

use super::prelude::*;

command! {
    /// The arguments of clEnqueueMigrateMemObjects.
    Migrate(objects: &Objects) {
        object_count: cl_uint = 2,
        objects: Option<[cl_mem; 2]> = Some([objects.buffer.as_raw(), objects.other.as_raw()]),
        flags: cl_mem_migration_flags = 0,
    }
    // SAFETY: the list is null or has as many objects as the call says, or more.
    unsafe |c| call!(c, enqueue_migrate_mem_object(
        c.object_count, pointer(&c.objects), c.flags
    ))
}

cases! {
    #[clmatrix_harness::test]
    fn migrate_checks_its_arguments(objects: Objects, c: Migrate);
    valid() => CL_SUCCESS;
    no_objects(c.object_count = 0) => CL_INVALID_VALUE;
    a_null_list(c.objects = None) => CL_INVALID_VALUE;
    a_null_object(c.objects.as_mut().unwrap()[1] = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    an_unknown_flag(c.flags = 1 << 40) => CL_INVALID_VALUE;
}
