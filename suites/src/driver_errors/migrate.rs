//! Migration of memory objects (5.5.4).

use super::prelude::*;

cases! {
    #[clmatrix_harness::test]
    fn migrate_checks_its_arguments(bench, c: Arguments of Migrate);
    valid() => CL_SUCCESS;
    no_objects(c.count = 0) => CL_INVALID_VALUE;
    a_null_list(c.list = None) => CL_INVALID_VALUE;
    a_null_object(c.list = Some([c.memory[0], NULL])) => CL_INVALID_MEM_OBJECT;
    an_unknown_flag(c.flags = CL_MIGRATE_MEM_OBJECT_HOST | 1 << 40) => CL_INVALID_VALUE;
}
