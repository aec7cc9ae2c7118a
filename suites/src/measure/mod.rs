//! Measurements of a device: answers that make sense, within hard facts and within the budget.

mod answers;
mod budget;
mod facts;
mod global_memory;

use std::sync::Mutex;
use std::time::Duration;

use clmatrix::cl3::device::{CL_DEVICE_TYPE_CPU, CL_GLOBAL};
use clmatrix::{Context, Platform, Result, opencl3};
use clmatrix_characterize::measure::{
    Confidence, Finding, Measured, Settings, Topic, Value, measure,
};
use clmatrix_harness::{CtxFactory, ctx_factory, record_property};
use rstest::fixture;

use crate::support::unanswered;

/// Declares a test of each topic, and one of exhaustion, which takes much of the device's memory.
macro_rules! topics {
    ($check:ident: $each:ident, $exhaustion:ident) => {
        #[rstest::rstest]
        #[clmatrix_harness::test]
        fn $each(
            context: Context,
            #[values(
                Topic::Timer,
                Topic::Launch,
                Topic::Build,
                Topic::Simd,
                Topic::LocalMemory,
                Topic::Arithmetic,
                Topic::Bandwidth,
                Topic::Latency,
                Topic::HostTransfer,
                Topic::Allocation
            )]
            topic: Topic,
        ) {
            $check(&context, topic);
        }

        #[clmatrix_harness::test(alone)]
        fn $exhaustion(context: Context) {
            $check(&context, Topic::Exhaustion);
        }
    };
}

pub(crate) use topics;

/// A context on the device under test.
#[fixture]
fn context(ctx_factory: CtxFactory) -> Context {
    ctx_factory().expect("a context on the device under test")
}

/// The queries of the device under test.
fn device(context: &Context) -> opencl3::device::Device {
    context.default_device().opencl3()
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
