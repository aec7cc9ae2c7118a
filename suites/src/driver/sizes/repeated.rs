//! The same call several times on the same objects: a driver does other things the first time than later.

use std::ptr;

use clmatrix::cl3::device::CL_DEVICE_MEM_BASE_ADDR_ALIGN;
use clmatrix::cl3::memory::CL_BUFFER_CREATE_TYPE_REGION;
use clmatrix::cl3::types::{CL_TRUE, cl_buffer_region};
use rstest::rstest;

use crate::driver::api::{created, enqueued, named, ok};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::kernels::set_argument;
use crate::driver::memory::maps::FLAGS;
use crate::driver::memory::operand::check;
use crate::driver::memory::target::Target;
use crate::driver::object::{Class, Object};
use crate::driver::query::Subject;
use crate::support::pattern::same;

/// Adds one to bytes.
const SOURCE: &str = "kernel void add(global uchar *bytes) { bytes[get_global_id(0)] += 1; }";

/// The bytes of the buffer.
const SIZE: usize = 2048;

/// The size of work groups: a driver compiles a kernel for each size.
static ONE: usize = 1;

/// Uses a buffer several times, without a wait in between, and does the same to a model of its bytes.
type Steps = fn(&Target<'_>, &mut [u8]) -> Result<(), String>;

fn fill(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    for (byte, range) in [(1_u8, 3..1000), (2, 3..1000), (3, 500..1777), (4, 3..1000)] {
        model[range.clone()].fill(byte);
        let (pattern, at, size) = (ptr::from_ref(&byte).cast(), range.start, range.len());
        let (queue, buffer) = (target.bench.queue, target.raw());
        // SAFETY: the buffer has the bytes.
        unsafe { enqueued!(clEnqueueFillBuffer(queue, buffer, pattern, 1, at, size)) };
    }
    Ok(())
}

fn write(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    let mut host = [0_u8; 700];
    for byte in 1..4 {
        host.fill(byte);
        model[5..705].copy_from_slice(&host);
        let (queue, buffer, from) = (target.bench.queue, target.raw(), host.as_mut_ptr().cast());
        // SAFETY: the buffer has the bytes; the call blocks.
        unsafe { enqueued!(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 5, 700, from)) };
    }
    Ok(())
}

fn copy(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    for (from, to) in [(0, 1000), (7, 1000), (1000, 3), (7, 1000)] {
        model.copy_within(from..from + 900, to);
        let (queue, buffer) = (target.bench.queue, target.raw());
        // SAFETY: the buffer has the bytes.
        unsafe { enqueued!(clEnqueueCopyBuffer(queue, buffer, buffer, from, to, 900)) };
    }
    Ok(())
}

fn map(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    for (turn, range) in [5..705, 5..705, 5..706, 5..705].into_iter().enumerate() {
        let mut map = target.map(FLAGS[2], range.clone())?;
        let model = &mut model[range];
        same(map.bytes(), model, format_args!("map {turn}"))?;
        model.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        map.put(model);
        map.unmap()?;
    }
    Ok(())
}

fn launch(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    let kernel = target.bench.new_kernel(&target.bench.build(SOURCE, ""), "add");
    set_argument(&kernel, 0, &target.raw());
    for global in [500, 500, 3, 1, 1777, 500] {
        model[..global].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        let (queue, kernel, none) = (target.bench.queue, kernel.raw(), ptr::null());
        let (global, one) = (&raw const global, &raw const ONE);
        // SAFETY: the buffer has as many bytes.
        unsafe { enqueued!(clEnqueueNDRangeKernel(queue, kernel, 1, none, global, one)) };
    }
    Ok(())
}

fn sub_buffer(target: &Target<'_>, model: &mut [u8]) -> Result<(), String> {
    let device = Subject::Device(target.bench.device);
    let bits: u32 = device.value(named!(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
    let region = cl_buffer_region { origin: (bits as usize / 8).max(1), size: 77 };
    let mut all = vec![];
    for byte in 1_u8..4 {
        let (kind, region_at) = (CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast());
        // SAFETY: the region lies in the buffer; the call creates a reference.
        let sub = unsafe {
            let raw = created!(clCreateSubBuffer(target.raw(), 0, kind, region_at));
            Object::new(Class::Memory, raw)
        };
        model[region.origin..region.origin + 70].fill(byte);
        let (queue, buffer, pattern) = (target.bench.queue, sub.raw(), ptr::from_ref(&byte).cast());
        // SAFETY: the sub-buffer has the bytes.
        unsafe {
            enqueued!(clEnqueueFillBuffer(queue, buffer, pattern, 1, 0, 70));
            ok!(clFinish(queue));
        }
        all.push(sub);
    }
    // They are released in reverse: a driver crashes otherwise.
    while all.pop().is_some() {}
    Ok(())
}

#[rstest]
#[case::fill("clEnqueueFillBuffer", fill)]
#[case::write("clEnqueueWriteBuffer", write)]
#[case::copy("clEnqueueCopyBuffer", copy)]
#[case::map("clEnqueueMapBuffer", map)]
#[case::launch("clEnqueueNDRangeKernel", launch)]
#[case::sub_buffer("clCreateSubBuffer and clEnqueueFillBuffer", sub_buffer)]
#[clmatrix_harness::test]
fn a_call_works_several_times(bench: Bench, #[case] call: &str, #[case] steps: Steps) {
    let findings = Findings::default();
    let target = Target::plain(&bench, SIZE);
    if let Err(answer) = check([&target], |[model]| steps(&target, model)) {
        let rule = "each call does the same as the first one (5.2, 5.9.2)";
        findings.add(format_args!("{call}, several times on one buffer"), rule, answer);
    }
}
