//! The stop of a run before its end: by Ctrl-C or a signal, a deadline, or too many failures. The reports
//! are written.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::os::{self, StopSignal};
use crate::result::not_run_reason::StopCause;
use crate::terminal::{self, AnyError, status_line};

/// The time in which a terminal must accept output.
const PATIENCE: Duration = Duration::from_secs(1);

impl StopSignal {
    /// Creates a signal that SIGINT, SIGTERM and SIGHUP set. A second signal ends the process at once, unless it comes
    /// with the first: the terminal sends a signal to all processes, and a program such as `timeout` to its child and
    /// to the group.
    pub fn on_signals() -> Result<Arc<Self>, AnyError> {
        let stop = Arc::new(Self::new()?);
        let requested = stop.clone();
        let mut handled: Option<(bool, Instant)> = None;
        os::on_signals(move |is_ctrl_c| match handled {
            Some((first, at)) if at.elapsed() < same_within(first || is_ctrl_c) => {}
            Some(_) => {
                try_to(terminal::clear_bars);
                os::exit_now(130);
            }
            None => {
                requested.request(StopCause::Signal);
                // Later ones have waited meanwhile.
                handled = Some((is_ctrl_c, Instant::now()));
            }
        })?;
        Ok(stop)
    }

    /// Stops the run, and tells the user. The first cause counts.
    pub fn request(&self, cause: StopCause) {
        let is_signal = cause == StopCause::Signal;
        if self.set(cause) || is_signal {
            let how = if is_signal { "Ctrl-C" } else { "Ctrl-C twice" };
            let line = format!(
                "\nstopping: {cause}; writing the reports of the finished tests ({how} ends at once)"
            );
            try_to(move || status_line(&line));
        }
    }
}

/// Returns the time after a first signal in which another one has the same cause. A person's second Ctrl-C comes later.
fn same_within(is_ctrl_c: bool) -> Duration {
    Duration::from_millis(if is_ctrl_c { 100 } else { 1000 })
}

/// Runs `write` in a thread of its own and waits for at most [`PATIENCE`]. Standard error may accept no output, and
/// another thread may hold its lock meanwhile.
fn try_to(write: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel::<()>();
    let _ = thread::Builder::new().spawn(move || {
        write();
        drop(ended);
    });
    // An error is the end of the thread, of an attempt to start it, or of the time.
    let _ = end.recv_timeout(PATIENCE);
}
