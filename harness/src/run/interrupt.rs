//! The stop of a run before its end: by Ctrl-C or a signal, a deadline, or too many failures. The reports
//! are written.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::os::{self, StopSignal, StopSwitch};
use crate::terminal::{self, AnyError, status_line};

/// The time that a terminal has to take output.
const PATIENCE: Duration = Duration::from_secs(1);

/// The stop of a run, and its reason.
pub struct Stop {
    /// Set when the run is stopped.
    pub signal: StopSignal,
    switch: StopSwitch,
}

impl Stop {
    /// Makes a stop that no signal requests.
    pub fn new() -> io::Result<Self> {
        let (signal, switch) = os::stop_signal()?;
        Ok(Self { signal, switch })
    }

    /// Makes a stop that SIGINT, SIGTERM and SIGHUP request. A second signal ends the process at once.
    pub fn on_signals() -> Result<Arc<Self>, AnyError> {
        let stop = Arc::new(Self::new()?);
        let seen = AtomicBool::new(false);
        let requested = stop.clone();
        ctrlc::set_handler(move || {
            // A deadline may have stopped the run before.
            if seen.swap(true, Ordering::Relaxed) || requested.signal.is_set() {
                try_to(terminal::clear_bars);
                os::exit_now(130);
            }
            requested.request("the run was stopped");
        })?;
        Ok(stop)
    }

    /// Stops the run. The first reason counts.
    pub fn request(&self, reason: &str) {
        if self.switch.stop(reason) {
            let line = format!(
                "\nstopping: {reason}; writing the reports of the finished tests (Ctrl-C ends at once)"
            );
            try_to(move || status_line(&line));
        }
    }
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
