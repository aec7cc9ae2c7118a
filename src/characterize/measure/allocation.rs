//! How much memory there really is, where it shows that there is no more, and which regions of
//! buffers the driver lets pass.

use std::ffi::c_void;

use cl3::memory as cl;

use super::Recipe;
use super::clock::Budget;
use super::finding::{Attempt, Confidence, Finding, NotMeasurable, Taken, Unit, Value};
use super::series::{Point, Series};
use super::workbench::Workbench;
use crate::Class;
use crate::error::Error;
use crate::memory::{
    Buffer, MigrationFlags, enqueue_fill, enqueue_migrate_mem_objects, enqueue_read_buffer,
};

pub(super) const RECIPE: Recipe = Recipe {
    name: "allocation",
    measurements: &[
        "largest_buffer",
        "total_memory",
        "out_of_memory_shows_at",
        "sub_buffer_alignment_enforced",
    ],
    weight: 3.0,
    take,
};

fn take(bench: &Workbench) -> Vec<Taken> {
    let alignment = alignment_is_enforced(bench).unwrap_or_else(Taken::from);
    let largest = largest(bench, &bench.budget.share(0.5)).unwrap_or_else(Taken::from);
    let (total, shows) = match exhaust(bench, &bench.budget.share(0.5)) {
        Ok(both) => both,
        Err(why) => (why.clone().into(), why.into()),
    };
    vec![largest, total, shows, alignment]
}

/// The steps by which memory comes to exist, one of which tells that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Creation,
    Migration,
    Use,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Migration => "migration",
            Self::Use => "use",
        }
    }
}

/// A number that no driver fills new memory with.
const PATTERN: u32 = 0x5eed_ca11;

/// A buffer of which each byte has been written, or where that failed.
fn touched(bench: &Workbench, size: usize) -> Result<Buffer, (Stage, Error)> {
    let at = |stage| move |error: Error| (stage, error);
    let device_error = |stage| move |error: opencl3::error_codes::ClError| (stage, error.into());
    let buffer = Buffer::new(&bench.context, crate::memory::MemFlags::READ_WRITE, size)
        .map_err(at(Stage::Creation))?;
    let event = enqueue_migrate_mem_objects(
        &bench.queue,
        &[&buffer],
        MigrationFlags::CONTENT_UNDEFINED,
        [],
    )
    .map_err(at(Stage::Migration))?;
    event.wait().map_err(device_error(Stage::Migration))?;
    let event = enqueue_fill(&bench.queue, &buffer, &PATTERN, .., []).map_err(at(Stage::Use))?;
    event.wait().map_err(device_error(Stage::Use))?;
    let mut last = [0_u32];
    enqueue_read_buffer(&bench.queue, &buffer, size - 4, &mut last, []).map_err(at(Stage::Use))?;
    if last == [PATTERN] {
        Ok(buffer)
    } else {
        let why = "what was written to the end of a buffer is not there";
        Err((Stage::Use, Error::unsupported("clEnqueueFillBuffer", 0, why)))
    }
}

/// The largest buffer whose bytes can all be written, whatever CL_DEVICE_MAX_MEM_ALLOC_SIZE says.
fn largest(bench: &Workbench, budget: &Budget) -> Attempt<Taken> {
    /// The answer is as exact as this share of it.
    const EXACT: u64 = 64;
    let works = |size: u64| touched(bench, size as usize).is_ok();
    let declared = bench.device.max_mem_alloc_size()?;
    let end = bench.memory / PAGE * PAGE;
    let mut tried = Vec::new();
    let mut try_size = |size: u64| {
        let works = works(size);
        tried.push(Point { x: size as f64, samples: vec![f64::from(u8::from(works))] });
        works
    };
    if end == 0 {
        return Err(NotMeasurable::new(format!("{} bytes of memory are too few", bench.memory)));
    }
    if try_size(end) {
        return Err(not_the_end(end));
    }
    // What it says itself is most often where the end is.
    let (mut most, mut too_much) = (0, end);
    for size in [declared, declared + declared / EXACT] {
        let size = size / PAGE * PAGE;
        if size <= most || size >= too_much {
            continue;
        }
        if try_size(size) {
            most = size;
        } else {
            too_much = size;
        }
    }
    while too_much - most > (most / EXACT).max(PAGE) && !budget.is_spent() {
        let size = (most + (too_much - most) / 2) / PAGE * PAGE;
        if try_size(size) {
            most = size;
        } else {
            too_much = size;
        }
    }
    if most == 0 {
        return Err(NotMeasurable::new("no buffer of any size could be used"));
    }
    let spread = (too_much - most) as f64;
    let is_exact = too_much - most <= (most / EXACT).max(PAGE);
    let answer = Finding {
        value: Value::Number(most as f64),
        unit: Unit::Bytes,
        spread,
        confidence: if is_exact { Confidence::High } else { Confidence::Low },
    };
    tried.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(Taken::new(Ok(answer), [Series::new(("size", Unit::Bytes), ("works", Unit::Count), tried)]))
}

/// Sizes are multiples of it, in bytes.
const PAGE: u64 = 4096;

fn not_the_end(bytes: u64) -> NotMeasurable {
    NotMeasurable::new(format!(
        "all {} that may be used are there; let it use more memory",
        Unit::Bytes.write(bytes as f64)
    ))
}

/// How much memory can be touched in buffers of a like size until there is no more, and which step
/// told so.
fn exhaust(bench: &Workbench, budget: &Budget) -> Attempt<(Taken, Taken)> {
    /// Of so many buffers, the last may be the one that is too much.
    const BUFFERS: u64 = 64;
    let declared = bench.device.max_mem_alloc_size()?;
    let size = (bench.memory / BUFFERS).min(declared).max(PAGE) / PAGE * PAGE;
    let mut buffers = Vec::new();
    let (stage, error) = loop {
        let bytes = size * buffers.len() as u64;
        if bytes + size > bench.memory {
            return Err(not_the_end(bytes));
        }
        if budget.is_spent() {
            return Err(NotMeasurable::new(format!(
                "its {:.1} s were spent when {} were in use; give it a larger budget",
                budget.whole().as_secs_f64(),
                Unit::Bytes.write(bytes as f64)
            )));
        }
        match touched(bench, size as usize) {
            Ok(buffer) => buffers.push(buffer),
            Err(failure) => break failure,
        }
    };
    if error.class() != Class::OutOfMemory {
        return Err(NotMeasurable::new(format!("not memory ended, but: {error}")));
    }
    let total = Finding {
        value: Value::Number((size * buffers.len() as u64) as f64),
        unit: Unit::Bytes,
        spread: size as f64,
        confidence: Confidence::High,
    };
    let stage = Value::Name(stage.name().to_owned());
    let stage = Finding::exact(stage, Unit::Count, Confidence::High);
    Ok((Taken::new(Ok(total), []), Taken::new(Ok(stage), [])))
}

/// Whether the driver refuses regions that do not begin at a multiple of
/// CL_DEVICE_MEM_BASE_ADDR_ALIGN, as it must.
fn alignment_is_enforced(bench: &Workbench) -> Attempt<Taken> {
    const BITS: usize = 8;
    let alignment = bench.device.mem_base_addr_align()? as usize / BITS;
    if alignment <= 1 {
        return Err(NotMeasurable::new("any region is aligned for this device"));
    }
    let root = bench.buffer(4 * alignment)?;
    let begins_at = |origin: usize| {
        let region = cl::cl_buffer_region { origin, size: alignment };
        // SAFETY: the buffer is alive and has these bytes; the region is what this type of creation
        // takes.
        let made = unsafe {
            cl::create_sub_buffer(
                crate::memory::MemoryObject::as_raw(&root),
                cl::CL_MEM_READ_WRITE,
                cl::CL_BUFFER_CREATE_TYPE_REGION,
                (&raw const region).cast::<c_void>(),
            )
        };
        // SAFETY: it has just been made, for nobody else.
        made.map(|made| unsafe { cl::release_mem_object(made) }).is_ok()
    };
    if !begins_at(alignment) {
        return Err(NotMeasurable::new("the driver refuses an aligned region, too"));
    }
    let enforced = !(begins_at(1) || begins_at(alignment / 2) || begins_at(alignment + 4));
    let finding = Finding::exact(Value::Flag(enforced), Unit::Count, Confidence::High);
    Ok(Taken::new(Ok(finding), []))
}
