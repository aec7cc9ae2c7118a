//! Shared virtual memory: allocations, and maps without events (5.6.1).

use super::*;

#[clmatrix_harness::test(requires(svm))]
fn allocations_have_their_alignment(bench: Bench) {
    for memory in [SVM_COARSE, SVM_FINE].into_iter().filter(|memory| memory.is_on(&bench)) {
        let Svm(flags) = memory else { unreachable!("both are shared") };
        // Zero means the size of the largest type, which is long16.
        for (alignment, least) in [(0, 128)].into_iter().chain((0..8).map(|n| (1 << n, 1 << n))) {
            let pointer = bench.new_svm_with(flags.value, 7, alignment) as usize;
            let call = format_args!("clSVMAlloc({}, 7 bytes, {alignment})", flags.name);
            let rule = format_args!("the pointer is a multiple of {least} (5.6.1)");
            bench.check(pointer.is_multiple_of(least), call, rule, format_args!("{pointer:#x}"));
        }
    }
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_without_an_event_is_unmapped(bench: Bench) {
    let mut operands = bench.operands(&[Kind::SvmMap]);
    Kind::SvmMap.enqueue_without_event(&mut operands, Call::on(bench.queue).blocking());
    wait_for(&Kind::SvmUnmap.enqueue(&mut operands, Call::on(bench.queue)));
}
