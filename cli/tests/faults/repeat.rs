//! Runs that repeat their tests.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::not_run_reason::NotRunReason;
use clmatrix_runner::verdict::{Outcome, Verdict};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::expectations::{configuration, expect};
use crate::faulty::MEETING;
use crate::support::{COMMAND, Folder, child, events, output, results, start, wait_while_running};
use crate::{check, cpu};

/// A finished run.
struct Run {
    folder: Folder,
    status: Option<i32>,
    page: String,
    log: RunLog,
    events: Vec<Value>,
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let folder = Folder::new();
    let counts = folder.at("counts");
    std::fs::create_dir(&counts).expect("the folder can be made");
    let mut command = folder.run(&[]);
    command.args(arguments).env(MEETING, counts);
    command.envs(variables.iter().copied());
    let ended = output(command);
    let page = ended.stdout;
    let (log, events) = (folder.log(), events(folder.path()));
    Run { folder, status: ended.status.code(), page, log, events }
}

impl Run {
    /// The lines of an event, for each device.
    fn by_device(&self, event: &str) -> HashMap<String, Vec<&Value>> {
        let mut devices: HashMap<String, Vec<&Value>> = HashMap::new();
        for line in self.events.iter().filter(|line| line["event"] == event) {
            let device = match line["device"].as_str() {
                Some(device) => device,
                None => line["test"].as_str().expect("an id").rsplit_once('@').expect("an id").1,
            };
            devices.entry(device.to_owned()).or_default().push(line);
        }
        devices
    }

    fn finished(&self, test: &str) -> usize {
        let is_of_test = |line: &&Value| {
            line["event"] == "finished" && line["test"].as_str().is_some_and(|id| id.contains(test))
        };
        self.events.iter().filter(is_of_test).count()
    }
}

check!(the_worst_attempt_counts, {
    let tests = ["faulty::repeat::", "faulty::skips_itself", "faulty::is_ignored"];
    let run = run(&[&tests[..], &["--repeat", "3"]].concat(), &[]);
    let devices = run.log.header.devices.len();
    assert_eq!(run.status, Some(1));
    for result in results(&run.log, "repeat::fails_the_second_time") {
        assert_eq!((result.verdict, result.attempt.number), (Verdict::Fail, 2));
        let counts = result.counts.as_ref().expect("several attempts");
        assert_eq!((counts.passed, counts.ran, counts.first_wrong), (2, 3, Some(2)));
    }
    for result in results(&run.log, "repeat::comes_after_it") {
        let counts = result.counts.as_ref().expect("several attempts");
        assert_eq!((result.verdict, counts.passed, counts.ran), (Verdict::Pass, 3, 3));
    }
    for test in ["skips_itself", "is_ignored"] {
        assert_eq!(run.finished(test), devices, "{test} is not repeated");
    }
    let counts = "passed 2 of 3, first went wrong in attempt 2";
    assert_eq!(run.page.matches(&format!("  {counts}\n")).count(), devices, "{}", run.page);
    let device = &run.log.header.devices[0].id;
    let junit = run.folder.junit(device);
    assert!(junit.contains(&format!("message=\"{counts}: assertion")), "{junit}");
});

// Four devices of PoCL, each with its own queue. All tests run once.
check!(a_time_ends_the_repetition, {
    let several = ("POCL_DEVICES", "pthread pthread pthread pthread");
    let some = ["faulty::sick::", "--devices", cpu::platform(), "--for", "8s"];
    if cpu::can_be_several() {
        let run = run(&some, &[several]);
        assert_eq!(run.status, Some(0), "{}", run.page);
        assert_eq!(run.log.header.devices.len(), 4);
        for (device, finished) in run.by_device("finished") {
            let results = run.log.results.iter().filter(|result| result.test.device() == device);
            let ran: Vec<u64> =
                results.map(|result| result.counts.as_ref().expect("repeated").ran).collect();
            assert_eq!(ran.iter().sum::<u64>(), finished.len() as u64, "on {device}");
            let (fewest, most) = (ran.iter().min().unwrap(), ran.iter().max().unwrap());
            assert!(most - fewest <= 1, "all tests on {device} alike: {ran:?}");
        }
    }
    let once = run(&["faulty::repeat::", "--for", "0s"], &[]);
    assert_eq!(once.status, Some(0), "{}", once.page);
    assert!(once.log.results.iter().all(|result| result.counts.is_none()));
});

check!(a_device_may_end_with_its_first_failure, {
    let tests = ["faulty::repeat::", "faulty::is_ignored"];
    let run = run(&[&tests[..], &["--until-fail"]].concat(), &[]);
    assert_eq!(run.status, Some(1));
    for (device, finished) in run.by_device("finished") {
        let lines: Vec<_> = finished.iter().map(|line| line["outcome"].as_str()).collect();
        let expected = ["ignored", "passed", "passed", "failed"].map(Some);
        assert_eq!(lines, expected, "on {device}");
    }
    let run = self::run(&["faulty::returns_an_error", "faulty::sick::", "--until-fail"], &[]);
    assert_eq!(run.status, Some(1));
    let not_run = Outcome::NotRun { reason: NotRunReason::UntilFail };
    let mut results = results(&run.log, "returns_an_error").into_iter();
    assert!(results.all(|result| result.counts.is_none()));
    let (_, rest): (Vec<_>, Vec<_>) =
        run.log.results.iter().partition(|result| result.verdict == Verdict::Fail);
    assert!(rest.iter().all(|result| result.attempt.outcome == not_run));
});

// A pass that was not expected leaves its worker alive.
check!(a_device_may_end_with_an_unexpected_pass, {
    let (_folder, config) = configuration(&expect("sick::*", "fail"));
    let config = ("CLMATRIX_CONFIG", config.to_str().expect("a path in UTF-8"));
    let run = run(&["faulty::sick::", "--until-fail"], &[config]);
    assert_eq!(run.status, Some(1));
    assert!(run.by_device("started").values().all(|started| started.len() == 1));
});

check!(ctrl_c_in_a_repetition_is_a_whole_run, {
    let folder = Folder::new();
    let command = folder.run(&["faulty::alone::", "--until-fail"]);
    let mut run = start(command);
    wait_while_running(&mut run, "third attempts", || are_repeated(folder.path()));
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("it can be signalled");
    assert_eq!(run.wait().expect("the run ends").code(), Some(0));
    let log = folder.log();
    assert!(!log.interrupted && log.exit_status() == 0);
    assert!(log.results.iter().any(|result| result.counts.is_some()));
});

/// Returns a value if each device has started a third attempt at a test.
fn are_repeated(folder: &Path) -> Option<()> {
    let events = events(folder);
    let devices = |is_one: fn(&&Value) -> bool| {
        let of_kind = events.iter().filter(is_one);
        of_kind.filter_map(|line| line["device"].as_str()).collect::<HashSet<_>>().len()
    };
    let planned = devices(|line| line["event"] == "plan-device");
    let third = devices(|line| line["event"] == "started" && line["attempt"] == 3);
    (planned > 0 && third == planned).then_some(())
}

check!(retries_do_not_go_with_it, {
    let refused = output(child(COMMAND, &["run", "--repeat", "2", "--retries", "1"]));
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("`retries`"), "{}", refused.stderr);
});
