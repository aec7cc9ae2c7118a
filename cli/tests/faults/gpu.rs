//! A Rust test target whose tests end in every way.

#[test]
fn passes() {
    println!("on {}", std::env::var("FAULTS_AT").unwrap());
}

#[test]
fn fails() {
    assert_eq!(1 + 1, 3, "arithmetic");
}

#[test]
fn returns_an_error() -> Result<(), String> {
    Err("gone".to_owned())
}

#[test]
#[should_panic(expected = "meant")]
fn panics_as_meant() {
    panic!("meant");
}

#[test]
#[should_panic(expected = "meant")]
fn panics_otherwise() {
    panic!("other");
}

#[test]
fn crashes() {
    // The process ends by SIGABRT.
    std::process::abort();
}

#[test]
fn exits() {
    std::process::exit(0);
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> i32;
}

extern "C" fn write_last() {
    println!("text of an exit handler");
}

#[test]
fn writes_at_exit() {
    // SAFETY: the handler may be called at any time until the process has ended.
    assert_eq!(unsafe { atexit(write_last) }, 0);
}

/// Runs another test of this target, in a process that writes to the same output.
fn run_another(test: &str) {
    let program = std::env::current_exe().unwrap();
    let arguments = ["--exact", test, "--nocapture"];
    std::process::Command::new(program).args(arguments).status().unwrap();
}

#[test]
fn exits_behind_another() {
    run_another("passes");
    std::process::exit(0);
}

#[test]
fn runs_one_that_crashes() {
    run_another("crashes");
}

#[test]
fn hangs() {
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore]
fn is_ignored() {}
