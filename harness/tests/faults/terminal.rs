//! The command line on a terminal and without one.

use std::process::Output;

use crate::Check;
use crate::support::{COMMAND, child, output};

pub const CHECKS: &[Check] = &[
    ("terminal::colors_are_used_on_demand", colors_are_used_on_demand),
    (
        "terminal::quiet_prints_the_unexpected_results_alone",
        quiet_prints_the_unexpected_results_alone,
    ),
    ("terminal::completions_know_the_options", completions_know_the_options),
];

/// Runs a test that passes and one that fails, with these options.
fn run(options: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["run", "faulty::passes@", "faulty::fails_an_assertion@", "--report-dir"];
    let mut command = child(COMMAND, &tests);
    command.arg(folder.path()).args(options).env_remove("NO_COLOR");
    output(command)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn colors_are_used_on_demand() {
    let is_colored = |options: &[&str]| text(&run(options).stdout).contains("\u{1b}[31mFAIL");
    assert!(is_colored(&["--color", "always"]));
    assert!(is_colored(&["--color=always", "--quiet"]));
    assert!(!is_colored(&["--color", "never"]));
    assert!(!is_colored(&[]), "standard output is no terminal");
}

fn quiet_prints_the_unexpected_results_alone() {
    let output = run(&["-q"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("FAIL faulty::fails_an_assertion@"), "{stdout}");
    assert!(!stdout.contains("faulty::passes"), "{stdout}");
    let last = stdout.trim_end().rsplit("\n\n").next().unwrap_or_default();
    assert!(last.starts_with("FAILED: ") && !last.contains("Reports"), "{stdout}");
    assert_eq!(run(&["-q", "-v"]).status.code(), Some(2));
}

fn completions_know_the_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = output(child(COMMAND, &["completions", shell]));
        assert!(output.status.success(), "{shell}");
        let script = text(&output.stdout);
        for word in ["faults", "report-dir", "show-output", "characterize"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(output(child(COMMAND, &["completions", "tcsh"])).status.code(), Some(2));
}
