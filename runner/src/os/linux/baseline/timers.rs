use std::mem;
use std::ptr;

use libc::{c_int, itimerval};

use super::LeftBehind;

/// The interval timers, and their names. `alarm` sets the first.
const TIMERS: [(c_int, &str); 3] = [
    (libc::ITIMER_REAL, "ITIMER_REAL"),
    (libc::ITIMER_VIRTUAL, "ITIMER_VIRTUAL"),
    (libc::ITIMER_PROF, "ITIMER_PROF"),
];

/// The interval timers. A profiler may have started one.
pub struct Timers([itimerval; TIMERS.len()]);

impl Timers {
    pub fn now() -> Self {
        Self(TIMERS.map(|(timer, _)| value(timer)))
    }

    /// Gives the timers that a test has started or changed their earlier values. A single shot that ran before may have
    /// come.
    pub fn restore(&self, left: &mut LeftBehind) {
        for ((timer, name), before) in TIMERS.into_iter().zip(&self.0) {
            let now = value(timer);
            let is_started = !is_running(before) && is_running(&now);
            if is_started || interval(before) != interval(&now) {
                // SAFETY: the value is valid, and the old one is not asked for.
                let result = unsafe { libc::setitimer(timer, before, ptr::null_mut()) };
                let change = if is_started { "started" } else { "changed" };
                left.add(format!("{name} {change}"), result == 0);
            }
        }
    }
}

/// Returns the value of a timer; that of a stopped one if the call fails.
fn value(timer: c_int) -> itimerval {
    // SAFETY: all zeros is a valid value, to which the present one is written.
    let mut value: itimerval = unsafe { mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::getitimer(timer, &mut value) };
    value
}

fn is_running(timer: &itimerval) -> bool {
    (timer.it_value.tv_sec, timer.it_value.tv_usec) != (0, 0)
}

/// Returns the seconds and microseconds after which a timer comes again.
fn interval(timer: &itimerval) -> (libc::time_t, libc::suseconds_t) {
    (timer.it_interval.tv_sec, timer.it_interval.tv_usec)
}
