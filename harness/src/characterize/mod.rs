//! What a device is like, as it goes from a worker to the runner, into JSON, and back; and
//! `clmatrix characterize`, which asks and shows.

pub(crate) mod ask;
pub(crate) mod compare;
pub(crate) mod curve;
pub(crate) mod files;
pub(crate) mod only;
pub(crate) mod rows;
mod svg;
pub(crate) mod terminal;

use std::time::Duration;

use clmatrix::characterize::Facts;
use clmatrix::characterize::measure::{
    Finding, Measured, NotMeasurable, Settings, Topic, Value, measure,
};
use clmatrix::characterize::{Answer, Characterized, FactsOnly, Row, Verdict, table};
use clmatrix::cl3::error_codes::CL_COMPILER_NOT_AVAILABLE;
use clmatrix::{Device, Error};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::devices::TestDevice;
use crate::devices::run_device::RunDevice;
use crate::fixtures;
use crate::worker::protocol::Builds;

/// What a driver tells of a device, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Characterization {
    /// What the driver tells.
    pub facts: Facts,
    /// PyOpenCL's answers, by its functions' names and in its documentation's order.
    pub table: IndexMap<String, TableAnswer>,
}

/// An answer of [`table`] that can be read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TableAnswer {
    /// The answer, with its warnings.
    Known(Characterized<Answer>),
    /// There is none.
    Failed {
        /// Why.
        error: String,
    },
}

impl Characterization {
    /// What takes a build has been asked in vain.
    pub(crate) fn say_why_builds_are_missing(&mut self, why: &str) {
        let later = TableAnswer::later();
        for answer in self.table.values_mut().filter(|answer| **answer == later) {
            let error = format!("needs a kernel build: {why}");
            *answer = TableAnswer::Failed { error };
        }
    }
}

impl TableAnswer {
    /// In place of what takes a build, before the last test of a run.
    fn later() -> Self {
        let error = "pending: needs a kernel build, done after the last test".to_owned();
        Self::Failed { error }
    }

    /// Who shows it has the function's name beside it.
    fn of(row: Row) -> Self {
        match row.answer {
            Ok(answer) => Self::Known(answer),
            Err(error) => {
                let error = error.to_string();
                let why = error.strip_prefix(row.function).and_then(|why| why.strip_prefix(": "));
                Self::Failed { error: why.unwrap_or(&error).to_owned() }
            }
        }
    }
}

/// Asks the driver, in this process.
///
/// # Errors
/// What the driver answers where it does not tell what every device has.
pub fn of(device: &Device, builds: Builds) -> clmatrix::Result<Characterization> {
    let facts = Facts::of(device)?;
    let rows = match builds {
        Builds::Made => table(&facts, device),
        Builds::LeftOut => table(&facts, FactsOnly),
    };
    let takes_a_build = |error: &Error| error.code() == CL_COMPILER_NOT_AVAILABLE;
    let answer = |row: Row| match builds {
        Builds::LeftOut if row.answer.as_ref().is_err_and(takes_a_build) => TableAnswer::later(),
        _ => TableAnswer::of(row),
    };
    let named = |row: Row| (row.function.to_owned(), answer(row));
    Ok(Characterization { facts, table: rows.into_iter().map(named).collect() })
}

/// A topic's measurements, in this process, on the device that it is bound to.
pub(crate) fn measured(topic: &str, settings: &Settings) -> Vec<Measured> {
    let mut measured = measure(&fixtures::device(), named(topic), settings);
    for measured in &mut measured {
        keep_finite(measured);
    }
    measured
}

/// What is said of a topic that needs an end of this process's memory, where there cannot be one.
pub(crate) fn without_end(topic: &str) -> Vec<Measured> {
    let reason = "the memory of the process cannot be limited here";
    unmeasured(named(topic), reason, Duration::ZERO)
}

fn named(topic: &str) -> Topic {
    let topic = Topic::ALL.into_iter().find(|known| known.name() == topic);
    topic.expect("runner and worker are one executable")
}

/// A topic's measurements, none of which has been taken.
fn unmeasured(topic: Topic, reason: &str, took: Duration) -> Vec<Measured> {
    let without = |name: &&str| Measured {
        name: (*name).to_owned(),
        answer: Err(NotMeasurable { reason: reason.to_owned() }),
        series: Vec::new(),
        took,
    };
    topic.measurements().iter().map(without).collect()
}

/// JSON has no other numbers: an answer with one could not be read back.
fn keep_finite(measured: &mut Measured) {
    let is_finite = match &measured.answer {
        Ok(Finding { value: Value::Number(number), spread, .. }) => (number + spread).is_finite(),
        Ok(Finding { value: Value::Numbers(numbers), spread, .. }) => {
            (numbers.iter().sum::<f64>() + spread).is_finite()
        }
        _ => true,
    };
    if !is_finite {
        let reason = "the measured value is not a finite number".to_owned();
        measured.answer = Err(NotMeasurable { reason });
    }
    for point in measured.series.iter_mut().flat_map(|series| &mut series.points) {
        point.samples.retain(|sample| sample.is_finite());
    }
}

/// What `clmatrix characterize --format json` says of one device; by the devices' ids they are the
/// whole of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CharacterizedDevice {
    /// CL_DEVICE_NAME.
    pub name: String,
    /// CL_PLATFORM_NAME.
    pub platform: String,
    /// CL_DRIVER_VERSION.
    pub driver_version: String,
    /// What the driver tells, and what follows from it, unless there is an error.
    #[serde(flatten)]
    pub characterization: Option<Characterization>,
    /// Why nothing is known of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was measured, by the names of the measurements.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub measured: IndexMap<String, Measured>,
    /// What measurements say of PyOpenCL's answers of the same names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub verdicts: IndexMap<String, Verdict>,
}

/// The devices of one call of `clmatrix characterize`, by their ids.
pub type Devices = IndexMap<String, CharacterizedDevice>;

impl CharacterizedDevice {
    /// Of which nothing is known yet but what found it.
    pub(crate) fn new(device: &TestDevice) -> Self {
        let RunDevice { platform, info, .. } = &device.run;
        Self {
            name: info.name.clone(),
            platform: platform.name.clone(),
            driver_version: info.driver_version.clone(),
            characterization: None,
            error: None,
            measured: IndexMap::new(),
            verdicts: IndexMap::new(),
        }
    }

    /// Its id, name, platform and driver on one line.
    pub(crate) fn title(&self, id: &str) -> String {
        let Self { name, platform, driver_version, .. } = self;
        format!("{id}: {name} ({platform}), driver {driver_version}")
    }

    /// Adds measurements.
    pub(crate) fn add(&mut self, measured: impl IntoIterator<Item = Measured>) {
        let named = |measured: Measured| (measured.name.clone(), measured);
        self.measured.extend(measured.into_iter().map(named));
        self.verdicts = self.judged();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_end_of_memory_nothing_is_exhausted() {
        let measured = without_end("exhaustion");
        let names: Vec<&str> = measured.iter().map(|measured| measured.name.as_str()).collect();
        assert_eq!(names, Topic::Exhaustion.measurements());
        for measured in &measured {
            let reason = &measured.answer.as_ref().unwrap_err().reason;
            assert_eq!(reason, "the memory of the process cannot be limited here");
        }
    }
}
