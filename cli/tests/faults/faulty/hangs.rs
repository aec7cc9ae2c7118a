//! Tests that reach their time limits.

use std::thread;

use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

#[rstest]
#[clmatrix_harness::test]
#[ignore = "reaches its time limit"]
fn never_ends(ctx_factory: CtxFactory, #[values(1, 2, 3, 4, 5, 6)] _number: u32) {
    let _context = ctx_factory().expect("a context");
    loop {
        thread::park();
    }
}
