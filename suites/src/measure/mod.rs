//! Measurements of a device: answers that make sense, within hard facts and within the budget.

mod answers;
mod budget;
mod facts;
mod global_memory;

use std::sync::Mutex;
use std::time::Duration;

use clmatrix::Context;
use clmatrix_characterize::measure::{
    Confidence, Finding, Measured, Settings, Topic, Value, measure,
};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::fixture;

/// A context on the device under test.
#[fixture]
fn context(ctx_factory: CtxFactory) -> Context {
    ctx_factory().expect("a context on the device under test")
}

/// Measures one topic in half a second, and once in each process: a process has one device.
fn measured(context: &Context, topic: Topic) -> Vec<Measured> {
    static KNOWN: Mutex<Vec<(Topic, Vec<Measured>)>> = Mutex::new(Vec::new());
    // A test that fails ends the process.
    let mut known = KNOWN.lock().expect("no test panicked meanwhile");
    if let Some((_, measured)) = known.iter().find(|(known, _)| *known == topic) {
        return measured.clone();
    }
    let settings = Settings::for_device(context.default_device()).expect("the driver tells");
    let measured =
        measure(context, topic, &Settings { budget: Duration::from_millis(500), ..settings });
    known.push((topic, measured.clone()));
    measured
}

/// Returns the finding of that name; `None` where it is not measurable.
fn found(measured: &[Measured], name: &str) -> Option<Finding> {
    let measured = measured.iter().find(|measured| measured.name == name);
    measured.unwrap_or_else(|| panic!("{name} is measured")).answer.clone().ok()
}

/// The finding of that name if its confidence is high: a busy machine disturbs measurements.
fn certain(measured: &[Measured], name: &str) -> Option<Finding> {
    found(measured, name).filter(|found| found.confidence == Confidence::High)
}

/// The number that was found by that name.
fn number(measured: &[Measured], name: &str) -> Option<f64> {
    found(measured, name).map(as_number)
}

fn as_number(finding: Finding) -> f64 {
    match finding.value {
        Value::Number(number) => number,
        other => panic!("{other:?} is no number"),
    }
}
