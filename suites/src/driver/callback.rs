//! Callbacks: functions of the tests that the driver calls.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use clmatrix::cl3::types::*;

use super::prelude::*;
use crate::support::on_device::soon;

/// The user data and the arguments of all calls that the driver has made, in their order. They are numbers:
/// an object may be gone.
static PASSED: Mutex<Vec<Vec<usize>>> = Mutex::new(Vec::new());

/// The user data of the next callback.
static NEXT: AtomicUsize = AtomicUsize::new(0x10_0000);

fn passed() -> MutexGuard<'static, Vec<Vec<usize>>> {
    PASSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A callback of an event. The tests that ask the driver within it keep the answer in place of the status.
pub extern "C" fn of_event(event: cl_event, status: cl_int, user_data: *mut c_void) {
    passed().push(vec![user_data as usize, event as usize, status as usize]);
}

/// A callback for the end of a memory object or a context.
pub extern "C" fn of_end(object: *mut c_void, user_data: *mut c_void) {
    passed().push(vec![user_data as usize, object as usize]);
}

/// A callback of clEnqueueSVMFree.
pub extern "C" fn of_free(queue: *mut c_void, n: u32, list: *mut *mut c_void, data: *mut c_void) {
    let mut call = vec![data as usize, queue as usize, n as usize];
    if !list.is_null() {
        // SAFETY: the driver passes a list of that length.
        let list = unsafe { std::slice::from_raw_parts(list, n as usize) };
        call.extend(list.iter().map(|pointer| *pointer as usize));
    }
    passed().push(call);
}

/// The user data of one callback. They point to nothing, so that a driver that mixes them up does no harm.
#[derive(Clone, Copy, Debug)]
pub struct UserData(usize);

impl UserData {
    /// Creates user data that no other callback has.
    pub fn new() -> Self {
        Self(NEXT.fetch_add(16, Ordering::Relaxed))
    }

    /// Null. Forgets earlier calls with null.
    pub fn null() -> Self {
        passed().retain(|call| call[0] != 0);
        Self(0)
    }

    /// Sets the callback for the end of a memory object.
    pub fn of_the_end_of(memory: cl_mem) -> Self {
        let data = Self::new();
        // SAFETY: the object is valid, and the callback uses its arguments as numbers.
        unsafe { ok!(clSetMemObjectDestructorCallback(memory, Some(of_end), data.pointer())) };
        data
    }

    /// The argument of the function that sets the callback.
    pub fn pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }

    /// The number of calls that the driver made before the first one with these user data.
    pub fn position(self) -> Option<usize> {
        passed().iter().position(|call| call[0] == self.0)
    }

    /// The last argument of the first call.
    pub fn answer(self) -> Option<usize> {
        passed().iter().find(|call| call[0] == self.0)?.last().copied()
    }

    /// Waits until all of these callbacks have been called, and for second calls. A callback is missing if
    /// those of twenty later markers have come, at intervals of 50 ms: they are late, too, where the machine
    /// is loaded.
    pub fn wait(bench: &Bench, all: &[Self]) {
        let are_called = |all: &[Self]| all.iter().all(|data| data.position().is_some());
        let marker_comes = || {
            thread::sleep(Duration::from_millis(50));
            let marker = Kind::Marker.enqueue(&mut bench.operands(&[]), Call::on(bench.queue));
            let data = Self::new();
            // SAFETY: queue and event are valid.
            unsafe {
                ok!(clSetEventCallback(marker.raw(), 0, Some(of_event), data.pointer()));
                ok!(clFinish(bench.queue));
            }
            soon(|| Ok(are_called(&[data]))).unwrap_or_default()
        };
        _ = (0..20).find(|_| are_called(all) || !marker_comes());
        thread::sleep(Duration::from_millis(3));
    }

    /// Checks that the driver has not called it.
    pub fn check_none(self, findings: &Findings, call: impl Display, rule: impl Display) {
        findings.check(self.position().is_none(), call, rule, "called it already");
    }

    /// Checks that the driver has called it once, with right arguments.
    pub fn check_once(
        self,
        findings: &Findings,
        is_right: impl Fn(&[usize]) -> bool,
        call: impl Display,
        rule: impl Display,
    ) {
        let calls = passed();
        let of_this = calls.iter().filter(|call| call[0] == self.0);
        let of_this: Vec<_> = of_this.map(|call| &call[1..]).collect();
        let last = &calls[calls.len().saturating_sub(4)..];
        let n = of_this.len();
        let answer = format!(
            "{n} calls, with {of_this:x?}; the last ones, after their user data: {last:x?}"
        );
        findings.check(matches!(of_this[..], [call] if is_right(call)), call, rule, answer);
    }
}
