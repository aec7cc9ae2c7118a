//! Objects of the driver.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::prelude::*;

/// Declares the classes of objects, each with its functions that add a reference and release one.
macro_rules! classes {
    ($($class:ident $retain:ident $release:ident;)*) => {
        /// The classes of objects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Class {
            $($class,)*
        }

        impl Object {
            /// Adds a reference to an object, which is valid.
            pub fn retained(class: Class, raw: *mut c_void) -> Self {
                // SAFETY: the object is valid.
                unsafe {
                    match class {
                        $(Class::$class => ok!($retain(raw)),)*
                    }
                }
                Self { class, raw }
            }
        }

        impl Drop for Object {
            fn drop(&mut self) {
                // SAFETY: the reference is this value's.
                let (function, code) = unsafe {
                    match self.class {
                        $(Class::$class => (stringify!($release), cl!($release(self.raw))),)*
                    }
                };
                succeeds(function, code);
            }
        }
    };
}

classes! {
    Context clRetainContext clReleaseContext;
    Device clRetainDevice clReleaseDevice;
    Queue clRetainCommandQueue clReleaseCommandQueue;
    Memory clRetainMemObject clReleaseMemObject;
    Sampler clRetainSampler clReleaseSampler;
    Program clRetainProgram clReleaseProgram;
    Kernel clRetainKernel clReleaseKernel;
    Event clRetainEvent clReleaseEvent;
}

/// One reference to an object of the driver, which is released when it is dropped.
#[derive(Debug)]
pub struct Object {
    pub class: Class,
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
    pub fn release(self) {}
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
        let event = unsafe { created!(Event clCreateUserEvent(context)) };
        Self { event, is_open: false.into() }
    }

    /// The handle.
    pub fn raw(&self) -> *mut c_void {
        self.event.raw()
    }

    /// Completes the event; does nothing the second time.
    pub fn open(&self) {
        if !self.is_open.swap(true, SeqCst) {
            self.end(CL_COMPLETE);
        }
    }

    /// Returns whether the event has been completed, or is about to be.
    pub fn is_open(&self) -> bool {
        self.is_open.load(SeqCst)
    }

    /// Makes the event fail, with this status.
    pub fn fail(&self, status: cl_int) {
        self.is_open.store(true, SeqCst);
        self.end(status);
    }

    fn end(&self, status: cl_int) {
        // SAFETY: the user event has no status yet.
        let code = unsafe { cl!(clSetUserEventStatus(self.raw(), status)) };
        succeeds("clSetUserEventStatus", code);
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
    (events.len() as u32, pointer(events))
}
