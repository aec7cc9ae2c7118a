//! Compiles rstest's cases into the library, and rebuilds when a file is added to the configuration
//! that the target `matrix` holds.
//!
//! rstest puts the cases of a parametrised test behind `cfg(test)`, which cargo sets for test
//! targets only. Without this the binary `clmatrix` would hold fewer tests than `cargo test`;
//! `cli/tests/binary/same_tests.rs` compares the two.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=config");
    println!("cargo::rustc-cfg=test");
}
