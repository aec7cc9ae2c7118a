//! How much memory there really is, and where it shows that there is no more.

use super::Recipe;
use super::finding::{Attempt, Confidence, Finding, NotMeasurable, Taken, Unit, Value};
use super::touch::{PAGE, Toucher, not_the_end};
use super::workbench::Workbench;
use crate::Class;

pub(super) const RECIPE: Recipe = Recipe {
    name: "exhaustion",
    measurements: &["total_memory", "out_of_memory_shows_at"],
    weight: 2.0,
    take: |bench| match exhaust(bench) {
        Ok((total, shows)) => vec![total, shows],
        Err(why) => vec![why.clone().into(), why.into()],
    },
};

/// How much memory can be touched in buffers of a like size until there is no more, and which step
/// told so.
fn exhaust(bench: &Workbench) -> Attempt<(Taken, Taken)> {
    /// Of so many buffers, the last may be the one that is too much.
    const BUFFERS: u64 = 64;
    let budget = &bench.budget;
    let declared = bench.device.max_mem_alloc_size()?;
    let size = (bench.memory / BUFFERS).min(declared).max(PAGE) / PAGE * PAGE;
    let mut toucher = Toucher::new(bench)?;
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
        match toucher.touched(size as usize) {
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
