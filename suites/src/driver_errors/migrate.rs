//! Migration of memory objects (5.5.4).

use std::ptr;

use clmatrix::cl3::command_queue::enqueue_migrate_mem_object;
use clmatrix::cl3::error_codes::{CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_SUCCESS};
use clmatrix::cl3::types::{cl_event, cl_int, cl_mem, cl_mem_migration_flags, cl_uint};
use rstest::rstest;

use super::Answer;
use super::command::{Command, Common, check, pointer};
use super::objects::{Objects, objects};

/// The arguments of clEnqueueMigrateMemObjects.
pub struct Migrate {
    pub common: Common,
    pub object_count: cl_uint,
    pub objects: Option<[cl_mem; 2]>,
    pub flags: cl_mem_migration_flags,
}

impl Migrate {
    pub fn valid(objects: &Objects) -> Self {
        Self {
            common: Common::new(objects.queue()),
            object_count: 2,
            objects: Some([objects.buffer(), objects.other()]),
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
        let objects = pointer(&self.objects).cast();
        // SAFETY: the list is null or has as many objects as the call says, or more.
        unsafe {
            enqueue_migrate_mem_object(queue, self.object_count, objects, self.flags, count, events)
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Migrate| (), CL_SUCCESS)]
#[case::no_objects(|c: &mut Migrate| c.object_count = 0, CL_INVALID_VALUE)]
#[case::a_null_list(|c: &mut Migrate| c.objects = None, CL_INVALID_VALUE)]
#[case::a_null_object(
    |c: &mut Migrate| c.objects.as_mut().unwrap()[1] = ptr::null_mut(), CL_INVALID_MEM_OBJECT
)]
#[case::an_unknown_flag(|c: &mut Migrate| c.flags = 1 << 40, CL_INVALID_VALUE)]
#[clmatrix_harness::test]
fn migrate_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Migrate),
    #[case] expected: cl_int,
) {
    check(Migrate::valid(&objects), change, expected);
}
