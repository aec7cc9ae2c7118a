//! Shared virtual memory: allocations, copies, maps, migrations and kernels (5.6.1, 5.9.2).

use std::{ptr, slice};

use clmatrix::cl3::device::CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
use clmatrix::cl3::memory::{
    CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY,
    CL_MIGRATE_MEM_OBJECT_HOST,
};
use clmatrix::cl3::types::{CL_FALSE, CL_TRUE, cl_map_flags};
use rstest::rstest;

use super::area::{Area, COARSE, FINE};
use super::commands::CONSTANT;
use super::kernels::{AT, N, invert, kernels, launch, set_argument};
use super::maps::FLAGS;
use super::operand::check;
use super::target::SIZE;
use crate::driver::api::{Named, accepted, enqueue, named, ok};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::support::pattern::{bytes, same};

/// Shared virtual memory of all kinds that the device has.
fn areas(bench: &Bench) -> Vec<Area<'_>> {
    let has_fine = bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
    let kinds = [COARSE, FINE].into_iter().take(1 + usize::from(has_fine));
    kinds.map(|flags| Area::svm(bench, SIZE, flags)).collect()
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn copies_change_their_bytes_only(bench: Bench) {
    let findings = Findings::default();
    let [mut sources, mut targets] = [(); 2].map(|()| {
        let mut all = areas(&bench);
        all.extend([0, 1].map(|odd| Area::host(&bench, SIZE, odd)));
        all
    });
    sources.push(Area::constant(&bench, &CONSTANT));
    sources.push(Area::mapped(&bench, SIZE));
    targets.push(Area::mapped(&bench, SIZE));
    let pairs = sources.iter().flat_map(|from| targets.iter().map(move |to| (from, to)));
    for (from, to) in pairs {
        for (n, [size, from_at, at]) in
            [[SIZE, 0, 0], [1, 1, 3], [77, 5, 64], [500, 98, 1]].into_iter().enumerate()
        {
            let is_blocking = if n % 2 == 0 { CL_TRUE } else { CL_FALSE };
            let result = check([from, to], |[source, target]| {
                target[at..at + size].copy_from_slice(&source[from_at..from_at + size]);
                let to = to.pointer.wrapping_add(at).cast();
                let from = from.pointer.wrapping_add(from_at).cast_const().cast();
                // SAFETY: both operands have the bytes; the comparison waits for the command.
                accepted(unsafe {
                    enqueue!(clEnqueueSVMMemcpy(bench.queue, is_blocking, to, from, size))
                })
            });
            if let Err(answer) = result {
                let (to, from) = (to.name, from.name);
                let call = format_args!(
                    "clEnqueueSVMMemcpy({size} bytes) to byte {at} of {to} from byte {from_at} of {from}"
                );
                findings.add(call, "the bytes are copied, and no others change (5.6.1)", answer);
            }
        }
    }
}

/// Maps bytes, checks and writes them, and unmaps them.
fn map(
    area: &Area<'_>,
    model: &mut [u8],
    flags: Named<cl_map_flags>,
    at: usize,
    is_blocking: u32,
) -> Result<(), String> {
    let (queue, pointer, size) = (area.bench.queue, area.pointer.wrapping_add(at), model.len());
    // SAFETY: the memory has the bytes, which the host uses only while they are mapped.
    unsafe {
        let memory = pointer.cast();
        accepted(enqueue!(clEnqueueSVMMap(queue, is_blocking, flags.value, memory, size)))?;
        if is_blocking == CL_FALSE {
            ok!(clFinish(queue));
        }
        let mapped = slice::from_raw_parts_mut(pointer, size);
        if flags.value != CL_MAP_WRITE_INVALIDATE_REGION {
            same(mapped, model, "the mapped bytes")?;
        }
        if flags.value != CL_MAP_READ {
            model.copy_from_slice(&bytes(2, size));
            mapped.copy_from_slice(model);
        }
        accepted(enqueue!(clEnqueueSVMUnmap(queue, memory)))
            .map_err(|code| format!("clEnqueueSVMUnmap returned {code}"))
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn maps_show_and_keep_bytes(bench: Bench) {
    let findings = Findings::default();
    for area in areas(&bench) {
        for flags in FLAGS {
            for (n, range) in [0..SIZE, 0..SIZE, 5..506, SIZE - 1..SIZE].into_iter().enumerate() {
                let is_blocking = if n % 2 == 0 { CL_TRUE } else { CL_FALSE };
                let result = check([&area], |[bytes]| {
                    map(&area, &mut bytes[range.clone()], flags, range.start, is_blocking)
                });
                if let Err(answer) = result {
                    let (flags, name) = (flags.name, area.name);
                    let rule = "a map has the current bytes, an unmap keeps those that the host has written, and \
                                no others change (5.6.1)";
                    findings.add(
                        format_args!("clEnqueueSVMMap({flags}, {range:?}) of {name}"),
                        rule,
                        answer,
                    );
                }
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn kernels_change_their_bytes_only(bench: Bench) {
    let findings = Findings::default();
    let [kernel, _] = kernels(&bench);
    let (mut sources, mut targets) = (areas(&bench), areas(&bench));
    sources.push(Area::svm(&bench, SIZE, named!(CL_MEM_READ_ONLY)));
    targets.push(Area::svm(&bench, SIZE, named!(CL_MEM_WRITE_ONLY)));
    for (from, to) in sources.iter().flat_map(|from| targets.iter().map(move |to| (from, to))) {
        for bias in [0, 1, 4, 49] {
            let result = check([from, to], |[source, target]| {
                invert(&mut target[AT[1] + bias..][..N], &source[AT[0] + bias..]);
                for (index, area, at) in [(0, from, AT[0]), (2, to, AT[1])] {
                    let pointer = area.pointer.wrapping_add(bias).cast();
                    // SAFETY: the kernel has the argument, and the memory the bytes.
                    unsafe { ok!(clSetKernelArgSVMPointer(kernel.raw(), index, pointer)) };
                    set_argument(&kernel, index + 1, &(at as u32));
                }
                launch(&bench, &kernel)
            });
            if let Err(answer) = result {
                let (from, to) = (from.name, to.name);
                let call = format_args!(
                    "clSetKernelArgSVMPointer(byte {bias} of {from}) and (byte {bias} of {to})"
                );
                findings.add(call, "a kernel uses the bytes from the pointer on (5.9.2)", answer);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn migrations_keep_all_bytes(bench: Bench) {
    let findings = Findings::default();
    for area in areas(&bench) {
        for (flags, size) in [(0, 0), (CL_MIGRATE_MEM_OBJECT_HOST, 0), (0, 77)] {
            let (pointer, sizes) =
                (area.pointer.wrapping_add(5).cast_const().cast(), &raw const size);
            let sizes = if flags == 0 { sizes } else { ptr::null() };
            let result = check([&area], |_| {
                // SAFETY: the range is in the allocation.
                accepted(unsafe {
                    enqueue!(clEnqueueSVMMigrateMem(
                        bench.queue,
                        1,
                        &raw const pointer,
                        sizes,
                        flags
                    ))
                })
            });
            if let Err(answer) = result {
                let call = format_args!("clEnqueueSVMMigrateMem({flags:#x}) of {}", area.name);
                findings.add(call, "no bytes change (5.6.1)", answer);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn allocations_have_their_alignment(bench: Bench) {
    let findings = Findings::default();
    let has_fine = bench.svm_capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
    for flags in [COARSE, FINE].into_iter().take(1 + usize::from(has_fine)) {
        // Zero stands for the size of the largest type, which is long16.
        for (alignment, least) in [(0, 128)].into_iter().chain((0..8).map(|n| (1 << n, 1 << n))) {
            for size in [1, 7, 100, 4097] {
                let pointer = bench.new_svm_with(flags.value, size, alignment) as usize;
                let call = format_args!("clSVMAlloc({}, {size} bytes, {alignment})", flags.name);
                let rule = format_args!("the pointer is a multiple of {least} (5.6.1)");
                findings.check(
                    pointer.is_multiple_of(least),
                    call,
                    rule,
                    format_args!("{pointer:#x}"),
                );
            }
        }
    }
}
