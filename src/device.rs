//! Devices (OpenCL 3.0, 4.2; `pyopencl.Device`).

use std::mem;
use std::sync::Arc;

use cl3::device as cl;
use cl3::error_codes::{CL_INVALID_DEVICE_PARTITION_COUNT, CL_INVALID_OPERATION};
use cl3::types::{cl_device_id, cl_platform_id};

use crate::driver::Driver;
use crate::error::{Error, Result, in_call};
use crate::handle::{DeviceRef, by_handle};
use crate::platform::Platform;
use crate::select::Version;
use crate::select::query::Query;

/// A device, or a part of one (`pyopencl.Device`).
///
/// Clones are handles to the same device. A sub-device lives as long as a handle to it, or a context, queue or
/// other object that was made for it.
///
/// ```
/// use clmatrix::Device;
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device: &Device = context.default_device();
/// println!("{} has {} bytes", device.name(), device.info().global_mem_size);
/// assert!(device.version().major >= 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Device {
    raw: cl_device_id,
    /// Only sub-devices are counted.
    part: Option<Arc<Part>>,
}

/// The references of a sub-device.
struct Part {
    /// The first field: the device that it is a part of must outlive it.
    // quirk: DRIVER-17
    reference: DeviceRef,
    _parent: Device,
}

// SAFETY: devices may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// The parts into which [`Device::partition`] divides a device (`cl_device_partition_property`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Partition<'a> {
    /// Parts of this many compute units each, as many as fit.
    Equally(u32),
    /// One part for each of these numbers of compute units.
    ByCounts(&'a [u32]),
    /// Parts that share a cache or memory (`cl_device_affinity_domain`), as OpenCL numbers it.
    ByAffinityDomain(u64),
}

impl Device {
    /// Wraps a driver's handle. The caller's reference to a sub-device is taken over, unless this fails; other devices
    /// count none.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid device, and the caller owns a reference to a sub-device.
    pub unsafe fn from_raw(raw: cl_device_id) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let device = unsafe { Self::retain_raw(raw) }?;
        if let Some(part) = &device.part {
            // SAFETY: the caller's reference is given up once.
            drop(unsafe { DeviceRef::owned(part.reference.get()) });
        }
        Ok(device)
    }

    /// Wraps a driver's handle, and adds a reference to a sub-device (`clRetainDevice`).
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid device.
    pub unsafe fn retain_raw(raw: cl_device_id) -> Result<Self> {
        let parent = cl::get_device_info(raw, cl::CL_DEVICE_PARENT_DEVICE).map(isize::from);
        let parent = parent.unwrap_or_default() as cl_device_id;
        // The driver of another device may lack the function.
        // quirk: LOADER-2
        // quirk: INTEL-10
        if parent.is_null() || parent == raw {
            return Ok(Self { raw, part: None });
        }
        // SAFETY: the caller vouches for the handle.
        let reference = unsafe { DeviceRef::retain(raw) }?;
        // SAFETY: the driver says that it is the device of a valid one.
        let parent = unsafe { Self::retain_raw(parent) }?;
        Ok(Self { raw, part: Some(Arc::new(Part { reference, _parent: parent })) })
    }

    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    pub fn as_raw(&self) -> cl_device_id {
        self.raw
    }

    /// Returns CL_DEVICE_PLATFORM.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn platform(&self) -> Result<Platform> {
        let platform = cl::get_device_info(self.raw, cl::CL_DEVICE_PLATFORM)
            .map_err(in_call("clGetDeviceInfo"))?;
        // SAFETY: the driver says that it is the platform of a valid device.
        Ok(unsafe { Platform::from_raw(isize::from(platform) as cl_platform_id) })
    }

    /// Returns CL_DEVICE_NAME; empty where the driver returns none.
    pub fn name(&self) -> String {
        self.query().text(cl::CL_DEVICE_NAME)
    }

    /// Returns the version of OpenCL of CL_DEVICE_VERSION, 0.0 where the driver returns none.
    pub fn version(&self) -> Version {
        Version::parse(&self.query().text(cl::CL_DEVICE_VERSION)).unwrap_or_default()
    }

    /// Returns whether CL_DEVICE_EXTENSIONS lists an extension.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.query().extensions().contains(extension)
    }

    /// Returns the queries of the device, for properties by their number.
    pub fn query(&self) -> Query<'_> {
        Query(self)
    }

    /// Divides the device into sub-devices (`clCreateSubDevices`, OpenCL 1.2; `pyopencl.Device.create_sub_devices`).
    /// PoCL uses them after their commands have completed, so there and on unknown drivers they are never released
    /// (some 2 KiB each).
    ///
    /// # Errors
    /// CL_INVALID_DEVICE_PARTITION_COUNT for a part of no compute units and for no parts, an error of class
    /// [`Unsupported`](crate::Class::Unsupported) before OpenCL 1.2 and for a kind of parts that
    /// CL_DEVICE_PARTITION_PROPERTIES does not list, and the driver's errors, such as CL_DEVICE_PARTITION_FAILED.
    #[doc(alias = "create_sub_devices")]
    pub fn partition(&self, partition: Partition<'_>) -> Result<Vec<Self>> {
        const CALL: &str = "clCreateSubDevices";
        check_versions(CALL, std::slice::from_ref(self), OLDEST)?;
        let (kind, values) = match partition {
            Partition::Equally(units) => (cl::CL_DEVICE_PARTITION_EQUALLY, vec![units as isize]),
            Partition::ByCounts(counts) => {
                let counts = counts.iter().map(|count| *count as isize);
                (cl::CL_DEVICE_PARTITION_BY_COUNTS, counts.collect())
            }
            Partition::ByAffinityDomain(domain) => {
                (cl::CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, vec![domain as isize])
            }
        };
        // A count of 0 ends the list of the driver.
        let is_wrong = values.is_empty() || values.contains(&0);
        let reason = "a part has at least one compute unit";
        Error::refuse_if(is_wrong, CALL, CL_INVALID_DEVICE_PARTITION_COUNT, || reason)?;
        // The counts end with a 0, and so does the list.
        let properties: Vec<isize> = [kind].into_iter().chain(values).chain([0, 0]).collect();
        // A driver without sub-devices may lack the function.
        let kinds =
            opencl3::device::Device::new(self.raw).partition_properties().unwrap_or_default();
        if !kinds.contains(&kind) {
            let reason = "the device has no such sub-devices";
            return Err(Error::unsupported(CALL, CL_INVALID_OPERATION, reason));
        }
        let parts = cl::create_sub_devices(self.raw, &properties).map_err(in_call(CALL))?;
        let is_never_released = Driver::for_device(self.raw).contains(Driver::USES_PARTS_LATE);
        let own = |raw| -> Result<Self> {
            // SAFETY: the driver has just created it, with one reference.
            let reference = unsafe { DeviceRef::owned(raw) };
            // quirk: POCL-22
            if is_never_released {
                // SAFETY: the sub-device is alive.
                mem::forget(unsafe { DeviceRef::retain(raw) }?);
            }
            let part = Part { reference, _parent: self.clone() };
            Ok(Self { raw, part: Some(Arc::new(part)) })
        };
        parts.into_iter().map(own).collect()
    }
}

/// The oldest version of OpenCL that a device may have. Its functions are called without a check of the version.
pub(crate) const OLDEST: Version = Version { major: 1, minor: 2 };

/// Refuses devices before the version that `call` needs: their drivers may lack the function, and the loader then
/// calls a null pointer.
// quirk: LOADER-2
pub(crate) fn check_versions(
    call: &'static str,
    devices: &[Device],
    needed: Version,
) -> Result<()> {
    devices.iter().try_for_each(|device| {
        let version = device.version();
        if version >= needed {
            return Ok(());
        }
        let reason = format!("'{}' has OpenCL {version}, this needs {needed}", device.name());
        Err(Error::unsupported(call, CL_INVALID_OPERATION, reason))
    })
}

by_handle!(Device, name);
