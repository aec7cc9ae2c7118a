//! The data of pages, read back. `cargo xtask test-page` tests the page in a browser.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::log::sample::{
    changed, device, expectation, failed, flaky, judged, plan_at, result, run_log,
};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{ExpectedStatus, Outcome};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use super::*;

fn log(results: Vec<TestResult>) -> RunLog {
    let devices = ["pocl-cpu", "other"].map(|id| device(id, "PoCL")).into();
    run_log(devices, results, Duration::from_secs(9))
}

fn page(runs: &[&RunLog]) -> String {
    let mut page = Vec::new();
    write(runs, &Devices::new(), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// The data elements of a page by their ids.
fn data(page: &str) -> BTreeMap<&str, Value> {
    let elements = page.split("<script type=\"application/json\" id=\"").skip(1);
    let element = |element| {
        let (id, rest): (&str, &str) = str::split_once(element, "\">").unwrap();
        (id, serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap())
    };
    elements.map(element).collect()
}

#[test]
fn each_test_is_there_once_and_each_device_has_a_row() {
    let mut failing = result("pool::b@pocl-cpu", failed("left: 1"));
    failing.attempt.stderr = "said <b>\n".to_owned();
    let mut log = log(vec![
        result("pool::a@pocl-cpu", Outcome::Passed),
        result("pool::a@other", Outcome::Skipped { reason: "needs fp64".to_owned() }),
        failing,
    ]);
    plan_at(&mut log, "pool::b", "suites/src/pool.rs", 7);
    assert_json_snapshot!(data(&page(&[&log])));
}

#[test]
fn a_stored_log_of_format_3_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let log = RunLog::read(&folder.join("tests/logs/format-3.jsonl")).unwrap();
    assert_eq!(log.exit_status(), 1);
    assert!(page(&[&log]).contains("pocl"));
}

#[test]
fn words_select_tests_and_no_results_of_workers() {
    let paths = ["pool::a", "s::t 1", "worker::exit"];
    let results = paths.map(|path| result(&format!("{path}@pocl-cpu"), Outcome::Passed));
    let page = page(&[&log(results.into())]);
    assert_eq!(data(&page)["data"]["tests"]["words"], json!({ "1": "'s::t 1'", "2": null }));
}

#[test]
fn a_result_has_its_attempts_and_the_place_of_its_expectation() {
    let mut known = expectation(ExpectedStatus::Fail, "bug 7");
    let written = Arc::make_mut(&mut known.written);
    (written.file, written.line) = ("expectations/pocl.toml".to_owned(), 12);
    let fails_at_last = changed(flaky("pool::c@pocl-cpu", failed("at first")), |r| {
        r.attempt.outcome = failed("known");
    });
    let mut log = log(vec![
        flaky("pool::a@pocl-cpu", failed("at first")),
        judged("pool::b@pocl-cpu", failed("known"), Some(known)),
        fails_at_last,
    ]);
    log.slots.insert(1, 2);
    assert_json_snapshot!(data(&page(&[&log]))["results-0-0"]);
}

#[test]
fn several_runs_share_the_list_of_tests() {
    let earlier = log(vec![
        result("pool::gone@pocl-cpu", Outcome::Passed),
        result("pool::a@pocl-cpu", failed("once")),
    ]);
    let later = log(vec![result("pool::a@pocl-cpu", Outcome::Passed)]);
    let page = page(&[&later, &earlier]);
    let data = data(&page);
    assert_eq!(data["data"]["tests"]["paths"], json!(["pool::a", "pool::gone"]));
    assert_eq!(data["results-0-0"]["verdicts"], ". ");
    assert_eq!(data["results-1-0"]["verdicts"], "F.");
}

#[test]
fn a_page_runs_its_own_script_alone() {
    let text = "</script><script>alert(1)</script><img src=x onerror=alert(1)>]]>\u{2028}";
    let mut hostile = result(&format!("pool::{text}@pocl-cpu"), failed(text));
    hostile.attempt.stdout = text.to_owned();
    let mut log = log(vec![hostile]);
    log.header.host = text.to_owned();
    log.absent = vec![text.to_owned()];
    let page = page(&[&log]);
    assert!(!page.contains("<img") && !page.contains('\u{2028}'));
    let (elements, ends) = (page.matches("<script").count(), page.matches("</script").count());
    assert_eq!((elements, ends), (data(&page).len() + 1, data(&page).len() + 1));
    for own in [STYLE, SCRIPT] {
        let hash = BASE64_STANDARD.encode(Sha256::digest(own));
        assert!(page.contains(own) && policy().contains(&format!("'sha256-{hash}'")));
        assert!(!own.contains("</s") && !own.contains("<!--") && !own.contains('\r'));
    }
}

#[test]
fn no_text_ends_the_element() {
    let text = "a</script><!-- ]]> \u{2028}\u{2029}\" \\ \u{1f4a5}";
    let mut element = Vec::new();
    write_json(&mut element, "x", &[text]).unwrap();
    let element = String::from_utf8(element).unwrap();
    let json = element.strip_prefix("<script type=\"application/json\" id=\"x\">").unwrap();
    let json = json.strip_suffix("</script>\n").unwrap();
    assert!(!json.contains(['<', '\u{2028}', '\u{2029}']), "{json}");
    assert_eq!(serde_json::from_str::<[String; 1]>(json).unwrap(), [text]);
}

#[test]
fn unexpected_results_come_first_where_outputs_have_no_room() {
    let output = "x".repeat(60 << 10);
    let known = || Some(expectation(ExpectedStatus::Fail, "bug 7"));
    let with_output = |mut result: TestResult| {
        result.attempt.stdout.clone_from(&output);
        result
    };
    let expected =
        (0..80).map(|n| with_output(judged(&format!("s::a_{n}@pocl-cpu"), failed("no"), known())));
    let last = with_output(result("s::b@pocl-cpu", failed("no")));
    let page = page(&[&log(expected.chain([last]).collect())]);
    let outputs = data(&page)["outputs-0-0"].clone();
    let outputs = outputs.as_object().unwrap();
    assert!(outputs.contains_key("80") && !outputs.contains_key("79"), "{:?}", outputs.keys());
    assert!(page.len() < MOST_OUTPUT + (1 << 20));
}

#[test]
fn unexpected_results_come_first_where_messages_have_no_room() {
    let known = || Some(expectation(ExpectedStatus::Fail, "bug 7"));
    let message = |n: usize| format!("{n}{}", "x".repeat(60 << 10));
    let expected =
        (0..80).map(|n| judged(&format!("s::a_{n}@pocl-cpu"), failed(&message(n)), known()));
    let last = result("s::b@pocl-cpu", failed(&message(80)));
    let page = page(&[&log(expected.chain([last]).collect())]);
    let results = &data(&page)["results-0-0"];
    let message = |test: usize| {
        let number = &results["details"][test]["attempts"][0]["message"];
        results["texts"][number.as_u64().unwrap() as usize].as_str().unwrap()
    };
    assert!(message(0).starts_with("0x") && message(80).starts_with("80x"));
    assert!(message(79).contains("no room"));
    assert!(page.len() < MOST_TEXT + (1 << 20));
}

#[test]
fn properties_are_within_the_allowance_of_texts() {
    let passed = |n: usize| {
        let mut passed = result(&format!("s::a_{n}@pocl-cpu"), Outcome::Passed);
        passed.attempt.properties =
            vec![("rate".to_owned(), format!("{n}{}", "x".repeat(20 << 10)))];
        passed.host = Some("node-1".into());
        passed
    };
    let page = page(&[&log((0..400).map(passed).collect())]);
    let results = &data(&page)["results-0-0"];
    let text = |number: &Value| results["texts"][number.as_u64().unwrap() as usize].clone();
    let details = |test: usize| &results["details"][test];
    let value = |test: usize| text(&details(test)["properties"][0][1]);
    assert_eq!(text(&details(399)["properties"][0][0]), "rate");
    assert_eq!(text(&details(399)["host"]), "node-1");
    assert!(value(0).as_str().unwrap().starts_with("0x"));
    assert!(value(399).as_str().unwrap().contains("no room"));
    assert!(page.len() < MOST_TEXT + (1 << 20));
}

#[test]
fn a_skipped_result_is_a_test_and_a_reason() {
    let skipped = |name: &str| result(name, Outcome::Skipped { reason: "needs fp64".to_owned() });
    let planned = |name: &str| changed(skipped(name), |r| r.attempt.worker = None);
    let with_host = TestResult { host: Some("node-1".into()), ..planned("s::c@pocl-cpu") };
    let results = vec![planned("s::a@pocl-cpu"), skipped("s::b@pocl-cpu"), with_host];
    assert_json_snapshot!(data(&page(&[&log(results)]))["results-0-0"]);
}

#[test]
fn tests_that_passed_everywhere_are_left_out_of_a_large_page() {
    let log = log(vec![
        result("s::a@pocl-cpu", Outcome::Passed),
        result("s::b@pocl-cpu", Outcome::Passed),
        result("s::b@other", failed("no")),
    ]);
    let paths = |most_results| TestList::new(&[&log], most_results).paths;
    assert_eq!(paths(2).into_iter().collect::<Vec<_>>(), ["s::b"]);
    assert_eq!(paths(3).len(), 2);
}

#[test]
fn a_lost_device_is_named_with_its_reason() {
    let mut log = log(vec![result("s::a@pocl-cpu", Outcome::Passed)]);
    log.lost.push(DeviceLost {
        device: "pocl-cpu".to_owned(),
        reason: "no context".to_owned(),
        after: Some("s::a@pocl-cpu".into()),
        suspects: vec!["s::a@pocl-cpu".into()],
    });
    assert_json_snapshot!(data(&page(&[&log]))["run-0"]["lost"]);
}
