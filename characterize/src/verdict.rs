//! Judgements of PyOpenCL's table by measurements of the same answers.

use super::measure::{Confidence, Finding, NotMeasurable, Unit, Value};
use super::table::Answer;

/// The judgement of a table's answer by a measurement.
///
/// ```
/// use clmatrix_characterize::measure::{Confidence, Finding, Unit, Value};
/// use clmatrix_characterize::{Answer, Verdict};
///
/// let value = Value::Number(32.0);
/// let banks =
///     Finding { value, unit: Unit::Count, spread: 0.0, confidence: Confidence::High };
/// let measured = Ok(banks);
/// let agrees = Verdict::Agrees { confidence: Confidence::High };
/// assert_eq!(Verdict::compare(Some(&Answer::Number(32)), &measured), Some(agrees));
/// let differs = Verdict::Differs { confidence: Confidence::High };
/// assert_eq!(Verdict::compare(Some(&Answer::Number(16)), &measured), Some(differs));
/// assert_eq!(Verdict::compare(Some(&Answer::None), &measured), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// The measurement found the same.
    Agrees {
        /// The confidence of the measurement.
        confidence: Confidence,
    },
    /// The measurement contradicts the answer.
    Differs {
        /// The confidence of the measurement.
        confidence: Confidence,
    },
    /// The measurement found nothing.
    NotMeasurable,
}

impl Verdict {
    /// Judges a table's answer, if it has one, by a measurement of the same name. `None` if only one of them has a
    /// value, or if the values are of different kinds.
    pub fn compare(
        table: Option<&Answer>,
        measured: &Result<Finding, NotMeasurable>,
    ) -> Option<Self> {
        let Ok(finding) = measured else { return Some(Self::NotMeasurable) };
        let agrees = match (table?, &finding.value) {
            (Answer::Flag(table), Value::Flag(flag)) => table == flag,
            (Answer::Name(table), Value::Name(name)) => table == name,
            (Answer::Number(table), Value::Number(_)) => finding.lies_within(*table as f64, 0.0),
            _ => return None,
        };
        let confidence = finding.confidence;
        Some(if agrees { Self::Agrees { confidence } } else { Self::Differs { confidence } })
    }
}

impl Finding {
    /// Returns whether another measurement found the same: a number of the same unit no farther away than
    /// both spreads together, or an equal value of another kind.
    pub fn agrees_with(&self, other: &Self) -> bool {
        if self.unit != other.unit {
            return false;
        }
        match (&self.value, &other.value) {
            (_, Value::Number(number)) => self.lies_within(*number, other.spread),
            (Value::Numbers(ours), Value::Numbers(theirs)) => {
                let near = |(a, b): (&f64, &f64)| self.is_near(*a, *b, other.spread);
                ours.len() == theirs.len() && ours.iter().zip(theirs).all(near)
            }
            (ours, theirs) => ours == theirs,
        }
    }

    /// Returns whether this is a number, and `number` with its spread the same number.
    fn lies_within(&self, number: f64, spread: f64) -> bool {
        matches!(self.value, Value::Number(ours) if self.is_near(ours, number, spread))
    }

    fn is_near(&self, ours: f64, theirs: f64, spread: f64) -> bool {
        // A count has no fractions.
        let least = match self.unit {
            Unit::Count | Unit::Bytes => 0.5,
            _ => 0.0,
        };
        (ours - theirs).abs() <= (self.spread + spread).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(value: Value, unit: Unit, spread: f64) -> Finding {
        Finding { value, unit, spread, confidence: Confidence::Medium }
    }

    fn number(number: f64, spread: f64) -> Finding {
        finding(Value::Number(number), Unit::Nanoseconds, spread)
    }

    const AGREES: Option<Verdict> = Some(Verdict::Agrees { confidence: Confidence::Medium });
    const DIFFERS: Option<Verdict> = Some(Verdict::Differs { confidence: Confidence::Medium });

    #[test]
    fn answers_of_a_kind_are_compared() {
        let version = clmatrix::select::Version { major: 9, minor: 0 };
        for (table, value, spread, expected) in [
            (Answer::Flag(true), Value::Flag(true), 0.0, AGREES),
            (Answer::Flag(true), Value::Flag(false), 0.0, DIFFERS),
            (Answer::Number(32), Value::Number(32.0), 0.0, AGREES),
            (Answer::Number(32), Value::Number(31.8), 0.0, AGREES),
            (Answer::Number(32), Value::Number(31.0), 0.0, DIFFERS),
            (Answer::Number(32), Value::Number(31.0), 1.0, AGREES),
            (Answer::Number(32), Value::Number(f64::NAN), 1.0, DIFFERS),
            (Answer::Name("pocl".to_owned()), Value::Name("pocl".to_owned()), 0.0, AGREES),
            (Answer::Name("pocl".to_owned()), Value::Name("apple".to_owned()), 0.0, DIFFERS),
            (Answer::None, Value::Flag(true), 0.0, None),
            (Answer::Number(1), Value::Flag(true), 0.0, None),
            (Answer::Number(1), Value::Numbers(vec![1.0]), 0.0, None),
            (Answer::Version(version), Value::Number(9.0), 0.0, None),
        ] {
            let measured = Ok(finding(value, Unit::Count, spread));
            assert_eq!(
                Verdict::compare(Some(&table), &measured),
                expected,
                "{table:?} {measured:?}"
            );
        }
    }

    #[test]
    fn where_nothing_is_found_nothing_is_compared() {
        let nothing = Err(NotMeasurable { reason: "too fast".to_owned() });
        assert_eq!(Verdict::compare(None, &nothing), Some(Verdict::NotMeasurable));
        assert_eq!(
            Verdict::compare(Some(&Answer::Flag(true)), &nothing),
            Some(Verdict::NotMeasurable)
        );
        assert_eq!(Verdict::compare(None, &Ok(number(1.0, 0.0))), None);
    }

    #[test]
    fn measurements_agree_within_both_spreads() {
        assert!(number(10.0, 1.0).agrees_with(&number(13.0, 2.0)));
        assert!(number(13.0, 2.0).agrees_with(&number(10.0, 1.0)));
        assert!(!number(10.0, 1.0).agrees_with(&number(13.1, 2.0)));
        let bytes = finding(Value::Number(10.0), Unit::Bytes, 1.0);
        assert!(!bytes.agrees_with(&number(10.0, 1.0)), "of different units");
        let flag = |flag| finding(Value::Flag(flag), Unit::Count, 0.0);
        assert!(flag(true).agrees_with(&flag(true)));
        assert!(!flag(true).agrees_with(&flag(false)));
        assert!(!flag(true).agrees_with(&finding(Value::Number(1.0), Unit::Count, 0.0)));
        let sizes = |sizes: &[f64]| finding(Value::Numbers(sizes.to_vec()), Unit::Bytes, 8.0);
        assert!(sizes(&[32.0, 1024.0]).agrees_with(&sizes(&[40.0, 1024.0])));
        assert!(!sizes(&[32.0, 1024.0]).agrees_with(&sizes(&[64.0, 1024.0])));
        assert!(!sizes(&[32.0, 1024.0]).agrees_with(&sizes(&[32.0])));
    }
}
