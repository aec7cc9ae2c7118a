//! Properties that hold for whatever arguments proptest comes up with.

use std::fmt::Debug;

use clmatrix::Result;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Few, since some devices are slow.
const CASES: u32 = 64;

/// The seed of all cases: the same on every device and each time.
const SEED: [u8; 32] = *b"clmatrix tries each device alike";

/// Checks `property` for arguments from `strategy`, and shows the smallest that it does not hold for.
#[track_caller]
pub fn holds_for<S: Strategy<Value: Debug>>(
    strategy: S,
    property: impl Fn(&S::Value) -> Result<std::result::Result<(), String>>,
) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let tried =
        TestRunner::new_with_rng(config, rng).run(&strategy, |case| match property(&case) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(reason)) => Err(TestCaseError::fail(reason)),
            Err(error) => Err(TestCaseError::fail(error.to_string())),
        });
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(reason, smallest)) => {
            let seed = String::from_utf8_lossy(&SEED);
            panic!("{reason}\nfor {smallest:#?}\n(of {CASES} cases from the seed {seed:?})")
        }
        Err(TestError::Abort(reason)) => panic!("no cases: {reason}"),
    }
}

/// So many of the values that `strategy` comes up with, the same each time.
pub fn samples<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut next = || strategy.new_tree(&mut runner).expect("a strategy that rejects nothing");
    (0..count).map(|_| next().current()).collect()
}
