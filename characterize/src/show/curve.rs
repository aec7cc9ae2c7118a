//! A series as a curve: its axes, and the middle of the samples at each place.

use crate::measure::{Axis, Series, Unit};

use crate::CharacterizedDevice;

/// A curve over more than one place.
#[derive(Clone, Debug)]
pub struct Curve<'a> {
    /// The axis of the varied value.
    pub x: &'a Axis,
    /// The axis of the samples.
    pub y: &'a Axis,
    /// True if the places are drawn by their logarithms.
    pub is_log: bool,
    /// The points, in the order of x.
    pub points: Vec<Quartiles>,
}

/// The quartiles of the samples at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// The place.
    pub x: f64,
    /// The lower quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
}

/// The ratio of the last place to the first from which places are drawn by their logarithms.
const LOG_FROM: f64 = 4.0;

impl<'a> Curve<'a> {
    /// Returns a curve; `None` for a series of fewer than two places, and for one of yes and no.
    pub fn from_series(series: &'a Series) -> Option<Self> {
        let mut points: Vec<Quartiles> = series
            .points
            .iter()
            .filter_map(|point| {
                let [low, median, high] = point.quartiles()?;
                Some(Quartiles { x: point.x, low, median, high })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let (first, last) = (points.first()?.x, points.last()?.x);
        let is_no_or_yes = series.x.unit == Unit::Count && (first, last) == (0.0, 1.0);
        if is_no_or_yes || last <= first {
            return None;
        }
        let is_log = first > 0.0 && last >= LOG_FROM * first;
        Some(Self { x: &series.x, y: &series.y, is_log, points })
    }

    /// Returns the title, such as `time per access over stride`.
    pub fn title(&self) -> String {
        format!("{} over {}", self.y.name, self.x.name)
    }

    /// Returns the first and the last place.
    pub fn span(&self) -> (f64, f64) {
        (self.points[0].x, self.points[self.points.len() - 1].x)
    }

    /// Returns the largest upper quartile.
    pub fn top(&self) -> f64 {
        self.points.iter().map(|point| point.high).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Returns the largest median.
    pub fn highest_median(&self) -> f64 {
        self.points.iter().map(|point| point.median).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Returns the position of `x` between the first place, 0, and the last, 1.
    pub fn place(&self, x: f64) -> f64 {
        let (first, last) = self.span();
        if self.is_log {
            (x / first).log2() / (last / first).log2()
        } else {
            (x - first) / (last - first)
        }
    }

    /// Returns the value at such a place.
    pub fn x_at(&self, place: f64) -> f64 {
        let (first, last) = self.span();
        if self.is_log {
            first * (last / first).powf(place)
        } else {
            first + (last - first) * place
        }
    }

    /// Returns the median at any place between the first and the last, along straight lines.
    pub fn median_at(&self, place: f64) -> f64 {
        let pairs = self.points.windows(2).map(|pair| (pair[0], pair[1]));
        let mut between = pairs.filter(|(_, right)| self.place(right.x) >= place);
        let Some((left, right)) = between.next() else {
            return self.points[self.points.len() - 1].median;
        };
        let (from, to) = (self.place(left.x), self.place(right.x));
        let share = if to > from { ((place - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
        left.median + (right.median - left.median) * share
    }

    /// Returns the places with labels: powers of two, or a few at such distances.
    pub fn ticks(&self) -> Vec<f64> {
        let (first, last) = self.span();
        if self.is_log {
            let powers = first.log2().ceil() as i32..=last.log2().floor() as i32;
            powers.map(|power| f64::from(power).exp2()).collect()
        } else {
            (0..=4).map(|quarter| first + (last - first) * f64::from(quarter) / 4.0).collect()
        }
    }
}

impl CharacterizedDevice {
    /// Returns its curves, each with its measurement's name, and a number if that has several. A curve of several
    /// measurements has the name of the first one.
    pub fn curves(&self) -> Vec<(String, Curve<'_>)> {
        let (mut curves, mut drawn) = (Vec::new(), Vec::new());
        for (name, measured) in &self.measured {
            let new = measured.series.iter().filter(|series| !drawn.contains(series));
            let new: Vec<&Series> = new.collect();
            drawn.extend(&new);
            for (position, curve) in new.into_iter().filter_map(Curve::from_series).enumerate() {
                let name = match position {
                    0 => name.clone(),
                    position => format!("{name}-{}", position + 1),
                };
                curves.push((name, curve));
            }
        }
        curves
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::measure::{Measured, NotMeasurable, Point};

    use super::*;

    fn series(points: &[(f64, &[f64])]) -> Series {
        let axis = |name: &str, unit| Axis { name: name.to_owned(), unit };
        let point = |&(x, samples): &(f64, &[f64])| Point { x, samples: samples.to_vec() };
        Series {
            x: axis("stride", Unit::Count),
            y: axis("time per access", Unit::Nanoseconds),
            points: points.iter().map(point).collect(),
        }
    }

    /// One group of 32 lanes of an H200 reads local memory with these strides.
    pub fn local_memory() -> Series {
        series(&[
            (1.0, &[14.7]),
            (2.0, &[15.8]),
            (4.0, &[17.7, 17.8, 17.9]),
            (8.0, &[21.8]),
            (16.0, &[29.9]),
            (32.0, &[46.0]),
        ])
    }

    #[test]
    fn a_curve_has_more_than_one_place() {
        assert!(Curve::from_series(&series(&[])).is_none());
        assert!(Curve::from_series(&series(&[(1.0, &[2.0])])).is_none());
        assert!(Curve::from_series(&series(&[(1.0, &[2.0]), (1.0, &[3.0])])).is_none());
        assert!(Curve::from_series(&series(&[(1.0, &[2.0]), (2.0, &[])])).is_none());
        assert!(Curve::from_series(&series(&[(1.0, &[2.0]), (2.0, &[3.0])])).is_some());
        assert!(
            Curve::from_series(&series(&[(0.0, &[2.0]), (1.0, &[3.0])])).is_none(),
            "no and yes"
        );
    }

    #[test]
    fn what_several_rest_on_is_drawn_once() {
        let mut device: CharacterizedDevice =
            serde_json::from_str(r#"{"name": "", "platform": "", "driver_version": ""}"#).unwrap();
        let other = series(&[(1.0, &[2.0]), (2.0, &[3.0])]);
        let measured = |name: &str, series: &[Series]| Measured {
            name: name.to_owned(),
            answer: Err(NotMeasurable { reason: String::new() }),
            series: series.to_vec(),
            took: std::time::Duration::ZERO,
        };
        device.add([
            measured("latency", &[local_memory()]),
            measured("cache", &[local_memory(), other.clone()]),
        ]);
        let curves = device.curves();
        let names: Vec<&str> = curves.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["latency", "cache"]);
    }

    #[test]
    fn places_that_are_far_apart_are_drawn_by_their_logarithms() {
        let series = local_memory();
        let curve = Curve::from_series(&series).unwrap();
        assert!(curve.is_log);
        assert_eq!([1.0, 2.0, 32.0].map(|x| curve.place(x)), [0.0, 0.2, 1.0]);
        assert!((curve.x_at(0.4) - 4.0).abs() < 1e-9);
        assert_eq!(curve.ticks(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        assert_eq!(curve.top(), 46.0);
    }

    #[test]
    fn places_with_a_zero_are_drawn_as_they_are() {
        let series = series(&[(8.0, &[3.0]), (0.0, &[1.0])]);
        let curve = Curve::from_series(&series).unwrap();
        assert!(!curve.is_log);
        assert_eq!((curve.span(), curve.place(2.0), curve.x_at(0.25)), ((0.0, 8.0), 0.25, 2.0));
        assert_eq!(curve.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
    }

    #[test]
    fn between_medians_lie_straight_lines() {
        let series = local_memory();
        let curve = Curve::from_series(&series).unwrap();
        assert_eq!([0.0, 0.4, 1.0].map(|place| curve.median_at(place)), [14.7, 17.8, 46.0]);
        assert!((curve.median_at(0.9) - (29.9 + 46.0) / 2.0).abs() < 1e-9);
    }
}
