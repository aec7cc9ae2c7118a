//! Uses of the library that must not compile.
//!
//! Codes and lines stay the same from one version of the compiler to the next; what it says does not.
//! (`compile_fail` of a documentation test takes any error, except on nightly.)

use std::path::Path;

#[path = "support/compile_fail.rs"]
mod compile_fail;

use compile_fail::Sources;

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn what_must_not_compile_does_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = Sources {
        package: "compile-fail",
        folder: &root.join("tests/compile_fail"),
        kind: "bin",
        dependencies: &format!("clmatrix = {{ path = {root:?}, features = [\"opencl3\"] }}\n"),
        lock_file: &root.join("Cargo.lock"),
    };
    sources.check();
}
