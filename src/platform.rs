//! Platforms (OpenCL 3.0, 4.1; `pyopencl.Platform`).

use cl3::device::{CL_DEVICE_TYPE_ALL, get_device_ids};
use cl3::error_codes::{CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR};
use cl3::platform as cl;
use cl3::types::cl_platform_id;
use parking_lot::ReentrantMutex;

use crate::device::Device;
use crate::error::{Error, Result, in_call};
use crate::handle::by_handle;
use crate::select::query::text;

/// Held during the search for platforms and devices: the first calls of a process must come from one thread.
// quirk: POCL-15
pub(crate) static ONE_THREAD: ReentrantMutex<()> = ReentrantMutex::new(());

/// A platform: a driver with its devices (`pyopencl.Platform`).
///
/// ```
/// use clmatrix::Platform;
///
/// # fn main() -> clmatrix::Result<()> {
/// for platform in Platform::all()? {
///     for device in platform.devices()? {
///         println!("{} on {}", device.name(), platform.name());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Platform(cl_platform_id);

// SAFETY: platforms may be used from any thread at once, and are never released.
unsafe impl Send for Platform {}
// SAFETY: as above.
unsafe impl Sync for Platform {}

impl Platform {
    /// Returns all platforms that the loader finds (`clGetPlatformIDs`; `pyopencl.get_platforms`).
    ///
    /// # Errors
    /// An error of class [`NoRuntime`](crate::Class::NoRuntime) where there is no loader or no platform, and
    /// the loader's other errors.
    #[doc(alias = "get_platforms")]
    pub fn all() -> Result<Vec<Self>> {
        const CALL: &str = "clGetPlatformIDs";
        let _guard = ONE_THREAD.lock();
        let platforms = cl::get_platform_ids().map_err(in_call(CALL))?;
        if platforms.is_empty() {
            // Some loaders report success and no platform.
            return Err(Error::from_call(CALL, CL_PLATFORM_NOT_FOUND_KHR));
        }
        Ok(platforms.into_iter().map(Self).collect())
    }

    /// Wraps a driver's handle.
    ///
    /// # Safety
    /// `raw` is a valid platform.
    pub unsafe fn from_raw(raw: cl_platform_id) -> Self {
        Self(raw)
    }

    /// Returns the driver's handle (PyOpenCL's `int_ptr`).
    pub fn as_raw(&self) -> cl_platform_id {
        self.0
    }

    /// Returns the devices of the platform (`clGetDeviceIDs`), possibly none.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn devices(&self) -> Result<Vec<Device>> {
        let _guard = ONE_THREAD.lock();
        // SAFETY: the driver lists valid devices.
        let device = |raw| unsafe { Device::retain_raw(raw) };
        match get_device_ids(self.0, CL_DEVICE_TYPE_ALL) {
            Ok(devices) => devices.into_iter().map(device).collect(),
            Err(CL_DEVICE_NOT_FOUND) => Ok(Vec::new()),
            Err(code) => Err(Error::from_call("clGetDeviceIDs", code)),
        }
    }

    /// Returns CL_PLATFORM_NAME; empty where the driver returns none.
    pub fn name(&self) -> String {
        self.text(cl::CL_PLATFORM_NAME)
    }

    /// Returns CL_PLATFORM_VENDOR; empty where the driver returns none.
    pub fn vendor(&self) -> String {
        self.text(cl::CL_PLATFORM_VENDOR)
    }

    /// Returns CL_PLATFORM_VERSION, such as `OpenCL 3.0 PoCL 6.0`; empty where the driver returns none.
    pub fn version(&self) -> String {
        self.text(cl::CL_PLATFORM_VERSION)
    }

    fn text(&self, name: u32) -> String {
        text(cl::get_platform_data(self.0, name))
    }
}

by_handle!(Platform, name);
