//! Objects of the driver.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use clmatrix::cl3::error_codes::CL_SUCCESS;
use clmatrix::cl3::types::{cl_context, cl_int};

use super::api::{cl, created, ok, succeeds};

/// The classes of objects, each with functions of its own to release and to query it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Context,
    Queue,
    Memory,
    Sampler,
    Program,
    Kernel,
    Event,
}

/// One reference to an object of the driver, which is released when it is dropped.
#[derive(Debug)]
pub struct Object {
    class: Class,
    raw: *mut c_void,
}

impl Object {
    /// Takes over one reference.
    ///
    /// # Safety
    ///
    /// The caller has a reference to this object of this class, and gives it away.
    pub unsafe fn new(class: Class, raw: *mut c_void) -> Self {
        Self { class, raw }
    }

    /// The handle.
    pub fn raw(&self) -> *mut c_void {
        self.raw
    }

    /// Releases the reference. Panics unless the driver returns CL_SUCCESS.
    pub fn release(self) {
        let (function, code) = self.release_once();
        std::mem::forget(self);
        succeeds(function, code);
    }

    fn release_once(&self) -> (&'static str, cl_int) {
        let raw = self.raw;
        // SAFETY: the reference is this value's, which is dropped or forgotten afterwards.
        unsafe {
            match self.class {
                Class::Context => ("clReleaseContext", cl!(clReleaseContext(raw))),
                Class::Queue => ("clReleaseCommandQueue", cl!(clReleaseCommandQueue(raw))),
                Class::Memory => ("clReleaseMemObject", cl!(clReleaseMemObject(raw))),
                Class::Sampler => ("clReleaseSampler", cl!(clReleaseSampler(raw))),
                Class::Program => ("clReleaseProgram", cl!(clReleaseProgram(raw))),
                Class::Kernel => ("clReleaseKernel", cl!(clReleaseKernel(raw))),
                Class::Event => ("clReleaseEvent", cl!(clReleaseEvent(raw))),
            }
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let (function, code) = self.release_once();
        if code != CL_SUCCESS && !std::thread::panicking() {
            succeeds(function, code);
        }
    }
}

/// A user event, which is completed when it is dropped, so that a test that fails leaves no command
/// waiting.
pub struct Gate {
    event: Object,
    is_open: AtomicBool,
}

impl Gate {
    /// A user event that has not ended.
    pub fn closed(context: cl_context) -> Self {
        // SAFETY: the context is valid; the call creates a reference.
        let event = unsafe { Object::new(Class::Event, created!(clCreateUserEvent(context))) };
        Self { event, is_open: false.into() }
    }

    /// The handle.
    pub fn raw(&self) -> *mut c_void {
        self.event.raw()
    }

    /// Completes the event; does nothing the second time.
    pub fn open(&self) {
        if !self.is_open.swap(true, SeqCst) {
            // SAFETY: the user event has no status yet.
            let code = unsafe { cl!(clSetUserEventStatus(self.raw(), 0)) };
            if !std::thread::panicking() {
                succeeds("clSetUserEventStatus", code);
            }
        }
    }

    /// Returns whether the event has been completed, or is about to be.
    pub fn is_open(&self) -> bool {
        self.is_open.load(SeqCst)
    }

    /// Makes the event fail, with this status.
    pub fn fail(&self, status: cl_int) {
        self.is_open.store(true, SeqCst);
        // SAFETY: the user event has no status yet.
        unsafe { ok!(clSetUserEventStatus(self.raw(), status)) };
    }
}

// SAFETY: objects of OpenCL may be used by several threads (OpenCL 3.0 API, appendix A.2).
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Opens a gate when it is dropped, before threads end that wait for commands behind it.
pub struct Opening<'a>(pub &'a Gate);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// The pointer to a wait list, and its length: null where it is empty.
pub fn wait_list(events: &[*mut c_void]) -> (u32, *const *mut c_void) {
    let pointer = if events.is_empty() { ptr::null() } else { events.as_ptr() };
    (events.len() as u32, pointer)
}
