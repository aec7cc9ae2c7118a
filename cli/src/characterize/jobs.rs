//! The jobs of workers: the properties of their device, and its measurements.

use std::time::Duration;

use clmatrix::Context;
use clmatrix_characterize::Characterization;
use clmatrix_characterize::measure::{self, Measured, Settings, SystemClock, Topic};
use clmatrix_runner::fixtures::device;
use clmatrix_runner::inventory;
use clmatrix_runner::worker::job::Job;
use serde::{Deserialize, Serialize};

/// The job whose output is a [`Characterization`]. The input is true if kernels are built for the answers that need
/// that; else these are left out.
pub(crate) const CHARACTERIZE: &str = "clmatrix::characterize";

/// The job whose output is the properties of a [`Characterization`], a map of texts. The input is as above.
pub(crate) const PROPERTIES: &str = "clmatrix::properties";

/// The job whose output is an array of [`Measured`]. The input is the name of a topic, its time limit, and the device
/// memory that it may use, in bytes.
pub(crate) const MEASURE: &str = "clmatrix::measure";

inventory::submit! {
    Job { name: CHARACTERIZE, run: |input, _| output(&query(input)?) }
}

inventory::submit! {
    Job { name: PROPERTIES, run: |input, _| output(&query(input)?.properties()) }
}

inventory::submit! {
    Job { name: MEASURE, run: |input, note| output(&measured(self::input(input)?, note)) }
}

fn query(input: &str) -> Result<Characterization, String> {
    Characterization::query(&device(), self::input(input)?).map_err(|error| error.to_string())
}

/// Measures a topic; the answers can be written as JSON.
fn measured(input: (String, Duration, u64), trying: &dyn Fn(&str)) -> Vec<Measured> {
    let (topic, budget, memory) = input;
    let topic = Topic::from_name(&topic).expect("runner and worker are one executable");
    let settings = Settings { budget, memory, clock: &SystemClock, trying };
    let mut measured = match Context::new([&device()]) {
        Ok(context) => measure::measure(&context, topic, &settings),
        Err(error) => topic.unmeasured(&error.to_string(), Duration::ZERO),
    };
    measured.iter_mut().for_each(Measured::keep_finite);
    measured
}

fn input<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn output(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
