//! The test in both READMEs is part of the example crate, which `harness/tests/downstream.rs` runs, and the
//! program in both READMEs is one, which `cargo test` runs.

use std::fs;

use super::block::block;
use super::root;

#[test]
fn the_test_in_the_readmes_is_in_the_example() {
    let example = root().join("harness/examples/downstream/tests/devices.rs");
    let example = fs::read_to_string(example).expect("the example exists");
    for readme in ["README.md", "harness/README.md"] {
        let page = fs::read_to_string(root().join(readme)).expect("the page exists");
        let block = block(&page, "// tests/devices.rs").replace("my_crate::", "downstream::");
        let parts: Vec<&str> = block.split("\n\n").map(str::trim).collect();
        assert_eq!(parts.len(), 3, "{readme}: imports, the test and `main!`");
        assert!(parts[0].contains("use clmatrix_harness::{CtxFactory, ctx_factory};"));
        assert!(example.contains(parts[1]), "{readme}: the example lacks:\n{}", parts[1]);
        // The example embeds a configuration too.
        assert_eq!(parts[2], "clmatrix_harness::main!();");
        assert!(example.contains("clmatrix_harness::main!("), "the example lacks `main!`");
    }
}

#[test]
fn the_program_in_the_readme_is_that_of_the_library() {
    let [page, library] = ["README.md", "src/README.md"]
        .map(|readme| fs::read_to_string(root().join(readme)).expect("the page exists"));
    assert_eq!(block(&page, "```rust"), block(&library, "```rust"));
}

#[test]
fn the_readme_is_short() {
    let page = fs::read_to_string(root().join("README.md")).expect("the page exists");
    let lines = page.lines().count();
    assert!(lines <= 150, "{lines} lines; move details to docs/guide");
}
