//! Samples against a varied value.

use super::estimate::Summary;
use super::finding::Unit;

/// Samples against a varied value.
///
/// ```
/// use clmatrix_characterize::measure::{Settings, Topic, Unit, measure};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let settings = Settings::for_device(context.default_device())?;
/// for measured in measure(&context, Topic::Timer, &settings) {
///     for series in &measured.series {
///         assert_eq!(series.y.unit, Unit::Nanoseconds);
///         println!("{}: {} over {}", measured.name, series.y.name, series.x.name);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Series {
    /// The varied value, such as `stride`.
    pub x: Axis,
    /// The sampled value, such as `time per access`.
    pub y: Axis,
    /// The samples, in the order of x.
    pub points: Vec<Point>,
}

/// The meaning of the numbers of a [`Series`].
///
/// ```
/// use clmatrix_characterize::measure::{Axis, Unit};
///
/// let footprint = Axis { name: "footprint".to_owned(), unit: Unit::Bytes };
/// assert_eq!(footprint.unit.write(4096.0), "4 KiB");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Axis {
    /// The name.
    pub name: String,
    /// The unit.
    pub unit: Unit,
}

/// The samples for one of the varied values.
///
/// ```
/// use clmatrix_characterize::measure::Point;
///
/// let point = Point { x: 32.0, samples: vec![46.0, 46.2, 45.9] };
/// assert_eq!(point.quartiles().map(|[_, median, _]| median), Some(46.0));
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// The varied value.
    pub x: f64,
    /// The samples, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Series {
    pub(super) fn new(x: (&str, Unit), y: (&str, Unit), points: Vec<Point>) -> Self {
        let axis = |(name, unit): (&str, Unit)| Axis { name: name.to_owned(), unit };
        Self { x: axis(x), y: axis(y), points }
    }
}

impl Point {
    /// Returns a point that records whether a size works.
    pub(super) fn trial(size: u64, works: bool) -> Self {
        Self { x: size as f64, samples: vec![f64::from(u8::from(works))] }
    }

    /// Returns the lower quartile, the median and the upper quartile of the samples, if there are any.
    ///
    /// ```
    /// use clmatrix_characterize::measure::Point;
    ///
    /// let point = Point { x: 32.0, samples: vec![4.0, 1.0, 3.0, 2.0, 5.0] };
    /// assert_eq!(point.quartiles(), Some([2.0, 3.0, 4.0]));
    /// ```
    pub fn quartiles(&self) -> Option<[f64; 3]> {
        let summary = (!self.samples.is_empty()).then(|| Summary::from_samples(&self.samples))?;
        Some([summary.low, summary.median, summary.high])
    }
}
