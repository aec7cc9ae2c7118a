//! Types of arguments and results that no test can have.

use clmatrix_harness::CtxFactory;

#[clmatrix_harness::test]
fn has_a_value_without_rstest(_: usize) {} //~ a test cannot have an argument of the type `usize`

#[clmatrix_harness::test]
fn borrows_a_fixture(_: &CtxFactory) {} //~ a test cannot have an argument of the type `&CtxFactory`

#[clmatrix_harness::test]
fn returns_a_number() -> i32 { //~ a test cannot return `i32`
    3
}

struct Silent;

#[clmatrix_harness::test]
fn returns_an_error_without_debug() -> Result<(), Silent> { //~ E0277: `Silent` doesn't implement `Debug`
    Ok(())
}
