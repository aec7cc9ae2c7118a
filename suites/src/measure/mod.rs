//! What is measured of a device: answers that make sense, within hard facts and within the budget.

mod answers;
mod budget;
mod facts;
mod global_memory;

use std::time::Duration;

use clmatrix::Device;
use clmatrix::characterize::measure::{Finding, Measured, Settings, Topic, Value, measure};

/// Measures one topic in a few seconds.
fn measured(device: Device, topic: Topic) -> Vec<Measured> {
    let settings = Settings::for_device(&device).expect("the driver tells");
    measure(&device, topic, &Settings { budget: Duration::from_secs(3), ..settings })
}

/// What was found by that name; `None` where it is not measurable.
fn found(measured: &[Measured], name: &str) -> Option<Finding> {
    let measured = measured.iter().find(|measured| measured.name == name);
    measured.unwrap_or_else(|| panic!("{name} is measured")).answer.clone().ok()
}

/// The number that was found by that name.
fn number(measured: &[Measured], name: &str) -> Option<f64> {
    match found(measured, name)?.value {
        Value::Number(number) => Some(number),
        other => panic!("{name}: {other:?} is no number"),
    }
}
