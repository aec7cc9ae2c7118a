//! Runs of a part of the tests: from a file, those of an earlier run, and shards.

use std::collections::BTreeSet;
use std::path::Path;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::selected_tests::SelectedTests;
use clmatrix_runner::shard::{Shard, ShardRule};

use crate::event_log::PASSING;
use crate::support::{COMMAND, Folder, LIBTEST, child, log, output};
use crate::{check, cpu};

/// The paths of the tests with a result.
fn paths(log: &RunLog) -> BTreeSet<String> {
    log.results.iter().map(|result| result.test.path().to_owned()).collect()
}

/// The id of the run whose tests ran again.
fn parent(log: &RunLog) -> Option<&str> {
    log.header.parent.as_ref().filter(|parent| !parent.goes_on).map(|parent| &*parent.run_id)
}

check!(failed_tests_of_a_file_run_again, {
    let folder = Folder::new();
    let failing = ["fails_an_assertion", "returns_an_error", "panics_otherwise"];
    let failing = failing.map(|test| format!("faulty::{test}"));
    let passing = ["faulty::run", "faulty::panics_as_announced"];
    let tests = folder.at("tests");
    let lines = [&failing.join("\n"), passing[0], passing[1]].join("\n");
    std::fs::write(&tests, lines).expect("the folder can be written");
    let tests = tests.to_str().expect("text");

    let first = output(folder.run(&["--tests", tests, "--devices", cpu::platform()]));
    assert_eq!(first.status.code(), Some(1), "{}", first.stderr);
    let first = folder.log();
    assert_eq!(first.results.len(), 5);
    let listed: SelectedTests = failing.iter().map(String::as_str).chain(passing).collect();
    assert_eq!(first.header.selected_tests, Some(listed));

    let again = output(folder.run(&["--rerun", "failed", "--devices", cpu::platform()]));
    assert_eq!(again.status.code(), Some(1), "{}", again.stderr);
    let again = folder.log();
    assert_eq!(paths(&again), failing.into());
    assert_eq!(again.results.len(), 3);
    let failed: SelectedTests = again.results.iter().map(|result| &*result.test).collect();
    assert_eq!(again.header.selected_tests, Some(failed));
    assert_eq!(parent(&again), Some(first.header.run_id.as_str()));

    let none = output(folder.run(&["--rerun", "flaky"]));
    assert_eq!(none.status.code(), Some(2));
    assert!(none.stderr.contains("has no such test"), "{}", none.stderr);
});

/// Runs a shard as Bazel does; returns its log.
fn run_in_bazel(folder: &Path, index: &str) -> RunLog {
    let mut command = child(COMMAND, &["run", "--shard", "auto", "--devices", cpu::platform()]);
    command.args(PASSING);
    command.env("TEST_SHARD_INDEX", index).env("TEST_TOTAL_SHARDS", "2");
    command.env("TEST_SHARD_STATUS_FILE", folder.join("status"));
    command.env("XML_OUTPUT_FILE", folder.join("test.xml"));
    command.env("TEST_UNDECLARED_OUTPUTS_DIR", folder);
    let ended = output(command);
    assert!(ended.stderr.contains("by Bazel's TEST_SHARD_INDEX"), "{}", ended.stderr);
    let index: u32 = index.parse().expect("a number");
    let reports = folder.join(format!("shard-{}-of-2", index + 1));
    let log = log(&reports);
    assert_eq!(log.header.shard, Some(Shard { index: index + 1, total: 2, rule: ShardRule::Hash }));
    let xml = std::fs::read_to_string(folder.join("test.xml")).expect("a file");
    assert_eq!(xml.matches("<testcase ").count(), log.results.len());
    assert!(folder.join("status").is_file());
    log
}

check!(bazel_gets_the_files_of_its_shard, {
    let folder = Folder::new();
    let logs = ["0", "1"].map(|index| run_in_bazel(folder.path(), index));
    let [first, second] = logs.map(|log| paths(&log));
    assert!(first.is_disjoint(&second) && !first.is_empty() && !second.is_empty());
    let all = PASSING.map(|test| test.trim_end_matches('@').to_owned());
    assert_eq!(&first | &second, all.into());
});

// The two parts of a target are as those of the command.
check!(targets_have_the_shards_of_engines, {
    let configs = Folder::new();
    let auto = configs.write("clmatrix.toml", "[profile.default]\nshard = \"auto\"\n");
    let plain = configs.write("plain.toml", "");
    let passing = PASSING.map(|test| test.trim_end_matches('@'));
    let bazel = ["TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"];
    let buildkite = ["BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT"];
    for (config, names, is_divided) in
        [(&plain, bazel, true), (&auto, buildkite, true), (&plain, buildkite, false)]
    {
        let folder = Folder::new();
        let part = |(index, shard): (&str, &str)| {
            let mut command = child(LIBTEST, &[&["--exact"], &passing[..]].concat());
            command.env("CLMATRIX_TEST", cpu::platform()).env("CLMATRIX_CONFIG", config);
            command.env(names[0], index).env(names[1], "2");
            command.env("CLMATRIX_REPORT_DIR", folder.path());
            command.env("TEST_SHARD_STATUS_FILE", folder.at("status"));
            command.env("XML_OUTPUT_FILE", folder.at("test.xml"));
            assert_eq!(output(command).status.code(), Some(0), "{index}");
            let reports = folder.at("clmatrix-cli/faults");
            log(&if is_divided { reports.join(shard) } else { reports })
        };
        let logs = [("0", "shard-1-of-2"), ("1", "shard-2-of-2")].map(part);
        let [first, second] = logs.each_ref().map(paths);
        assert_eq!(&first | &second, passing.map(str::to_owned).into());
        assert_eq!(first.is_disjoint(&second), is_divided);
        assert_eq!(logs[1].header.shard.as_ref().map(|shard| shard.index), is_divided.then_some(2));
        let has = ["status", "test.xml"].map(|file| folder.at(file).exists());
        assert_eq!(has, [names == bazel; 2]);
    }
});

check!(a_shard_may_have_no_test, {
    let folder = Folder::new();
    let few = ["faulty::passes@", "--shard", "3/64", "--devices", cpu::platform()];
    let empty = output(folder.run(&few));
    assert_eq!(empty.status.code(), Some(0), "{}", empty.stderr);
    assert_eq!(log(&folder.at("shard-3-of-64")).results, []);
});

check!(failed_tests_of_a_shard_run_again, {
    let folder = Folder::new();
    let in_shard = |arguments: &[&str]| {
        output(folder.run(&["--shard", "1/1", "--devices", cpu::platform()]).args(arguments))
    };
    let tests = ["faulty::passes@", "faulty::returns_an_error@"];
    assert_eq!(in_shard(&tests).status.code(), Some(1));
    let shard = folder.at("shard-1-of-1");
    let first = log(&shard);
    let again = in_shard(&["--rerun", "failed"]);
    assert_eq!(again.status.code(), Some(1), "{}", again.stderr);
    let again = log(&shard);
    assert_eq!(paths(&again), ["faulty::returns_an_error".to_owned()].into());
    assert_eq!(parent(&again), Some(first.header.run_id.as_str()));
    // A run of another folder is found as well.
    let whole = output(folder.run(&["--devices", cpu::platform(), tests[1]]));
    assert_eq!(whole.status.code(), Some(1), "{}", whole.stderr);
    let whole = folder.log().header.run_id;
    let again = in_shard(&["--rerun", "all", &whole]);
    assert_eq!(again.status.code(), Some(1), "{}", again.stderr);
    assert_eq!(parent(&log(&shard)), Some(whole.as_str()));
});

// The device, the shard and the earlier run of a filter's test do not matter.
check!(a_filter_without_a_test_is_exit_2, {
    let folder = Folder::new();
    let passes = "faulty::passes@";
    let tests = folder.write("tests", "faulty::passes\n").display().to_string();
    for (filters, options, expected) in [
        (&[passes, ""][..], &[][..], Some("error: a FILTER is empty")),
        (&[passes, "a::"], &["--shard", "3/64"], Some("no test matches a::")),
        (&[&cpu::id(), "faulty::r?n"], &["--tests", &tests], None),
        (&[passes, "faulty::run"], &["--rerun", "all"], None),
        (&[passes, "a::"], &["--rerun", "all"], Some("no test matches a::")),
    ] {
        let run = output(folder.run(&[filters, options].concat()));
        let list = output(child(COMMAND, &[&["list"], filters].concat()));
        for ended in [Some(run), expected.map(|_| list)].into_iter().flatten() {
            assert_eq!(ended.status.code(), Some(expected.map_or(0, |_| 2)), "{ended:?}");
            assert!(ended.stderr.contains(expected.unwrap_or_default()), "{ended:?}");
        }
    }
});
