//! Ctrl-C, and a request to end from outside: the run stops, and its reports are written.

use crate::front::{AnyError, tell};
use crate::os::{self, StopSignal};
use crate::progress;

/// Returns a signal that SIGINT, SIGTERM and SIGHUP set. A second one ends the process at once.
pub fn stop_on_signals() -> Result<StopSignal, AnyError> {
    let (signal, switch) = os::stop_signal()?;
    let seen = std::sync::atomic::AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if seen.swap(true, std::sync::atomic::Ordering::Relaxed) {
            progress::clear();
            os::exit_now(130);
        }
        switch.stop();
        tell("\nstopping: writing the reports for what has finished (again to leave at once)");
    })?;
    Ok(signal)
}
