//! The amount of memory that really exists, and the step that shows its end.

use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::touch::{PAGE, Stage, Toucher, not_the_end};
use super::workbench::Workbench;
use clmatrix::Class;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "exhaustion",
    measurements: &["total_memory", "out_of_memory_shows_at"],
    weight: 2.0,
    take,
};

/// Measures the memory that can be touched in buffers of one size, and the step that shows its end.
fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    /// The number of buffers that take the whole memory. The precision of the answer is one buffer.
    const BUFFERS: u64 = 64;
    let declared = bench.max_alloc()?;
    let size = (bench.memory / BUFFERS).min(declared).max(PAGE) / PAGE * PAGE;
    let mut tried = Vec::new();
    let end = exhaust(bench, size, |bytes, works| tried.push(Point::trial(bytes, works)));
    let memory = ("memory in use", Unit::Bytes);
    let series = (!tried.is_empty()).then(|| Series::new(memory, ("works", Unit::Count), tried));
    let total = end.clone().map(|(bytes, _)| Finding {
        value: Value::Number(bytes as f64),
        unit: Unit::Bytes,
        spread: size as f64,
        confidence: Confidence::High,
    });
    let stage = end.map(|(_, stage)| {
        Finding::exact(Value::Name(stage.name().to_owned()), Unit::Count, Confidence::High)
    });
    Ok(vec![Sampled::new(total, series.clone()), Sampled::new(stage, series)])
}

/// Returns the bytes that were in use when a step failed, and the step. Calls `tries` with each size.
fn exhaust(
    bench: &Workbench,
    size: u64,
    mut tries: impl FnMut(u64, bool),
) -> MeasureResult<(u64, Stage)> {
    let budget = &bench.budget;
    let mut toucher = Toucher::new(bench)?;
    let mut buffers = Vec::new();
    loop {
        let bytes = size * buffers.len() as u64;
        if bytes + size > bench.memory {
            return Err(not_the_end(bytes));
        }
        if budget.is_spent() {
            return Err(NotMeasurable::new(format!(
                "the budget of {:.1} s ended with {} in use; increase it",
                budget.whole().as_secs_f64(),
                Unit::Bytes.write(bytes as f64)
            )));
        }
        let touched = toucher.touched(size as usize);
        tries(bytes + size, touched.is_ok());
        match touched {
            Ok(buffer) => buffers.push(buffer),
            Err((stage, error)) if error.class() == Class::OutOfMemory => {
                return Ok((bytes, stage));
            }
            Err((_, error)) => {
                return Err(NotMeasurable::new(format!(
                    "an error other than exhausted memory: {error}"
                )));
            }
        }
    }
}
