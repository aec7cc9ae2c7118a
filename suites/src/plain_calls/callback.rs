//! Callbacks: functions of the tests that the driver calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::prelude::*;

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

/// A callback, which the driver is to call once.
pub struct Callback {
    /// The call that it belongs to, in words.
    call: String,
    /// The section of OpenCL.
    section: &'static str,
    /// The first arguments, without the user data.
    arguments: Vec<usize>,
    /// The user data, which no other callback has. They point to nothing, so that a driver that mixes them up does no
    /// harm.
    data: usize,
}

impl Callback {
    /// Creates user data for a callback, which is to get these arguments.
    pub fn new(call: impl Display, section: &'static str, arguments: &[usize]) -> Self {
        let data = NEXT.fetch_add(16, Ordering::Relaxed);
        Self { call: call.to_string(), section, arguments: arguments.into(), data }
    }

    /// Sets a callback for the end of a memory object.
    pub fn of_memory(memory: cl_mem, call: impl Display) -> Self {
        let callback = Self::new(call, "5.5.1", &[memory as usize]);
        // SAFETY: the object is valid, and the callback uses its arguments as numbers.
        unsafe { ok!(clSetMemObjectDestructorCallback(memory, Some(of_end), callback.data())) };
        callback
    }

    /// The user data as an argument.
    pub fn data(&self) -> *mut c_void {
        self.data as *mut c_void
    }

    /// The number of calls that the driver made before the first one of this callback.
    pub fn position(&self) -> Option<usize> {
        passed().iter().position(|call| call[0] == self.data)
    }

    /// Checks that the driver has not called it.
    pub fn check_none(&self, rule: impl Display, bench: &Bench) {
        let rule = format_args!("no call of the callback {rule} ({})", self.section);
        bench.check(self.position().is_none(), &self.call, rule, "called it already");
    }

    /// Waits for callbacks and for second calls, and checks that the driver calls each once, with the right arguments.
    pub fn check_all(all: &[Self], bench: &Bench) {
        _ = soon(|| Ok(all.iter().all(|callback| callback.position().is_some())));
        thread::sleep(Duration::from_millis(3));
        let calls = passed();
        let last = &calls[calls.len().saturating_sub(4)..];
        let of_all = "the last calls of all callbacks, each behind its user data";
        for Self { call, section, arguments, data } in all {
            let of_this: Vec<_> =
                calls.iter().filter_map(|call| call.strip_prefix(&[*data])).collect();
            let rule = format_args!("one call of the callback, with {arguments:x?} ({section})");
            let answer = match of_this.len() {
                0 => "no call within 5 s".to_owned(),
                count => format!("{count} calls, with {of_this:x?}; {of_all}: {last:x?}"),
            };
            let is_right = matches!(of_this[..], [call] if call.starts_with(arguments));
            bench.check(is_right, call, rule, answer);
        }
    }
}
