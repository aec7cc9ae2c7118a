//! JUnit XML: one file for a device, in it one `testsuite` for each suite.
//!
//! GitLab tells tests apart by suite, class name and name, Jenkins and Buildkite by class name and name. Jenkins shows
//! the part of the class name before its dot as a package, and joins suites of one name. So the suite is
//! `SUITE@DEVICE`, the class name `DEVICE.SUITE`, and the name the rest of the test's id. In a test target,
//! `PACKAGE::TARGET` stands before SUITE: other packages may have such a target, with the same tests.
//!
//! The schema of Jenkins' xUnit plugin has three decimals of a second.

mod element;
mod texts;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indexmap::{IndexMap, IndexSet};
use xxhash_rust::xxh64::xxh64;

pub(super) use self::element::XmlElement;
use self::texts::Texts;
use super::{explanation, headline, outcome_line, rerun, when_lost, with_notes};
use crate::config::JunitFlavor;
use crate::devices::{FailedDriver, RunDevice};
use crate::log::{DeviceLost, RunHeader, RunLog};
use crate::result::test_id;
use crate::result::test_result::TestResult;
use crate::text::one_line;
use crate::verdict::{Location, Verdict};

/// Returns the `results` on `device` as a JUnit file, one of `count` that are read together.
///
/// A failed test, an unexpected pass, and a flaky test that is not tolerated are a `failure`; a crash, a timeout and
/// a test that was not run are an `error`; a test that was skipped, ignored or failed as expected is `skipped`, with
/// the reason. The earlier failed attempts are `flakyFailure` and `flakyError` if the test is flaky, else
/// `rerunFailure` and `rerunError`, as in the files of Maven's Surefire. A lost device is one `error`, and the tests
/// that were not run because of it are `skipped`.
pub fn junit(log: &RunLog, device: &str, results: &[&TestResult], count: usize) -> XmlElement {
    let texts = Texts::new(log.header.junit, count);
    let lost = log.lost.iter().filter(|lost| lost.device == device);
    let suites = by_suite(log, results).into_iter();
    let suites = suites.map(|(name, results)| suite(log, &texts, &name, device, &results));
    let suites = suites.chain(lost.map(|lost| lost_device(log, lost))).collect();
    let mut properties = properties(log, device);
    if log.header.junit.flavor == JunitFlavor::Jenkins {
        // Its schema has no properties of a test.
        properties.extend(results.iter().flat_map(|result| texts.properties(result)));
    }
    file(&format!("clmatrix on {device}"), suites, &properties)
}

/// Returns the expected devices that are absent, each as a failed test.
pub(super) fn absent_devices(log: &RunLog) -> XmlElement {
    let case = |expected: &String| {
        let message = format!("the profile expects `{expected}`, which was not found");
        let failure = verdict_element("failure", "device-absent", one_line(&message));
        Case::short(expected, "expected-devices", failure)
    };
    let suite = Suite::of_run(log, "expected-devices", log.absent.iter().map(case).collect());
    file("clmatrix: expected devices", vec![suite], &[run_id(log)])
}

/// Returns the suites of several JUnit files in one.
pub(super) fn in_one(files: impl Iterator<Item = XmlElement>) -> XmlElement {
    let suites = files.flat_map(|file| file.children).collect();
    XmlElement::new("testsuites", [("name", "clmatrix".to_owned())], suites)
}

/// Returns the suite `device@DEVICE` with the loss of the device.
fn lost_device(log: &RunLog, lost: &DeviceLost) -> Suite {
    let message = one_line(&format!("{}, {}", lost.not_run(), when_lost(lost, str::to_owned)));
    let error = verdict_element("error", "device-lost", message);
    let case = Case::short("is-lost", &format!("{}.device", lost.device), error);
    Suite::of_run(log, &format!("device@{}", lost.device), vec![case])
}

/// Returns the drivers that show no platform: failed tests with `strict-drivers`, else skipped ones.
pub(super) fn failed_drivers(log: &RunLog) -> XmlElement {
    let element = if log.strict_drivers { "failure" } else { "skipped" };
    let case = |failed: &FailedDriver| {
        let type_ = format!("driver-{}", failed.failure.kind);
        let verdict = verdict_element(element, &type_, one_line(&failed.failure.reason));
        Case::short(&failed.driver, "drivers", verdict)
    };
    let suite = Suite::of_run(log, "drivers", log.failed_drivers.iter().map(case).collect());
    file("clmatrix: drivers", vec![suite], &[run_id(log)])
}

fn run_id(log: &RunLog) -> (String, String) {
    ("run.id".to_owned(), log.header.run_id.clone())
}

/// The results of each suite, in the order in which the run has them.
fn by_suite<'a>(log: &RunLog, results: &[&'a TestResult]) -> Vec<(String, Vec<&'a TestResult>)> {
    let mut suites: IndexMap<_, Vec<_>> = IndexMap::new();
    for result in results {
        suites.entry(test_id::suite(result.test.path())).or_default().push(*result);
    }
    let RunHeader { package, target, .. } = &log.header;
    let name = |suite: Option<&str>| match (package, suite) {
        (Some(package), Some(suite)) => format!("{package}::{target}::{suite}"),
        (Some(package), None) => format!("{package}::{target}"),
        (None, suite) => suite.unwrap_or(target).to_owned(),
    };
    suites.into_iter().map(|(suite, results)| (name(suite), results)).collect()
}

/// A suite, whose totals are those of its cases.
struct Suite {
    attributes: [(&'static str, String); 4],
    cases: Vec<Case>,
}

struct Case {
    time: Duration,
    element: XmlElement,
}

impl Suite {
    fn new(name: &str, package: &str, host: &str, started: SystemTime, cases: Vec<Case>) -> Self {
        let attributes = [
            ("name", one_line(name)),
            ("package", one_line(package)),
            ("hostname", one_line(host)),
            ("timestamp", timestamp(started)),
        ];
        Self { attributes, cases }
    }

    /// Returns a suite that is not of tests.
    fn of_run(log: &RunLog, name: &str, cases: Vec<Case>) -> Self {
        Self::new(name, name, &log.header.host, log.header.time, cases)
    }
}

impl Case {
    /// Returns a case with a verdict alone, which took no time.
    fn short(name: &str, class: &str, verdict: XmlElement) -> Self {
        let attributes = case_attributes(name, Duration::ZERO, class);
        let element = XmlElement::new("testcase", attributes, vec![verdict]);
        Self { time: Duration::ZERO, element }
    }
}

fn case_attributes(name: &str, time: Duration, class: &str) -> [(&'static str, String); 3] {
    [("name", one_line(name)), ("time", seconds(time)), ("classname", one_line(class))]
}

fn verdict_element(name: &'static str, type_: &str, message: String) -> XmlElement {
    XmlElement::new(name, [("type", type_.to_owned()), ("message", message)], Vec::new())
}

fn suite(log: &RunLog, texts: &Texts, name: &str, device: &str, results: &[&TestResult]) -> Suite {
    let first_start = results.iter().map(|result| result.attempt.started).min();
    let hosts: IndexSet<_> = results.iter().filter_map(|result| result.host.as_deref()).collect();
    let hosts = Vec::from_iter(hosts).join(", ");
    let host = if hosts.is_empty() { &log.header.host } else { &hosts };
    let class = format!("{device}.{name}");
    let cases = results.iter().map(|result| case(log, texts, result, &class)).collect();
    let started = first_start.unwrap_or(log.header.time);
    Suite::new(&format!("{name}@{device}"), device, host, started, cases)
}

fn case(log: &RunLog, texts: &Texts, result: &TestResult, class: &str) -> Case {
    let test = result.test.path();
    let name = test.split_once("::").map_or(test, |(_, name)| name);
    let mut attributes = case_attributes(name, result.attempt.duration, class).to_vec();
    let mut children = Vec::new();
    if log.header.junit.flavor == JunitFlavor::Gitlab {
        if let Some(Location { file, line }) = log.source(result) {
            attributes.extend([("file", one_line(&file)), ("line", line.to_string())]);
        }
        let of_test = texts.properties(result);
        children.extend((!of_test.is_empty()).then(|| properties_element(&of_test)));
    }
    children.extend(verdict(log, texts, result));
    children.extend(attempts(log, texts, result));
    children.extend(outputs(log, texts, result));
    let element = XmlElement::new("testcase", attributes, children);
    Case { time: result.attempt.duration, element }
}

/// Returns standard output, and standard error with notes, if they are in the file.
fn outputs(log: &RunLog, texts: &Texts, result: &TestResult) -> impl Iterator<Item = XmlElement> {
    let [stdout, stderr] = if texts.has_output_of(result) {
        let whole = log.with_output(result);
        let stderr = with_notes(&whole.attempt.stderr, result);
        [&whole.attempt.stdout, &stderr].map(|text| texts.cdata(result, text))
    } else {
        [String::new(), texts.cdata(result, &with_notes("", result))]
    };
    let outputs = [("system-out", stdout), ("system-err", stderr)];
    outputs.into_iter().filter_map(|(name, text)| XmlElement::of_text(name, text))
}

/// Returns an element for each earlier failed attempt.
fn attempts(log: &RunLog, texts: &Texts, result: &TestResult) -> Vec<XmlElement> {
    const FLAKY: (&str, &str) = ("flakyFailure", "flakyError");
    let (failure, error) = match result.verdict {
        Verdict::Flaky => FLAKY,
        Verdict::Fail | Verdict::Crash | Verdict::Timeout => ("rerunFailure", "rerunError"),
        Verdict::Pass
        | Verdict::Skip
        | Verdict::Ignored
        | Verdict::ExpectedFail
        | Verdict::AssumedFail
        | Verdict::UnexpectedPass
        | Verdict::NotRun => match result.differing() {
            Some(_) => FLAKY,
            None => return Vec::new(),
        },
    };
    let earlier = result.earlier.iter().filter(|attempt| attempt.verdict.is_failure());
    // A crash that belongs to no test has no other attempt.
    let own = (result.verdict == Verdict::Flaky && result.earlier.is_empty()).then_some(result);
    let element = |attempt: &TestResult| {
        let name = if attempt.verdict == Verdict::Fail { failure } else { error };
        let stack = texts.cdata(attempt, &attempt.attempt.outcome.to_string());
        let children = XmlElement::of_text("stackTrace", stack).into_iter();
        let children = children.chain(outputs(log, texts, attempt)).collect();
        let doubt = attempt.blame.is_doubtful().then(|| format!("{}: ", attempt.blame));
        let message = doubt.unwrap_or_default() + &outcome_line(attempt);
        let message = texts.line(attempt, &message);
        let type_ = attempt.verdict.name().to_owned();
        XmlElement::new(name, [("type", type_), ("message", message)], children)
    };
    earlier.chain(own).map(element).collect()
}

fn verdict(log: &RunLog, texts: &Texts, result: &TestResult) -> Option<XmlElement> {
    let (name, text) = match result.verdict {
        Verdict::Pass => return None,
        Verdict::Flaky if result.tolerated => return None,
        Verdict::NotRun if log.is_not_run_by_loss(result) => ("skipped", None),
        Verdict::UnexpectedPass if result.tolerated => ("skipped", None),
        Verdict::Skip | Verdict::Ignored => ("skipped", None),
        Verdict::ExpectedFail | Verdict::AssumedFail => {
            ("skipped", Some(result.attempt.outcome.to_string()))
        }
        Verdict::Fail | Verdict::UnexpectedPass | Verdict::Flaky => {
            ("failure", Some(cause(log, result)))
        }
        Verdict::Crash | Verdict::Timeout | Verdict::NotRun => ("error", Some(cause(log, result))),
    };
    let counts = result.counts.as_ref().map(|counts| format!("{counts}: ")).unwrap_or_default();
    let message = texts.line(result, &(counts + &headline(result)));
    let text = text.map(|text| texts.cdata(result, &text)).unwrap_or_default();
    let mut element = verdict_element(name, result.verdict.name(), message);
    element.text = text;
    Some(element)
}

/// Returns the whole message with its place, the expectation, and the command that runs the test again.
fn cause(log: &RunLog, result: &TestResult) -> String {
    let rerun = rerun(log, result).map(|command| format!("\nrerun: {command}"));
    explanation(log, result) + rerun.as_deref().unwrap_or_default()
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}

/// Returns a time in whole seconds; the epoch for a time that RFC 3339 cannot express.
fn timestamp(time: SystemTime) -> String {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let epoch = SystemTime::UNIX_EPOCH;
    let time = if (epoch..epoch + YEAR_10000).contains(&time) { time } else { epoch };
    humantime::format_rfc3339_seconds(time).to_string()
}

/// Returns the versions of the runner and of the driver, and the properties of the device.
fn properties(log: &RunLog, device: &str) -> Vec<(String, String)> {
    let header = &log.header;
    let mut properties = vec![run_id(log), ("device.id".to_owned(), device.to_owned())];
    if let Some(device) = header.devices.iter().find(|known| known.id == device) {
        properties.extend(driver_properties(device));
    }
    match log.properties.get(device) {
        Some(Ok(known)) => {
            // Such as `characterize.get_simd_group_size`.
            let known = known.iter();
            properties
                .extend(known.map(|(name, value)| (format!("characterize.{name}"), value.clone())));
        }
        Some(Err(error)) => properties.push(("characterize.error".to_owned(), error.clone())),
        None => {}
    }
    let version = |(name, version): &(String, String)| (format!("version.{name}"), version.clone());
    properties.extend(header.versions.iter().map(version));
    properties
}

fn driver_properties(device: &RunDevice) -> impl Iterator<Item = (String, String)> {
    let RunDevice { platform, info, .. } = device;
    let properties = [
        ("platform.name", Some(&platform.name)),
        ("platform.vendor", Some(&platform.vendor)),
        ("platform.version", Some(&platform.version)),
        ("device.name", Some(&info.name)),
        ("device.vendor", Some(&info.vendor)),
        ("device.driver-version", Some(&info.driver_version)),
        ("device.opencl-version", Some(&info.version)),
        ("device.pci-address", info.pci_address.as_ref()),
        ("device.uuid", info.uuid.as_ref()),
    ];
    properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone())))
}

/// Returns the whole file.
fn file(name: &str, suites: Vec<Suite>, properties: &[(String, String)]) -> XmlElement {
    let totals = totals(suites.iter().flat_map(|suite| &suite.cases));
    let attributes = [("name", one_line(name))].into_iter().chain(totals);
    let suites = suites.into_iter().enumerate();
    let suites = suites.map(|(id, suite)| suite_element(id, suite, properties)).collect();
    XmlElement::new("testsuites", attributes, suites)
}

fn suite_element(id: usize, suite: Suite, properties: &[(String, String)]) -> XmlElement {
    let Suite { attributes, cases } = suite;
    let skipped = cases.iter().filter(|case| case.element.has("skipped")).count().to_string();
    let attributes = [("id", id.to_string())].into_iter().chain(attributes);
    let attributes = attributes.chain(totals(cases.iter())).chain([("skipped", skipped)]);
    let cases = cases.into_iter().map(|case| case.element);
    let children = [properties_element(properties)].into_iter().chain(cases).collect();
    XmlElement::new("testsuite", attributes, children)
}

fn totals<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> [(&'static str, String); 4] {
    let with = |verdict| cases.clone().filter(|case| case.element.has(verdict)).count().to_string();
    let times = cases.clone().map(|case| case.time);
    [
        ("tests", cases.clone().count().to_string()),
        ("failures", with("failure")),
        ("errors", with("error")),
        ("time", seconds(times.fold(Duration::ZERO, Duration::saturating_add))),
    ]
}

fn properties_element(properties: &[(String, String)]) -> XmlElement {
    let property = |(name, value): &(String, String)| {
        let attributes = [("name", one_line(name)), ("value", one_line(value))];
        XmlElement::new("property", attributes, Vec::new())
    };
    XmlElement::new("properties", [], properties.iter().map(property).collect())
}

/// Returns the path of a device's JUnit file in a report folder.
pub fn junit_path(folder: &Path, device: &str) -> PathBuf {
    folder.join("junit").join(format!("{}.xml", file_name(device)))
}

/// The most bytes of a file's name without its extension. Most file systems allow 255 with it.
const LONGEST_NAME: usize = 160;

/// Returns `device` as a file's name: other characters than those of a slug as `%` and hexadecimal digits, so that
/// different devices never share a file. A hash replaces the end of a long name.
pub fn file_name(device: &str) -> String {
    let encode = |byte: u8| match byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    let name: String = device.bytes().map(encode).collect();
    match name.len() {
        0..=LONGEST_NAME => name,
        _ => format!("{}-{:016x}", &name[..LONGEST_NAME - 17], xxh64(device.as_bytes(), 0)),
    }
}

#[cfg(test)]
mod tests;
