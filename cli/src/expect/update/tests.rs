//! Updates of generated configurations by generated logs.

use std::fs;
use std::time::Duration;

use clmatrix_runner::config::judge;
use clmatrix_runner::config::sample::Project;
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::log::sample::{
    TIME, changed, device, flaky, passes_alone, plan_at, result, run_log,
};
use clmatrix_runner::result::blame::Blame;
use clmatrix_runner::result::crash_cause::CrashCause;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Location, Outcome, Verdict};

use super::*;

/// PoCL 3.1 with the id `d`, and rusticl 22.3.6 with the id `r`.
fn devices() -> Vec<RunDevice> {
    let mut rusticl = device("r", "rusticl");
    rusticl.info.driver_version = "22.3.6".to_owned();
    vec![device("d", "PoCL"), rusticl]
}

fn log(results: Vec<TestResult>) -> RunLog {
    run_log(devices(), results, Duration::ZERO)
}

fn failed() -> Outcome {
    let location = Some(Location { file: "suites/src/s.rs".into(), line: 41 });
    Outcome::Failed { message: "assertion failed: \"a\"\nmore".to_owned(), location }
}

fn crashed() -> Outcome {
    Outcome::signal("SIGSEGV")
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + TIME
}

/// Updates a project by these logs, checks that they are as expected then and that another update changes
/// nothing, and returns the files by their names, but for that of the tests that were tried.
fn updated(files: &[(&str, &str)], logs: &[RunLog]) -> Vec<(String, String)> {
    let mut files = updated_all(files, logs);
    files.retain(|(name, _)| name != "tried.toml");
    files
}

/// Updates a project as [`updated`], and returns all its files.
fn updated_all(files: &[(&str, &str)], logs: &[RunLog]) -> Vec<(String, String)> {
    let project = Project::new(&[&[("clmatrix.toml", "")], files].concat());
    let folder = project.path("expectations");
    let update = || {
        let files = project.config().unwrap().expectation_files;
        update(
            &files,
            &folder,
            logs,
            &|_| false,
            &["s::never_run".to_owned(), "s::never_run::case_3".to_owned()],
            now(),
        )
        .unwrap()
    };
    let first = update();
    fs::create_dir_all(&folder).unwrap();
    first.files.own.iter().for_each(|(path, text)| fs::write(path, text).unwrap());
    let second = update();
    assert!(second.changes.is_empty(), "{:?}", second.changes);
    let expectations = project.config().unwrap().expectations;
    for log in logs.iter().filter(|log| !log.interrupted && log.lost.is_empty()) {
        let for_run = RunExpectations::new(&expectations, log, &|_| false);
        for result in log.results.iter().filter(|result| result.verdict != Verdict::NotRun) {
            let (test, device) = (result.test.path(), result.test.device());
            let expectation = for_run.on(device).lookup(test);
            let attempts = result.earlier.iter().chain([result]);
            let is_own = |attempt: &&TestResult| {
                let killed = Outcome::Crashed { cause: CrashCause::Killed };
                !attempt.blame.is_doubtful() && attempt.attempt.outcome != killed
            };
            for attempt in attempts.filter(is_own) {
                assert!(
                    judge(&attempt.attempt.outcome, expectation.as_ref()).is_as_expected(),
                    "{}",
                    result.test
                );
            }
        }
    }
    let name = |path: PathBuf| path.strip_prefix(&folder).unwrap().display().to_string();
    first.files.own.into_iter().map(|(path, text)| (name(path), text)).collect()
}

/// Updates the file `a.toml`.
fn updated_file(text: &str, logs: &[RunLog]) -> String {
    let mut files = updated(&[("expectations/a.toml", text)], logs);
    let added = files.split_off(1).into_iter().map(|(_, text)| format!("\n{text}"));
    files.remove(0).1 + &added.collect::<String>()
}

const FOUR: &str = "# Of PoCL.\n\n[[expect]]  # odd\n  test   = 's::a'\n\tstatus='fail'\nreason = 'x'   \n  \n\
    \n# About b.\n[[expect]]\ntest = 's::b'\nplatform='PoCL'  # here\nstatus = [ 'fail' , 'crash', ]\n\
    reason = '''of\nb'''\n[[expect]]\ntest = 's::c'\nstatus = 'fail'\nreason = 'x'\n\n\n\
    [[expect]]\ntest = 's::d'\nstatus = 'skip'\nreason = 'x'\n# the end";

/// A run in which the entries of [`FOUR`] are as expected, but for `b`.
fn run_of_four(b: Outcome) -> RunLog {
    let skipped = Outcome::Skipped { reason: "x".to_owned() };
    log(vec![
        result("s::a@d", failed()),
        result("s::b@d", b),
        result("s::c@d", failed()),
        result("s::d@d", skipped),
    ])
}

#[test]
fn one_of_four_entries_changes_and_all_other_bytes_stay() {
    let passes = updated_file(FOUR, &[run_of_four(Outcome::Passed)]);
    let platform = "platform='PoCL'  # here\n";
    let narrowed = FOUR.replace(platform, &format!("{platform}driver-version = \"<3.1\"\n"));
    assert_eq!(passes, narrowed);

    let of_version = FOUR.replace("platform='PoCL'", "platform='PoCL'\ndriver-version=' =3.1 '");
    let passes = updated_file(&of_version, &[run_of_four(Outcome::Passed)]);
    let (before, rest) = of_version.split_once("[[expect]]\ntest = 's::b'").unwrap();
    let (_, after) = rest.split_once("b'''\n").unwrap();
    assert_eq!(passes, [before, after].concat(), "the entry goes, the comment stays");

    let hangs = Outcome::TimedOut { limit: Duration::from_secs(20) };
    let added = "\n\n[[expect]]\ntest = \"s::b\"\nplatform = \"PoCL\"\ndriver-version = \"=3.1\"\n\
        status = \"timeout\"\ntimeout = \"2s\"\nreason = \"did not end within 20s\"\n";
    assert_eq!(updated_file(FOUR, &[run_of_four(hangs)]), format!("{FOUR}{added}"));
    assert_eq!(updated_file(FOUR, &[run_of_four(crashed())]), FOUR);
}

#[test]
fn an_unexpected_result_gets_an_entry_with_its_status_reason_and_place() {
    let entry = |device: &str, status: &str, reason: &str| {
        format!("[[expect]]\ntest = \"s::t\"\n{device}\nstatus = {status}\nreason = {reason}\n")
    };
    let pocl = "platform = \"PoCL\"\ndriver-version = \"=3.1\"";
    let assertion = "'assertion failed: \"a\" more, at suites/src/s.rs:41'";
    let either = "[\"pass\", \"fail\"]";
    let cases = [
        (result("s::t@d", failed()), entry(pocl, "\"fail\"", assertion)),
        (flaky("s::t@d", failed()), entry(pocl, either, assertion)),
        (
            result("s::t@d", Outcome::Failed { message: "\n".to_owned(), location: None }),
            entry(pocl, "\"fail\"", "\"It fails\""),
        ),
        (result("s::t@host", failed()), entry("id = \"host\"", "\"fail\"", assertion)),
    ];
    for (result, expected) in cases {
        let name = format!("{}.toml", result.test.device());
        assert_eq!(updated(&[], &[log(vec![result.clone()])]), [(name, expected)], "{result:?}");
    }
    for (second, status) in [(crashed(), "\"crash\""), (Outcome::Passed, "[\"pass\", \"crash\"]")] {
        let mut repeated = result("s::t@d", crashed());
        repeated.add_repeated(result("s::t@d", second));
        assert_eq!(updated(&[], &[log(vec![repeated])])[0].1, entry(pocl, status, "\"SIGSEGV\""));
    }
    let mut run = log(vec![result("s::t@d", crashed())]);
    plan_at(&mut run, "s::t", "suites/src/s.rs", 7);
    let at_source = "\"SIGSEGV, at suites/src/s.rs:7\"";
    assert_eq!(updated(&[], &[run])[0].1, entry(pocl, "\"crash\"", at_source));
    // Two runs, and two devices of one platform and version.
    let [passes, fails] =
        [Outcome::Passed, failed()].map(|outcome| log(vec![result("s::t@d", outcome)]));
    assert_eq!(updated(&[], &[passes, fails])[0].1, entry(pocl, either, assertion));
    let devices = vec![device("d", "PoCL"), device("e", "PoCL")];
    let results = vec![result("s::t@d", Outcome::Passed), result("s::t@e", failed())];
    let run = run_log(devices, results, Duration::ZERO);
    assert_eq!(updated(&[], &[run])[0].1, entry(pocl, either, assertion));
    // A crash that may have another cause is no attempt if the test does not crash alone.
    let doubtful = || vec![TestResult { blame: Blame::OtherTests, ..result("s::t@d", crashed()) }];
    let second = |outcome| changed(result("s::t@d", outcome), |r| r.attempt.number = 2);
    let crashes = TestResult { earlier: doubtful(), ..second(crashed()) };
    assert_eq!(updated(&[], &[log(vec![crashes])])[0].1, entry(pocl, "\"crash\"", "\"SIGSEGV\""));
    let fails = TestResult { earlier: doubtful(), ..second(failed()) };
    assert_eq!(updated(&[], &[log(vec![fails])])[0].1, entry(pocl, "\"fail\"", assertion));
    assert!(updated(&[], &[log(vec![passes_alone("s::t@d")])]).is_empty());
    // The run was cut short before the test ran alone.
    assert!(updated(&[], &[log(doubtful())]).is_empty());
    let killed = Outcome::Crashed { cause: CrashCause::Killed };
    assert!(updated(&[], &[log(vec![result("s::t@d", killed.clone())])]).is_empty());
    let killed_first = TestResult { earlier: vec![result("s::t@d", killed)], ..second(failed()) };
    assert_eq!(updated(&[], &[log(vec![killed_first])])[0].1, entry(pocl, "\"fail\"", assertion));
    let not_again = Outcome::not_run("hang budget");
    let guessed = TestResult { earlier: doubtful(), ..second(not_again) };
    assert!(updated(&[], &[log(vec![guessed])]).is_empty());
    // An entry for just these.
    let known = entry(pocl, "\"crash\"", "'x'");
    let run = log(vec![result("s::t@d", failed())]);
    assert_eq!(updated_file(&known, &[run]), known.replace("\"crash\"", "[\"fail\", \"crash\"]"));
    // A name with an @.
    let text = &updated(&[], &[log(vec![result("s::a@b@d", failed())])])[0].1;
    assert!(text.starts_with("[[expect]]\ntest = \"s::a[@]b\"\n"), "{text}");
    // The last line of the driver.
    let said = changed(result("s::t@d", crashed()), |r| {
        r.attempt.stderr = "a\nassertion `p'\n".to_owned()
    });
    let reason = "\"SIGSEGV: assertion `p'\"";
    assert_eq!(updated(&[], &[log(vec![said])])[0].1, entry(pocl, "\"crash\"", reason));
}

#[test]
fn cases_that_went_wrong_alike_share_an_entry() {
    let message = |text: &str| Outcome::Failed { message: text.to_owned(), location: None };
    let hangs = || Outcome::TimedOut { limit: Duration::from_secs(60) };
    let passes = |test: &str, seconds| {
        changed(result(test, Outcome::Passed), |r| {
            r.attempt.duration = Duration::from_millis(seconds)
        })
    };
    let results = vec![
        result("s::t::case_1@d", message("left: 1")),
        result("s::t::case_2@d", message("left: 2")),
        result("s::t::case_3@d", message("right: 1")),
        passes("s::t::case_4@d", 10),
        result("s::u::_a_1::_b_1@d", message("left: 1")),
        result("s::u::_a_1::_b_2@d", message("left: 1")),
        result("s::h::case_1@d", hangs()),
        result("s::h::case_2@d", hangs()),
        passes("s::h::case_3@d", 1500),
    ];
    let mut run = log(results);
    for (function, line) in [("t", 7), ("u", 9), ("h", 11)] {
        let paths = run.results.iter().map(|result| result.test.path().to_owned());
        let of = |test: &String| test.starts_with(&format!("s::{function}::"));
        let tests: Vec<_> = paths.filter(of).collect();
        tests.iter().for_each(|test| plan_at(&mut run, test, "s.rs", line));
    }
    let text = &updated(&[], &[run])[0].1;
    let entries: toml::Table = toml::from_str(text).unwrap();
    let entries = entries["expect"].as_array().unwrap();
    let keys = |key: &str| -> Vec<_> {
        let value =
            |entry: &toml::Value| entry.get(key).map(|value| value.as_str().unwrap().to_owned());
        entries.iter().map(value).collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        keys("test"),
        ["s::t::{case_1,case_2}", "s::t::case_3", "s::u::_a_1::*", "s::h::{case_1,case_2}"]
            .map(some)
    );
    assert_eq!(keys("timeout"), [None, None, None, some("5s")]);
    // A case that is in no run is not known to go wrong.
    let mut part = log(vec![
        result("s::never_run::case_1@d", message("no")),
        result("s::never_run::case_2@d", message("no")),
    ]);
    plan_at(&mut part, "s::never_run::case_1", "s.rs", 7);
    plan_at(&mut part, "s::never_run::case_2", "s.rs", 7);
    let text = &updated(&[], &[part])[0].1;
    assert!(text.contains("test = \"s::never_run::{case_1,case_2}\""), "{text}");
    assert_eq!(keys("reason")[0], some("left: 1, at s.rs:7"));
}

#[test]
fn an_entry_of_another_version_is_narrowed_by_passes() {
    let at = |versions: &str| {
        format!(
            "[[expect]]\ntest = 's::t'\nplatform = 'PoCL'\ndriver-version = {versions}\n\
                 status = 'fail'\nreason = 'x'\n"
        )
    };
    let run = |outcome| log(vec![result("s::t@d", outcome)]);
    for (versions, passed) in [
        ("'5.0*'", "\"5.0*, >3.1\""),
        ("'2.*, >1, <9'", "\"2.*, >1.0, <3.1\""),
        ("'{3.1,5.0}*'", "\"{3.1,5.0}*, >3.1\""),
        ("'=2.1'", "\"=2.1, <3.1\""),
        // Between others.
        ("'{3.0,5.0}*'", "'{3.0,5.0}*'"),
    ] {
        assert_eq!(updated_file(&at(versions), &[run(Outcome::Passed)]), at(passed), "{versions}");
        if !versions.contains("3.1") && !versions.contains('<') {
            let seen = format!("\"{}, =3.1\"", versions.trim_matches('\''));
            assert_eq!(updated_file(&at(versions), &[run(failed())]), at(&seen));
        }
    }
    // A second version, and then the first again.
    let later = |outcome| {
        let mut run = run(outcome);
        run.header.devices[0].info.driver_version = "6.0".to_owned();
        run
    };
    let narrowed = updated_file(&at("'5.0*'"), &[run(Outcome::Passed), later(Outcome::Passed)]);
    assert_eq!(narrowed, at("\"5.0*, >3.1, <6.0\""));
    assert_eq!(updated_file(&narrowed, &[run(Outcome::Passed)]), narrowed);
    // Some of the tests of an entry pass on a newer driver.
    let two = at("'2.0*'").replace("s::t", "s::*");
    let results = vec![result("s::t@d", failed()), result("s::u@d", Outcome::Passed)];
    let own = "\n[[expect]]\ntest = \"s::t\"\nplatform = \"PoCL\"\ndriver-version = \"=3.1\"\n\
        status = \"fail\"\nreason = 'assertion failed: \"a\" more, at suites/src/s.rs:41'\n";
    assert_eq!(updated_file(&two, &[log(results)]), two.clone() + own);
    // Where entries count only at their versions.
    let project = Project::new(&[("clmatrix.toml", ""), ("expectations/a.toml", &at("'5.0*'"))]);
    let (files, folder) =
        (project.config().unwrap().expectation_files, project.path("expectations"));
    let strict = update(&files, &folder, &[run(failed())], &|_| true, &[], now()).unwrap();
    let [added, _tried] = &strict.changes[..] else { panic!("{:?}", strict.changes) };
    assert!(added.contains("driver-version = \"=3.1\""), "{added}");
}

#[test]
fn an_entry_names_the_device_if_another_of_the_driver_differs() {
    let run = |names: [&str; 2], outcomes: [Outcome; 2]| {
        let devices = ["d", "e"].into_iter().zip(names).map(|(id, name)| {
            let mut device = device(id, "PoCL");
            device.info.name = name.to_owned();
            device
        });
        let tests = ["s::t@d", "s::t@e"].into_iter().zip(outcomes);
        let results = tests.map(|(test, outcome)| result(test, outcome)).collect();
        run_log(devices.collect(), results, Duration::ZERO)
    };
    let entry = |device: &str, status: &str| {
        format!(
            "[[expect]]\ntest = \"s::t\"\nplatform = \"PoCL\"\ndriver-version = \"=3.1\"\n{device}\
             status = {status}\n"
        )
    };
    let (basic, pthread) = ("device = \"basic\"\n", "device = \"pthread\"\n");
    let differ = ["basic", "pthread"];
    for (names, outcomes, expected) in [
        (differ, [failed(), Outcome::Passed], vec![entry(basic, "\"fail\"")]),
        (differ, [Outcome::Passed, failed()], vec![entry(pthread, "\"fail\"")]),
        (differ, [failed(), failed()], vec![entry("", "\"fail\"")]),
        (
            differ,
            [failed(), crashed()],
            vec![entry(basic, "\"fail\""), entry(pthread, "\"crash\"")],
        ),
        // Two cards of a kind.
        (["one"; 2], [Outcome::Passed, failed()], vec![entry("", "[\"pass\", \"fail\"]")]),
    ] {
        let files = updated(&[], &[run(names, outcomes)]);
        let without_reason = |(_, text): &(String, String)| -> String {
            let lines = text.lines().filter(|line| !line.starts_with("reason"));
            lines.map(|line| format!("{line}\n")).collect()
        };
        assert_eq!(files.iter().map(without_reason).collect::<Vec<_>>(), expected, "{names:?}");
    }
}

#[test]
fn an_update_records_the_tests_that_were_tried() {
    let tried = |tests: &str, version: &str| {
        let platform = "platform = \"PoCL\"";
        format!("[[tried]]\ntests = [{tests}]\n{platform}\ndriver-version = \"={version}\"\n")
    };
    let record = |files: &[(&str, &str)], logs: &[RunLog]| {
        let after = updated_all(files, logs);
        after.into_iter().find(|(name, _)| name == "tried.toml").map(|(_, text)| text)
    };
    let passes = |test| result(test, Outcome::Passed);
    let all = || vec![passes("r::a@d"), passes("r::b@d"), passes("s::t@d"), passes("alone@d")];
    // `s::never_run` is in no run.
    let whole = tried("\"alone\", \"r::*\", \"s::t\"", "3.1");
    assert_eq!(record(&[], &[log(all())]), Some(whole.clone()));
    let mut part = log(vec![passes("r::a@d")]);
    part.header.filter = vec!["r::a".to_owned()];
    assert_eq!(record(&[], &[part.clone()]), Some(tried("\"r::a\"", "3.1")));
    let cut = log(vec![passes("r::a@d"), result("r::b@d", Outcome::not_run("deadline"))]);
    assert_eq!(record(&[], &[cut]), Some(tried("\"r::a\"", "3.1")));
    assert_eq!(record(&[], &[log(vec![passes("r::a@host")])]), None);
    // A known version is not recorded again, and one of another driver is.
    let known = ("expectations/tried.toml", &*whole);
    assert_eq!(record(&[known], &[part.clone()]), Some(whole.clone()));
    part.header.devices[0].info.driver_version = "6.0".to_owned();
    let both = format!("{whole}\n{}", tried("\"r::a\"", "6.0"));
    assert_eq!(record(&[known], &[part]), Some(both));
}

#[test]
fn a_fault_of_another_version_is_an_own_one_after_an_update() {
    let seen = "[[expect]]\ntest = 's::{t,u}'\nplatform = 'PoCL'\ndriver-version = '2.0*, <9'\n\
        status = ['fail', 'crash']\nreason = 'x'\n";
    let both = log(vec![result("s::t@d", failed()), result("s::u@d", crashed())]);
    let here = seen.replace("'2.0*, <9'", "\"2.0*, <9, =3.1\"");
    assert_eq!(updated_file(seen, &[both]), here);
    // A flaky fault that was not seen here is unexpected from now on.
    let flaky = seen.replace("'fail',", "'pass',");
    let passes = log(vec![result("s::t@d", Outcome::Passed), result("s::u@d", Outcome::Passed)]);
    assert_eq!(updated_file(&flaky, &[passes]), flaky);
}

#[test]
fn nothing_is_taken_from_what_is_not_known() {
    let results = || vec![result("s::t@d", failed()), result("s::u@d", Outcome::Passed)];
    let known = "[[expect]]\ntest = 's::u'\nplatform = 'PoCL'\nstatus = 'fail'\nreason = 'x'\n";
    let lost = DeviceLost {
        device: "d".to_owned(),
        reason: "gone".to_owned(),
        after: Some("s::u@d".into()),
        suspects: vec!["s::t@d".into(), "s::u@d".into()],
    };
    let not_run = |test| result(test, Outcome::not_run("Ctrl-C"));
    for log in [
        RunLog { interrupted: true, ..log(results()) },
        RunLog { lost: vec![lost], ..log(results()) },
        log(vec![not_run("s::t@d"), not_run("s::u@d")]),
    ] {
        assert_eq!(updated_file(known, &[log]), known);
    }
    let project = Project::new(&[("clmatrix.toml", "")]);
    let files = project.config().unwrap().expectation_files;
    let of_worker = log(vec![result("worker::crash@d", crashed())]);
    let updated =
        update(&files, &project.path("expectations"), &[of_worker], &|_| false, &[], now());
    assert!(updated.unwrap().changes.is_empty());
}

#[test]
fn an_entry_goes_if_all_its_results_passed() {
    let entry = |test: &str, more: &str| {
        format!("[[expect]]\ntest = '{test}'\n{more}status = 'fail'\nreason = 'x'\n")
    };
    let exception = "\n[[expect]]\ntest = \"s::a\"\nplatform = \"PoCL\"\ndriver-version = \"=3.1\"\n\
        status = \"pass\"\nreason = \"passed with version 3.1\"\n";
    let passes = |test| result(test, Outcome::Passed);
    let both = log(vec![passes("s::a@d"), passes("s::b@d")]);
    let one = log(vec![passes("s::a@d"), result("s::b@d", failed())]);
    let elsewhere = log(vec![passes("s::a@d"), result("s::a@r", failed())]);
    let not_run = Outcome::not_run("Ctrl-C");
    let not_all_run = log(vec![passes("s::a@d"), result("s::b@d", not_run)]);
    let mut filtered = log(vec![passes("s::a@d")]);
    filtered.header.filter = vec!["s::a".to_owned()];
    let mut listed = log(vec![passes("s::a@d")]);
    listed.header.selected_tests = Some(std::iter::once("s::a").collect());
    let (all, a) = (entry("s::?", "vendor = '*'\n"), entry("s::a", "id = '*'\n"));
    let with_exception = |text: &str| format!("{text}{exception}");
    let with_absent = entry("s::{a,never_run}", "platform = 'PoCL'\n");
    let of_all_drivers = entry("s::a", "driver-version = '>=3.0, <4'\n");
    let of_versions =
        |range: &str| entry("s::a", &format!("platform = 'PoCL'\ndriver-version = {range}\n"));
    let only = |text: &str| text.replace("'*'\n", "'*'\ndriver-version = '=3.1'\n");
    for (text, log, expected) in [
        (only(&all), &both, String::new()),
        (of_versions("'=3.1'"), &both, String::new()),
        (of_versions("'3.*'"), &both, of_versions("\"3.*, <3.1\"")),
        (of_versions("'>=3.0, <4'"), &both, of_versions("\">=3.0, <3.1\"")),
        // Only some of the tests, or of the devices.
        (all.clone(), &one, with_exception(&all)),
        (all.clone(), &elsewhere, with_exception(&all)),
        (all.clone(), &not_all_run, with_exception(&all)),
        (all.clone(), &filtered, with_exception(&all)),
        (all.clone(), &listed, with_exception(&all)),
        (only(&a), &filtered, String::new()),
        // Another entry appears below the first.
        (only(&format!("{all}{a}")), &both, String::new()),
        // A test of this executable is in no run.
        (with_absent.clone(), &both, with_exception(&with_absent)),
        // Entries that other drivers may need.
        (entry("s::a", ""), &filtered, with_exception(&entry("s::a", ""))),
        (
            entry("s::a", "type = 'cpu'\n"),
            &filtered,
            with_exception(&entry("s::a", "type = 'cpu'\n")),
        ),
        (of_all_drivers.clone(), &filtered, with_exception(&of_all_drivers)),
    ] {
        assert_eq!(updated_file(&text, std::slice::from_ref(log)), expected, "{text}");
    }
    // A run that was cut short does not have the other test.
    let cut = RunLog { interrupted: true, ..log(vec![result("s::never_run@d", failed())]) };
    assert_eq!(updated_file(&with_absent, &[cut, both]), with_exception(&with_absent));
}

#[test]
fn a_device_of_a_merged_run_is_that_of_its_host() {
    let [one, other] = ["d%one", "d%other"].map(|id| device(id, "PoCL"));
    let results = vec![
        result("s::a@d%one", failed()),
        result("s::a@d%other", failed()),
        result("s::b@host%one", failed()),
    ];
    let run = run_log(vec![one, other], results, Duration::ZERO);
    let known = "[[expect]]\ntest = 's::a'\nid = 'd'\nstatus = 'fail'\nreason = 'x'\n";
    let added = "[[expect]]\ntest = \"s::b\"\nid = \"host\"\nstatus = \"fail\"\n\
        reason = 'assertion failed: \"a\" more, at suites/src/s.rs:41'\n";
    let after = updated(&[("expectations/a.toml", known)], &[run]);
    let expected = [("a.toml", known), ("host.toml", added)];
    assert_eq!(after, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
}

#[test]
fn a_new_entry_comes_where_it_counts() {
    let of = |platform: &str| {
        format!(
            "[[expect]]\ntest = 's::x'\nplatform = '{platform}'\nstatus = 'fail'\nreason = 'x'\n"
        )
    };
    let general = "[[expect]]\ntest = 's::*'\nstatus = ['pass', 'timeout']\nreason = 'x'\n";
    let run = log(vec![result("s::t@r", crashed())]);
    let place = |files: &[(&str, &str)]| {
        let after = updated(files, std::slice::from_ref(&run));
        let grown = after.into_iter().find(|(_, text)| text.contains("SIGSEGV"));
        grown.expect("a new entry").0
    };
    let (pocl, rusticl) = (of("PoCL"), of("rusticl"));
    let (pocl, rusticl) =
        (("expectations/pocl.toml", &*pocl), ("expectations/rusticl.toml", &*rusticl));
    assert_eq!(place(&[pocl, rusticl]), "rusticl.toml");
    assert_eq!(place(&[pocl]), "r.toml");
    assert_eq!(place(&[pocl, rusticl, ("expectations/z.toml", general)]), "z.toml");
    assert_eq!(place(&[("expectations/a.toml", general), rusticl]), "rusticl.toml");
}
