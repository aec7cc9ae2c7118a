//! Compiles rstest's cases into the library and the binary, and rebuilds when a file is added to
//! the configuration that the binary holds.
//!
//! rstest puts the cases of a parametrised test behind `cfg(test)`, which cargo sets for test
//! targets only. Without this the binary `clmatrix` would hold fewer tests than `cargo test`;
//! `tests/same_tests.rs` compares the two.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=config");
    println!("cargo::rustc-cfg=test");
}
