//! The largest possible buffer, and the regions of buffers that the driver accepts.

use std::ffi::c_void;

use cl3::error_codes::CL_MISALIGNED_SUB_BUFFER_OFFSET;
use cl3::memory as cl;

use super::clock::Budget;
use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::series::{Point, Series};
use super::topic_spec::{TopicSpec, run_each};
use super::touch::{PAGE, Toucher, not_the_end};
use super::workbench::Workbench;
use crate::facts::unanswered;
use clmatrix::Error;
pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "allocation",
    measurements: &["largest_buffer", "sub_buffer_alignment_enforced"],
    weight: 1.5,
    take: |bench| Ok(run_each(bench, [largest, alignment_is_enforced])),
};

/// Measures the largest buffer whose bytes can all be written, regardless of CL_DEVICE_MAX_MEM_ALLOC_SIZE.
fn largest(bench: &Workbench, budget: &Budget) -> MeasureResult<Sampled> {
    let mut toucher = Toucher::new(bench)?;
    let mut tried = Vec::new();
    let answer = search(bench, budget, |size| {
        let works = toucher.touched(size as usize).is_ok();
        tried.push(Point::trial(size, works));
        works
    });
    tried.sort_by(|a, b| a.x.total_cmp(&b.x));
    let size = ("size", Unit::Bytes);
    let series = (!tried.is_empty()).then(|| Series::new(size, ("works", Unit::Count), tried));
    Ok(Sampled::new(answer, series))
}

/// Finds the largest size that works, up to all memory that may be used.
fn search(
    bench: &Workbench,
    budget: &Budget,
    mut works: impl FnMut(u64) -> bool,
) -> MeasureResult<Finding> {
    /// The precision of the answer, as a share of it.
    const EXACT: u64 = 64;
    let declared = bench.max_alloc()?;
    let end = bench.memory / PAGE * PAGE;
    if end == 0 {
        return Err(NotMeasurable::new(format!("{} bytes of memory are too few", bench.memory)));
    }
    if budget.is_spent() {
        return Err(NotMeasurable::new("the budget leaves no time to try any size; increase it"));
    }
    if works(end) {
        return Err(not_the_end(end));
    }
    let (mut most, mut too_much) = (0, end);
    let mut halve = |size: u64, most: &mut u64, too_much: &mut u64| {
        *(if works(size) { most } else { too_much }) = size;
    };
    // The end is most often at the declared size.
    for size in [declared, declared + declared / EXACT] {
        let size = size / PAGE * PAGE;
        if size > most && size < too_much && !budget.is_spent() {
            halve(size, &mut most, &mut too_much);
        }
    }
    while too_much - most > (most / EXACT).max(PAGE) && !budget.is_spent() {
        halve((most + (too_much - most) / 2) / PAGE * PAGE, &mut most, &mut too_much);
    }
    if most == 0 {
        return Err(NotMeasurable::new("no buffer of any size works"));
    }
    let is_exact = too_much - most <= (most / EXACT).max(PAGE);
    Ok(Finding {
        value: Value::Number(most as f64),
        unit: Unit::Bytes,
        spread: (too_much - most) as f64,
        confidence: if is_exact { Confidence::High } else { Confidence::Low },
    })
}

/// Returns whether the driver refuses regions that do not begin at a multiple of
/// CL_DEVICE_MEM_BASE_ADDR_ALIGN, as it must.
fn alignment_is_enforced(bench: &Workbench, _: &Budget) -> MeasureResult<Sampled> {
    const CALL: &str = "clCreateSubBuffer";
    const BITS: usize = 8;
    let alignment =
        bench.device.opencl3().mem_base_addr_align().map_err(unanswered)? as usize / BITS;
    if alignment <= 1 {
        return Err(NotMeasurable::new("the device aligns regions to single bytes"));
    }
    let root = bench.buffer(4 * alignment)?;
    let begins_at = |origin: usize| {
        let region = cl::cl_buffer_region { origin, size: alignment };
        // SAFETY: the buffer is alive and has these bytes; the region is what this type of creation
        // takes.
        let made = unsafe {
            cl::create_sub_buffer(
                root.as_raw(),
                cl::CL_MEM_READ_WRITE,
                cl::CL_BUFFER_CREATE_TYPE_REGION,
                (&raw const region).cast::<c_void>(),
            )
        };
        // SAFETY: it has just been created, and has no other handle.
        if let Err(code) = unsafe { cl::release_mem_object(made?) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
        Ok(())
    };
    if let Err(code) = begins_at(alignment) {
        let error = Error::from_call(CALL, code);
        return Err(NotMeasurable::new(format!("the driver refuses an aligned region: {error}")));
    }
    let mut enforced = true;
    for origin in [1, alignment / 2, alignment + 1] {
        match begins_at(origin) {
            Err(CL_MISALIGNED_SUB_BUFFER_OFFSET) => {}
            Err(code) => return Err(Error::from_call(CALL, code).into()),
            Ok(()) => enforced = false,
        }
    }
    let finding = Finding::exact(Value::Flag(enforced), Unit::Count, Confidence::High);
    Ok(Sampled::new(Ok(finding), []))
}
