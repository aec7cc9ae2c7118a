//! The stacks of workers that hang or crash.

use std::process::Command;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::crash_cause::CrashCause;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::stacks::{Frame, Stacks, ThreadStack};
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::support::{Folder, LIBTEST, child, context_layer, output, results};
use crate::{check, cpu};

/// A run of tests on one device.
struct StackRun {
    folder: Folder,
    command: Command,
}

impl StackRun {
    fn of(test: &str) -> Self {
        Self::with(&["--include-ignored"], test)
    }

    /// A run in which each test makes a context, which a layer makes go wrong.
    fn with_layer(mode: &str, contexts: &str) -> Self {
        let mut run = Self::with(&["--contexts", "fresh"], "sick::");
        context_layer(&mut run.command, run.folder.path(), mode, contexts);
        run
    }

    fn with(options: &[&str], test: &str) -> Self {
        let folder = Folder::new();
        let mut command = folder.run(options);
        command.arg(format!("faulty::{test}")).env("CLMATRIX_TEST", cpu::platform());
        Self { folder, command }
    }

    /// Runs the tests. Returns the page and the log.
    fn end(&mut self) -> (String, RunLog) {
        let ended = output(&mut self.command);
        (ended.stdout, self.folder.log())
    }

    /// Returns the standard error in the JUnit file.
    fn standard_error(&self, device: &str) -> String {
        let junit = self.folder.junit(device);
        let (_, text) = junit.split_once("<system-err>").expect("a standard error");
        text.split_once("</system-err>").expect("its end").0.to_owned()
    }
}

fn stacks(result: &TestResult) -> &Stacks {
    result.attempt.stacks.as_deref().unwrap_or_else(|| panic!("no stacks: {result:?}"))
}

fn function(frame: &Frame) -> &str {
    frame.function.as_deref().unwrap_or_default()
}

/// Returns the position of the first frame of a function.
fn position(thread: &ThreadStack, name: &str) -> usize {
    let position = thread.frames.iter().position(|frame| function(frame).contains(name));
    position.unwrap_or_else(|| panic!("no {name} in {thread:#?}"))
}

fn crash(result: &TestResult) -> (&str, &str) {
    let Outcome::Crashed { cause: CrashCause::Signal { signal } } = &result.attempt.outcome else {
        panic!("{result:?}")
    };
    (signal, stacks(result).threads[0].crash.as_deref().unwrap_or_default())
}

check!(a_hang_shows_the_functions_of_the_driver, {
    let mut run = StackRun::of("stacks::waits_in_the_driver");
    let (page, log) = run.end();
    let [result] = results(&log, "stacks::waits_in_the_driver")[..] else { panic!("one device") };
    assert_eq!(result.verdict, Verdict::Timeout);
    let stacks = stacks(result);
    let thread = &stacks.threads[0];
    // Some builds of PoCL have the places of its functions, others not even their names.
    let has_driver = |text: &str| {
        [" (libpocl", "/pocl/lib/CL/devices/", " (libintelocl"]
            .iter()
            .any(|name| text.contains(name))
    };
    assert!(
        thread.frames[..position(thread, "clWaitForEvents")]
            .iter()
            .any(|frame| has_driver(&frame.to_string()))
    );
    let test = position(thread, "stacks::_::waits_in_the_driver");
    assert!(position(thread, "clWaitForEvents") < test, "{stacks}");
    let location = thread.frames[test].location.as_ref().expect("a place");
    assert!(location.file.ends_with("tests/faults/faulty/stacks.rs"), "{location:?}");
    // The driver has a thread for each processor.
    assert!(stacks.threads.len() > 1, "{stacks}");
    assert!(has_driver(&page) && page.contains("clWaitForEvents"), "{page}");
    assert!(!page.contains("stacks::_::waits_in_the_driver at"), "not among the ten: {page}");
    let (_, device) = (result.test.path(), result.test.device());
    let all = run.standard_error(device);
    assert!(has_driver(&all) && all.contains("stacks::_::waits_in_the_driver at"), "{all}");
});

check!(a_deadlock_shows_both_threads, {
    let (page, log) = StackRun::of("stacks::two_threads_wait_for_each_other").end();
    assert!(page.contains("`other`:"), "{page}");
    assert!(page.matches("take_the_lock_of_the_other").count() > 1, "{page}");
    let found = results(&log, "stacks::two_threads_wait_for_each_other");
    let stacks = stacks(found[0]);
    let other = stacks.threads.iter().find(|thread| thread.name == "other");
    for thread in [&stacks.threads[0], other.expect("the other thread")] {
        position(thread, "take_the_lock_of_the_other");
    }
});

check!(a_null_write_of_a_driver_shows_its_function, {
    // The first two are those of the probe and of the worker before its first test.
    let mut run = StackRun::with_layer("null-write", "3-3");
    let (page, log) = run.end();
    let result = log.results.iter().find(|result| result.verdict == Verdict::Crash);
    let result = result.expect("a crash");
    assert_eq!(crash(result), ("SIGSEGV", "SIGSEGV at 0x0"), "{page}");
    let thread = &stacks(result).threads[0];
    assert_eq!(function(&thread.frames[0]), "write_to_null_in_c");
    assert_eq!(function(&thread.frames[1]), "make_context");
    assert!(position(thread, "makes_a_context") > 1);
    assert!(page.contains("#0 write_to_null_in_c (liblayer.so+0x"), "{page}");
});

// The handler of the layer has that of the worker as its previous action, and the other way round.
check!(a_handler_of_a_driver_that_raises_again_hides_no_crash, {
    let mut run = StackRun::with_layer("handler", "3-4");
    let (page, log) = run.end();
    let mut crashed = log.results.iter().filter_map(TestResult::differing);
    assert_eq!(crash(crashed.next().expect("a crash")), ("SIGABRT", "SIGABRT"), "{page}");
    assert_eq!(crashed.next(), None, "{page}");
});

check!(a_signal_that_is_sent_again_shows_where_it_struck_first, {
    let (page, log) = StackRun::with_layer("sent-again", "3-4").end();
    let crashed = log.results.iter().find_map(TestResult::differing);
    let crashed = crashed.unwrap_or_else(|| panic!("{page}"));
    assert_eq!(crash(crashed).0, "SIGSEGV");
    let frames = &stacks(crashed).threads[0].frames;
    assert_eq!(function(&frames[0]), "write_to_null_in_c", "{page}");
    assert!(frames.iter().all(|frame| function(frame) != "<signal handler called>"), "{page}");
});

check!(an_overflow_shows_the_recursion, {
    let (_, log) = StackRun::of("overflows_its_stack").end();
    let found = results(&log, "overflows_its_stack");
    let (how, signal) = crash(found[0]);
    // Rust's own handler comes after the stacks.
    assert_eq!(how, "SIGABRT");
    assert!(signal.starts_with("SIGSEGV at 0x7"), "{signal}");
    assert!(
        found[0].attempt.stderr.contains("has overflowed its stack"),
        "{}",
        found[0].attempt.stderr
    );
    let thread = &stacks(found[0]).threads[0];
    let deeper = thread.frames.iter().filter(|frame| function(frame).ends_with("deeper"));
    assert!((1..=96).contains(&thread.frames.len()) && deeper.count() > 47, "{thread:#?}");
    position(thread, "<frames between are left out>");
    position(thread, "overflows_its_stack");
    assert_eq!(thread.error, None);
});

check!(an_abort_shows_its_caller, {
    let (page, log) = StackRun::of("aborts").end();
    let found = results(&log, "aborts");
    assert_eq!(crash(found[0]), ("SIGABRT", "SIGABRT"));
    let thread = &stacks(found[0]).threads[0];
    assert!(position(thread, "abort") < position(thread, "faulty::_::aborts"));
    // The terminal shows no frames of the runtime before that.
    let (_, top) = page.split_once(", SIGABRT:\n").expect("a stack");
    let top = top.lines().next().expect("a frame");
    assert!(top.contains("faults::faulty::_::aborts at "), "{top}");
});

check!(a_call_of_null_shows_its_caller, {
    let (_, log) = StackRun::of("stacks::calls_null").end();
    let found = results(&log, "stacks::calls_null");
    assert_eq!(crash(found[0]), ("SIGSEGV", "SIGSEGV at 0x0"));
    let thread = &stacks(found[0]).threads[0];
    assert_eq!((&thread.frames[0].module, thread.frames[0].address.as_str()), (&None, "0x0"));
    assert!(position(thread, "stacks::_::calls_null") <= 2, "{thread:#?}");
});

check!(a_test_has_the_stack_of_rust_min_stack, {
    for (bytes, verdict) in [("67108864", Verdict::Pass), ("1048576", Verdict::Crash)] {
        let mut run = StackRun::of("stacks::uses_much_stack");
        run.command.env("RUST_MIN_STACK", bytes);
        let (page, log) = run.end();
        let [result] = results(&log, "stacks::uses_much_stack")[..] else { panic!("one device") };
        assert_eq!(result.verdict, verdict, "{page}");
    }
    let mut run = StackRun::of("stacks::waits_in_the_driver");
    run.command.env("RUST_MIN_STACK", "67108864");
    let (_, log) = run.end();
    // The main thread is not the first.
    position(
        &stacks(results(&log, "stacks::waits_in_the_driver")[0]).threads[0],
        "clWaitForEvents",
    );
});

check!(a_result_says_that_tracing_is_forbidden, {
    let (page, log) = StackRun::of("stacks::is_traced_by_its_child").end();
    let found = results(&log, "stacks::is_traced_by_its_child");
    assert_eq!(found[0].verdict, Verdict::Timeout);
    let stacks = stacks(found[0]);
    assert!(stacks.threads.is_empty(), "{stacks}");
    let error = "no stacks: ptrace of the worker: Operation not permitted";
    assert_eq!(stacks.error.as_deref(), Some(error));
    assert!(page.contains(error), "{page}");
});

check!(libtest_shows_the_innermost_frames, {
    let mut command = child(LIBTEST, &["faulty::writes_to_null"]);
    command.env("CLMATRIX_TEST", cpu::platform());
    let text = output(command).stdout;
    assert!(text.contains("--- stack\n") && text.contains("faults::faulty::write_to_null at "));
});
