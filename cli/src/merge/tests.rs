//! Merged logs of made-up runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clmatrix_runner::log::LOG;
use clmatrix_runner::log::events::{DeviceLost, Started};
use clmatrix_runner::log::plan::{PlannedDevice, PlannedTests};
use clmatrix_runner::log::sample::{self, TIME, device, device_record, header, judged, result};
use clmatrix_runner::report::junit_path;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::shard::{Shard, ShardRule};
use clmatrix_runner::verdict::{ExpectedStatus, Outcome, Verdict};
use insta::assert_snapshot;

use super::input::Input;
use super::*;
use crate::report;
use crate::report::matrix::{Layout, ShownOutput, matrix};
use crate::report::tally::wall_time;

/// A run of some tests on some devices.
struct Run {
    header: RunHeader,
    /// Ids and driver versions.
    devices: Vec<(&'static str, &'static str)>,
    tests: Vec<&'static str>,
    events: Vec<Event>,
}

impl Run {
    fn new(host: &str, shard: Option<(u32, u32)>, tests: &[&'static str]) -> Self {
        let rule = ShardRule::Hash;
        let shard = shard.map(|(index, total)| Shard { index, total, rule });
        let header = RunHeader {
            run_id: format!("run-of-{host}"),
            host: host.to_owned(),
            shard,
            build_id: Some("aa".to_owned()),
            ..header(Vec::new())
        };
        Self { header, devices: vec![("d", "3.1")], tests: tests.to_vec(), events: Vec::new() }
    }

    fn passed(mut self, tests: &[&str]) -> Self {
        for test in tests {
            self.events.push(finished(result(test, Outcome::Passed)));
        }
        self
    }

    fn and(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    fn ended(self) -> Self {
        let duration = Duration::from_secs(9);
        let counts = std::collections::BTreeMap::new();
        let end = End { interrupted: false, duration, exit_status: 0, counts };
        self.and(Event::End(end))
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let tests = self.tests.iter().map(|test| PlannedTest::unplanned(test)).collect();
        let last = (self.tests.len() as u32).saturating_sub(1);
        let mut events = vec![Event::Run(Box::new(self.header.clone()))];
        for (id, driver) in &self.devices {
            let mut device = device(id, "PoCL");
            device.info.driver_version = (*driver).to_owned();
            let record = device_record(device, &self.header.host);
            events.push(Event::Device(Box::new(record)));
        }
        events.push(Event::Plan(PlannedTests { tests }));
        for (id, _) in &self.devices {
            let ranges = if self.tests.is_empty() { Vec::new() } else { vec![(0, last)] };
            events.push(Event::PlanDevice(PlannedDevice { device: (*id).to_owned(), ranges }));
        }
        events.extend(self.events.iter().cloned());
        let lines = events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n");
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(LOG);
        fs::write(&path, lines.collect::<String>()).unwrap();
        path
    }
}

fn finished(result: TestResult) -> Event {
    Event::finished(result)
}

/// Writes the logs of the runs, and reads their beginnings.
fn inputs(folder: &Path, runs: &[Run]) -> Vec<Input> {
    let paths =
        runs.iter().enumerate().map(|(number, run)| run.write(&folder.join(number.to_string())));
    paths.map(|path| Input::read(&path).unwrap()).collect()
}

/// Merges, and checks that the log says the same as its sum.
fn written(merge: &Merge, folder: &Path) -> RunLog {
    let path = folder.join("merged.jsonl");
    let mut sum = merge.write(File::create(&path).unwrap(), "merged").unwrap();
    sum.files = vec![path.clone()];
    let read = RunLog::read(&path).unwrap();
    assert_eq!(read, sum);
    read
}

fn expectation(number: u32, reason: &str) -> Event {
    let expectation = WrittenExpectation {
        number,
        file: "e.toml".to_owned(),
        line: 1,
        keys: std::collections::BTreeMap::new(),
        status: ExpectedStatus::Fail.into(),
        reason: reason.to_owned(),
    };
    Event::Expectation(expectation.into())
}

#[test]
fn shards_make_the_run_that_they_are_parts_of() {
    let folder = tempfile::tempdir().unwrap();
    let started = Event::Started(Started {
        test: 1,
        device: "d".to_owned(),
        time: SystemTime::UNIX_EPOCH + 2 * TIME,
        attempt: 1,
        worker: Some(1),
        slot: None,
        pid: None,
    });
    let resumed = Event::Run(Box::new(RunHeader {
        host: "third".to_owned(),
        parent: Some(sample::goes_on_with("run-of-one")),
        ..sample::header(Vec::new())
    }));
    let known = sample::expectation(ExpectedStatus::Fail, "bug 7");
    let failed = sample::failed("no");
    let expected = judged("t::d@d", failed, Some(known));
    let runs = [
        Run::new("one", Some((2, 2)), &["s::b", "t::d"])
            .passed(&["s::b@d"])
            .and(started)
            .and(resumed)
            .and(expectation(1, "bug 7"))
            .and(finished(expected))
            .ended(),
        Run::new("other", Some((1, 2)), &["s::a", "t::c"])
            .and(expectation(1, "bug 8"))
            .passed(&["s::a@d", "t::c@d"])
            .ended(),
    ];
    let inputs = inputs(folder.path(), &runs);
    let log = written(&Merge::of_shards(inputs).unwrap(), folder.path());
    let results: Vec<_> = log
        .results
        .iter()
        .map(|result| {
            (&*result.test, result.verdict, result.host.as_deref(), result.attempt.worker)
        })
        .collect();
    let expected = [
        ("s::a@d", Verdict::Pass, Some("other"), Some(1)),
        ("s::b@d", Verdict::Pass, Some("one"), Some(2)),
        ("t::c@d", Verdict::Pass, Some("other"), Some(1)),
        ("t::d@d", Verdict::ExpectedFail, Some("third"), Some(2)),
    ];
    assert_eq!(results, expected);
    let known = log.results[3].expectation.as_ref().map(|known| (known.number, &*known.reason));
    assert_eq!(known, Some((2, "bug 7")), "that of the second shard");
    assert_eq!((log.exit_status(), log.has_ended, log.interrupted), (0, true, false));
    assert_eq!((log.header.devices.len(), &log.header.shard), (1, &None));
    assert_eq!((&*log.header.host, &*log.header.run_id), ("other, one", "merged"));
    let merged: Vec<&str> = log.header.merged.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!(merged, ["run-of-other", "run-of-one"]);
    report::write_all(&log, folder.path(), None).unwrap();
    let xml = fs::read_to_string(junit_path(folder.path(), "d")).unwrap();
    for hosts in ["other, one", "other, third"] {
        assert!(xml.contains(&format!("hostname=\"{hosts}\"")), "{xml}");
    }
}

#[test]
fn a_shard_without_its_end_makes_the_run_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [
        Run::new("one", Some((1, 2)), &["s::a", "s::c"]).passed(&["s::a@d"]),
        Run::new("one", Some((2, 2)), &["s::b"]).passed(&["s::b@d"]).ended(),
    ];
    let merge = Merge::of_shards(inputs(folder.path(), &runs)).unwrap();
    let log = written(&merge, folder.path());
    assert_eq!((log.exit_status(), log.interrupted), (3, true));
    assert_eq!(log.results[2].verdict, Verdict::NotRun);
}

#[test]
fn the_longest_part_is_the_time_of_a_run_of_hosts_whose_clocks_differ() {
    let folder = tempfile::tempdir().unwrap();
    let later = |run: Run, test: &str| {
        let mut result = result(test, Outcome::Passed);
        result.attempt.started += Duration::from_secs(3650 * 24 * 60 * 60);
        result.attempt.duration = Duration::from_secs(5);
        let time = result.attempt.started;
        Run { header: RunHeader { time, ..run.header }, ..run }.and(finished(result))
    };
    for (host, expected) in [("two", 5), ("one", 9)] {
        let runs = [
            later(Run::new("one", Some((1, 2)), &["s::a"]), "s::a@d"),
            Run::new(host, Some((2, 2)), &["s::b"]).passed(&["s::b@d"]).ended(),
        ];
        let merge = Merge::of_shards(inputs(folder.path(), &runs)).unwrap();
        let log = written(&merge, folder.path());
        assert_eq!(log.duration, Duration::from_secs(9), "one was killed after 5 s");
        let results: Vec<_> = log.results.iter().collect();
        assert_eq!(wall_time(&log, &results), Some(Duration::from_secs(expected)), "{host}");
    }
}

#[test]
fn the_matrix_names_the_host_of_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let failed = sample::failed("no");
    let runs = [
        Run::new("one", Some((1, 2)), &["s::a"]).passed(&["s::a@d"]).ended(),
        Run::new("two", Some((2, 2)), &["s::b"]).and(finished(result("s::b@d", failed))).ended(),
    ];
    let merge = Merge::of_shards(inputs(folder.path(), &runs)).unwrap();
    let log = written(&merge, folder.path());
    let layout = Layout::of_terminal(None, ShownOutput::Hidden, false, true);
    let text = matrix(&log, layout);
    assert!(text.contains("  no\n  host: two\n") && !text.contains("host: one"), "{text}");
    assert_eq!(log.exit_status(), 1);
}

#[test]
fn shards_that_make_no_run_are_refused() {
    let shard = |index, total| Run::new("h", Some((index, total)), &["s::a"]);
    let with = |mut run: Run, change: fn(&mut Run)| {
        change(&mut run);
        run
    };
    let differing = |change| vec![shard(1, 2), with(shard(2, 2), change)];
    fn select(run: &mut Run, tests: &[&str]) {
        run.header.selected_tests = Some(tests.iter().copied().collect());
    }
    let refused = [
        vec![shard(1, 3), shard(3, 3)],
        vec![shard(2, 4)],
        vec![shard(1, 2), shard(2, 2), shard(2, 2)],
        vec![shard(1, 2), shard(2, 3)],
        differing(|run| {
            let rule = ShardRule::Balanced("r7".to_owned());
            run.header.shard = run.header.shard.take().map(|shard| Shard { rule, ..shard });
        }),
        differing(|run| run.header.build_id = Some("bb".to_owned())),
        differing(|run| run.header.filter = vec!["s::".to_owned()]),
        differing(|run| select(run, &["s::a", "s::b"])),
        vec![
            with(shard(1, 2), |run| select(run, &["s::a", "s::c"])),
            with(shard(2, 2), |run| select(run, &["s::a", "s::b"])),
        ],
        differing(|run| run.header.include_ignored = true),
        differing(|run| run.header.run_skipped = true),
        differing(|run| run.header.profile = Some("ci".to_owned())),
        differing(|run| run.devices = vec![("d", "3.2")]),
        differing(|run| run.devices = vec![("e", "3.1")]),
        vec![Run::new("h", None, &["s::a"]), Run::new("i", None, &["s::a"])],
    ];
    let errors = refused.map(|runs| {
        let folder = tempfile::tempdir().unwrap();
        let error = Merge::of_shards(inputs(folder.path(), &runs)).err().unwrap().to_string();
        error.replace(&folder.path().display().to_string(), "")
    });
    assert_snapshot!(errors.join("\n"));
}

#[test]
fn devices_of_different_hosts_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let run = |host| Run {
        devices: vec![("d0", "1"), ("d1", "1"), ("d2", "1"), ("d3", "1")],
        ..Run::new(host, None, &["s::a"])
    };
    let ids = ["s::a@d0", "s::a@d1", "s::a@d2"];
    let lost = Event::DeviceLost(DeviceLost {
        device: "d3".to_owned(),
        reason: "no answer".to_owned(),
        after: Some("s::a@d2".into()),
        suspects: vec!["s::a@d3".into()],
    });
    let runs = [run("one").passed(&ids).and(lost).ended(), run("other").passed(&ids).ended()];
    let expected = ["one".to_owned(), "other".to_owned()];
    let merge = Merge::of_hosts(inputs(folder.path(), &runs), &expected).unwrap();
    let log = written(&merge, folder.path());
    let devices: Vec<&str> = log.header.devices.iter().map(|device| device.id.as_str()).collect();
    let expected =
        ["d0%one", "d1%one", "d2%one", "d3%one", "d0%other", "d1%other", "d2%other", "d3%other"];
    assert_eq!(devices, expected);
    assert_eq!(log.results.len(), 8);
    let passes = log.results.iter().filter(|result| result.verdict == Verdict::Pass);
    assert_eq!(passes.count(), 6);
    assert_eq!(log.lost[0].device, "d3%one");
    let suspect = log.results.iter().find(|result| result.test == "s::a@d3%one").unwrap();
    assert!(log.is_suspect(suspect));
}

#[test]
fn a_merged_run_is_full_if_all_its_runs_are() {
    let folder = tempfile::tempdir().unwrap();
    let whole = |host| Run::new(host, None, &["s::a"]).passed(&["s::a@d"]).ended();
    let mut listed = whole("two");
    listed.header.selected_tests = Some(std::iter::once("s::a").collect());
    for (runs, is_full) in [([whole("one"), whole("two")], true), ([whole("one"), listed], false)] {
        let merge = Merge::of_hosts(inputs(folder.path(), &runs), &[]).unwrap();
        assert_eq!(merge.is_full(), is_full);
        assert_eq!(!written(&merge, folder.path()).header.is_filtered(), is_full);
    }
}

#[test]
fn hosts_that_are_missing_or_there_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |host| Run::new(host, None, &["s::a"]);
    let list = listed_hosts("one # the first\n\n other\nthird\n");
    let error = |runs: &[Run]| {
        Merge::of_hosts(inputs(folder.path(), runs), &list).err().unwrap().to_string()
    };
    assert_eq!(error(&[run("one"), run("other")]), "no run of these hosts: third");
    let twice = error(&[run("one"), run("one")]);
    assert!(twice.starts_with("a host has two runs: run run-of-one on one"), "{twice}");
    let shard = error(&[Run::new("one", Some((1, 2)), &["s::a"])]);
    assert!(shard.contains("merge its shards first"), "{shard}");
}
