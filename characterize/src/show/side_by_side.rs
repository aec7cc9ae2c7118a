//! The rows of a device, by name: PyOpenCL's answer, the measured one, and the judgement of the first
//! by the second.

use indexmap::IndexMap;

use super::text_table::TextTable;
use crate::measure::{Confidence, Finding, Measured, Unit, Value};
use crate::{Answer, CharacterizedDevice, TableAnswer, Verdict};

/// The row of a name.
struct Row<'a> {
    name: &'a str,
    table: Option<&'a TableAnswer>,
    measured: Option<&'a Measured>,
}

impl CharacterizedDevice {
    /// Returns the answers side by side: PyOpenCL's names first.
    pub fn text_table(&self) -> TextTable {
        let with_measured = !self.measured.is_empty();
        let columns = ["NAME", "TABLE", "MEASURED", "VERDICT"];
        let mut text_table = TextTable::new(if with_measured { &columns } else { &columns[..2] });
        for row in self.rows() {
            let mut cells = vec![row.name.to_owned(), row.table_cell(&mut text_table)];
            if with_measured {
                cells.push(row.measured_cell(&mut text_table));
                cells.push(row.verdict().map_or_else(String::new, verdict_text));
            }
            text_table.push(cells);
        }
        text_table
    }

    /// Returns the judgements of PyOpenCL's answers by the measurements, by their names.
    pub(crate) fn judged(&self) -> IndexMap<String, Verdict> {
        let judged = |row: &Row| Some((row.name.to_owned(), row.verdict()?));
        self.rows().iter().filter_map(judged).collect()
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let table = self.characterization.as_ref().map(|known| &known.table);
        let answers = table.into_iter().flatten().map(|(name, answer)| Row {
            name,
            table: Some(answer),
            measured: self.measured.get(name),
        });
        let without_answer = |name: &str| table.is_none_or(|answers| !answers.contains_key(name));
        let measured = self.measured.iter().filter(|(name, _)| without_answer(name));
        answers
            .chain(measured.map(|(name, measured)| Row {
                name,
                table: None,
                measured: Some(measured),
            }))
            .collect()
    }
}

impl Row<'_> {
    fn verdict(&self) -> Option<Verdict> {
        Verdict::compare(self.table.and_then(TableAnswer::value), &self.measured?.answer)
    }

    fn table_cell(&self, text_table: &mut TextTable) -> String {
        match self.table {
            None => String::new(),
            Some(TableAnswer::Failed { error }) => format!("- {}", text_table.note(error)),
            Some(TableAnswer::Known(answer)) => {
                let warnings: Vec<_> = answer.warnings.iter().map(ToString::to_string).collect();
                with_notes(text_table, answer.value.to_string(), &warnings)
            }
        }
    }

    fn measured_cell(&self, text_table: &mut TextTable) -> String {
        match self.measured.map(|measured| &measured.answer) {
            None => String::new(),
            // The verdict has the confidence.
            Some(Ok(finding)) if self.verdict().is_some() => finding_text(finding, self.table),
            Some(Ok(finding)) => with_confidence(finding, self.table),
            Some(Err(reason)) => format!("- {}", text_table.note(&reason.to_string())),
        }
    }
}

/// Formats a measured value to be read beside the table's answer: a size has all its digits if the answer is a
/// size.
fn finding_text(finding: &Finding, table: Option<&TableAnswer>) -> String {
    let is_beside_number = matches!(table.and_then(TableAnswer::value), Some(Answer::Number(_)));
    match (&finding.value, finding.unit) {
        (Value::Number(bytes), Unit::Bytes) if is_beside_number => bytes.to_string(),
        _ => finding.to_string(),
    }
}

/// Formats the value in the same way, with a note if the confidence is low.
pub(super) fn with_confidence(finding: &Finding, table: Option<&TableAnswer>) -> String {
    let text = finding_text(finding, table);
    if finding.confidence == Confidence::Low { text + " (low confidence)" } else { text }
}

/// Returns an answer with references to its warnings below the table.
pub(super) fn with_notes(
    text_table: &mut TextTable,
    answer: String,
    warnings: &[String],
) -> String {
    let notes: Vec<String> = warnings.iter().map(|warning| text_table.note(warning)).collect();
    [&[text_table.or_note(answer)], &notes[..]].concat().join(" ")
}

fn verdict_text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Agrees { confidence: Confidence::High } => "agrees".to_owned(),
        Verdict::Agrees { confidence } => format!("agrees {}", in_brackets(confidence)),
        Verdict::Differs { confidence } => format!("differs {}", in_brackets(confidence)),
        Verdict::NotMeasurable => "not measurable".to_owned(),
    }
}

fn in_brackets(confidence: Confidence) -> String {
    format!("({} confidence)", format!("{confidence:?}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an H200, with a measurement that contradicts the table.
    fn h200() -> CharacterizedDevice {
        let facts = serde_json::to_string(&crate::Facts::default()).unwrap();
        let json = format!(
            r#"{{
                "name": "NVIDIA H200", "platform": "NVIDIA CUDA", "driver_version": "580",
                "facts": {facts},
                "table": {{
                    "get_simd_group_size": {{"value": 32, "warnings": []}},
                    "local_memory_bank_count": {{"value": 16, "warnings": ["GuessedBankCount"]}},
                    "usable_local_mem_size": {{"value": 49152, "warnings": []}},
                    "has_src_build_cache": {{"error": "unknown"}},
                    "get_pocl_version": {{"value": null, "warnings": []}}
                }}
            }}"#
        );
        let mut device: CharacterizedDevice = serde_json::from_str(&json).unwrap();
        let measured = r#"[
            {"name": "get_simd_group_size", "value": 32.0, "unit": "count", "spread": 0.0,
             "confidence": "high"},
            {"name": "local_memory_bank_count", "value": 32.0, "unit": "count", "spread": 0.0,
             "confidence": "medium"},
            {"name": "usable_local_mem_size", "value": 49152.0, "unit": "bytes", "spread": 0.0,
             "confidence": "low"},
            {"name": "has_src_build_cache", "not_measurable": "builds vary"},
            {"name": "launch_latency", "value": 1900.0, "unit": "nanoseconds", "spread": 80.0,
             "confidence": "high"},
            {"name": "queue_creation", "value": 90.0, "unit": "nanoseconds", "spread": 0.0,
             "confidence": "low"}
        ]"#;
        device.add(serde_json::from_str::<Vec<Measured>>(measured).unwrap());
        device
    }

    #[test]
    fn answers_stand_side_by_side() {
        let expected = "\
NAME                     TABLE   MEASURED                VERDICT
get_simd_group_size      32      32                      agrees
local_memory_bank_count  16 [1]  32                      differs (medium confidence)
usable_local_mem_size    49152   49152                   agrees (low confidence)
has_src_build_cache      - [2]   - [3]                   not measurable
get_pocl_version         none
launch_latency                   1.9 µs ± 80 ns
queue_creation                   90 ns (low confidence)
[1] the number of banks of local memory is a guess for this device
[2] unknown
[3] not measurable here: builds vary
";
        assert_eq!(h200().text_table().plain(), expected);
    }

    #[test]
    fn verdicts_are_of_the_names_that_both_have() {
        let verdicts: Vec<_> = h200().verdicts.into_iter().collect();
        let differs = Verdict::Differs { confidence: Confidence::Medium };
        let expected = [
            ("get_simd_group_size", Verdict::Agrees { confidence: Confidence::High }),
            ("local_memory_bank_count", differs),
            ("usable_local_mem_size", Verdict::Agrees { confidence: Confidence::Low }),
            ("has_src_build_cache", Verdict::NotMeasurable),
        ];
        assert_eq!(verdicts, expected.map(|(name, verdict)| (name.to_owned(), verdict)));
    }

    #[test]
    fn warnings_stand_behind_an_answer() {
        let table = h200().characterization.unwrap().table;
        let guess = "16 (the number of banks of local memory is a guess for this device)";
        assert_eq!(table["local_memory_bank_count"].to_string(), guess);
        assert_eq!(table["get_simd_group_size"].to_string(), "32");
        assert_eq!(table["has_src_build_cache"].to_string(), "none: unknown");
    }

    #[test]
    fn json_is_read_back() {
        let device = h200();
        let text = serde_json::to_string(&device).unwrap();
        assert_eq!(serde_json::from_str::<CharacterizedDevice>(&text).unwrap(), device);
    }
}
