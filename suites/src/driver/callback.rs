//! Callbacks: functions of the tests that the driver calls.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use clmatrix::cl3::types::*;

use super::prelude::*;
use crate::support::on_device::soon;

/// The arguments of all calls that the driver has made, in their order, each after its user data. They are
/// numbers: an object may be gone.
static PASSED: Mutex<Vec<(usize, Vec<usize>)>> = Mutex::new(Vec::new());

/// The user data of the first callback, and of the next one.
const FIRST: usize = 0x10_0000;
static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

fn passed() -> MutexGuard<'static, Vec<(usize, Vec<usize>)>> {
    PASSED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A callback of an event. The tests that ask the driver within it keep the answer in place of the status.
pub extern "C" fn of_event(event: cl_event, status: cl_int, user_data: *mut c_void) {
    passed().push((user_data as usize, vec![event as usize, status as usize]));
}

/// A callback for the end of a memory object or a context.
pub extern "C" fn of_end(object: *mut c_void, user_data: *mut c_void) {
    passed().push((user_data as usize, vec![object as usize]));
}

/// A callback of clEnqueueSVMFree.
pub extern "C" fn of_free(
    queue: cl_command_queue,
    n: u32,
    list: *mut *mut c_void,
    data: *mut c_void,
) {
    let mut call = vec![queue as usize, n as usize];
    if !list.is_null() {
        // SAFETY: the driver passes a list of that length.
        let list = unsafe { std::slice::from_raw_parts(list, n as usize) };
        call.extend(list.iter().map(|pointer| *pointer as usize));
    }
    passed().push((data as usize, call));
}

/// The user data of one callback. They point to nothing, so that a driver that mixes them up does no harm.
#[derive(Clone, Copy, Debug)]
pub struct UserData {
    value: usize,
    /// The number of calls that the driver had made before.
    since: usize,
}

impl UserData {
    /// Creates user data that no other callback has.
    pub fn new() -> Self {
        Self { value: NEXT.fetch_add(16, Ordering::Relaxed), since: passed().len() }
    }

    /// Null.
    pub fn null() -> Self {
        Self { value: 0, since: passed().len() }
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
        self.value as *mut c_void
    }

    /// The number of calls that the driver made before the first one with these user data.
    pub fn position(self) -> Option<usize> {
        passed()
            .iter()
            .skip(self.since)
            .position(|call| call.0 == self.value)
            .map(|position| position + self.since)
    }

    /// Waits until all of these callbacks have been called, at most some seconds, and for second calls.
    pub fn wait(all: impl IntoIterator<Item = Self> + Clone) {
        let are_called = || all.clone().into_iter().all(|data| data.position().is_some());
        if soon(|| Ok(are_called())).is_ok_and(|is_called| is_called) {
            thread::sleep(Duration::from_millis(3));
        }
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
        let calls = passed()[self.since..].to_vec();
        let (of_this, others): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|(value, _)| *value == self.value);
        match &of_this[..] {
            [(_, call_of_this)] if is_right(call_of_this) => (),
            [] => {
                let known = FIRST..NEXT.load(Ordering::Relaxed);
                let foreign = others.iter().filter(|(value, _)| !known.contains(value));
                let foreign: Vec<_> = foreign.collect();
                let answer = format_args!("no call; with user data of no callback: {foreign:x?}");
                findings.add(call, rule, answer);
            }
            calls => {
                let answer =
                    format_args!("{} calls, (user data, arguments): {calls:x?}", calls.len());
                findings.add(call, rule, answer);
            }
        }
    }
}
