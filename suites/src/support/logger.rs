//! Makes the log of the library a part of a test's output. A test can make the logger panic, as the logger
//! of an application may.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use log::{LevelFilter, Log, Metadata, Record};

const LEVEL: LevelFilter = LevelFilter::Warn;

struct Logger(env_logger::Logger);

thread_local! {
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        self.0.log(record);
        // Once: a panic while another unwinds would end the process.
        if PANICS.take() {
            panic!("{}", record.args());
        }
    }

    fn flush(&self) {
        self.0.flush();
    }
}

/// From now on what is logged is seen.
pub fn init() {
    let logger = env_logger::Builder::new().filter_level(LEVEL).build();
    if log::set_boxed_logger(Box::new(Logger(logger))).is_ok() {
        log::set_max_level(LEVEL);
    }
}

/// Does `work` until it logs something in this thread, which panics. Gives what was logged.
#[track_caller]
pub fn panics_as_it_logs(work: impl FnOnce()) -> String {
    PANICS.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    PANICS.set(false);
    let payload = done.expect_err("it logged nothing");
    *payload.downcast().expect("the logger's words")
}
