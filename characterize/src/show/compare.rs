//! Two characterizations side by side: of two devices, or of one under two drivers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Answer;
use crate::measure::{Finding, Measured, Value};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::side_by_side::{with_confidence, with_notes};
use super::text_table::TextTable;
use crate::{CharacterizedDevice, Devices, TableAnswer};

/// The reason why a file has no characterization.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file has other contents.
    #[error(
        "{}: not the output of `clmatrix characterize --format json`: {error}", path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: serde_json::Error,
    },
}

/// Reads the output of `clmatrix characterize --format json`.
pub fn read(path: &Path) -> Result<Devices, ReadError> {
    let text = fs::read(path).map_err(|error| ReadError::Io { path: path.to_owned(), error })?;
    serde_json::from_slice(&text)
        .map_err(|error| ReadError::Format { path: path.to_owned(), error })
}

/// Two devices that are compared.
#[derive(Debug, Serialize)]
pub struct Pair<'a> {
    /// The id in the first file.
    pub a: &'a str,
    /// The id in the second file.
    pub b: &'a str,
    /// The reason why the first device has no answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_error: Option<&'a str>,
    /// The reason why the second device has no answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_error: Option<&'a str>,
    /// The answers, by name.
    pub rows: Vec<Row>,
    #[serde(skip)]
    devices: [&'a CharacterizedDevice; 2],
}

/// The answers of both to a question.
#[derive(Debug, PartialEq, Serialize)]
pub struct Row {
    /// PyOpenCL's name of the answer, if it has one.
    pub name: String,
    /// The source of the answers.
    pub from: Source,
    /// The answer of the first device.
    pub a: Side,
    /// The answer of the second device.
    pub b: Side,
    /// The second number divided by the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// True if both answers are alike, measurements within their spreads; `None` if one has no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agree: Option<bool>,
}

/// The source of answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// PyOpenCL's table.
    Table,
    /// A measurement.
    Measured,
}

/// One side of a row.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Its answer, for a person.
    Answer(String),
    /// An answer, for a person, that may be wrong.
    Guess {
        /// The answer.
        answer: String,
        /// The reasons why it may be wrong.
        warnings: Vec<String>,
    },
    /// The reason why it has none.
    Reason(String),
    /// The query was not made.
    Absent,
}

/// Returns the matching devices of both files: the only ones, or those of the same id.
pub fn pairs<'a>(
    a: &'a Devices,
    b: &'a Devices,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Pair<'a>>, String> {
    let pair = |(a, ours): (&'a String, &'a _), (b, theirs): (&'a String, &'a _)| {
        let mut rows = rows(ours, theirs);
        rows.retain(|row| wanted(&row.name));
        let (a_error, b_error) = (ours.error.as_deref(), theirs.error.as_deref());
        Pair { a, b, a_error, b_error, rows, devices: [ours, theirs] }
    };
    if let (1, 1) = (a.len(), b.len()) {
        return Ok(a.iter().zip(b).map(|(a, b)| pair(a, b)).collect());
    }
    let common = a.iter().filter_map(|ours| Some(pair(ours, b.get_key_value(ours.0)?)));
    let common: Vec<_> = common.collect();
    if common.is_empty() {
        return Err(format!(
            "no device is in both files: one has {}, the other {}",
            ids(a),
            ids(b)
        ));
    }
    Ok(common)
}

/// Returns the ids that the other file does not have.
pub fn without_pair<'a>(devices: &'a Devices, others: &Devices) -> Vec<&'a str> {
    devices.keys().map(String::as_str).filter(|id| !others.contains_key(*id)).collect()
}

fn ids(devices: &Devices) -> String {
    match devices.keys().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => "none".to_owned(),
        ref ids => ids.join(", "),
    }
}

fn rows(a: &CharacterizedDevice, b: &CharacterizedDevice) -> Vec<Row> {
    let empty = IndexMap::new();
    let table = |device: &'_ CharacterizedDevice| {
        device.characterization.as_ref().map_or_else(|| empty.clone(), |known| known.table.clone())
    };
    let (ours, theirs) = (table(a), table(b));
    let names: IndexSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let answers = names.into_iter().map(|name| of_table(name, ours.get(name), theirs.get(name)));
    let names: IndexSet<&String> = a.measured.keys().chain(b.measured.keys()).collect();
    let measured = names.into_iter().map(|name| {
        let tables = [ours.get(name), theirs.get(name)];
        of_measurements(name, tables, a.measured.get(name), b.measured.get(name))
    });
    answers.chain(measured).collect()
}

fn of_table(name: &str, a: Option<&TableAnswer>, b: Option<&TableAnswer>) -> Row {
    let value = |answer: Option<&TableAnswer>| answer.and_then(TableAnswer::value).cloned();
    let number = |answer: &Answer| match answer {
        Answer::Number(number) => Some(*number as f64),
        _ => None,
    };
    let values = value(a).zip(value(b));
    Row {
        name: name.to_owned(),
        from: Source::Table,
        a: Side::of_table(a),
        b: Side::of_table(b),
        ratio: values.as_ref().and_then(|(a, b)| ratio(number(a)?, number(b)?)),
        agree: values.map(|(a, b)| a == b),
    }
}

fn of_measurements(
    name: &str,
    tables: [Option<&TableAnswer>; 2],
    a: Option<&Measured>,
    b: Option<&Measured>,
) -> Row {
    fn finding(measured: Option<&Measured>) -> Option<&Finding> {
        measured?.answer.as_ref().ok()
    }
    let number = |finding: &Finding| match finding.value {
        Value::Number(number) => Some(number),
        _ => None,
    };
    let findings = finding(a).zip(finding(b));
    let comparable = findings.filter(|(a, b)| a.unit == b.unit);
    Row {
        name: name.to_owned(),
        from: Source::Measured,
        a: Side::of_measurement(a, tables[0]),
        b: Side::of_measurement(b, tables[1]),
        ratio: comparable.and_then(|(a, b)| ratio(number(a)?, number(b)?)),
        agree: findings.map(|(a, b)| a.agrees_with(b)),
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a != 0.0).then(|| b / a)
}

impl Side {
    fn of_table(answer: Option<&TableAnswer>) -> Self {
        match answer {
            None => Self::Absent,
            Some(TableAnswer::Failed { error }) => Self::Reason(error.clone()),
            Some(TableAnswer::Known(answer)) if answer.is_known() => {
                Self::Answer(answer.value.to_string())
            }
            Some(TableAnswer::Known(answer)) => Self::Guess {
                answer: answer.value.to_string(),
                warnings: answer.warnings.iter().map(ToString::to_string).collect(),
            },
        }
    }

    fn of_measurement(measured: Option<&Measured>, table: Option<&TableAnswer>) -> Self {
        match measured.map(|measured| &measured.answer) {
            None => Self::Absent,
            Some(Err(reason)) => Self::Reason(reason.to_string()),
            Some(Ok(finding)) => Self::Answer(with_confidence(finding, table)),
        }
    }

    fn cell(&self, text_table: &mut TextTable) -> String {
        match self {
            Self::Answer(text) => text_table.or_note(text.clone()),
            Self::Guess { answer, warnings } => with_notes(text_table, answer.clone(), warnings),
            Self::Reason(reason) => format!("- {}", text_table.note(reason)),
            Self::Absent => String::new(),
        }
    }
}

impl Pair<'_> {
    /// Returns descriptions of A and B, a line each.
    pub fn titles(&self) -> [String; 2] {
        let [a, b] = self.devices;
        [format!("A = {}", a.title(self.a)), format!("B = {}", b.title(self.b))]
    }

    /// Returns the errors of devices without answers.
    pub fn errors(&self) -> Vec<String> {
        let sides = [("A", self.a_error), ("B", self.b_error)].into_iter();
        sides
            .filter_map(|(side, reason)| Some(format!("{side} does not answer: {}", reason?)))
            .collect()
    }

    /// Returns a table of the answers, by name.
    pub fn text_table(&self) -> TextTable {
        let mut text_table = TextTable::new(&["NAME", "FROM", "A", "B", "B / A", "AGREE"]);
        for row in &self.rows {
            let from = match row.from {
                Source::Table => "table",
                Source::Measured => "measured",
            };
            let agree = row.agree.map_or("", |agree| if agree { "yes" } else { "no" });
            let (a, b) = (row.a.cell(&mut text_table), row.b.cell(&mut text_table));
            let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
            text_table.push(vec![row.name.clone(), from.to_owned(), a, b, ratio, agree.to_owned()]);
        }
        text_table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one device with an answer and measurements in JSON.
    fn device(table: &str, measured: &str) -> CharacterizedDevice {
        let facts = serde_json::to_string(&crate::Facts::default()).unwrap();
        let json = format!(
            r#"{{"name": "GPU", "platform": "P", "driver_version": "1", "facts": {facts},
                "table": {{{table}}}, "measured": {{{measured}}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    fn nanoseconds(name: &str, value: f64, spread: f64) -> String {
        format!(
            r#""{name}": {{"name": "{name}", "value": {value}, "unit": "nanoseconds",
                           "spread": {spread}, "confidence": "high"}}"#
        )
    }

    fn devices<const N: usize>(devices: [(&str, CharacterizedDevice); N]) -> Devices {
        devices.map(|(id, device)| (id.to_owned(), device)).into_iter().collect()
    }

    fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
        rows.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn numbers_have_a_ratio_and_agree_within_their_spreads() {
        let a = device(
            r#""get_simd_group_size": {"value": 32, "warnings": []},
               "has_src_build_cache": {"value": true, "warnings": []},
               "local_memory_bank_count": {"error": "it has none"}"#,
            &[nanoseconds("latency", 100.0, 3.0), nanoseconds("launch", 100.0, 3.0)].join(","),
        );
        let b = device(
            r#""get_simd_group_size": {"value": 64, "warnings": []},
               "has_src_build_cache": {"value": true, "warnings": []},
               "local_memory_bank_count": {"value": 32, "warnings": []}"#,
            &[
                nanoseconds("latency", 105.0, 3.0),
                nanoseconds("launch", 107.0, 3.0),
                r#""event": {"name": "event", "not_measurable": "too fast"}"#.to_owned(),
            ]
            .join(","),
        );
        let rows = rows(&a, &b);
        let facts = |name| {
            let row = row(&rows, name);
            (row.ratio, row.agree)
        };
        assert_eq!(facts("get_simd_group_size"), (Some(2.0), Some(false)));
        assert_eq!(facts("has_src_build_cache"), (None, Some(true)));
        assert_eq!(facts("local_memory_bank_count"), (None, None));
        assert_eq!(facts("latency"), (Some(1.05), Some(true)));
        assert_eq!(facts("launch"), (Some(1.07), Some(false)));
        assert_eq!(facts("event"), (None, None));
        assert_eq!(row(&rows, "event").a, Side::Absent);
        let reason = "not measurable here: too fast".to_owned();
        assert_eq!(row(&rows, "event").b, Side::Reason(reason));
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names[3..], ["latency", "launch", "event"], "behind the table's");
    }

    #[test]
    fn devices_go_together_by_id_or_as_the_only_ones() {
        let any = || device("", "");
        let matched = |a: &Devices, b: &Devices| {
            let pairs = pairs(a, b, |_| true)?;
            Ok(pairs.iter().map(|pair| format!("{} {}", pair.a, pair.b)).collect::<Vec<_>>())
        };
        let two = devices([("x", any()), ("y", any())]);
        assert_eq!(matched(&two, &devices([("y", any()), ("z", any())])).unwrap(), ["y y"]);
        assert_eq!(matched(&two, &devices([("y", any())])).unwrap(), ["y y"]);
        assert_eq!(matched(&devices([("x", any())]), &devices([("z", any())])).unwrap(), ["x z"]);
        let error: String = matched(&two, &devices([("z", any())])).unwrap_err();
        assert_eq!(error, "no device is in both files: one has x, y, the other z");
        assert!(matched(&two, &Devices::new()).unwrap_err().contains("the other none"));
    }

    #[test]
    fn a_file_that_is_something_else_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = |name: &str| read(&folder.join(name)).unwrap_err().to_string();
        assert!(error("absent.json").contains("absent.json: cannot be read: "));
        let other = error("Cargo.toml");
        assert!(other.contains("Cargo.toml: not the output of `clmatrix characterize"), "{other}");
        for json in ["[]", r#"{"devices": 1}"#] {
            assert!(serde_json::from_str::<Devices>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn what_is_not_compared_is_told() {
        let mut dead = device("", "");
        dead.error = Some("the driver hung".to_owned());
        let ours = devices([("x", device("", "")), ("y", dead.clone()), ("z", dead)]);
        let theirs = devices([("v", device("", "")), ("x", device("", "")), ("y", device("", ""))]);
        let pairs = pairs(&ours, &theirs, |_| true).unwrap();
        assert!(pairs[0].errors().is_empty());
        assert_eq!(pairs[1].errors(), ["A does not answer: the driver hung"]);
        let json = serde_json::to_value(&pairs).unwrap();
        assert_eq!(json[1]["a_error"], "the driver hung");
        assert!(json[0].get("a_error").is_none() && json[1].get("b_error").is_none());
        assert_eq!(without_pair(&ours, &theirs), ["z"]);
        assert_eq!(without_pair(&theirs, &ours), ["v"]);
    }

    #[test]
    fn guesses_and_sizes_look_as_for_one_device() {
        let table = r#""local_memory_bank_count": {"value": 16, "warnings": ["GuessedBankCount"]},
            "usable_local_mem_size": {"value": 49152, "warnings": []}"#;
        let measured = r#""usable_local_mem_size": {"name": "usable_local_mem_size",
            "value": 49152, "unit": "bytes", "spread": 0, "confidence": "low"}"#;
        let devices = devices([("x", device(table, measured))]);
        let size = "usable_local_mem_size";
        let only = pairs(&devices, &devices, |name| name == size).unwrap();
        assert!(only[0].rows.iter().all(|row| row.name == size) && !only[0].rows.is_empty());
        let pairs = pairs(&devices, &devices, |_| true).unwrap();
        let text = pairs[0].text_table().plain();
        assert!(text.contains("  16 [1]  "), "{text}");
        assert!(text.contains("[1] the number of banks of local memory is a guess"), "{text}");
        assert!(text.contains("  49152 (low confidence)  "), "{text}");
    }

    #[test]
    fn a_page_has_both_sides() {
        let a = devices([("x", device("", &nanoseconds("launch", 100.0, 3.0)))]);
        let b = devices([("x", device("", &nanoseconds("launch", 150.0, 3.0)))]);
        let pairs = pairs(&a, &b, |_| true).unwrap();
        let expected = "NAME    FROM      A              B              B / A  AGREE\n\
                        launch  measured  100 ns ± 3 ns  150 ns ± 3 ns  1.500  no\n";
        assert_eq!(pairs[0].text_table().plain(), expected);
        assert_eq!(pairs[0].titles()[1], "B = x: GPU (P), driver 1");
    }
}
