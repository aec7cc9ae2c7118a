//! The suites under `cargo test` and `cargo nextest`.

clmatrix_harness::main!(clmatrix_suites, config = "config");
