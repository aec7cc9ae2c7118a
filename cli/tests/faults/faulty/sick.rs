//! Tests that pass on a device that works.

use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

#[rstest]
#[clmatrix_harness::test(timeout = "3s")]
fn makes_a_context(
    ctx_factory: CtxFactory,
    #[values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)] _number: u32,
) -> clmatrix::Result<()> {
    ctx_factory().map(drop)
}
