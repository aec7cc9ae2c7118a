//! The files as other programs read them.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::*;
use crate::config::{Expectation, JunitFlavor, JunitOutput};
use crate::log::sample::{
    TIME, changed, device, differing, expectation, failed, failed_driver, flaky, judged, plan_at,
    result, run_log,
};
use crate::report::{file_name, write_in_one, write_junit};
use crate::text::clean;
use crate::verdict::{ExpectedStatus, Outcome};

/// An element as a reader sees it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    /// The root of a file; panics where it is not well-formed.
    fn parse(xml: &[u8]) -> Self {
        let xml = std::str::from_utf8(xml).unwrap();
        assert!(xml.chars().all(is_xml_char), "{xml:?}");
        let mut reader = Reader::from_str(xml);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => open.push(Self::begin(&start)),
                Event::Empty(start) => {
                    let element = Self::begin(&start);
                    open.last_mut().unwrap().children.push(element);
                }
                Event::End(_) => {
                    let element = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(element);
                }
                Event::CData(text) => {
                    open.last_mut().unwrap().text += &text.decode().unwrap();
                }
                Event::Decl(_) => {}
                Event::Eof => break,
                other => panic!("{other:?}"),
            }
        }
        let [document] = &mut open[..] else { panic!("not closed: {open:?}") };
        assert_eq!(document.children.len(), 1);
        document.children.remove(0)
    }

    fn begin(start: &BytesStart) -> Self {
        let attribute = |attribute: quick_xml::events::attributes::Attribute| {
            let name = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
            assert!(!attribute.value.contains(&b'<'));
            let value = std::str::from_utf8(&attribute.value).unwrap();
            (name, quick_xml::escape::unescape(value).unwrap().into_owned())
        };
        Self {
            name: String::from_utf8(start.name().as_ref().to_vec()).unwrap(),
            attributes: start.attributes().map(|a| attribute(a.unwrap())).collect(),
            ..Self::default()
        }
    }

    fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    fn child(&self, name: &str) -> &Self {
        self.children.iter().find(|child| child.name == name).unwrap_or_else(|| {
            panic!("no {name} in {self:?}");
        })
    }

    fn cases(&self) -> Vec<&Self> {
        self.children.iter().filter(|child| child.name == "testcase").collect()
    }
}

/// The production `Char` of XML 1.0.
fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn log(results: Vec<TestResult>) -> RunLog {
    let mut nvidia = device("nvidia-h200-0", "NVIDIA CUDA");
    nvidia.info.pci_address = Some("0000:1b:00.0".to_owned());
    nvidia.info.uuid = Some("00ff".to_owned());
    run_log(vec![device("pocl-cpu", "PoCL"), nvidia], results, Duration::from_secs(1))
}

fn file_of(log: &RunLog, device: &str) -> Vec<u8> {
    let results: Vec<_> =
        log.results.iter().filter(|result| result.test.device() == device).collect();
    junit(log, device, &results, 1).to_xml().unwrap()
}

fn parsed(log: &RunLog, device: &str) -> Element {
    Element::parse(&file_of(log, device))
}

fn known(status: ExpectedStatus) -> Option<Expectation> {
    Some(expectation(status, "driver bug 7"))
}

#[test]
fn a_file_has_suites_tests_and_properties() {
    let mut pass = result("pool::reuse::n_1@pocl-cpu", Outcome::Passed);
    pass.attempt.stdout = "42\n".to_owned();
    pass.attempt.duration = Duration::from_nanos(250_600_000);
    pass.attempt.properties = vec![("speed".to_owned(), "1.5".to_owned())];
    let fail = result("pool::reuse::n_2@pocl-cpu", failed("left: 1\nright: 2"));
    let mut log = log(vec![pass, fail]);
    log.header.junit.output = JunitOutput::All;
    plan_at(&mut log, "pool::reuse::n_1", "suites/src/pool.rs", 40);
    let xml = String::from_utf8(file_of(&log, "pocl-cpu")).unwrap();
    let expected = r#"
<?xml version="1.0" encoding="utf-8"?>
<testsuites name="clmatrix on pocl-cpu" tests="2" failures="1" errors="0" time="0.501">
<testsuite id="0" name="pool@pocl-cpu" package="pocl-cpu" hostname="bench"
 timestamp="2026-01-02T03:04:05Z" tests="2" failures="1" errors="0" time="0.501" skipped="0">
<properties>
<property name="run.id" value="run-1"/>
<property name="device.id" value="pocl-cpu"/>
<property name="platform.name" value="PoCL"/>
<property name="platform.vendor" value="PoCL people"/>
<property name="platform.version" value="OpenCL 1.2"/>
<property name="device.name" value="PoCL device"/>
<property name="device.vendor" value="GenuineSilicon"/>
<property name="device.driver-version" value="3.1"/>
<property name="device.opencl-version" value="OpenCL 1.2 sample"/>
<property name="version.clmatrix-runner" value="0.1.0"/>
</properties>
<testcase name="reuse::n_1" time="0.251" classname="pocl-cpu.pool" file="suites/src/pool.rs" line="40">
<properties><property name="speed" value="1.5"/></properties>
<system-out><![CDATA[42\n]]></system-out>
</testcase>
<testcase name="reuse::n_2" time="0.250" classname="pocl-cpu.pool">
<failure type="fail" message="left: 1 right: 2"><![CDATA[left: 1\nright: 2\n  at suites/src/pool.rs:41\n
rerun: clmatrix run --exact pool::reuse::n_2@pocl-cpu]]></failure>
</testcase>
</testsuite>
</testsuites>"#;
    assert_eq!(xml, expected.replace('\n', "").replace("\\n", "\n"));
}

/// The schema of Jenkins' xUnit plugin (junit-10.xsd): the attributes and the children of each element.
const SCHEMA: [(&str, &str, &str); 12] = [
    ("testsuites", "name time tests failures errors", "testsuite"),
    (
        "testsuite",
        "name tests failures errors group time skipped timestamp hostname id package file log url version",
        "testsuite properties testcase system-out system-err",
    ),
    ("properties", "", "property"),
    ("property", "name value", ""),
    (
        "testcase",
        "name time classname group",
        "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err",
    ),
    ("failure", "type message", ""),
    ("error", "type message", ""),
    ("skipped", "type message", ""),
    ("rerun*", "type message", "stackTrace system-out system-err"),
    ("system-out", "", ""),
    ("system-err", "", ""),
    ("stackTrace", "", ""),
];

fn follows_the_schema(element: &Element) {
    let plain = ["rerunFailure", "rerunError", "flakyFailure", "flakyError"];
    let name = if plain.contains(&&*element.name) { "rerun*" } else { &element.name };
    let (_, attributes, children) =
        SCHEMA.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("{element:?}"));
    let has = |words: &str, word: &str| words.split(' ').any(|known| known == word);
    for name in element.attributes.keys() {
        assert!(has(attributes, name), "{name} in {element:?}");
    }
    if let Some((whole, decimals)) =
        element.attributes.get("time").map(|t| t.split_once('.').unwrap())
    {
        assert!(whole.bytes().chain(decimals.bytes()).all(|c| c.is_ascii_digit()), "{element:?}");
        assert!(decimals.len() <= 3, "{element:?}");
    }
    for child in &element.children {
        assert!(has(children, &child.name), "{child:?} in {element:?}");
        follows_the_schema(child);
    }
}

#[test]
fn files_for_jenkins_follow_its_schema() {
    let mut tests = vec![
        flaky("pool::a@pocl-cpu", failed("no")),
        result("pool::b@pocl-cpu", Outcome::signal("SIGSEGV")),
        result("pool::c@pocl-cpu", Outcome::Skipped { reason: "no images".to_owned() }),
        differing("pool::d@pocl-cpu", failed("no")),
        result("svm::e@pocl-cpu", Outcome::Passed),
    ];
    for (number, result) in tests.iter_mut().enumerate() {
        result.attempt.duration = Duration::new(123_456, 123_456_789 * (number as u32 + 1));
        result.attempt.stdout = "said".to_owned();
        result.attempt.stderr = "said".to_owned();
    }
    let mut log = log(tests);
    plan_at(&mut log, "pool::a", "suites/src/pool.rs", 40);
    log.absent = vec!["intel-*".to_owned()];
    log.failed_drivers = vec![failed_driver()];
    log.header.junit.flavor = JunitFlavor::Jenkins;
    let results: Vec<_> = log.results.iter().collect();
    let files =
        || [junit(&log, "pocl-cpu", &results, 1), absent_devices(&log), failed_drivers(&log)];
    for file in files().into_iter().chain([in_one(files().into_iter())]) {
        follows_the_schema(&Element::parse(&file.to_xml().unwrap()));
    }
}

#[test]
fn outputs_are_those_of_the_option() {
    let all = ["passes", "skips", "fails", "passes_later"];
    for (output, expected) in [
        (JunitOutput::All, &all[..]),
        (JunitOutput::Failed, &["fails", "passes_later"]),
        (JunitOutput::None, &[]),
    ] {
        let skipped = Outcome::Skipped { reason: "no images".to_owned() };
        let mut results = [Outcome::Passed, skipped, failed("no"), Outcome::Passed]
            .into_iter()
            .zip(all)
            .map(|(outcome, name)| result(&format!("pool::{name}@pocl-cpu"), outcome))
            .collect::<Vec<_>>();
        results[3] = flaky("pool::passes_later@pocl-cpu", failed("no"));
        results.iter_mut().for_each(|result| result.attempt.stdout = "said".to_owned());
        results[0].attempt.left_behind = vec!["file left.txt".to_owned()];
        let mut log = log(results);
        log.header.junit.output = output;
        let root = parsed(&log, "pocl-cpu");
        let cases = root.child("testsuite").cases();
        let shown =
            cases.iter().filter(|case| case.children.iter().any(|c| c.name == "system-out"));
        assert_eq!(shown.map(|case| case.attribute("name")).collect::<Vec<_>>(), expected);
        let notes = &cases[0].child("system-err").text;
        assert!(notes.contains("left.txt"), "a note is no output: {notes}");
    }
}

#[test]
fn each_text_and_all_together_have_a_limit() {
    let long = format!("begin{}end", "x".repeat(100_000));
    let results = (0..100).map(|number| {
        let mut result = result(&format!("pool::t{number}@pocl-cpu"), failed(&long));
        result.attempt.stdout.clone_from(&long);
        result
    });
    let log = log(results.collect());
    let file = file_of(&log, "pocl-cpu");
    assert!((12 << 20..13 << 20).contains(&file.len()), "{}", file.len());
    let root = Element::parse(&file);
    let cases = root.child("testsuite").cases();
    let text = &cases[0].child("system-out").text;
    assert!(text.starts_with("begin") && text.ends_with("end"));
    let message = cases[0].child("failure").attribute("message");
    for text in [text, message, &cases[0].child("failure").text] {
        assert!(text.contains(" bytes cut ...") && text.len() <= (64 << 10) + 100);
    }
    assert_eq!(cases[99].child("system-out").text, "\n[... 100008 bytes cut ...]\n");
    let results: Vec<_> = log.results.iter().collect();
    let one_of_three = junit(&log, "pocl-cpu", &results, 3).to_xml().unwrap();
    assert!(one_of_three.len() < 5 << 20, "{}", one_of_three.len());
}

#[test]
fn a_limit_is_that_of_escaped_texts_and_properties() {
    for what in ["a message", "a property", "an output"] {
        let results = (0..30).map(|number| {
            let outcome = match what {
                "a message" => Outcome::Skipped { reason: "\"".repeat(60_000) },
                _ => Outcome::Passed,
            };
            let mut result = result(&format!("pool::t{number}@pocl-cpu"), outcome);
            match what {
                "a property" => {
                    result.attempt.properties = vec![("p".to_owned(), "&".repeat(60_000))];
                }
                "an output" => result.attempt.stdout = "]]>".repeat(20_000),
                _ => {}
            }
            result
        });
        for flavor in [JunitFlavor::Gitlab, JunitFlavor::Jenkins] {
            let mut log = log(results.clone().collect());
            (log.header.junit.output, log.header.junit.flavor) = (JunitOutput::All, flavor);
            let results: Vec<_> = log.results.iter().collect();
            let file = junit(&log, "pocl-cpu", &results, 12).to_xml().unwrap();
            assert!((900 << 10..1100 << 10).contains(&file.len()), "{what}: {}", file.len());
            Element::parse(&file);
        }
    }
}

#[test]
fn each_verdict_has_its_element() {
    use ExpectedStatus::{Crash, Fail};
    let crashed = Outcome::signal("SIGSEGV");
    let timed_out = Outcome::TimedOut { limit: Duration::from_secs(60) };
    let skipped = Outcome::Skipped { reason: "needs fp64".to_owned() };
    let ignored = Outcome::Ignored { reason: Some("slow".to_owned()) };
    let not_run = Outcome::not_run("Ctrl-C");
    let outdated = "passed; expected: fail: driver bug 7";
    let cases = [
        (failed("a\nb"), None, "failure", "fail", "a b"),
        (failed("a\nb"), known(Crash), "failure", "fail", "a b"),
        (Outcome::Passed, known(Fail), "failure", "unexpected-pass", outdated),
        (crashed, None, "error", "crash", "SIGSEGV"),
        (timed_out, None, "error", "timeout", "did not end within 1m"),
        (not_run, None, "error", "not-run", "Ctrl-C"),
        (skipped, None, "skipped", "skip", "needs fp64"),
        (ignored, None, "skipped", "ignored", "slow"),
        (Outcome::Ignored { reason: None }, None, "skipped", "ignored", "ignored"),
        (failed("a"), known(Fail), "skipped", "expected-fail", "expected: fail: driver bug 7"),
    ];
    for (outcome, expectation, element, type_, message) in cases {
        let log = log(vec![judged("pool::t@pocl-cpu", outcome, expectation)]);
        let root = parsed(&log, "pocl-cpu");
        let [case] = root.child("testsuite").cases()[..] else { panic!("{root:?}") };
        let [verdict] = &case.children[..] else { panic!("{case:?}") };
        let found = (&*verdict.name, verdict.attribute("type"), verdict.attribute("message"));
        assert_eq!(found, (element, type_, message));
    }
}

#[test]
fn a_tolerated_unexpected_pass_is_skipped() {
    let passed = judged("pool::t@pocl-cpu", Outcome::Passed, known(ExpectedStatus::Fail));
    let root = parsed(&log(vec![TestResult { tolerated: true, ..passed }]), "pocl-cpu");
    let [case] = root.child("testsuite").cases()[..] else { panic!("{root:?}") };
    let [verdict] = &case.children[..] else { panic!("{case:?}") };
    assert_eq!((&*verdict.name, verdict.attribute("type")), ("skipped", "unexpected-pass"));
}

#[test]
fn each_attempt_that_went_wrong_has_its_element() {
    let crashed = || Outcome::signal("SIGSEGV");
    let (id, message) = ("pool::t@pocl-cpu", "fail at attempt 1 of 2: no");
    let tolerated = |result| TestResult { tolerated: true, ..result };
    let failed_twice = |outcome, first| TestResult {
        earlier: vec![result(id, first)],
        ..changed(result(id, outcome), |r| r.attempt.number = 2)
    };
    let cases = [
        (
            flaky(id, failed("no")),
            &[("failure", "flaky", message), ("flakyFailure", "fail", "no")] as &[_],
        ),
        (tolerated(flaky(id, crashed())), &[("flakyError", "crash", "SIGSEGV")]),
        (
            failed_twice(failed("no"), crashed()),
            &[("failure", "fail", "no"), ("rerunError", "crash", "SIGSEGV")],
        ),
        // The crash is that of another test.
        (failed_twice(Outcome::Passed, crashed()), &[]),
    ];
    for (mut result, expected) in cases {
        for (number, attempt) in result.earlier.iter_mut().enumerate() {
            attempt.attempt.stdout = format!("said at {}", number + 1);
        }
        result.attempt.stdout = "said at last".to_owned();
        let next = crate::log::sample::result("pool::next@pocl-cpu", Outcome::Passed);
        let root = parsed(&log(vec![next.clone(), result, next]), "pocl-cpu");
        let [before, case, after] = root.child("testsuite").cases()[..] else { panic!("{root:?}") };
        assert!(before.children.is_empty() && after.children.is_empty());
        let (output, verdicts) = case.children.split_last().expect("an output");
        assert_eq!((&*output.name, &*output.text), ("system-out", "said at last"));
        let found =
            |child: &Element| ["type", "message"].map(|name| child.attribute(name).to_owned());
        for (child, &(name, type_, message)) in verdicts.iter().zip(expected) {
            assert_eq!((&*child.name, found(child)), (name, [type_, message].map(str::to_owned)));
            if child.name.starts_with("flaky") || child.name.starts_with("rerun") {
                assert!(child.child("stackTrace").text.starts_with(message));
                assert_eq!(child.child("system-out").text, "said at 1");
            }
        }
        assert_eq!(verdicts.len(), expected.len());
    }
}

#[test]
fn a_doubtful_result_is_an_attempt_and_a_note() {
    let mut result = differing("pool::t@pocl-cpu", failed("no"));
    result.earlier[0].attempt.stdout = "said at first".to_owned();
    result.attempt.stdout = "said at last".to_owned();
    let root = parsed(&log(vec![result]), "pocl-cpu");
    let case = root.child("testsuite").child("testcase");
    let found = case.children.iter().map(|child| (&*child.name, &*child.text));
    let attempt = case.child("flakyFailure");
    assert_eq!(attempt.attribute("message"), "in a used context: no");
    assert_eq!(attempt.child("system-out").text, "said at first");
    let expected = [
        ("flakyFailure", ""),
        ("system-out", "said at last"),
        ("system-err", "failed in a used context"),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // A pass is no failed attempt.
    let mut result = differing("pool::t@pocl-cpu", Outcome::Passed);
    result.earlier[0].verdict = Verdict::UnexpectedPass;
    let root = parsed(&log(vec![result]), "pocl-cpu");
    let case = root.child("testsuite").child("testcase");
    let found = case.children.iter().map(|child| (&*child.name, &*child.text));
    assert_eq!(found.collect::<Vec<_>>(), [("system-err", "passed in a used context")]);
}

#[test]
fn what_happened_is_told_where_it_was_expected_and_where_not() {
    let cases = [
        (known(ExpectedStatus::Fail), "skipped", "a\nb\n  at suites/src/pool.rs:41"),
        (
            known(ExpectedStatus::Crash),
            "failure",
            "a\nb\n  at suites/src/pool.rs:41\nexpected: crash: driver bug 7\n\
             rerun: clmatrix run --exact pool::t@pocl-cpu",
        ),
    ];
    for (expectation, element, text) in cases {
        let log = log(vec![judged("pool::t@pocl-cpu", failed("a\nb"), expectation)]);
        let root = parsed(&log, "pocl-cpu");
        assert_eq!(root.child("testsuite").child("testcase").child(element).text, text);
    }
}

#[test]
fn counts_and_names_are_of_the_suite_and_the_device() {
    let crashed = || Outcome::signal("SIGSEGV");
    let skipped = || Outcome::Skipped { reason: "needs fp64".to_owned() };
    let mut early = result("pool::a@nvidia-h200-0", Outcome::Passed);
    early.attempt.started -= Duration::from_secs(5);
    let log = log(vec![
        result("pool::b@nvidia-h200-0", failed("x")),
        result("pool::b@pocl-cpu", crashed()),
        early,
        result("svm::c@nvidia-h200-0", crashed()),
        result("svm::d@nvidia-h200-0", skipped()),
        result("svm::e@nvidia-h200-0", skipped()),
        result("alone@host", Outcome::Passed),
    ]);
    let values = |element: &Element, names: &[&str]| {
        names.iter().map(|name| element.attribute(name)).collect::<Vec<_>>().join(" ")
    };
    let counts =
        |element: &Element| values(element, &["tests", "failures", "errors", "skipped", "time"]);
    let root = parsed(&log, "nvidia-h200-0");
    assert_eq!(values(&root, &["tests", "failures", "errors", "time"]), "5 1 1 1.250");
    let [pool, svm] = &root.children[..] else { panic!("{root:?}") };
    assert_eq!((pool.attribute("name"), &*counts(pool)), ("pool@nvidia-h200-0", "2 1 0 0 0.500"));
    assert_eq!((svm.attribute("name"), &*counts(svm)), ("svm@nvidia-h200-0", "3 0 1 2 0.750"));
    assert_eq!(pool.attribute("timestamp"), "2026-01-02T03:04:00Z", "of the test that began first");

    let properties = &pool.child("properties").children;
    let property = |name: &str| properties.iter().find(|p| p.attribute("name") == name);
    let value = |name: &str| property(name).map(|property| property.attribute("value"));
    assert_eq!(value("device.pci-address"), Some("0000:1b:00.0"));
    assert_eq!(value("device.uuid"), Some("00ff"));

    let host = parsed(&log, "host");
    assert_eq!(host.child("testsuite").attribute("name"), "matrix@host", "that of the target");
    let case = host.child("testsuite").child("testcase");
    assert_eq!((case.attribute("classname"), case.attribute("name")), ("host.matrix", "alone"));
}

#[test]
fn tests_of_two_packages_are_told_apart() {
    let of_package = |package: &str| {
        let results = ["works@pocl-cpu", "devices::works@pocl-cpu", "worker::crash@pocl-cpu"];
        let mut log = log(results.map(|id| result(id, Outcome::Passed)).into());
        (log.header.package, log.header.target) = (Some(package.to_owned()), "devices".to_owned());
        parsed(&log, "pocl-cpu")
    };
    let files = ["one", "other"].map(of_package);
    let suites: Vec<&Element> = files.iter().flat_map(|file| &file.children).collect();
    let names: BTreeSet<&str> = suites.iter().map(|suite| suite.attribute("name")).collect();
    let classes: BTreeSet<&str> =
        suites.iter().map(|suite| suite.child("testcase").attribute("classname")).collect();
    assert_eq!((names.len(), classes.len()), (6, 6), "{names:?}, {classes:?}");
    assert!(names.contains("one::devices@pocl-cpu"), "{names:?}");
    assert!(classes.contains("pocl-cpu.other::devices::devices"), "{classes:?}");
}

#[test]
fn what_a_device_is_like_stands_beside_its_driver() {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let known = [("get_simd_group_size", "32"), ("nv_compute_capability", "9.0")].map(owned);
    let passed = |device| result(&format!("pool::n_1@{device}"), Outcome::Passed);
    let mut log = log(vec![passed("pocl-cpu"), passed("nvidia-h200-0")]);
    log.properties.insert("nvidia-h200-0".to_owned(), Ok(IndexMap::from(known.clone())));
    log.properties.insert("pocl-cpu".to_owned(), Err("the driver hung".to_owned()));
    let properties = |device| {
        let properties =
            parsed(&log, device).child("testsuite").child("properties").children.clone();
        let named = |property: &Element| {
            let name = property.attribute("name").strip_prefix("characterize.")?;
            Some((name.to_owned(), property.attribute("value").to_owned()))
        };
        properties.iter().filter_map(named).collect::<Vec<_>>()
    };
    assert_eq!(properties("nvidia-h200-0"), known);
    assert_eq!(properties("pocl-cpu"), [owned(("error", "the driver hung"))]);
}

#[test]
fn times_that_cannot_be_written_do_no_harm() {
    let long_ago = SystemTime::UNIX_EPOCH - TIME;
    let far_away = SystemTime::UNIX_EPOCH + Duration::from_secs(400_000_000_000);
    for time in [long_ago, far_away] {
        let mut endless = result("pool::t@pocl-cpu", Outcome::Passed);
        (endless.attempt.started, endless.attempt.duration) = (time, Duration::MAX);
        let root = parsed(&log(vec![endless.clone(), endless]), "pocl-cpu");
        assert_eq!(root.child("testsuite").attribute("timestamp"), "1970-01-01T00:00:00Z");
    }
}

#[test]
fn a_run_has_a_file_for_each_device() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = log(vec![
        result("pool::b@odd/../name", Outcome::Passed),
        result("pool::a@pocl-cpu", Outcome::Passed),
        result("parsing::a@host", Outcome::Passed),
        result(&format!("pool::a@{}", "d".repeat(300)), Outcome::Passed),
    ]);
    let long = file_name(&"d".repeat(300)) + ".xml";
    log.absent = vec!["intel-*".to_owned(), "<amd>".to_owned()];
    log.failed_drivers = vec![failed_driver()];
    write_junit(&log, folder.path()).unwrap();
    let names = [
        "pocl-cpu.xml",
        "odd%2F..%2Fname.xml",
        "host.xml",
        "absent-devices.xml",
        "failed-drivers.xml",
        &long,
    ];
    let junit = folder.path().join("junit");
    let files = || {
        let files = std::fs::read_dir(&junit).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(files(), names.map(str::to_owned).into());

    // The first file cannot be replaced; the others are.
    let first = junit.join(names[0]);
    std::fs::remove_dir_all(&junit).unwrap();
    std::fs::create_dir_all(first.join("not empty")).unwrap();
    assert!(write_junit(&log, folder.path()).is_err());
    assert_eq!(files(), names.map(str::to_owned).into());

    let absent = Element::parse(&std::fs::read(junit.join(names[3])).unwrap());
    assert_eq!((absent.attribute("tests"), absent.attribute("failures")), ("2", "2"));
    let cases = absent.child("testsuite").cases();
    assert_eq!(cases.iter().map(|case| case.attribute("name")).collect::<Vec<_>>(), log.absent);
    assert_eq!(cases[0].child("failure").attribute("type"), "device-absent");
}

#[test]
fn one_file_has_the_suites_of_all() {
    let mut log = log(vec![
        result("pool::a@pocl-cpu", Outcome::Passed),
        result("pool::b@other", failed("]]> & <no>")),
        result("parsing::a@host", Outcome::Passed),
    ]);
    log.failed_drivers = vec![failed_driver()];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.xml");
    write_in_one(&log, &file).unwrap();
    let root = Element::parse(&std::fs::read(&file).unwrap());
    let suites: Vec<&str> = root.children.iter().map(|suite| suite.attribute("name")).collect();
    assert_eq!(suites, ["pool@pocl-cpu", "pool@other", "parsing@host", "drivers"]);
    let alone = parsed(&log, "other");
    assert_eq!(root.children[1].child("testcase"), alone.child("testsuite").child("testcase"));
}

#[test]
fn a_failed_driver_is_skipped_or_fails() {
    for (strict, element) in [(false, "skipped"), (true, "failure")] {
        let mut log = log(Vec::new());
        log.failed_drivers = vec![failed_driver()];
        log.strict_drivers = strict;
        let root = Element::parse(&failed_drivers(&log).to_xml().unwrap());
        let case = &root.child("testsuite").cases()[0];
        assert_eq!(case.attribute("name"), log.failed_drivers[0].driver);
        let child = case.child(element);
        assert_eq!(child.attribute("type"), "driver-no-such-file");
        assert_eq!(child.attribute("message"), log.failed_drivers[0].failure.reason);
    }
}

#[test]
fn file_names_are_told_apart() {
    let cases = [
        ("nvidia-h200_0.1", "nvidia-h200_0.1"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("é", "%C3%A9"),
    ];
    for (device, expected) in cases {
        assert_eq!(file_name(device), expected);
    }
    let long = ["x", "y"].map(|end| file_name(&("é".repeat(300) + end)));
    assert!(long[0].starts_with("%C3%A9") && long[0] != long[1]);
    assert_eq!(long.map(|name| name.len()), [LONGEST_NAME; 2]);
}

/// Text as tests and drivers may write it.
fn text() -> impl Strategy<Value = String> {
    let nasty = [
        "]]>",
        "]]",
        "]",
        ">",
        "<![CDATA[",
        "<script>",
        "&amp;",
        "&",
        "\"",
        "'",
        "\n",
        "\r",
        "\t",
        "\0",
        "\x1b[31m",
        "\x1b",
        "\x1b]0;",
        "\x07",
        "\u{fffe}",
        "\u{ffff}",
        "\u{1f4a5}",
        "\u{9b}",
        "@",
        "::",
    ];
    let piece = prop_oneof![
        proptest::sample::select(nasty.to_vec()).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[ -~]{0,8}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_makes_well_formed_xml_and_is_read_back(
        message in text(),
        stdout in text(),
        stderr in text(),
        name in text(),
        host in text(),
        test in text(),
    ) {
        let mut fail = result(&format!("pool::{test}@d"), failed(&message));
        fail.attempt.stdout.clone_from(&stdout);
        fail.attempt.stderr.clone_from(&stderr);
        let mut log = log(vec![fail]);
        plan_at(&mut log, &format!("pool::{test}"), &name, 1);
        log.header.host.clone_from(&host);
        log.header.devices[0].id = "d".to_owned();
        log.header.devices[0].info.name.clone_from(&name);

        let root = parsed(&log, "d");
        let suite = root.child("testsuite");
        let case = suite.child("testcase");
        prop_assert_eq!(suite.attribute("hostname"), one_line(&host));
        prop_assert_eq!(case.attribute("file"), one_line(&name));
        prop_assert!(case.child("failure").text.starts_with(&clean(&message)));
        for (element, text) in [("system-out", &stdout), ("system-err", &stderr)] {
            let found = case.children.iter().find(|child| child.name == element);
            prop_assert_eq!(found.map_or("", |element| &element.text), clean(text));
        }
    }
}
