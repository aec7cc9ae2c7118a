//! Tests that pass, and may take the process down later.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::{abort_on_a_foreign_thread, use_the_device};

/// The numbers of the tests that plant a bomb, as `1,5`, and the milliseconds until the bomb goes off.
pub const BOMB: &str = "CLMATRIX_FAULTS_BOMB";

/// A folder. Each test that plants a bomb does so once, and leaves a file there.
pub const ONLY_BOMB: &str = "CLMATRIX_FAULTS_ONLY_BOMB";

fn plant_a_bomb(number: u32, delay: Duration) {
    let is_second =
        |folder| File::create_new(Path::new(&folder).join(format!("bomb-{number}"))).is_err();
    if std::env::var_os(ONLY_BOMB).is_some_and(is_second) {
        return;
    }
    thread::spawn(move || {
        thread::sleep(delay);
        abort_on_a_foreign_thread();
    });
}

#[rstest]
#[clmatrix_harness::test]
fn takes_ten_milliseconds(
    ctx_factory: CtxFactory,
    #[values(
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
        26, 27, 28, 29, 30
    )]
    number: u32,
) {
    // Not left behind: the worker would wait for its end.
    drop(ctx_factory().expect("a context"));
    thread::sleep(Duration::from_millis(10));
    let bomb = std::env::var(BOMB).unwrap_or_default();
    if let Some((planters, delay)) = bomb.split_once(' ')
        && planters.split(',').any(|planter| planter == number.to_string())
    {
        plant_a_bomb(number, Duration::from_millis(delay.parse().expect("milliseconds")));
    }
}

/// Ends the process with an error when it exits.
#[clmatrix_harness::test]
fn registers_an_exit_handler(ctx_factory: CtxFactory) {
    extern "C" fn abort() {
        std::process::abort();
    }
    use_the_device(ctx_factory);
    // SAFETY: the function takes nothing and may be called when the process exits.
    assert_eq!(unsafe { libc::atexit(abort) }, 0);
}
