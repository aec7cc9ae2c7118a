//! The result of a measurement, or the reason why there is none.

use std::fmt;

/// The result of a step of a measurement.
pub(super) type MeasureResult<T> = Result<T, NotMeasurable>;

/// A measured value.
///
/// ```
/// use clmatrix_characterize::measure::{Confidence, Finding, Unit, Value};
///
/// let latency = Finding {
///     value: Value::Number(296.4),
///     unit: Unit::Nanoseconds,
///     spread: 3.0,
///     confidence: Confidence::High,
/// };
/// assert_eq!(latency.to_string(), "296 ns ± 3 ns");
/// assert!(latency.agrees_with(&Finding { value: Value::Number(300.0), ..latency.clone() }));
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Finding {
    /// The value.
    pub value: Value,
    /// The unit of a number.
    pub unit: Unit,
    /// The spread of a number, in its unit; 0 for exact values. Half of the range that the
    /// middle half of the samples takes, and half of that of the medians of their consecutive
    /// quarters; of times and rates at least 1 %, or 15 % where they are by the host's clock. Another
    /// run is expected to find a number not farther away than both runs' spreads together.
    pub spread: f64,
    /// The confidence.
    pub confidence: Confidence,
}

/// The value of a measurement.
///
/// ```
/// use clmatrix_characterize::measure::Value;
///
/// let caches = Value::Numbers(vec![32768.0, 1048576.0]);
/// assert_ne!(caches, Value::Number(32768.0));
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Several numbers, such as the sizes of caches.
    Numbers(Vec<f64>),
    /// A name, of several possible ones.
    Name(String),
}

/// The unit of a number.
///
/// ```
/// use clmatrix_characterize::measure::Unit;
///
/// assert_eq!(Unit::OperationsPerSecond.write(30.5e12), "30.5 Top/s");
/// assert_eq!(Unit::Ratio.write(0.5), "0.5 x");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unit {
    /// A count of banks or work items, or a value that is not a number.
    Count,
    /// Bytes.
    Bytes,
    /// Bytes in a second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Operations in a second.
    OperationsPerSecond,
    /// A multiple of another value.
    Ratio,
}

/// The confidence of an answer.
///
/// ```
/// use clmatrix_characterize::measure::Confidence;
///
/// assert!(Confidence::Low < Confidence::Medium && Confidence::Medium < Confidence::High);
/// ```
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The answer is better than nothing.
    Low,
    /// Some samples contradict it.
    Medium,
    /// All samples agree.
    High,
}

/// The reason why there is no answer.
///
/// ```
/// use clmatrix_characterize::measure::NotMeasurable;
///
/// let why = NotMeasurable { reason: "the device has no local memory".to_owned() };
/// assert_eq!(why.to_string(), "not measurable here: the device has no local memory");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NotMeasurable {
    /// The reason.
    pub reason: String,
}

impl NotMeasurable {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl From<clmatrix::Error> for NotMeasurable {
    fn from(error: clmatrix::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl std::error::Error for NotMeasurable {}

impl fmt::Display for NotMeasurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not measurable here: {}", self.reason)
    }
}

impl Finding {
    /// Returns a finding without a spread.
    pub(super) fn exact(value: Value, unit: Unit, confidence: Confidence) -> Self {
        Self { value, unit, spread: 0.0, confidence }
    }

    /// Lowers the confidence to `most`.
    pub(super) fn at_most(self, most: Confidence) -> Self {
        Self { confidence: self.confidence.min(most), ..self }
    }
}

/// `53.4 ns ± 0.2`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Value::Name(name) => f.write_str(name),
            Value::Number(number) => f.write_str(&self.unit.write(*number)),
            Value::Numbers(numbers) => {
                let numbers: Vec<_> = numbers.iter().map(|n| self.unit.write(*n)).collect();
                f.write_str(&numbers.join(", "))
            }
        }?;
        if self.spread > 0.0 { write!(f, " ± {}", self.unit.write(self.spread)) } else { Ok(()) }
    }
}

impl Unit {
    /// Formats `number` of this unit for a person: three digits, with the unit's symbol.
    ///
    /// ```
    /// use clmatrix_characterize::measure::Unit;
    ///
    /// assert_eq!(Unit::BytesPerSecond.write(4.281e12), "4.28 TB/s");
    /// assert_eq!(Unit::BytesPerSecond.write(5300.0), "5.3 kB/s");
    /// assert_eq!(Unit::Bytes.write(32768.0), "32 KiB");
    /// assert_eq!(Unit::Nanoseconds.write(296.4e6), "296 ms");
    /// assert_eq!(Unit::Nanoseconds.write(999.7), "1 µs");
    /// assert_eq!(Unit::Count.write(32.0), "32");
    /// assert_eq!(Unit::Ratio.write(0.005), "0.005 x");
    /// ```
    pub fn write(self, number: f64) -> String {
        const SIZES: [(f64, &str); 5] = [
            (1024.0 * 1024.0 * 1024.0 * 1024.0, " TiB"),
            (1024.0 * 1024.0 * 1024.0, " GiB"),
            (1024.0 * 1024.0, " MiB"),
            (1024.0, " KiB"),
            (1.0, " bytes"),
        ];
        const TIMES: [(f64, &str); 4] = [(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];
        const BANDWIDTHS: [(f64, &str); 5] =
            [(1e12, " TB/s"), (1e9, " GB/s"), (1e6, " MB/s"), (1e3, " kB/s"), (1.0, " B/s")];
        const RATES: [(f64, &str); 5] =
            [(1e12, " Top/s"), (1e9, " Gop/s"), (1e6, " Mop/s"), (1e3, " kop/s"), (1.0, " op/s")];
        let scales: &[(f64, &str)] = match self {
            Self::Count => &[(1.0, "")],
            Self::Ratio => &[(1.0, " x")],
            Self::Bytes => &SIZES,
            Self::Nanoseconds => &TIMES,
            Self::BytesPerSecond => &BANDWIDTHS,
            Self::OperationsPerSecond => &RATES,
        };
        // A number that is rounded up to the next scale has that scale: 1 µs, not 1000 ns.
        let lower = scales.iter().skip(1).chain(scales.last());
        let reaches = |((scale, _), (lower, _)): &(&(f64, &str), &(f64, &str))| {
            (number / lower).abs().round() * lower >= *scale
        };
        let fits = scales.iter().zip(lower).find(reaches).map(|(fits, _)| fits);
        let (scale, symbol) = fits.or(scales.last()).expect("there are scales");
        format!("{}{symbol}", three_digits(number / scale))
    }
}

/// Formats as `1.23`, `12.3`, `123`, `1234`, without zeros behind the point.
fn three_digits(number: f64) -> String {
    let digits = match number.abs() {
        size if size < 0.1 => 4,
        size if size < 10.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{number:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
