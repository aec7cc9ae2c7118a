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
fn crashes() {
    // The process ends by SIGABRT.
    std::process::abort();
}

#[test]
fn exits() {
    std::process::exit(0);
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
