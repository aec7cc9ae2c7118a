//! Ctrl-C, and a request to end from outside: the run stops, and its reports are written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::os::{self, StopSignal};
use crate::terminal::{self, AnyError, status_line};

/// The time that a terminal has to take output.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns a signal that SIGINT, SIGTERM and SIGHUP set. A second one ends the process at once.
pub fn stop_on_signals() -> Result<StopSignal, AnyError> {
    let (signal, switch) = os::stop_signal()?;
    let seen = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            try_to(terminal::clear_bars);
            os::exit_now(130);
        }
        switch.stop();
        try_to(|| {
            status_line(
                "\nstopping: writing the reports for what has finished (again to leave at once)",
            );
        });
    })?;
    Ok(signal)
}

/// Runs `write` in a thread of its own and waits for at most [`PATIENCE`]. Standard error may take no
/// output, and another thread may hold its lock meanwhile.
fn try_to(write: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel::<()>();
    let _ = thread::Builder::new().spawn(move || {
        write();
        drop(ended);
    });
    // An error is the end of the thread, of an attempt to start it, or of the time.
    let _ = end.recv_timeout(PATIENCE);
}
