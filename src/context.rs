//! Contexts (OpenCL 3.0, 4.4; `pyopencl.Context`).

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use cl3::context as cl;
use cl3::error_codes::{CL_INVALID_DEVICE, CL_INVALID_VALUE};
use cl3::types::{cl_context, cl_device_id};

use crate::context_watch::ContextWatch;
use crate::create::create;
use crate::device::{Device, OLDEST, check_versions};
use crate::error::{Error, Result, in_call};
use crate::handle::{by_handle, retain_raw};
use crate::mem_context::MemContext;

/// A context of one or several devices of a platform (`pyopencl.Context`).
///
/// Clones are handles to the same context. The driver's notifications are logged as warnings.
///
/// ```
/// use clmatrix::Context;
///
/// # fn main() -> clmatrix::Result<()> {
/// # let some = clmatrix::create_some_context()?;
/// # let device = some.default_device();
/// let context = Context::new([device])?;
/// assert_eq!(context.devices(), std::slice::from_ref(device));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context(pub(crate) Arc<MemContext>);

impl Context {
    /// Creates a context of devices of a platform (`clCreateContext` with CL_CONTEXT_PLATFORM). A device that is
    /// passed twice counts once.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for no devices, CL_INVALID_DEVICE for devices of different platforms, an error of
    /// class [`Unsupported`](crate::Class::Unsupported) for a device before OpenCL 1.2, and the driver's errors.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a Device>) -> Result<Self> {
        const CALL: &str = "clCreateContext";
        let mut all: Vec<Device> = Vec::new();
        for device in devices {
            if !all.contains(device) {
                all.push(device.clone());
            }
        }
        let Some((first, others)) = all.split_first() else {
            return Err(Error::refused(CALL, CL_INVALID_VALUE, "a context needs a device"));
        };
        let platform = first.platform()?;
        // PoCL reads the device of another driver.
        for device in others {
            let reason = "the devices belong to different platforms";
            Error::refuse_if(device.platform()? != platform, CALL, CL_INVALID_DEVICE, || reason)?;
        }
        check_versions(CALL, &all, OLDEST)?;
        let devices: Vec<cl_device_id> = all.iter().map(Device::as_raw).collect();
        let (count, list, none) = (devices.len() as u32, devices.as_ptr(), ptr::null_mut());
        // Other libraries look for the platform of a context there.
        let properties = [cl::CL_CONTEXT_PLATFORM, platform.as_raw() as isize, 0];
        let properties = properties.as_ptr();
        // SAFETY: a 0 ends the properties, the devices are alive, and there are so many.
        let context = unsafe {
            create!(ContextRef, clCreateContext(properties, count, list, Some(notify), none))
        }?;
        Ok(Self(Arc::new(MemContext::new(context, all.into()))))
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT where the driver lists no device, an error of class
    /// [`Unsupported`](crate::Class::Unsupported) for a device before OpenCL 1.2, and the driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid context, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_context) -> Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { MemContext::from_raw(raw) }.map(Self)
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    pub fn as_raw(&self) -> cl_context {
        self.0.raw()
    }

    /// Returns the devices (CL_CONTEXT_DEVICES), at least one.
    pub fn devices(&self) -> &[Device] {
        self.0.devices()
    }

    /// Returns the first device.
    pub fn default_device(&self) -> &Device {
        &self.devices()[0]
    }

    /// Returns CL_CONTEXT_REFERENCE_COUNT, for debugging: clones share a reference, and objects of the context
    /// have others.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn reference_count(&self) -> Result<u32> {
        cl::get_context_info(self.as_raw(), cl::CL_CONTEXT_REFERENCE_COUNT)
            .map(u32::from)
            .map_err(in_call("clGetContextInfo"))
    }

    /// Returns the number of references that this library holds to the context, for the time after this handle.
    pub fn watch(&self) -> ContextWatch {
        ContextWatch(Arc::downgrade(&self.0.dropped_queues))
    }

    /// Returns a reference of its own to the context, for an object in it.
    pub(crate) fn retained(&self) -> Result<Arc<MemContext>> {
        self.0.retained()
    }
}

/// Logs a notification of the driver. No panic of the logger may reach the driver.
unsafe extern "C" fn notify(text: *const c_char, _: *const c_void, _: usize, _: *mut c_void) {
    if text.is_null() {
        return;
    }
    // SAFETY: the driver passes a string that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let _ = catch_unwind(AssertUnwindSafe(|| log::warn!("the driver notifies: {text}")));
}

by_handle!(Context, devices);
retain_raw!(Context, cl_context, ContextRef, "clRetainContext");

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::ptr;

    use super::*;

    thread_local!(static LOGGED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) });

    /// A logger that keeps what each thread logs, and panics if it is told to.
    struct Logger;

    impl log::Log for Logger {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            let text = record.args().to_string();
            // Other tests have threads of their own.
            let panics = LOGGED.with_borrow_mut(|logged| {
                logged.push(text.clone());
                logged[0].contains("low on memory") && text.contains("panic")
            });
            assert!(!panics, "as told");
        }

        fn flush(&self) {}
    }

    #[test]
    fn notifications_are_logged() {
        // No other unit test has a logger.
        log::set_logger(&Logger).expect("the first logger");
        log::set_max_level(log::LevelFilter::Warn);
        for text in [None, Some(c"low on memory"), Some(c"panic")] {
            let text = text.map_or(ptr::null(), CStr::as_ptr);
            // SAFETY: the text is null or ends with a zero byte.
            unsafe { notify(text, ptr::null(), 0, ptr::null_mut()) };
        }
        let logged = LOGGED.take();
        assert_eq!(logged, ["the driver notifies: low on memory", "the driver notifies: panic"]);
    }
}
