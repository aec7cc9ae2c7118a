//! A driver that the library and the suites do not know: PoCL through `unknown_driver/layer.c`, which changes the
//! platform's name. PoCL's expectations hold there, since their name is a part of that one.

use std::collections::BTreeMap;

use super::wrong_driver::{has_pocl, in_front_of, real_loader, run_with, sources};

/// The tests that end in another way than on PoCL, each with the reason.
const DIFFERENCES: [(&str, &str); 1] = [(
    "launch::refused::the_arguments_of_a_source_are_known_without_an_option",
    "the library asks PoCL alone for the kinds of arguments, by an option of builds",
)];

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn an_unknown_driver_has_the_outcomes_of_its_own() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let layer =
        in_front_of(&real_loader(), &sources().join("unknown_driver/layer.c"), folder.path());
    let log = run_with(&layer, &[], ["*"], folder.path());
    assert!(log.results.len() > 2000, "{}", log.results.len());
    let unexpected = log.results.iter().filter(|result| result.verdict.is_failure());
    let found: BTreeMap<_, _> =
        unexpected.map(|result| (result.test.path(), result.attempt.outcome.to_string())).collect();
    let known = DIFFERENCES.map(|(path, _)| path);
    assert!(found.keys().copied().eq(known), "{found:#?}");
}
