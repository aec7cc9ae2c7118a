//! Whole summaries, their lengths, and texts that look like Markdown.

use std::time::Duration;

use clmatrix_runner::log::sample::{
    changed, device, failed, failed_driver, flaky, result, run_log,
};
use clmatrix_runner::verdict::Outcome;
use insta::assert_snapshot;

use super::*;

fn log(devices: &[&str], results: Vec<TestResult>) -> RunLog {
    let devices = devices.iter().map(|id| device(id, "PoCL")).collect();
    run_log(devices, results, Duration::from_secs(62))
}

fn written(log: &RunLog) -> String {
    summary(log, None, MOST_BYTES)
}

#[test]
fn a_summary_has_counts_and_unexpected_results() {
    let fails = changed(result("pool::reuse@b", failed("left: 1\nright: 2")), |r| {
        r.attempt.stdout = "said\n".to_owned();
        r.attempt.stderr = "thread 'main' panicked at a.rs:1:2:\nleft: 1\nright: 2\n".to_owned();
    });
    let results = vec![
        result("pool::reuse@a", Outcome::Passed),
        fails,
        result("copy::rect@a", Outcome::Skipped { reason: "no images".to_owned() }),
        result("copy::rect@b", Outcome::not_run("Ctrl-C")),
    ];
    let lost = DeviceLost {
        device: "b".to_owned(),
        reason: "no answer".to_owned(),
        after: Some("pool::reuse@b".into()),
        suspects: Vec::new(),
    };
    let log = RunLog {
        absent: vec!["nvidia-*".to_owned()],
        lost: vec![lost],
        failed_drivers: vec![failed_driver()],
        ..log(&["a", "b"], results)
    };
    assert_snapshot!(written(&log));
    assert_snapshot!(written(&self::log(&["a"], vec![result("s::t@a", Outcome::Passed)])));
}

#[test]
fn a_summary_of_10_000_failures_says_what_is_left_out() {
    let fails = |n: usize| {
        let id = format!("s::a_test_with_a_name_of_some_length::case_{n}@d");
        changed(result(&id, failed(&"no ".repeat(500))), |r| r.attempt.stdout = "x".repeat(10_000))
    };
    let mut log = log(&["d"], (0..10_000).map(fails).collect());
    let text = written(&log);
    assert!(text.len() <= MOST_BYTES && MOST_BYTES < 900 * 1024, "{}", text.len());
    let shown = text.matches("\n<summary>").count() + text.matches("\n- <b>FAIL").count();
    let note = format!("\n{} of 10000 unexpected results are left out. ", 10_000 - shown);
    assert!(shown > 500 && text.contains(&note), "{shown}");
    assert!(text.contains(", the last 8192 of 10000 bytes:\n"));
    assert!(text.ends_with(
        " are left out. `clmatrix report --all` and the JUnit files have all of them.\n"
    ));
    log.header.rerun_command = "cargo test --test devices -- --exact".to_owned();
    assert!(written(&log).ends_with(" are left out. The JUnit files have all of them.\n"));
}

#[test]
fn a_summary_has_a_limit_whatever_is_long() {
    let wide = "a`b|".repeat(1 << 14);
    let many = |n: usize| {
        let id = format!("{wide}{n}::{wide}@{wide}");
        changed(result(&id, failed(&wide)), |r| r.attempt.stderr.clone_from(&wide))
    };
    let failed_drivers = (0..99).map(|_| failed_driver()).collect();
    let log = RunLog {
        absent: vec![wide.clone(); 99],
        failed_drivers,
        ..log(&[&wide], (0..4).map(many).collect())
    };
    for most in [FEWEST_BYTES, 100_000, MOST_BYTES] {
        let text = summary(&log, Some(&wide.repeat(4)), most);
        assert!(text.len() <= most, "{} > {most}", text.len());
        assert!(text.contains("`clmatrix diff --all` shows whole, is left out"), "{most}");
        assert_eq!(
            text.contains(" are left out. `clmatrix report"),
            most == FEWEST_BYTES,
            "{most}"
        );
    }
}

/// The text without what code blocks have between their fences.
fn outside_of_blocks(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut outside = String::new();
    for line in text.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => outside += &format!("{line}\n"),
            Some(open) if ticks.len() >= open.len() && ticks == line => fence = None,
            Some(_) => {}
        }
    }
    assert_eq!(fence, None, "each block has an end");
    outside
}

#[test]
fn hostile_texts_are_shown_as_texts() {
    let hostile = "</details></summary><img src=x onerror=alert(1)> | `` \u{202e}\u{2028}*a* [x](http://y) \
                   \n```\n````\n</details>\n# title\n\r\n- @all #1 :bug: ]]> \u{5d0}\u{1f980}\0\x1b[31m&lt;";
    let id = format!("{hostile}::{hostile}@{hostile}");
    let results = vec![
        changed(result(&id, failed(hostile)), |r| {
            (r.attempt.stdout, r.attempt.stderr) = (hostile.to_owned(), hostile.to_owned());
        }),
        flaky(&id.replace("all", "other"), failed(hostile)),
    ];
    let log = RunLog { absent: vec![hostile.to_owned()], ..log(&[hostile], results) };
    let text = written(&log);
    let outside = outside_of_blocks(&text);
    let mut tags: Vec<&str> =
        outside.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()).collect();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags, ["/b", "/code", "/details", "/summary", "b", "code", "details", "summary"]);
    assert_eq!(outside.matches("<details>").count(), 2);
    assert_eq!(outside.matches("</details>").count(), 2);
    for part in ["\u{202e}", "\u{2028}", "`` ", "*a*", "](", "http://", "\n# title", "\0", "\x1b"] {
        assert!(!outside.contains(part), "{part:?}: {outside}");
    }
    assert!(outside.contains("\u{5d0}\u{1f980}"), "{outside}");
    let heads = outside.lines().filter(|line| line.starts_with('#')).count();
    assert_eq!(heads, 2, "{outside}");
    let rows = outside.lines().filter(|line| line.starts_with('|'));
    assert!(rows.clone().all(|row| row.matches('|').count() == 5), "{outside}");
    assert_eq!(rows.count(), 6, "{outside}");
    // Two messages and an output. The other output repeats a message.
    assert_eq!(text.matches("\n</details>\n# title\n").count(), 3, "{text}");
}
