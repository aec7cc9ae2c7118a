//! The properties of platforms and devices with their names, to be listed.

use std::fmt;

use cl3::device as cl;
use cl3::platform::{self, get_platform_data};

use super::query::text;
use crate::device::Device;
use crate::platform::Platform;

/// The value of a property of a device or platform: [`Device::properties`], [`Platform::properties`].
///
/// Its text is the value as one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PropertyValue {
    /// A string, such as a name, or a numeric version as `3.0.1`.
    Text(String),
    /// Names with their versions, such as `cl_khr_fp64 1.0.0`.
    Texts(Vec<String>),
    /// A boolean.
    Flag(bool),
    /// A number or an enumerant, in OpenCL's unit: sizes are in bytes, but for CL_DEVICE_MEM_BASE_ADDR_ALIGN in bits
    /// and sizes of images in pixels.
    Number(u64),
    /// Several numbers, such as the most work items of a work group in each dimension.
    Numbers(Vec<u64>),
    /// A bit field.
    Bits(u64),
    /// Bytes, such as a UUID.
    Bytes(Vec<u8>),
}

impl fmt::Display for PropertyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(", ")),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Numbers(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
                f.write_str(&numbers.join(", "))
            }
            Self::Bits(bits) => write!(f, "{bits:#x}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// The type in which OpenCL returns a property.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `char[]`.
    Text,
    /// `cl_bool`.
    Flag,
    /// A number of 4 or 8 bytes.
    Number,
    /// `size_t[]`, `intptr_t[]`.
    Numbers,
    /// A bit field of 4 or 8 bytes.
    Bits,
    /// `cl_uchar[]`.
    Bytes,
    /// `cl_version`.
    Version,
    /// `cl_name_version[]`.
    Versions,
}

/// The bytes of a name in `cl_name_version`, behind a version of 4 bytes.
const NAME_BYTES: usize = 64;

impl Kind {
    /// Returns the value of these bytes, or `None` where the size is that of another type.
    fn value(self, data: Vec<u8>) -> Option<PropertyValue> {
        Some(match self {
            Self::Text => PropertyValue::Text(text(Ok(data))),
            Self::Flag => PropertyValue::Flag(number(&data)? != 0),
            Self::Number => PropertyValue::Number(number(&data)?),
            Self::Numbers => {
                let (numbers, rest) = data.as_chunks::<{ size_of::<usize>() }>();
                let numbers = numbers.iter().map(|number| usize::from_ne_bytes(*number) as u64);
                rest.is_empty().then_some(PropertyValue::Numbers(numbers.collect()))?
            }
            Self::Bits => PropertyValue::Bits(number(&data)?),
            Self::Bytes => PropertyValue::Bytes(data),
            Self::Version => PropertyValue::Text(version(&data)?),
            Self::Versions => {
                let (named, rest) = data.as_chunks::<{ 4 + NAME_BYTES }>();
                let named = named.iter().map(|named| {
                    Some(format!("{} {}", text(Ok(named[4..].to_vec())), version(&named[..4])?))
                });
                let named = named.collect::<Option<_>>()?;
                rest.is_empty().then_some(PropertyValue::Texts(named))?
            }
        })
    }
}

fn number(data: &[u8]) -> Option<u64> {
    match data.len() {
        4 => Some(u32::from_ne_bytes(data.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(data.try_into().ok()?)),
        _ => None,
    }
}

/// Returns `major.minor.patch` of a `cl_version`, which has 10, 10 and 12 bits for them.
fn version(data: &[u8]) -> Option<String> {
    let version = u32::from_ne_bytes(data.try_into().ok()?);
    Some(format!("{}.{}.{}", version >> 22, version >> 12 & 0x3ff, version & 0xfff))
}

/// A property: its name, OpenCL's number for it, and its type.
type Property = (&'static str, u32, Kind);

macro_rules! properties {
    ($module:ident: $($kind:ident: $($name:ident)*;)*) => {
        &[$($((stringify!($name), $module::$name, Kind::$kind),)*)*]
    };
}

/// The properties of any version of OpenCL, in the order of kinds. A driver returns an error for a name that it does
/// not know.
const OF_DEVICES: &[Property] = properties! { cl:
    Text: CL_DEVICE_NAME CL_DEVICE_VENDOR CL_DEVICE_VERSION CL_DRIVER_VERSION CL_DEVICE_OPENCL_C_VERSION
        CL_DEVICE_PROFILE CL_DEVICE_EXTENSIONS CL_DEVICE_BUILT_IN_KERNELS CL_DEVICE_IL_VERSION
        CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED;
    Version: CL_DEVICE_NUMERIC_VERSION;
    Versions: CL_DEVICE_OPENCL_C_ALL_VERSIONS CL_DEVICE_OPENCL_C_FEATURES CL_DEVICE_EXTENSIONS_WITH_VERSION
        CL_DEVICE_ILS_WITH_VERSION CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION;
    Flag: CL_DEVICE_AVAILABLE CL_DEVICE_COMPILER_AVAILABLE CL_DEVICE_LINKER_AVAILABLE CL_DEVICE_ENDIAN_LITTLE
        CL_DEVICE_ERROR_CORRECTION_SUPPORT CL_DEVICE_HOST_UNIFIED_MEMORY CL_DEVICE_IMAGE_SUPPORT
        CL_DEVICE_PREFERRED_INTEROP_USER_SYNC CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS
        CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT
        CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT CL_DEVICE_PIPE_SUPPORT;
    Bits: CL_DEVICE_TYPE CL_DEVICE_HALF_FP_CONFIG CL_DEVICE_SINGLE_FP_CONFIG CL_DEVICE_DOUBLE_FP_CONFIG
        CL_DEVICE_EXECUTION_CAPABILITIES CL_DEVICE_QUEUE_ON_HOST_PROPERTIES CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES
        CL_DEVICE_PARTITION_AFFINITY_DOMAIN CL_DEVICE_SVM_CAPABILITIES CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES
        CL_DEVICE_ATOMIC_FENCE_CAPABILITIES CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES;
    Numbers: CL_DEVICE_MAX_WORK_ITEM_SIZES CL_DEVICE_PARTITION_PROPERTIES CL_DEVICE_PARTITION_TYPE;
    Number: CL_DEVICE_VENDOR_ID CL_DEVICE_MAX_COMPUTE_UNITS CL_DEVICE_MAX_CLOCK_FREQUENCY CL_DEVICE_ADDRESS_BITS
        CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS CL_DEVICE_MAX_WORK_GROUP_SIZE
        CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE CL_DEVICE_MAX_NUM_SUB_GROUPS
        CL_DEVICE_GLOBAL_MEM_SIZE CL_DEVICE_MAX_MEM_ALLOC_SIZE CL_DEVICE_GLOBAL_MEM_CACHE_TYPE
        CL_DEVICE_GLOBAL_MEM_CACHE_SIZE CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE CL_DEVICE_LOCAL_MEM_TYPE
        CL_DEVICE_LOCAL_MEM_SIZE CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE CL_DEVICE_MAX_CONSTANT_ARGS
        CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE
        CL_DEVICE_MAX_PARAMETER_SIZE CL_DEVICE_MEM_BASE_ADDR_ALIGN CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE
        CL_DEVICE_PRINTF_BUFFER_SIZE CL_DEVICE_PROFILING_TIMER_RESOLUTION
        CL_DEVICE_IMAGE2D_MAX_WIDTH CL_DEVICE_IMAGE2D_MAX_HEIGHT CL_DEVICE_IMAGE3D_MAX_WIDTH
        CL_DEVICE_IMAGE3D_MAX_HEIGHT CL_DEVICE_IMAGE3D_MAX_DEPTH CL_DEVICE_IMAGE_MAX_BUFFER_SIZE
        CL_DEVICE_IMAGE_MAX_ARRAY_SIZE CL_DEVICE_IMAGE_PITCH_ALIGNMENT CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT
        CL_DEVICE_MAX_READ_IMAGE_ARGS CL_DEVICE_MAX_WRITE_IMAGE_ARGS CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS
        CL_DEVICE_MAX_SAMPLERS CL_DEVICE_MAX_PIPE_ARGS CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
        CL_DEVICE_PIPE_MAX_PACKET_SIZE CL_DEVICE_MAX_ON_DEVICE_QUEUES CL_DEVICE_MAX_ON_DEVICE_EVENTS
        CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR
        CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT CL_DEVICE_NATIVE_VECTOR_WIDTH_INT CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG
        CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
        CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
        CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT CL_DEVICE_PARTITION_MAX_SUB_DEVICES CL_DEVICE_REFERENCE_COUNT;
};

/// The properties of extensions, which a driver without them may not know.
const OF_EXTENSIONS: &[(&str, &[Property])] = &[
    (
        "cl_khr_device_uuid",
        properties! { cl:
            Bytes: CL_DEVICE_UUID_KHR CL_DRIVER_UUID_KHR CL_DEVICE_LUID_KHR;
            Flag: CL_DEVICE_LUID_VALID_KHR;
            Bits: CL_DEVICE_NODE_MASK_KHR;
        },
    ),
    (
        "cl_khr_integer_dot_product",
        properties! { cl: Bits: CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR; },
    ),
    (
        "cl_nv_device_attribute_query",
        properties! { cl:
            Number: CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV
                CL_DEVICE_REGISTERS_PER_BLOCK_NV CL_DEVICE_WARP_SIZE_NV CL_DEVICE_PCI_BUS_ID_NV
                CL_DEVICE_PCI_SLOT_ID_NV;
            Flag: CL_DEVICE_GPU_OVERLAP_NV CL_DEVICE_KERNEL_EXEC_TIMEOUT_NV CL_DEVICE_INTEGRATED_MEMORY_NV;
        },
    ),
    (
        "cl_amd_device_attribute_query",
        properties! { cl:
            Text: CL_DEVICE_BOARD_NAME_AMD;
            Number: CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD CL_DEVICE_SIMD_WIDTH_AMD
                CL_DEVICE_SIMD_INSTRUCTION_WIDTH_AMD CL_DEVICE_WAVEFRONT_WIDTH_AMD
                CL_DEVICE_GLOBAL_MEM_CHANNELS_AMD CL_DEVICE_LOCAL_MEM_BANKS_AMD;
            Numbers: CL_DEVICE_GLOBAL_FREE_MEMORY_AMD;
        },
    ),
    (
        "cl_intel_device_attribute_query",
        properties! { cl:
            Number: CL_DEVICE_IP_VERSION_INTEL CL_DEVICE_ID_INTEL CL_DEVICE_NUM_SLICES_INTEL
                CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL
                CL_DEVICE_NUM_THREADS_PER_EU_INTEL;
            Bits: CL_DEVICE_FEATURE_CAPABILITIES_INTEL;
        },
    ),
];

const OF_PLATFORMS: &[Property] = properties! { platform:
    Text: CL_PLATFORM_NAME CL_PLATFORM_VENDOR CL_PLATFORM_VERSION CL_PLATFORM_PROFILE CL_PLATFORM_EXTENSIONS;
    Version: CL_PLATFORM_NUMERIC_VERSION;
    Versions: CL_PLATFORM_EXTENSIONS_WITH_VERSION;
    Number: CL_PLATFORM_HOST_TIMER_RESOLUTION;
};

impl Device {
    /// Returns the properties that the driver reports of the device, with their names (`clGetDeviceInfo`, OpenCL 3.0,
    /// table 5; PyOpenCL's `device_info`): those of any version of OpenCL, and those of cl_khr_device_uuid,
    /// cl_khr_integer_dot_product, and of the device attributes of NVIDIA, AMD and Intel. Handles are not among them:
    /// [`platform`](Self::platform) returns one.
    ///
    /// Each step queries the driver. A property that it does not know, or returns in another type than OpenCL's, is
    /// left out.
    ///
    /// ```
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// let device = context.default_device();
    /// for (name, value) in device.properties() {
    ///     println!("{name}: {value}");
    /// }
    /// let mut names = device.properties().map(|(name, _)| name);
    /// assert!(names.any(|name| name == "CL_DEVICE_GLOBAL_MEM_SIZE"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn properties(&self) -> impl Iterator<Item = (&'static str, PropertyValue)> {
        let extensions = self.query().extensions();
        let of_extensions = OF_EXTENSIONS
            .iter()
            .filter(move |(extension, _)| extensions.contains(*extension))
            .flat_map(|(_, properties)| *properties);
        OF_DEVICES.iter().chain(of_extensions).filter_map(|(name, number, kind)| {
            let data = cl::get_device_data(self.as_raw(), *number).ok()?;
            Some((*name, kind.value(data)?))
        })
    }
}

impl Platform {
    /// Returns the properties that the driver reports of the platform, with their names (`clGetPlatformInfo`, OpenCL
    /// 3.0, table 3; PyOpenCL's `platform_info`).
    ///
    /// A property that the driver does not know, or returns in another type than OpenCL's, is left out.
    pub fn properties(&self) -> impl Iterator<Item = (&'static str, PropertyValue)> {
        OF_PLATFORMS.iter().filter_map(|(name, number, kind)| {
            let data = get_platform_data(self.as_raw(), *number).ok()?;
            Some((*name, kind.value(data)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_text() {
        let version = 3_u32 << 22 | 1 << 12 | 7;
        let mut named = version.to_ne_bytes().to_vec();
        named.extend(*b"cl_khr_fp64\0");
        named.resize(4 + NAME_BYTES, 0);
        let sizes = [1024_usize, 64].map(usize::to_ne_bytes).concat();
        for (kind, data, expected) in [
            (Kind::Text, b"a device \0".to_vec(), Some("a device")),
            (Kind::Flag, 1_u32.to_ne_bytes().to_vec(), Some("true")),
            (Kind::Number, 7_u32.to_ne_bytes().to_vec(), Some("7")),
            (Kind::Number, 7_u64.to_ne_bytes().to_vec(), Some("7")),
            (Kind::Number, vec![7], None),
            (Kind::Numbers, sizes, Some("1024, 64")),
            (Kind::Numbers, Vec::new(), Some("")),
            (Kind::Numbers, vec![1; 7], None),
            (Kind::Bits, 10_u64.to_ne_bytes().to_vec(), Some("0xa")),
            (Kind::Bytes, vec![1, 0xab], Some("01ab")),
            (Kind::Version, version.to_ne_bytes().to_vec(), Some("3.1.7")),
            (
                Kind::Versions,
                [&named[..], &named].concat(),
                Some("cl_khr_fp64 3.1.7, cl_khr_fp64 3.1.7"),
            ),
            (Kind::Versions, named[..20].to_vec(), None),
        ] {
            let text = kind.value(data).map(|value| value.to_string());
            assert_eq!(text.as_deref(), expected, "{kind:?}");
        }
    }
}
