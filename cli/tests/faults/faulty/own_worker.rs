//! A test that shares its process with no other, between two that do.

#[clmatrix_harness::test]
fn before() {}

#[clmatrix_harness::test(own_worker)]
fn is_apart() {}

#[clmatrix_harness::test]
fn after() {}
