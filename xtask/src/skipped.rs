//! The tests that every device skips: they test nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::result::test_id::TestId;
use serde_json::Value;

use crate::files::cannot;

/// Why an image has no host memory.
const OF_A_BUFFER: &str = "an image of a buffer has the memory of the buffer";

/// The tests that no device of the CI matrix can run, with all their cases, and why.
const NOWHERE: [(&str, &str); 6] = [
    (
        "driver::queries::memory::an_image_has_its_pitches::shape_2_LINE_OF_BUFFER::flags_2_CL_MEM_USE_HOST_PTR",
        OF_A_BUFFER,
    ),
    (
        "driver::queries::memory::an_image_has_its_pitches::shape_2_LINE_OF_BUFFER::flags_3_CL_MEM_COPY_HOST_PTR",
        OF_A_BUFFER,
    ),
    (
        "driver::queries::memory::an_image_has_its_pitches::shape_5_PLANE_OF_BUFFER::flags_2_CL_MEM_USE_HOST_PTR",
        OF_A_BUFFER,
    ),
    (
        "driver::queries::memory::an_image_has_its_pitches::shape_5_PLANE_OF_BUFFER::flags_3_CL_MEM_COPY_HOST_PTR",
        OF_A_BUFFER,
    ),
    (
        "driver::sizes::huge::commands_reach_bytes_behind_4_gib",
        "takes 4 GiB of a GPU, and the matrix has none",
    ),
    (
        "pool::exhaustion::a_pool_survives_a_full_card",
        "fills the memory of a GPU, and the matrix has none",
    ),
];

/// Fails if a test was skipped on every device where the run of this log had it, and is not in the list; and if a
/// test in the list was not.
pub fn check(log: &Path) -> Result<()> {
    let text = fs::read_to_string(log).with_context(|| cannot("read", log))?;
    let found = complaints(&text, &NOWHERE).with_context(|| cannot("understand", log))?;
    ensure!(found.is_empty(), "{}", found.join("\n"));
    println!("{}: each test ran on a device, but for {}", log.display(), NOWHERE.len());
    Ok(())
}

fn complaints(log: &str, nowhere: &[(&str, &str)]) -> Result<Vec<String>> {
    // The reason of each device, and none if one has run the test.
    let mut tests: BTreeMap<String, Option<BTreeMap<String, String>>> = BTreeMap::new();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line)?;
        if event["event"] != "finished" {
            continue;
        }
        let id = TestId::parse(event["test"].as_str().unwrap_or_default());
        let reasons = tests.entry(id.path().to_owned()).or_insert_with(|| Some(BTreeMap::new()));
        if event["outcome"] != "skipped" && event["outcome"] != "not-run" {
            *reasons = None;
        } else if let Some(reasons) = reasons {
            let reason =
                event["reason"].as_str().map_or_else(|| event["reason"].to_string(), str::to_owned);
            reasons.insert(id.device().to_owned(), reason);
        }
    }
    let is_of = |test: &str, listed: &str| {
        test.strip_prefix(listed).is_some_and(|case| case.is_empty() || case.starts_with("::"))
    };
    let skipped = tests.iter().filter_map(|(test, reasons)| Some((test, reasons.as_ref()?)));
    let unlisted =
        skipped.filter(|(test, _)| !nowhere.iter().any(|(listed, _)| is_of(test, listed)));
    let mut complaints: Vec<String> = unlisted
        .map(|(test, reasons)| format!("{test} was skipped on every device: {reasons:?}"))
        .collect();
    for (listed, _) in nowhere {
        let mut cases = tests.iter().filter(|(test, _)| is_of(test, listed)).peekable();
        if cases.peek().is_none() || cases.any(|(_, reasons)| reasons.is_none()) {
            complaints.push(format!(
                "{listed} is listed in {}, and a device runs it, or it is gone",
                file!()
            ));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of tests, devices and outcomes.
    fn log(results: &[(&str, &str)]) -> String {
        let line = |(test, outcome): &(&str, &str)| {
            format!(
                r#"{{"event":"finished","test":"{test}","outcome":"{outcome}","reason":"no SVM"}}"#
            )
        };
        results.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_test_that_no_device_runs_is_named() {
        let log = log(&[
            ("svm::runs_once@a", "skipped"),
            ("svm::runs_once@b", "failed"),
            ("svm::never@a", "skipped"),
            ("svm::never@b", "skipped"),
            ("svm::cases::case_1@a", "skipped"),
            ("svm::cases::case_1@b", "not-run"),
            ("svm::cases_of_others@a", "passed"),
        ]);
        let found = |nowhere| complaints(&log, nowhere).unwrap();
        let [cases, never] = &found(&[])[..] else { panic!("{:?}", found(&[])) };
        assert!(cases.starts_with("svm::cases::case_1 was skipped"), "{cases}");
        assert!(
            never.starts_with("svm::never was") && never.contains(r#""b": "no SVM""#),
            "{never}"
        );
        assert!(found(&[("svm::cases", ""), ("svm::never", "")]).is_empty());
    }

    #[test]
    fn an_old_entry_of_the_list_is_named() {
        let log = log(&[("a::runs::case_1@a", "skipped"), ("a::runs::case_2@a", "passed")]);
        for listed in ["a::runs", "a::gone"] {
            let found = complaints(&log, &[(listed, ""), ("a::runs::case_1", "")]).unwrap();
            assert!(found.len() == 1 && found[0].starts_with(listed), "{found:?}");
        }
    }
}
