//! The signals and the threads of crashes, on each driver.

use clmatrix_runner::result::crash_cause::CrashCause;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::check;
use crate::support::{Folder, results};

check!(a_crash_has_its_signal_and_its_thread, {
    let folder = Folder::new();
    let (status, log) = folder.ran(&["faulty::crashes::", "--include-ignored"]);
    let mut wrong = Vec::new();
    for (test, signal, at) in [
        ("abort::here", "SIGABRT", "SIGABRT"),
        ("abort::on_a_thread", "SIGABRT", "SIGABRT"),
        ("allocation::here", "SIGABRT", "SIGABRT"),
        ("allocation::on_a_thread", "SIGABRT", "SIGABRT"),
        ("null::here", "SIGSEGV", "SIGSEGV at 0x8"),
        ("null::on_a_thread", "SIGSEGV", "SIGSEGV at 0x8"),
        ("on_a_small_signal_stack", "SIGSEGV", "SIGSEGV at 0x8"),
        // Rust's own handler comes after the stacks, and aborts.
        ("overflow::here", "SIGABRT", "SIGSEGV at 0x7"),
        ("overflow::on_a_thread", "SIGABRT", "SIGSEGV at 0x7"),
    ] {
        let signal = signal.to_owned();
        let outcome = Outcome::Crashed { cause: CrashCause::Signal { signal } };
        for result in results(&log, &format!("crashes::{test}")) {
            let attempt = &result.attempt;
            let crash = attempt.stacks.as_ref().and_then(|all| all.threads.first()?.crash.as_ref());
            if (result.verdict, &attempt.outcome, attempt.number) != (Verdict::Crash, &outcome, 1)
                || !crash.is_some_and(|crash| crash.starts_with(at))
            {
                wrong.push(format!("{}: {} {crash:?}", result.test, attempt.outcome));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(status, Some(1));
});
