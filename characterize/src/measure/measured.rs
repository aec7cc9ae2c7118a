//! A measurement with its samples.

use std::time::Duration;

use super::finding::{Finding, NotMeasurable, Value};
use super::series::Series;

/// One measurement's answer, with its samples.
///
/// ```
/// use clmatrix_characterize::measure::{Settings, Topic, measure};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let settings = Settings::for_device(context.default_device())?;
/// for measured in measure(&context, Topic::Timer, &settings) {
///     match &measured.answer {
///         Ok(finding) => println!("{}: {finding}", measured.name),
///         Err(why) => println!("{}: {why}", measured.name),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Measured {
    /// PyOpenCL's name of the answer, if it has one.
    pub name: String,
    /// The result.
    #[serde(flatten, with = "answer_as_map")]
    pub answer: Result<Finding, NotMeasurable>,
    /// The samples of the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// The time that the measurements of its topic took together.
    #[serde(default)]
    pub took: Duration,
}

impl Measured {
    /// Removes samples that are not finite, and an answer with such a number, because JSON has none.
    pub fn keep_finite(&mut self) {
        let is_finite = match &self.answer {
            Ok(Finding { value: Value::Number(number), spread, .. }) => {
                (number + spread).is_finite()
            }
            Ok(Finding { value: Value::Numbers(numbers), spread, .. }) => {
                (numbers.iter().sum::<f64>() + spread).is_finite()
            }
            _ => true,
        };
        if !is_finite {
            self.answer = Err(NotMeasurable::new("the measured value is not a finite number"));
        }
        for point in self.series.iter_mut().flat_map(|series| &mut series.points) {
            point.samples.retain(|sample| sample.is_finite());
        }
    }
}

/// An answer without its name.
pub(super) struct Sampled {
    pub answer: Result<Finding, NotMeasurable>,
    pub series: Vec<Series>,
}

impl Sampled {
    /// Creates an answer from samples.
    pub fn new(
        answer: Result<Finding, NotMeasurable>,
        series: impl IntoIterator<Item = Series>,
    ) -> Self {
        Self { answer, series: series.into_iter().collect() }
    }

    /// Returns the measurement of this name.
    pub fn named(self, name: &str, took: Duration) -> Measured {
        Measured { name: name.to_owned(), answer: self.answer, series: self.series, took }
    }
}

/// Converts a reason to an answer without samples.
impl From<NotMeasurable> for Sampled {
    fn from(missing: NotMeasurable) -> Self {
        Self::new(Err(missing), [])
    }
}

/// `{"value": .., "unit": ..}`, or `{"not_measurable": reason}`.
mod answer_as_map {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Finding, NotMeasurable};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Answer {
        Found(Finding),
        Not { not_measurable: String },
    }

    pub fn serialize<S: Serializer>(
        answer: &Result<Finding, NotMeasurable>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match answer {
            Ok(finding) => Answer::Found(finding.clone()),
            Err(missing) => Answer::Not { not_measurable: missing.reason.clone() },
        }
        .serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<Finding, NotMeasurable>, D::Error> {
        Ok(match Answer::deserialize(deserializer)? {
            Answer::Found(finding) => Ok(finding),
            Answer::Not { not_measurable } => Err(NotMeasurable::new(not_measurable)),
        })
    }
}
