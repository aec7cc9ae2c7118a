//! Maps of buffers (5.2.4), and unmaps (5.5.2).

use super::prelude::*;

cases! {
    #[clmatrix_harness::test]
    fn map_checks_its_arguments(bench, c: Arguments of MapBuffer);
    valid() => CL_SUCCESS;
    no_bytes(c.size = 0) => CL_INVALID_VALUE;
    null_buffer(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    an_unknown_flag(c.flags |= 1 << 40) => CL_INVALID_VALUE;
    read_and_invalidate(c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
    write_and_invalidate(c.flags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)
        => CL_INVALID_VALUE;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn map_refuses_ranges_outside(bench, c: Arguments of MapBuffer) => [CL_INVALID_VALUE];
    one_byte_past_the_end(c.offsets[0] = 1);
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
    bench: Bench,
    #[case] offset: usize,
    #[case] size: usize,
    #[case] named: cl_int,
) {
    let mut first = Arguments::valid(&bench, Kind::MapBuffer);
    first.part(1024, 1024);
    check_second_map(first, |c| c.part(offset, size), named);
}

/// Maps twice, and checks the code of the second call.
#[track_caller]
pub fn check_second_map(mut first: Arguments, change: impl FnOnce(&mut Arguments), named: cl_int) {
    assert_code(first.run(), "the first map", &[CL_SUCCESS]);
    let mut second = first;
    change(&mut second);
    assert_code(second.answer(), "the second map", &[named]);
    let mut unmap = first.unmap().expect("a map");
    assert_code(unmap.run(), "the unmap of the first map", &[CL_SUCCESS]);
}

#[rstest]
#[case::valid(|_: &Bench, _: &mut Arguments| (), CL_SUCCESS)]
#[case::null(|_: &Bench, c: &mut Arguments| c.mapped = NULL, CL_INVALID_VALUE)]
#[case::null_object(|_: &Bench, c: &mut Arguments| c.memory[0] = NULL, CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test]
fn unmap_checks_its_arguments(
    bench: Bench,
    #[case] change: fn(&Bench, &mut Arguments),
    #[case] named: cl_int,
) {
    check_unmap(&bench, change, named);
}

/// A driver that does not look may free or write back memory that was not mapped.
#[rstest]
#[case::other_host_memory(|bench: &Bench, c: &mut Arguments| c.mapped = bench.new_host(SIZE))]
#[case::of_another_buffer(|_: &Bench, c: &mut Arguments| c.memory[0] = c.memory[1])]
#[clmatrix_harness::test(own_worker)]
fn unmap_refuses_other_memory(bench: Bench, #[case] change: fn(&Bench, &mut Arguments)) {
    check_unmap(&bench, change, CL_INVALID_VALUE);
}

fn check_unmap(bench: &Bench, change: fn(&Bench, &mut Arguments), named: cl_int) {
    let mut valid = Arguments::valid(bench, Kind::UnmapBuffer);
    let mut call = valid;
    change(bench, &mut call);
    let answer = call.answer();
    if answer.1 != CL_SUCCESS {
        assert_code(valid.answer(), "a valid unmap behind one that is refused", &[CL_SUCCESS]);
    }
    assert_code(answer, "another pointer or object than that of the map", &[named]);
}

#[clmatrix_harness::test(own_worker)]
fn a_second_unmap_is_refused(bench: Bench) {
    let mut unmap = Arguments::valid(&bench, Kind::UnmapBuffer);
    assert_code(unmap.answer(), "the first unmap", &[CL_SUCCESS]);
    finish(bench.queue);
    assert_code(unmap.answer(), "the second unmap", &[CL_INVALID_VALUE]);
}
