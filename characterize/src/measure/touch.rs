//! Memory that really exists: each of its pages has been written to.

use clmatrix::{Error, Event};

use super::finding::{MeasureResult, NotMeasurable, Unit};
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::{Buffer, MemFlags, MigrationFlags, enqueue_migrate_mem_objects};

/// The steps that allocate memory. One of them fails when there is none.
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

/// Writes a word of each page.
const SOURCE: &str = "kernel void touch(global uint *memory, uint words, uint value) {
    memory[get_global_id(0) * words] = value;
}";

/// Creates buffers whose memory is allocated, by a kernel that writes to each page.
/// `clEnqueueFillBuffer` of NVIDIA's driver took more than a minute for the memory of an H200.
// quirk: NVIDIA-3
pub struct Toucher<'a> {
    bench: &'a Workbench<'a>,
    kernel: Kernel,
}

impl<'a> Toucher<'a> {
    pub fn new(bench: &'a Workbench<'a>) -> MeasureResult<Self> {
        Ok(Self { bench, kernel: bench.kernel(SOURCE, "", "touch")? })
    }
}

impl Toucher<'_> {
    /// Creates a buffer of `size` bytes, a multiple of [`PAGE`], and writes to each page; or returns the step
    /// that failed.
    pub fn touched(&mut self, size: usize) -> Result<Buffer, (Stage, Error)> {
        let bench = self.bench;
        let at = |stage| move |error: Error| (stage, error);
        let trying = |stage: Stage| (bench.trying)(stage.name());
        trying(Stage::Creation);
        let buffer =
            Buffer::new(&bench.context, MemFlags::READ_WRITE, size).map_err(at(Stage::Creation))?;
        trying(Stage::Migration);
        let flags = MigrationFlags::CONTENT_UNDEFINED;
        let event = enqueue_migrate_mem_objects(&bench.queue, &[&buffer], flags)
            .map_err(at(Stage::Migration))?;
        event.wait().map_err(at(Stage::Migration))?;
        trying(Stage::Use);
        let event = self.write(&buffer, size).map_err(at(Stage::Use))?;
        event.wait().map_err(at(Stage::Use))?;
        let mut last = [0_u8; 4];
        let last_page = size - PAGE as usize;
        buffer.slice::<u8>(last_page..).read(&bench.queue, &mut last).map_err(at(Stage::Use))?;
        if last == PATTERN.to_ne_bytes() {
            Ok(buffer)
        } else {
            let reason = "the last page of a buffer does not hold the written bytes";
            Err((Stage::Use, Error::unsupported("clEnqueueNDRangeKernel", 0, reason)))
        }
    }

    fn write(&mut self, buffer: &Buffer, size: usize) -> Result<Event, Error> {
        let words = PAGE as usize / size_of::<u32>();
        let mut launch = self.kernel.launch();
        launch.arg(buffer).arg(words as u32).arg(PATTERN).global(size / PAGE as usize);
        // SAFETY: the arguments are those that the kernel declares, and the buffer has a page for
        // each work item.
        unsafe { launch.enqueue(&self.bench.queue) }
    }
}

/// The bytes of a page; sizes are multiples of it. No system has smaller pages.
pub const PAGE: u64 = 4096;

pub fn not_the_end(bytes: u64) -> NotMeasurable {
    NotMeasurable::new(format!(
        "all {} that measurements may use could be allocated; increase `--memory`",
        Unit::Bytes.write(bytes as f64)
    ))
}
