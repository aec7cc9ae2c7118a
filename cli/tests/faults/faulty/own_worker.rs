//! A test that shares its process with no other, between two that do.

use rstest::rstest;

#[rstest]
#[clmatrix_harness::test]
fn before() {}

#[rstest]
#[clmatrix_harness::test(own_worker)]
fn is_apart() {}

#[rstest]
#[clmatrix_harness::test]
fn after() {}
