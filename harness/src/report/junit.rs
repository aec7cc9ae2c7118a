//! JUnit XML: one file for a device, in it one `testsuite` for each suite.
//!
//! GitLab tells tests apart by suite, class name and name; Jenkins shows the part of the class name
//! before its dot as a package; Buildkite requires class name and name. So the suite is
//! `SUITE@DEVICE`, the class name `DEVICE.SUITE`, and the name the rest of the test's id.
//!
//! `junit-report` writes the elements. It neither cleans texts, which is done before it, nor can it
//! write properties, counts of skipped tests, totals, lines and attempts, which `complete` adds to what it wrote. The
//! schema of Jenkins' xUnit plugin has three decimals of a second.

mod texts;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indexmap::{IndexMap, IndexSet};
use junit_report::{OffsetDateTime, Report, TestCase, TestSuite};
use quick_xml::events::{BytesCData, BytesDecl, BytesEnd, BytesStart, Event};
use quick_xml::{Reader, Writer};
use xxhash_rust::xxh64::xxh64;

use self::texts::Texts;
use super::explanation::{explanation, when_lost, with_notes};
use super::result_text::{headline, outcome_line, rerun};
use crate::config::JunitFlavor;
use crate::devices::run_device::RunDevice;
use crate::log::events::DeviceLost;
use crate::log::run_log::RunLog;
use crate::result::test_result::TestResult;
use crate::text::one_line;
use crate::verdict::{Location, Verdict};

/// The `results` on `device` as a JUnit file, one of `count` that are read together.
///
/// A failed test, an unexpected pass, and a flaky test that is not tolerated are a `failure`; a crash, a timeout
/// and a test that was not run are an `error`; what was skipped, ignored or failed as expected is `skipped`,
/// with the reason. The earlier attempts that went wrong are
/// `flakyFailure` and `flakyError` if the test is flaky, else `rerunFailure` and `rerunError`, as in the
/// files of Maven's Surefire. A lost device is one `error`, and the tests that were not run because of it are
/// `skipped`.
///
/// # Errors
///
/// None is known: the file is written to memory.
pub fn junit(
    log: &RunLog,
    device: &str,
    results: &[&TestResult],
    count: usize,
) -> io::Result<Vec<u8>> {
    let texts = Texts::new(log.header.junit, count);
    let lost = log.lost.iter().filter(|lost| lost.device == device);
    let by_suite = by_suite(log, results);
    let in_file = by_suite.values().flatten();
    let additions = in_file
        .map(|result| {
            Ok(Addition {
                line: shown_source(log, result).map(|source| source.line),
                properties: match log.header.junit.flavor {
                    JunitFlavor::Gitlab => texts.properties(result),
                    JunitFlavor::Jenkins => Vec::new(),
                },
                attempts: attempts(log, &texts, result)?,
            })
        })
        .collect::<io::Result<Vec<_>>>()?;
    let suites = by_suite
        .into_iter()
        .map(|(name, results)| suite(log, &texts, name, device, &results))
        .chain(lost.map(|lost| lost_device(log, lost)))
        .collect();
    let name = format!("clmatrix on {device}");
    file(&name, suites, &properties(log, &texts, device, results), &additions)
}

/// The expected devices that are absent, each as a failed test.
///
/// # Errors
///
/// See [`junit`].
pub fn absent_devices(log: &RunLog) -> io::Result<Vec<u8>> {
    let mut suite = TestSuite::new("expected-devices");
    suite.set_timestamp(timestamp(log.header.time));
    suite.hostname = one_line(&log.header.host);
    for expected in &log.absent {
        let expected = one_line(expected);
        let message = format!("the profile expects `{expected}`, which is not there");
        let mut case =
            TestCase::failure(&expected, junit_report::Duration::ZERO, "device-absent", &message);
        case.set_classname("expected-devices");
        suite.add_testcase(case);
    }
    let properties = [("run.id".to_owned(), log.header.run_id.clone())];
    file("clmatrix: expected devices", vec![suite], &properties, &[])
}

/// The suites of several JUnit files in one.
///
/// # Errors
///
/// A file is not well-formed.
pub fn in_one(files: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::with_capacity(files.iter().map(Vec::len).sum()));
    let in_root = |writer: &mut Writer<Vec<u8>>| {
        files.iter().try_for_each(|file| copy_suites(file, writer)).map_err(io::Error::other)
    };
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "clmatrix"))
        .write_inner_content(in_root)?;
    Ok(writer.into_inner())
}

/// Copies the content of the root.
fn copy_suites(file: &[u8], writer: &mut Writer<Vec<u8>>) -> Result<(), quick_xml::Error> {
    let mut reader = Reader::from_reader(file);
    loop {
        match reader.read_event()? {
            Event::Eof => return Ok(()),
            Event::Decl(_) => {}
            Event::Start(root) if root.name().as_ref() == b"testsuites" => {}
            Event::End(root) if root.name().as_ref() == b"testsuites" => {}
            event => writer.write_event(event)?,
        }
    }
}

/// The suite `device@DEVICE` with the loss of the device.
fn lost_device(log: &RunLog, lost: &DeviceLost) -> TestSuite {
    let device = one_line(&lost.device);
    let mut suite = TestSuite::new(&format!("device@{device}"));
    suite.set_timestamp(timestamp(log.header.time));
    suite.hostname = one_line(&log.header.host);
    let message = one_line(&format!("{}, {}", lost.not_run(), when_lost(lost, str::to_owned)));
    let duration = junit_report::Duration::ZERO;
    let mut case = TestCase::error("is-lost", duration, "device-lost", &message);
    case.set_classname(&format!("{device}.device"));
    suite.add_testcase(case);
    suite
}

/// The drivers that show no platform: failed tests with `strict-drivers`, else skipped ones.
///
/// # Errors
///
/// See [`junit`].
pub fn failed_drivers(log: &RunLog) -> io::Result<Vec<u8>> {
    use junit_report::TestResult as Junit;
    let mut suite = TestSuite::new("drivers");
    suite.set_timestamp(timestamp(log.header.time));
    suite.hostname = one_line(&log.header.host);
    for failed in &log.failed_drivers {
        let name = one_line(&failed.driver);
        let type_ = format!("driver-{}", failed.failure.kind.name());
        let message = one_line(&failed.failure.reason);
        let mut case = TestCase::success(&name, junit_report::Duration::ZERO);
        case.set_classname("drivers");
        case.result = match log.strict_drivers {
            true => Junit::Failure { type_, message, cause: None },
            false => Junit::SkippedWithCause { type_, message, cause: None },
        };
        suite.add_testcase(case);
    }
    let properties = [("run.id".to_owned(), log.header.run_id.clone())];
    file("clmatrix: drivers", vec![suite], &properties, &[])
}

/// The results of each suite, in the order in which the run has them.
fn by_suite<'a>(
    log: &'a RunLog,
    results: &[&'a TestResult],
) -> IndexMap<&'a str, Vec<&'a TestResult>> {
    let mut suites: IndexMap<&str, Vec<&TestResult>> = IndexMap::new();
    for result in results {
        suites.entry(log.suite(result)).or_default().push(result);
    }
    suites
}

fn suite(
    log: &RunLog,
    texts: &Texts,
    name: &str,
    device: &str,
    results: &[&TestResult],
) -> TestSuite {
    let first_start = results.iter().map(|result| result.started).min();
    let mut suite = TestSuite::new(&one_line(&format!("{name}@{device}")));
    suite.package = one_line(device);
    let hosts: IndexSet<&str> =
        results.iter().filter_map(|result| result.host.as_deref()).collect();
    suite.hostname = match hosts.is_empty() {
        true => one_line(&log.header.host),
        false => one_line(&hosts.into_iter().collect::<Vec<_>>().join(", ")),
    };
    suite.set_timestamp(timestamp(first_start.unwrap_or(log.header.time)));
    let class = one_line(&format!("{device}.{name}"));
    suite.add_testcases(results.iter().map(|result| case(log, texts, result, &class)));
    suite
}

fn case(log: &RunLog, texts: &Texts, result: &TestResult, class: &str) -> TestCase {
    let (test, _) = result.test_and_device();
    let name = test.split_once("::").map_or(test, |(_, name)| name);
    let mut case = TestCase::success(&one_line(name), seconds(result.duration));
    case.result = verdict(log, texts, result);
    case.set_classname(class);
    if let Some(source) = shown_source(log, result) {
        case.set_filepath(&one_line(&source.file));
    }
    let [stdout, stderr] = outputs(log, texts, result);
    if !stdout.is_empty() {
        case.set_system_out(&stdout);
    }
    if !stderr.is_empty() {
        case.set_system_err(&stderr);
    }
    case
}

/// Returns the place of the test for readers that know one.
fn shown_source(log: &RunLog, result: &TestResult) -> Option<Location> {
    log.source(result).filter(|_| log.header.junit.flavor == JunitFlavor::Gitlab)
}

/// Returns standard output, and standard error with notes, as far as they are in the file.
fn outputs(log: &RunLog, texts: &Texts, result: &TestResult) -> [String; 2] {
    if !texts.has_output_of(result) {
        return [String::new(), texts.cdata(result, &with_notes("", result))];
    }
    let whole = log.with_output(result);
    let stderr = with_notes(&whole.stderr, result);
    [&whole.stdout, &stderr].map(|text| texts.cdata(result, text))
}

/// All that `junit-report` leaves out of a test case.
#[derive(Default)]
struct Addition {
    line: Option<u32>,
    /// The properties that the test recorded.
    properties: Vec<(String, String)>,
    /// The elements of earlier attempts.
    attempts: Vec<u8>,
}

/// Returns an element for each earlier attempt that went wrong.
fn attempts(log: &RunLog, texts: &Texts, result: &TestResult) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new());
    let prefix = match result.verdict {
        Verdict::Flaky => "flaky",
        verdict if verdict.is_failure() => "rerun",
        _ if result.differing_in_reused_context().is_some() => "flaky",
        _ => return Ok(Vec::new()),
    };
    let earlier = result.earlier.iter().filter(|attempt| attempt.verdict.is_failure());
    // A crash that is no test's has no other attempt.
    let own = (result.verdict == Verdict::Flaky && result.earlier.is_empty()).then_some(result);
    for attempt in earlier.chain(own) {
        let kind = if attempt.verdict == Verdict::Fail { "Failure" } else { "Error" };
        let [stdout, stderr] = outputs(log, texts, attempt);
        let outputs = [
            ("stackTrace", texts.cdata(attempt, &attempt.outcome.to_string())),
            ("system-out", stdout),
            ("system-err", stderr),
        ];
        writer
            .create_element(format!("{prefix}{kind}"))
            .with_attribute(("type", attempt.verdict.name()))
            .with_attribute(("message", texts.line(attempt, &message(attempt)).as_str()))
            .write_inner_content(|writer| {
                for (name, text) in outputs.iter().filter(|(_, text)| !text.is_empty()) {
                    writer
                        .create_element(*name)
                        .write_cdata_content(BytesCData::new(text.as_str()))?;
                }
                Ok(())
            })?;
    }
    Ok(writer.into_inner())
}

/// The message of an attempt that went wrong.
fn message(attempt: &TestResult) -> String {
    match attempt.is_of_reused_context() {
        true => format!("in a reused context: {}", outcome_line(attempt)),
        false => outcome_line(attempt),
    }
}

fn verdict(log: &RunLog, texts: &Texts, result: &TestResult) -> junit_report::TestResult {
    use junit_report::TestResult as Junit;
    let type_ = result.verdict.name().to_owned();
    let message = || match log.rounds.get(&result.test) {
        Some(rounds) => texts.line(result, &format!("{rounds}: {}", headline(result))),
        None => texts.line(result, &headline(result)),
    };
    match result.verdict {
        Verdict::Pass => Junit::Success,
        Verdict::Flaky if result.tolerated => Junit::Success,
        Verdict::NotRun if log.is_not_run_by_loss(result) => {
            Junit::SkippedWithCause { type_, message: message(), cause: None }
        }
        Verdict::UnexpectedPass if result.tolerated => {
            Junit::SkippedWithCause { type_, message: message(), cause: None }
        }
        Verdict::Skip | Verdict::Ignored => {
            Junit::SkippedWithCause { type_, message: message(), cause: None }
        }
        Verdict::ExpectedFail | Verdict::AssumedFail => {
            let cause = Some(texts.cdata(result, &result.outcome.to_string()));
            Junit::SkippedWithCause { type_, message: message(), cause }
        }
        Verdict::Fail | Verdict::UnexpectedPass | Verdict::Flaky => {
            Junit::Failure { type_, message: message(), cause: Some(cause(log, texts, result)) }
        }
        Verdict::Crash | Verdict::Timeout | Verdict::NotRun => {
            Junit::Error { type_, message: message(), cause: Some(cause(log, texts, result)) }
        }
    }
}

/// The whole message with its place, the expectation, and the command that runs the test again.
fn cause(log: &RunLog, texts: &Texts, result: &TestResult) -> String {
    let rerun = rerun(log, result).map(|command| format!("\nrerun: {command}"));
    texts.cdata(result, &(explanation(log, result) + rerun.as_deref().unwrap_or_default()))
}

/// Returns a duration of at most a century, since `junit-report` adds durations up without checks.
fn seconds(duration: Duration) -> junit_report::Duration {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    duration.min(CENTURY).try_into().unwrap_or(junit_report::Duration::ZERO)
}

/// Returns a time in whole seconds; the epoch for a time that RFC 3339 cannot express.
fn timestamp(time: SystemTime) -> OffsetDateTime {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs())
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Returns the versions of the runner and of the driver, and the properties that the tests recorded.
fn properties(
    log: &RunLog,
    texts: &Texts,
    device: &str,
    results: &[&TestResult],
) -> Vec<(String, String)> {
    let header = &log.header;
    let mut properties = vec![
        ("run.id".to_owned(), header.run_id.clone()),
        ("device.id".to_owned(), device.to_owned()),
    ];
    if let Some(device) = header.devices.iter().find(|known| known.id == device) {
        properties.extend(driver_properties(device));
    }
    if let Some(known) = log.properties.get(device) {
        properties.extend(characterized_properties(known));
    }
    if let Some(rounds) = results
        .iter()
        .filter_map(|result| log.rounds.get(&result.test))
        .map(|counts| counts.ran)
        .max()
    {
        properties.push(("rounds".to_owned(), rounds.to_string()));
    }
    let version = |(name, version): &(String, String)| (format!("version.{name}"), version.clone());
    properties.extend(header.versions.iter().map(version));
    if log.header.junit.flavor == JunitFlavor::Jenkins {
        // Its schema has none of a test.
        properties.extend(results.iter().flat_map(|result| texts.properties(result)));
    }
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

/// Returns the properties of a device, such as `characterize.get_simd_group_size`, or the error.
fn characterized_properties(
    properties: &Result<IndexMap<String, String>, String>,
) -> Vec<(String, String)> {
    match properties {
        Ok(properties) => properties
            .iter()
            .map(|(name, value)| (format!("characterize.{name}"), value.clone()))
            .collect(),
        Err(error) => vec![("characterize.error".to_owned(), error.clone())],
    }
}

/// The whole file.
fn file(
    name: &str,
    suites: Vec<TestSuite>,
    properties: &[(String, String)],
    additions: &[Addition],
) -> io::Result<Vec<u8>> {
    let mut report = Report::new();
    report.add_testsuites(suites);
    let mut plain = Vec::new();
    report.write_xml(&mut plain).map_err(io::Error::other)?;
    complete(&plain, name, report.testsuites(), properties, additions).map_err(io::Error::other)
}

/// Copies what `junit-report` wrote of `suites`, and adds what it leaves out: name and totals of
/// the root, for each suite how many tests were skipped, and its properties, and for each test case its line and the
/// earlier attempts, before its outputs.
fn complete(
    plain: &[u8],
    name: &str,
    suites: &[TestSuite],
    properties: &[(String, String)],
    additions: &[Addition],
) -> Result<Vec<u8>, quick_xml::Error> {
    let mut reader = Reader::from_reader(plain);
    reader.config_mut().expand_empty_elements = true;
    let mut writer = Writer::new(Vec::with_capacity(plain.len() * 2));
    let mut remaining = suites.iter();
    let mut additions = additions.iter();
    // The attempts of the test case that is being copied.
    let mut pending = None;
    loop {
        match reader.read_event()? {
            Event::Eof => return Ok(writer.into_inner()),
            Event::Start(mut root) if root.name().as_ref() == b"testsuites" => {
                add_totals(&mut root, name, suites);
                writer.write_event(Event::Start(root))?;
            }
            Event::Start(suite) if suite.name().as_ref() == b"testsuite" => {
                let skipped = remaining.next().map_or(0, TestSuite::skipped);
                let mut suite = with_milliseconds(&suite)?;
                suite.push_attribute(("skipped", skipped.to_string().as_str()));
                writer.write_event(Event::Start(suite))?;
                write_properties(&mut writer, properties)?;
            }
            Event::Start(case) if case.name().as_ref() == b"testcase" => {
                let mut case = with_milliseconds(&case)?;
                let addition = additions.next();
                if let Some(line) = addition.and_then(|addition| addition.line) {
                    case.push_attribute(("line", line.to_string().as_str()));
                }
                pending = addition.map(|addition| &addition.attempts);
                writer.write_event(Event::Start(case))?;
                if let Some(addition) = addition.filter(|addition| !addition.properties.is_empty())
                {
                    write_properties(&mut writer, &addition.properties)?;
                }
            }
            event => {
                let is_place = match &event {
                    Event::Start(output) => output.name().as_ref().starts_with(b"system-"),
                    Event::End(case) => case.name().as_ref() == b"testcase",
                    _ => false,
                };
                if let Some(attempts) = pending.take_if(|_| is_place) {
                    writer.get_mut().extend_from_slice(attempts);
                }
                writer.write_event(event)?;
            }
        }
    }
}

/// Copies the beginning of an element, with three decimals in `time`.
fn with_milliseconds(start: &BytesStart<'_>) -> Result<BytesStart<'static>, quick_xml::Error> {
    let mut copy = BytesStart::new(String::from_utf8_lossy(start.name().as_ref()).into_owned());
    for attribute in start.attributes() {
        let attribute = attribute.map_err(quick_xml::Error::from)?;
        match std::str::from_utf8(&attribute.value).ok().and_then(|value| value.parse::<f64>().ok())
        {
            Some(time) if attribute.key.as_ref() == b"time" => {
                copy.push_attribute(("time", format!("{time:.3}").as_str()));
            }
            _ => copy.push_attribute(attribute),
        }
    }
    Ok(copy)
}

fn add_totals(root: &mut BytesStart, name: &str, suites: &[TestSuite]) {
    let sum = |count: fn(&TestSuite) -> usize| suites.iter().map(count).sum::<usize>().to_string();
    let time: junit_report::Duration = suites.iter().map(TestSuite::time).sum();
    root.push_attribute(("name", one_line(name).as_str()));
    root.push_attribute(("tests", sum(TestSuite::tests).as_str()));
    root.push_attribute(("failures", sum(TestSuite::failures).as_str()));
    root.push_attribute(("errors", sum(TestSuite::errors).as_str()));
    root.push_attribute(("time", format!("{:.3}", time.as_seconds_f64()).as_str()));
}

fn write_properties(
    writer: &mut Writer<Vec<u8>>,
    properties: &[(String, String)],
) -> Result<(), quick_xml::Error> {
    writer.write_event(Event::Start(BytesStart::new("properties")))?;
    for (name, value) in properties {
        let mut property = BytesStart::new("property");
        property.push_attribute(("name", one_line(name).as_str()));
        property.push_attribute(("value", one_line(value).as_str()));
        writer.write_event(Event::Empty(property))?;
    }
    Ok(writer.write_event(Event::End(BytesEnd::new("properties")))?)
}

/// Returns the path of a device's JUnit file in a report folder.
pub fn junit_path(folder: &Path, device: &str) -> PathBuf {
    folder.join("junit").join(format!("{}.xml", file_name(device)))
}

/// The most bytes of a file's name without its extension. Most file systems take 255 with it.
const LONGEST_NAME: usize = 160;

/// `device` as a file's name: other characters than those of a slug as `%` and hexadecimal digits,
/// so that different devices never share a file. A hash takes the place of the end of a long name.
pub fn file_name(device: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    let name: String = device.bytes().map(encode).collect();
    match name.len() {
        0..=LONGEST_NAME => name,
        _ => format!("{}-{:016x}", &name[..LONGEST_NAME - 17], xxh64(device.as_bytes(), 0)),
    }
}

#[cfg(test)]
mod tests;
