//! The differences between two sides, by test and device.

use clmatrix_runner::result::test_id::{TestId, suite};
use clmatrix_runner::result::test_result::DEVICE;
use clmatrix_runner::result::worker_end::WorkerEnd;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::side::{Side, SideDevice, SideOutcome, SideResult, SideTest};
use super::speed::{Speeds, Time, Times, median};
use crate::report::facts::{self, Facts};

/// The differences of side B from side A.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    /// The runs of A.
    pub(crate) a: Vec<String>,
    /// The runs of B.
    pub(crate) b: Vec<String>,
    /// The facts that differ: first those of the machines, then those of each device.
    pub(crate) facts: Vec<FactChange>,
    /// The devices that only A has.
    pub(crate) only_in_a: Vec<String>,
    /// The devices that only B has.
    pub(crate) only_in_b: Vec<String>,
    /// The tests whose results differ.
    pub(crate) changes: IndexMap<Kind, Vec<ResultChange>>,
    /// The slower and faster tests, by the device.
    pub(crate) speeds: IndexMap<String, Speeds>,
    /// The sums of the times of the devices that have too few times for a verdict.
    pub(crate) sums: Vec<TimeSum>,
}

/// The ways in which results differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The test passed, and goes wrong unexpectedly.
    Regression,
    /// The test passed, and goes wrong as expected.
    Expected,
    /// The test goes wrong differently.
    OtherWay,
    /// The test went wrong, and passes.
    Fix,
    /// The test has a result only in B.
    New,
    /// The test has a result only in A.
    Gone,
}

/// A fact that differs.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct FactChange {
    /// The device; none for the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    /// The name of the fact.
    pub(crate) fact: String,
    /// The value of A, if A has the fact.
    pub(crate) a: Option<String>,
    /// The value of B, if B has the fact.
    pub(crate) b: Option<String>,
}

/// A test that differs.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Change<T> {
    /// The id of the test with the device of B, or the path.
    pub(crate) test: String,
    /// The value of A.
    pub(crate) a: T,
    /// The value of B.
    pub(crate) b: T,
}

/// A test whose results differ: the verdict and the reason on each side, if there is a result.
pub(crate) type ResultChange = Change<Option<String>>;

/// The median times of the tests of a suite that passed on both sides, added up.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct TimeSum {
    /// The device; that of B.
    pub(crate) device: String,
    /// The suite.
    pub(crate) suite: String,
    /// The number of tests.
    pub(crate) tests: usize,
    /// The sum of A, in seconds.
    pub(crate) a: f64,
    /// The sum of B, in seconds.
    pub(crate) b: f64,
}

/// The devices of both sides that are compared, by their ids.
pub(crate) type DevicePairs = IndexSet<(String, String)>;

impl Kind {
    /// All kinds with their titles, the most important first.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Regression, "Regressions"),
        (Self::OtherWay, "Other ways of going wrong"),
        (Self::Expected, "Now wrong as expected"),
        (Self::Fix, "Fixes"),
        (Self::New, "New results"),
        (Self::Gone, "Results that are gone"),
    ];

    fn between(test: &str, a: Option<&SideTest>, b: Option<&SideTest>) -> Option<Self> {
        // A device that was not lost, and a worker without a crash of its own, have no result.
        let is_implicit = test == DEVICE || WorkerEnd::of_path(test).is_some();
        let implicit = is_implicit.then_some(&SideOutcome::Passed);
        let is_as_expected = b.and_then(|b| b.result.as_ref()).is_some_and(|b| b.is_as_expected);
        match [a, b].map(|side| side.and_then(SideTest::ran).or(implicit)) {
            [None, None] => None,
            [None, Some(_)] => Some(Self::New),
            [Some(_), None] => Some(Self::Gone),
            [Some(before), Some(now)] if before == now => None,
            [Some(SideOutcome::Passed), Some(_)] if is_as_expected => Some(Self::Expected),
            [Some(SideOutcome::Passed), Some(_)] => Some(Self::Regression),
            [Some(_), Some(SideOutcome::Passed)] => Some(Self::Fix),
            [Some(_), Some(_)] => Some(Self::OtherWay),
        }
    }
}

impl Difference {
    /// Compares devices of the same id, or the given pairs.
    ///
    /// # Errors
    ///
    /// A side does not have a device of a pair, or no device is on both sides.
    pub(crate) fn new(a: &Side, b: &Side, pairs: Option<DevicePairs>) -> Result<Self, String> {
        let is_explicit = pairs.is_some();
        let pairs = pairs.unwrap_or_else(|| {
            let shared = a.devices.keys().filter(|id| b.devices.contains_key(*id));
            shared.map(|id| (id.clone(), id.clone())).collect()
        });
        if pairs.is_empty() {
            let sides = format!("one has {}, the other {}", a.ids(), b.ids());
            let advice = "--devices A=B compares two devices";
            return Err(format!("no device is on both sides: {sides}; {advice}"));
        }
        let missing = |side: &Side, other: &Side| {
            let ids = side.devices.keys().filter(|id| !other.devices.contains_key(*id));
            ids.filter(|_| !is_explicit).cloned().collect()
        };
        let mut difference = Self {
            a: a.runs.clone(),
            b: b.runs.clone(),
            facts: changed_facts(None, &a.facts, &b.facts),
            only_in_a: missing(a, b),
            only_in_b: missing(b, a),
            changes: Kind::ALL.map(|(kind, _)| (kind, Vec::new())).into_iter().collect(),
            speeds: IndexMap::new(),
            sums: Vec::new(),
        };
        for (id_a, id_b) in &pairs {
            difference.add_device(id_b, a.find_device(id_a, "A")?, b.find_device(id_b, "B")?);
        }
        Ok(difference)
    }

    fn add_device(&mut self, id: &str, a: &SideDevice, b: &SideDevice) {
        self.facts.extend(changed_facts(Some(id), &a.facts, &b.facts));
        let tests: IndexSet<&String> = b.tests.keys().chain(a.tests.keys()).collect();
        for test in tests {
            let (before, now) = (a.tests.get(test), b.tests.get(test));
            if let Some(kind) = Kind::between(test, before, now) {
                let text = |side: Option<&SideTest>| side?.result.as_ref().map(SideResult::text);
                let test = TestId::new(test, id).to_string();
                let change = Change { test, a: text(before), b: text(now) };
                self.changes[&kind].push(change);
            }
        }
        let times = a.tests.iter().filter_map(|(test, before)| {
            let now = b.tests.get(test)?;
            let has_times = !before.times.is_empty() && !now.times.is_empty();
            has_times.then_some(Times { test, a: &before.times, b: &now.times })
        });
        let times: Vec<Times<'_>> = times.collect();
        match Speeds::new(&times) {
            Some(speeds) => drop(self.speeds.insert(id.to_owned(), speeds)),
            None => self.sums.extend(sums(id, &times)),
        }
    }

    /// Returns whether a test goes wrong that passed.
    pub(crate) fn has_regression(&self) -> bool {
        !self.changes[&Kind::Regression].is_empty()
    }

    /// Returns whether a test is slower.
    pub(crate) fn has_slower(&self) -> bool {
        self.speeds.values().any(|speeds| !speeds.slower.is_empty())
    }

    /// Returns whether only times without a verdict differ.
    pub(crate) fn is_empty(&self) -> bool {
        let has_speeds = |speeds: &Speeds| !speeds.slower.is_empty() || !speeds.faster.is_empty();
        self.facts.is_empty()
            && self.only_in_a.is_empty()
            && self.only_in_b.is_empty()
            && self.changes.values().all(Vec::is_empty)
            && !self.speeds.values().any(has_speeds)
    }
}

fn changed_facts(device: Option<&str>, a: &[Facts], b: &[Facts]) -> Vec<FactChange> {
    let (a, b) = (facts::joined(a), facts::joined(b));
    let names: IndexSet<&String> = a.keys().chain(b.keys()).collect();
    let change = |fact: &String| {
        let (a, b) = (a.get(fact).cloned(), b.get(fact).cloned());
        let is_comparable = a.is_some() && b.is_some() || !facts::is_of_some_tests(fact);
        let device = device.map(str::to_owned);
        (is_comparable && a != b).then(|| FactChange { device, fact: fact.clone(), a, b })
    };
    names.into_iter().filter_map(change).collect()
}

/// Returns the sums that differ.
fn sums(device: &str, tests: &[Times<'_>]) -> Vec<TimeSum> {
    let median_of = |times: &[Time]| median(times.iter().map(|time| time.seconds));
    let mut sums: IndexMap<&str, TimeSum> = IndexMap::new();
    for times in tests {
        let suite = suite(times.test).unwrap_or("(no module)");
        let (device, name) = (device.to_owned(), suite.to_owned());
        let new = || TimeSum { device, suite: name, ..TimeSum::default() };
        let sum = sums.entry(suite).or_insert_with(new);
        sum.tests += 1;
        sum.a += median_of(times.a);
        sum.b += median_of(times.b);
    }
    sums.into_values().filter(|sum| sum.a != sum.b).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use clmatrix_runner::config::{ExpectedStatuses, WrittenExpectation};
    use clmatrix_runner::log::events::DeviceLost;
    use clmatrix_runner::log::program_record::ProgramRecord;
    use clmatrix_runner::log::run_log::RunLog;
    use clmatrix_runner::log::sample::{
        changed, device, expectation, failed, flaky, judged, result, run_log,
    };
    use clmatrix_runner::result::test_result::TestResult;
    use clmatrix_runner::verdict::{ExpectedStatus, Outcome};
    use insta::assert_snapshot;

    use crate::report::page::{Format, Page};

    fn expected(outcome: Outcome) -> TestResult {
        judged("s::t@d", outcome, Some(expectation(ExpectedStatus::Fail, "bug 7")))
    }

    fn run(results: Vec<TestResult>) -> RunLog {
        run_log(vec![device("d", "PoCL")], results, Duration::from_secs(1))
    }

    fn side(logs: &[RunLog]) -> Side {
        let mut side = Side::default();
        logs.iter().for_each(|log| side.add(log));
        side
    }

    fn difference(a: &[RunLog], b: &[RunLog]) -> Difference {
        Difference::new(&side(a), &side(b), None).unwrap()
    }

    /// The kinds that have changes, with their number.
    fn kinds(difference: &Difference) -> Vec<(Kind, usize)> {
        let changes = difference.changes.iter().filter(|(_, changes)| !changes.is_empty());
        changes.map(|(kind, changes)| (*kind, changes.len())).collect()
    }

    fn text(difference: &Difference) -> String {
        difference.pages(false).into_iter().map(Page::plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn results_differ_by_the_way_in_which_tests_end() {
        use Kind::{Expected, Fix, Gone, New, OtherWay, Regression};
        let passed = || result("s::t@d", Outcome::Passed);
        let fails = |message: &str| result("s::t@d", failed(message));
        let crashes = |signal: &str| result("s::t@d", Outcome::signal(signal));
        let skipped = || result("s::t@d", Outcome::Skipped { reason: "no fp64".to_owned() });
        let tolerated = || TestResult { tolerated: true, ..flaky("s::t@d", failed("no")) };
        let may_pass = || TestResult {
            expectation: Some(Arc::new(WrittenExpectation {
                status: ExpectedStatuses::flaky(),
                ..WrittenExpectation::default()
            })),
            ..expected(failed("no"))
        };
        let cases = [
            (passed(), passed(), None),
            (passed(), fails("no"), Some(Regression)),
            (passed(), expected(failed("no")), Some(Expected)),
            (passed(), flaky("s::t@d", failed("no")), Some(Regression)),
            (passed(), tolerated(), None),
            (passed(), may_pass(), None),
            (may_pass(), fails("no"), Some(Regression)),
            (fails("no"), passed(), Some(Fix)),
            (expected(failed("no")), expected(Outcome::Passed), Some(Fix)),
            (expected(failed("no")), fails("no"), None),
            (fails("no"), crashes("SIGSEGV"), Some(OtherWay)),
            (crashes("SIGSEGV"), crashes("SIGABRT"), Some(OtherWay)),
            (fails("left: 7 at 0x7fa0"), fails("left: 12 at 0xbc"), None),
            (fails("left: 7"), fails("right: 7"), Some(OtherWay)),
            (fails("no"), flaky("s::t@d", failed("no")), Some(OtherWay)),
            (skipped(), fails("no"), Some(New)),
            (passed(), skipped(), Some(Gone)),
            (skipped(), skipped(), None),
        ];
        for (a, b, kind) in cases {
            let context = format!("{} -> {}", a.summary(), b.summary());
            let difference = difference(&[run(vec![a])], &[run(vec![b])]);
            assert_eq!(kinds(&difference), Vec::from_iter(kind.map(|kind| (kind, 1))), "{context}");
            assert_eq!(difference.has_regression(), kind == Some(Regression), "{context}");
            assert_eq!(difference.is_empty(), kind.is_none(), "{context}");
        }
    }

    #[test]
    fn tables_are_cut_unless_all_rows_are_wanted() {
        let log = |outcome: fn() -> Outcome| {
            run((0..22).map(|n| result(&format!("s::t_{n}@d"), outcome())).collect())
        };
        let (a, b) = (log(|| Outcome::Passed), log(|| failed("no")));
        let difference = difference(&[a], &[b]);
        let text = |format: Format, all| {
            format.text(&difference, difference.news(all).into_iter()).unwrap()
        };
        let (first, all) = (text(Format::Markdown, false), text(Format::Markdown, true));
        assert_eq!([&first, &all].map(|text| text.matches("fail: no").count()), [20, 22]);
        assert!(first.contains("--all shows 2 more"), "{first}");
        assert!(all.contains("Regressions (22)") && !all.contains("--all"), "{all}");
        let json: serde_json::Value = serde_json::from_str(&text(Format::Json, false)).unwrap();
        let change = serde_json::json!({ "test": "s::t_0@d", "a": "pass", "b": "fail: no" });
        assert_eq!(json["changes"]["regression"][0], change);
    }

    #[test]
    fn the_worst_result_of_a_side_counts() {
        let passed = || run(vec![result("s::t@d", Outcome::Passed)]);
        let fails = || run(vec![result("s::t@d", failed("no"))]);
        let not_run = || run(vec![result("s::t@d", Outcome::not_run(""))]);
        let of = |a: &[RunLog], b: &[RunLog]| kinds(&difference(a, b));
        assert_eq!(of(&[passed(), passed()], &[passed(), fails()]), [(Kind::Regression, 1)]);
        assert_eq!(of(&[fails(), passed()], &[passed(), fails()]), []);
        assert_eq!(of(&[not_run(), passed()], &[passed(), not_run()]), []);
        assert_eq!(of(&[not_run(), not_run()], &[passed()]), [(Kind::New, 1)]);
    }

    #[test]
    fn crashes_of_workers_and_lost_devices_are_regressions() {
        let passed = || result("s::t@d", Outcome::Passed);
        let crash = Outcome::signal("SIGSEGV");
        let worker = result("worker::crash@d", crash);
        let crashed = run(vec![passed(), worker]);
        let lost = DeviceLost {
            device: "d".to_owned(),
            reason: "no answer".to_owned(),
            after: Some("s::t@d".into()),
            suspects: Vec::new(),
        };
        let lost = RunLog { lost: vec![lost], ..run(vec![passed()]) };
        for log in [crashed, lost] {
            let (good, bad) = ([run(vec![passed()])], [log]);
            assert_eq!(kinds(&difference(&good, &bad)), [(Kind::Regression, 1)]);
            assert_eq!(kinds(&difference(&bad, &good)), [(Kind::Fix, 1)]);
        }
    }

    #[test]
    fn devices_are_compared_by_their_ids_or_as_pairs() {
        let log = |id: &str, outcome: Outcome| {
            let results = vec![result(&format!("s::t@{id}"), outcome)];
            run_log(vec![device(id, "PoCL")], results, Duration::from_secs(1))
        };
        let (a, b) = (side(&[log("d", Outcome::Passed)]), side(&[log("e", failed("no"))]));
        let error = Difference::new(&a, &b, None).unwrap_err();
        assert!(error.contains("one has d, the other e"), "{error}");
        let pair = |a: &str, b: &str| Some(DevicePairs::from([(a.to_owned(), b.to_owned())]));
        let paired = Difference::new(&a, &b, pair("d", "e")).unwrap();
        assert_eq!(paired.changes[&Kind::Regression][0].test, "s::t@e");
        let error = Difference::new(&a, &b, pair("d", "f")).unwrap_err();
        assert_eq!(error, "side B has no device f; it has e");
        let both = side(&[log("d", Outcome::Passed), log("e", failed("no"))]);
        assert_eq!(Difference::new(&a, &both, None).unwrap().only_in_b, ["e"]);
    }

    #[test]
    fn differing_facts_come_first() {
        let mut newer = run(vec![result("s::t@d", Outcome::Passed)]);
        newer.header.devices[0].info.driver_version = "3.2".to_owned();
        newer.header.environment.insert("POCL_DEBUG".to_owned(), "all".to_owned());
        newer.header.run_id = "run-2".to_owned();
        let older = run(vec![result("s::t@d", Outcome::Passed)]);
        let difference = difference(&[older], &[newer]);
        assert_snapshot!(text(&difference));
        assert!(!difference.has_regression());
    }

    #[test]
    fn programs_that_one_side_does_not_run_are_no_difference() {
        let with = |builds: &[(&str, &str)]| {
            let mut log = run(vec![result("s::t@d", Outcome::Passed)]);
            log.header.run_id = format!("{builds:?}");
            let record = |(name, build): &(&str, &str)| ProgramRecord {
                name: (*name).to_owned(),
                file: String::new(),
                build: (*build).to_owned(),
            };
            log.header.programs = builds.iter().map(record).collect();
            log
        };
        let difference =
            difference(&[with(&[("p", "1"), ("q", "1")])], &[with(&[("p", "2"), ("r", "1")])]);
        let facts: Vec<&str> = difference.facts.iter().map(|change| &*change.fact).collect();
        assert_eq!(facts, ["build of p"]);
    }

    #[test]
    fn with_few_runs_only_sums_of_times_are_shown() {
        let log = |ms: u64| {
            let timed = |test: &str, ms| {
                changed(result(test, Outcome::Passed), |r| {
                    r.attempt.duration = Duration::from_millis(ms)
                })
            };
            run(vec![timed("s::a@d", ms), timed("s::b@d", ms), timed("t::c@d", 5)])
        };
        let timed = |logs: &[RunLog]| {
            let mut side = Side::default();
            for log in logs {
                side.add(log);
                log.results
                    .iter()
                    .for_each(|result| side.add_time(&result.test, result.attempt.duration));
            }
            side
        };
        let (a, b) = (timed(&[log(100)]), timed(&[log(300)]));
        let difference = Difference::new(&a, &b, None).unwrap();
        assert!(difference.is_empty());
        assert_snapshot!(text(&difference));
        let (a, b) = (vec![log(100); 5], vec![log(100); 5]);
        let difference = Difference::new(&timed(&a), &timed(&b), None).unwrap();
        assert_snapshot!(text(&difference));
    }
}
