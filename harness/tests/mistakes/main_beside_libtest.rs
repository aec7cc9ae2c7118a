//! The target lacks `harness = false`.

#[clmatrix_harness::test]
fn passes() {}

clmatrix_harness::main!(); //~ add `harness = false` to this target in Cargo.toml
