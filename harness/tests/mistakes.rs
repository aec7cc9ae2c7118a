//! Mistakes in tests, with the errors that their authors see.

use std::path::Path;

#[path = "../../tests/support/compile_fail.rs"]
mod compile_fail;

use compile_fail::Sources;

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_mistake_is_met_by_an_error_that_helps() {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = Sources {
        package: "mistakes",
        folder: &harness.join("tests/mistakes"),
        kind: "test",
        dependencies: &format!("clmatrix-harness = {{ path = {harness:?} }}\n"),
        lock_file: &harness.join("examples/downstream/Cargo.lock"),
    };
    sources.check();
}
