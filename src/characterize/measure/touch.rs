//! Memory that really exists: each of its bytes has been written.

use opencl3::error_codes::ClError;

use super::finding::{NotMeasurable, Unit};
use super::workbench::Workbench;
use crate::error::Error;
use crate::memory::{
    Buffer, MemFlags, MigrationFlags, enqueue_fill, enqueue_migrate_mem_objects,
    enqueue_read_buffer,
};

/// The steps by which memory comes to exist, one of which tells that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Creation,
    Migration,
    Use,
}

impl Stage {
    pub fn name(self) -> &'static str {
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
pub fn touch(bench: &Workbench, size: usize) -> Result<Buffer, (Stage, Error)> {
    let at = |stage| move |error: Error| (stage, error);
    let device_error = |stage| move |error: ClError| (stage, error.into());
    let trying = |stage: Stage| (bench.trying)(stage.name());
    trying(Stage::Creation);
    let buffer =
        Buffer::new(&bench.context, MemFlags::READ_WRITE, size).map_err(at(Stage::Creation))?;
    trying(Stage::Migration);
    let event = enqueue_migrate_mem_objects(
        &bench.queue,
        &[&buffer],
        MigrationFlags::CONTENT_UNDEFINED,
        [],
    )
    .map_err(at(Stage::Migration))?;
    event.wait().map_err(device_error(Stage::Migration))?;
    trying(Stage::Use);
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

/// Sizes are multiples of it, in bytes.
pub const PAGE: u64 = 4096;

pub fn not_the_end(bytes: u64) -> NotMeasurable {
    NotMeasurable::new(format!(
        "all {} that may be used are there; let it use more memory",
        Unit::Bytes.write(bytes as f64)
    ))
}
