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
        assert_eq!(parts.len(), 4, "{readme}: imports, a test, one with cases, and `main!`");
        assert!(parts[0].contains("use clmatrix_harness::{CtxFactory, ctx_factory};"));
        for test in &parts[1..3] {
            assert!(example.contains(test), "{readme}: the example lacks:\n{test}");
        }
        // The example embeds a configuration too.
        assert_eq!(parts[3], "clmatrix_harness::main!();");
        assert!(example.contains("clmatrix_harness::main!("), "the example lacks `main!`");
    }
}

#[test]
fn the_tests_of_a_crate_with_another_binding_are_in_the_package() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("the file exists");
    let (page, package) = (read("docs/guide/bindings.md"), read("tests/ocl/tests/devices.rs"));
    let blocks = page.split("```rust,ignore\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().expect("the block ends"));
    let parts: Vec<&str> = blocks.flat_map(|block| block.split("\n\n")).map(str::trim).collect();
    assert_eq!(parts.len(), 7, "imports, a type, four tests and `main!`");
    for part in parts {
        let part = part.trim_start_matches("// tests/devices.rs\n");
        assert!(package.contains(part), "the package lacks:\n{part}");
    }
}

#[test]
fn the_fixture_in_the_readme_is_in_the_example() {
    let [page, example] = ["README.md", "examples/downstream/tests/devices.rs"]
        .map(|file| fs::read_to_string(root().join("harness").join(file)).expect("it exists"));
    assert!(example.contains(block(&page, "struct OnDevice {").trim()));
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
