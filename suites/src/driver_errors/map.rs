//! Maps of buffers (5.2.4), and unmaps (5.5.2).

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{enqueue_map_buffer, enqueue_unmap_mem_object, finish};
use clmatrix::cl3::error_codes::{
    CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION, CL_INVALID_VALUE, CL_SUCCESS,
};
use clmatrix::cl3::event::release_event;
use clmatrix::cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
use clmatrix::cl3::types::{CL_TRUE, cl_event, cl_int, cl_map_flags, cl_mem};
use rstest::rstest;

use super::command::{Command, Common, check};
use super::objects::{Objects, SIZE, objects};
use super::{Answer, assert_code};

/// The arguments of clEnqueueMapBuffer, which blocks.
pub struct Map {
    common: Common,
    buffer: cl_mem,
    flags: cl_map_flags,
    offset: usize,
    size: usize,
}

impl Map {
    pub fn valid(objects: &Objects) -> Self {
        Self {
            common: Common::new(objects.queue()),
            buffer: objects.buffer(),
            flags: CL_MAP_READ | CL_MAP_WRITE,
            offset: 0,
            size: SIZE,
        }
    }

    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }

    /// Maps, and returns the pointer and the event.
    fn map(&self) -> Answer<(*mut c_void, cl_event)> {
        let Common { queue, count, events } = self.common;
        let mut mapped = ptr::null_mut();
        // SAFETY: the driver checks the handles and the range.
        let event = unsafe {
            enqueue_map_buffer(
                queue,
                self.buffer,
                CL_TRUE,
                self.flags,
                self.offset,
                self.size,
                &mut mapped,
                count,
                events,
            )
        }?;
        Ok((mapped, event))
    }

    /// Maps, and returns the pointer alone.
    fn mapped(&self) -> *mut c_void {
        let (mapped, event) = self.map().expect("a valid map");
        // SAFETY: nothing else has the event.
        unsafe { release_event(event) }.expect("the driver releases its event");
        mapped
    }
}

impl Command for Map {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Unmaps what a driver has mapped.
    fn enqueue(&self) -> Answer<cl_event> {
        let (mapped, event) = self.map()?;
        let unmap = Unmap { common: Common::new(self.common.queue), object: self.buffer, mapped };
        unmap.code();
        Ok(event)
    }
}

#[rstest]
#[case::valid(|_: &mut Map| (), CL_SUCCESS)]
#[case::no_bytes(|c: &mut Map| c.size = 0, CL_INVALID_VALUE)]
#[case::null_buffer(|c: &mut Map| c.buffer = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::an_unknown_flag(|c: &mut Map| c.flags = 1 << 40, CL_INVALID_VALUE)]
#[case::read_and_invalidate(
    |c: &mut Map| c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_VALUE
)]
#[case::write_and_invalidate(
    |c: &mut Map| c.flags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_VALUE
)]
#[clmatrix_harness::test]
fn map_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Map),
    #[case] expected: cl_int,
) {
    check(Map::valid(&objects), change, expected);
}

#[rstest]
#[case::one_byte_past_the_end(|c: &mut Map| c.offset = 1)]
#[case::behind_the_end(|c: &mut Map| c.part(SIZE + 1, 1))]
#[case::an_end_that_overflows(|c: &mut Map| c.part(usize::MAX - 15, 32))]
#[clmatrix_harness::test(own_worker)]
fn map_refuses_ranges_outside(objects: Objects, #[case] change: fn(&mut Map)) {
    check(Map::valid(&objects), change, CL_INVALID_VALUE);
}

#[rstest]
#[case::valid_before_the_map(|c: &mut Map| c.part(0, 1024), CL_SUCCESS)]
#[case::valid_behind_the_map(|c: &mut Map| c.part(2048, 1024), CL_SUCCESS)]
#[case::the_same_bytes(|c: &mut Map| c.part(1024, 1024), CL_INVALID_OPERATION)]
#[case::the_first_byte(|c: &mut Map| c.part(1009, 16), CL_INVALID_OPERATION)]
#[case::the_last_byte(|c: &mut Map| c.part(2047, 16), CL_INVALID_OPERATION)]
#[clmatrix_harness::test]
fn a_map_for_writing_refuses_mapped_bytes(
    objects: Objects,
    #[case] change: fn(&mut Map),
    #[case] expected: cl_int,
) {
    let mut first = Map::valid(&objects);
    first.part(1024, 1024);
    let mapped = first.mapped();
    check(Map::valid(&objects), change, expected);
    let unmap = Unmap { common: Common::new(objects.queue()), object: objects.buffer(), mapped };
    assert_code(unmap.code(), CL_SUCCESS);
}

/// The arguments of clEnqueueUnmapMemObject.
pub struct Unmap {
    common: Common,
    object: cl_mem,
    mapped: *mut c_void,
}

impl Unmap {
    /// Maps the buffer, to unmap it.
    pub fn valid(objects: &Objects) -> Self {
        let map = Map::valid(objects);
        let mapped = map.mapped();
        Self { common: Common::new(objects.queue()), object: objects.buffer(), mapped }
    }
}

impl Command for Unmap {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: nothing uses the memory that was mapped.
        unsafe { enqueue_unmap_mem_object(queue, self.object, self.mapped, count, events) }
    }
}

#[rstest]
#[case::valid(|_: &Objects, _: &mut Unmap| (), CL_SUCCESS)]
#[case::null(|_: &Objects, c: &mut Unmap| c.mapped = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::null_object(|_: &Objects, c: &mut Unmap| c.object = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test]
fn unmap_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&Objects, &mut Unmap),
    #[case] expected: cl_int,
) {
    check_unmap(&objects, change, expected);
}

/// A driver that does not look may free or write back memory that was not mapped.
#[rstest]
#[case::other_host_memory(|o: &Objects, c: &mut Unmap| c.mapped = o.host())]
#[case::of_another_buffer(|o: &Objects, c: &mut Unmap| c.object = o.other())]
#[clmatrix_harness::test(own_worker)]
fn unmap_refuses_other_memory(objects: Objects, #[case] change: fn(&Objects, &mut Unmap)) {
    check_unmap(&objects, change, CL_INVALID_VALUE);
}

fn check_unmap(objects: &Objects, change: fn(&Objects, &mut Unmap), expected: cl_int) {
    let mut unmap = Unmap::valid(objects);
    let (object, mapped) = (unmap.object, unmap.mapped);
    change(objects, &mut unmap);
    let found = unmap.code();
    if found != CL_SUCCESS {
        (unmap.object, unmap.mapped) = (object, mapped);
        assert_code(unmap.code(), CL_SUCCESS);
    }
    assert_code(found, expected);
}

#[clmatrix_harness::test(own_worker)]
fn a_second_unmap_is_refused(objects: Objects) {
    let unmap = Unmap::valid(&objects);
    assert_code(unmap.code(), CL_SUCCESS);
    finish(objects.queue()).expect("the queue ends");
    assert_code(unmap.code(), CL_INVALID_VALUE);
}
