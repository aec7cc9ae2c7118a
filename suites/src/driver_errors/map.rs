//! Maps of buffers (5.2.4), and unmaps (5.5.2).

use super::prelude::*;

command! {
    /// The arguments of clEnqueueMapBuffer, which blocks.
    Map(objects: &Objects) {
        buffer: cl_mem = objects.buffer.as_raw(),
        flags: cl_map_flags = CL_MAP_READ | CL_MAP_WRITE,
        offset: usize = 0,
        size: usize = SIZE,
        mapped: *mut c_void = ptr::null_mut(),
        // Unless set, the command also unmaps the memory that the driver maps.
        stays: bool = false,
    }
    // SAFETY: the driver checks the handles and the range.
    unsafe |c| {
        let event = call!(c, enqueue_map_buffer(
            c.buffer, CL_TRUE, c.flags, c.offset, c.size, &mut c.mapped
        ))?;
        if !c.stays {
            unmap(c.common.queue, c.buffer, c.mapped);
        }
        Ok(event)
    }
}

impl Map {
    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }

    /// Maps, and returns the pointer.
    fn mapped(mut self) -> *mut c_void {
        self.stays = true;
        self.succeed();
        self.mapped
    }
}

cases! {
    #[clmatrix_harness::test]
    fn map_checks_its_arguments(objects: Objects, c: Map);
    valid() => CL_SUCCESS;
    no_bytes(c.size = 0) => CL_INVALID_VALUE;
    null_buffer(c.buffer = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    an_unknown_flag(c.flags = 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
    write_and_invalidate(c.flags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn map_refuses_ranges_outside(objects: Objects, c: Map) => [CL_INVALID_VALUE];
    one_byte_past_the_end(c.offset = 1);
    behind_the_end(c.part(SIZE + 1, 1));
    an_end_that_overflows(c.part(usize::MAX - 15, 32));
}

#[rstest]
#[case::valid_before_the_map(0, 1024, CL_SUCCESS)]
#[case::valid_behind_the_map(2048, 1024, CL_SUCCESS)]
#[case::the_same_bytes(1024, 1024, CL_INVALID_OPERATION)]
#[case::the_first_byte(1009, 16, CL_INVALID_OPERATION)]
#[case::the_last_byte(2047, 16, CL_INVALID_OPERATION)]
#[clmatrix_harness::test]
fn a_map_for_writing_refuses_mapped_bytes(
    objects: Objects,
    #[case] offset: usize,
    #[case] size: usize,
    #[case] expected: cl_int,
) {
    let mut first = Map::valid(&objects);
    first.part(1024, 1024);
    let mapped = first.mapped();
    check(Map::valid(&objects), |c| c.part(offset, size), expected);
    assert_code(unmap(objects.queue(), objects.buffer.as_raw(), mapped), CL_SUCCESS);
}

command! {
    /// The arguments of clEnqueueUnmapMemObject, of the buffer, which is mapped.
    Unmap(objects: &Objects) {
        object: cl_mem = objects.buffer.as_raw(),
        mapped: *mut c_void = Map::valid(objects).mapped(),
    }
    // SAFETY: nothing uses the memory that was mapped.
    unsafe |c| call!(c, enqueue_unmap_mem_object(c.object, c.mapped))
}

/// Unmaps an object, and returns the code of the call.
pub fn unmap(queue: cl_command_queue, object: cl_mem, mapped: *mut c_void) -> cl_int {
    Unmap { common: Common::new(queue), object, mapped }.code()
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
#[case::of_another_buffer(|o: &Objects, c: &mut Unmap| c.object = o.other.as_raw())]
#[clmatrix_harness::test(own_worker)]
fn unmap_refuses_other_memory(objects: Objects, #[case] change: fn(&Objects, &mut Unmap)) {
    check_unmap(&objects, change, CL_INVALID_VALUE);
}

fn check_unmap(objects: &Objects, change: fn(&Objects, &mut Unmap), expected: cl_int) {
    let mut call = Unmap::valid(objects);
    let mapped = call.mapped;
    change(objects, &mut call);
    let found = call.code();
    if found != CL_SUCCESS {
        assert_code(unmap(objects.queue(), objects.buffer.as_raw(), mapped), CL_SUCCESS);
    }
    assert_code(found, expected);
}

#[clmatrix_harness::test(own_worker)]
fn a_second_unmap_is_refused(objects: Objects) {
    let mut unmap = Unmap::valid(&objects);
    assert_code(unmap.code(), CL_SUCCESS);
    finish(objects.queue()).expect("the queue ends");
    assert_code(unmap.code(), CL_INVALID_VALUE);
}
