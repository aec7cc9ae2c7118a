//! Shared virtual memory: allocations, copies, fills, maps and kernels (5.6.1, 5.9.2).

use clmatrix::cl3::types::CL_TRUE;

use super::area::{Access, Area, svm_kinds};
use super::commands::{hosts, invert, launch};
use super::maps::FLAGS;
use super::operand::{check, touch};
use super::target::BYTES;
use crate::driver::api::{accepted, enqueue};
use crate::driver::prelude::*;
use crate::support::pattern::bytes;

/// Copies bytes from one place to another, and reports it if a byte of either is wrong.
pub fn check_copy(findings: &Findings, [to, from]: [&Area<'_>; 2], line: [usize; 3]) {
    let [at, from_at, size] = line;
    let result = check([from, to], |[source, target]| {
        target[at..at + size].copy_from_slice(&source[from_at..from_at + size]);
        let (queue, to) = (to.bench.queue, to.pointer.wrapping_add(at).cast());
        let from = from.pointer.wrapping_add(from_at).cast_const().cast();
        // SAFETY: both operands have the bytes.
        accepted(unsafe { enqueue!(clEnqueueSVMMemcpy(queue, CL_TRUE, to, from, size)) })
    });
    if let Err(answer) = result {
        let (to, from) = (&to.name, &from.name);
        let places = format!("to byte {at} of {to} from byte {from_at} of {from}");
        let call = format_args!("clEnqueueSVMMemcpy of {size} bytes {places}");
        findings.add(call, "the bytes are copied, and no others change (5.6.1)", answer);
    }
}

/// Fills bytes with a pattern of this length, and compares all bytes.
pub fn fill(area: &Area<'_>, [at, size, length]: [usize; 3]) -> Result<(), String> {
    let (queue, to) = (area.bench.queue, area.pointer.wrapping_add(at).cast());
    let pattern = bytes(1, length);
    check([area], |[model]| {
        model[at..at + size].copy_from_slice(&pattern.repeat(size / length));
        let from = pattern.as_ptr().cast();
        // SAFETY: the memory has the bytes.
        accepted(unsafe { enqueue!(clEnqueueSVMMemFill(queue, to, from, length, size)) })
    })
}

/// Shared virtual memory of all kinds that the device has.
fn areas(bench: &Bench) -> Vec<Area<'_>> {
    svm_kinds(bench).into_iter().map(|flags| Area::svm(bench, BYTES, flags)).collect()
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn copies_change_their_bytes_only(bench: Bench) {
    let findings = Findings::default();
    let [sources, targets] =
        [(); 2].map(|()| areas(&bench).into_iter().chain(hosts(&bench)).collect::<Vec<_>>());
    let targets = targets.iter().filter(|area| area.access != Access::Constant);
    for (to, from) in targets.flat_map(|to| sources.iter().map(move |from| (to, from))) {
        for line in [[0, 0, BYTES], [3, 1, 1], [64, 5, 77], [1, 98, 500]] {
            check_copy(&findings, [to, from], line);
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn maps_show_and_keep_bytes(bench: Bench) {
    let (findings, areas) = (Findings::default(), areas(&bench));
    for (area, flags) in areas.iter().flat_map(|area| FLAGS.map(|flags| (area, flags))) {
        for range in [0..BYTES, 5..506, BYTES - 1..BYTES] {
            let result = check([area], |[model]| {
                area.map(flags.value, &range)?;
                let mapped = area.pointer.wrapping_add(range.start);
                let mapped = ptr::slice_from_raw_parts_mut(mapped, range.len());
                touch(flags.value, mapped, &mut model[range.clone()])?;
                area.unmap(range.start)
            });
            if let Err(answer) = result {
                let (flags, name) = (flags.name, &area.name);
                let call = format_args!("clEnqueueSVMMap({flags}, {range:?}) of {name}");
                let rule = "a map has the current bytes, and an unmap keeps those written (5.6.1)";
                findings.add(call, rule, answer);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn kernels_change_their_bytes_only(bench: Bench) {
    let (findings, kernel) = (Findings::default(), bench.new_inverter());
    let (sources, targets) = (areas(&bench), areas(&bench));
    for (from, to) in sources.iter().flat_map(|from| targets.iter().map(move |to| (from, to))) {
        for starts in [[0, 0], [7, 50], [1, 4], [64, 49]] {
            let result = check([from, to], |[source, target]| {
                invert(&mut target[starts[1]..][..501], &source[starts[0]..]);
                for (index, area) in [from, to].into_iter().enumerate() {
                    let pointer = area.pointer.wrapping_add(starts[index]).cast();
                    // SAFETY: the kernel has the argument, and the memory the bytes.
                    unsafe { ok!(clSetKernelArgSVMPointer(kernel, index as u32, pointer)) };
                }
                accepted(launch(&bench, kernel, 501))
            });
            if let Err(answer) = result {
                let ([at, to_at], from, to) = (starts, &from.name, &to.name);
                let call =
                    format!("clSetKernelArgSVMPointer, byte {at} of {from}, {to_at} of {to}");
                findings.add(call, "a kernel uses the bytes from the pointer on (5.9.2)", answer);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn allocations_have_their_alignment(bench: Bench) {
    let findings = Findings::default();
    for flags in svm_kinds(&bench) {
        // Zero stands for the size of the largest type, which is long16.
        for (alignment, least) in [(0, 128)].into_iter().chain((0..8).map(|n| (1 << n, 1 << n))) {
            let pointer = bench.new_svm_with(flags.value, 7, alignment) as usize;
            let call = format_args!("clSVMAlloc({}, 7 bytes, {alignment})", flags.name);
            let rule = format_args!("the pointer is a multiple of {least} (5.6.1)");
            let holds = pointer.is_multiple_of(least);
            findings.check(holds, call, rule, format_args!("{pointer:#x}"));
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_map_without_an_event_is_unmapped(bench: Bench) {
    let mut operands = bench.operands(&[Kind::SvmMap]);
    Kind::SvmMap.enqueue_without_event(&mut operands, Call::on(bench.queue).blocking());
    let unmap = Kind::SvmUnmap.enqueue(&mut operands, Call::on(bench.queue));
    let event = unmap.raw();
    // SAFETY: the event is valid.
    unsafe { ok!(clWaitForEvents(1, &raw const event)) };
}
