//! The same attribute in a target with libtest's own `main`: a test there covers all devices.

use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

#[test]
fn an_ordinary_test_stays_one() {
    assert_eq!(2 + 2, 4);
}

#[rstest]
#[clmatrix_harness::test]
fn scales(ctx_factory: CtxFactory, #[values(1, 4096)] n: usize) -> clmatrix::Result<()> {
    let scaled = downstream::scale(&ctx_factory()?, &vec![1.5; n], 2.0)?;
    assert_eq!(scaled, vec![3.0; n]);
    Ok(())
}

mod names {
    use clmatrix_harness::{CtxFactory, test};

    #[test]
    fn r#match(_: CtxFactory) {}
}

#[clmatrix_harness::test]
#[ignore = "fails on purpose, to show how that is reported"]
fn fails_everywhere(_: CtxFactory) {
    panic!("on purpose");
}
