//! What a driver tells of a kernel's arguments (`clGetKernelArgInfo`), and what that means for what
//! may be passed.
//!
//! A driver need not tell: then all is allowed here, and up to the driver.

use cl3::kernel::{
    CL_KERNEL_ARG_ACCESS_NONE, CL_KERNEL_ARG_ACCESS_QUALIFIER, CL_KERNEL_ARG_ADDRESS_CONSTANT,
    CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_LOCAL, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
    CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_NAME, CL_KERNEL_ARG_TYPE_PIPE,
    CL_KERNEL_ARG_TYPE_QUALIFIER, get_kernel_arg_info,
};
use cl3::types::{cl_kernel, cl_uint};

/// In which memory an argument lies (CL_KERNEL_ARG_ADDRESS_QUALIFIER).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressQualifier {
    /// A pointer to global memory, or an image or a pipe.
    Global,
    /// A pointer to constant memory.
    Constant,
    /// A pointer to local memory.
    Local,
    /// A value, or a sampler.
    Private,
}

/// What the driver tells of an argument of a kernel (`clGetKernelArgInfo`; `kernel_arg_info`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgInfo {
    /// Its name in the source; empty where the driver does not tell.
    pub name: String,
    /// Its type without qualifiers, such as `float4`, `uint*` or `image2d_t`.
    pub type_name: String,
    /// In which memory it lies.
    pub address: AddressQualifier,
    /// CL_KERNEL_ARG_ACCESS_QUALIFIER, as OpenCL numbers it: for images and pipes.
    pub access: u32,
    /// CL_KERNEL_ARG_TYPE_QUALIFIER, as OpenCL numbers them: const, restrict, volatile, pipe.
    pub type_qualifier: u64,
}

/// What may be passed for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    /// Nobody tells.
    Unknown,
    /// A buffer, shared virtual memory or null.
    Buffer,
    Image,
    Pipe,
    Sampler,
    Local,
    /// A value of a type that OpenCL C does not know, such as a structure.
    Structure,
    /// A value of so many bytes.
    Value {
        size: u32,
        numbers: Numbers,
    },
}

/// What numbers a value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    Integers,
    Floats,
    /// Nobody tells.
    Unknown,
}

/// One for each argument, or none where the driver does not tell of all.
pub(super) fn ask(kernel: cl_kernel, count: cl_uint) -> Vec<ArgInfo> {
    let infos: Option<Vec<ArgInfo>> = (0..count).map(|index| ask_one(kernel, index)).collect();
    infos.unwrap_or_default()
}

fn ask_one(kernel: cl_kernel, index: cl_uint) -> Option<ArgInfo> {
    let info = |name| get_kernel_arg_info(kernel, index, name).ok();
    let address = match info(CL_KERNEL_ARG_ADDRESS_QUALIFIER)?.into() {
        CL_KERNEL_ARG_ADDRESS_GLOBAL => AddressQualifier::Global,
        CL_KERNEL_ARG_ADDRESS_CONSTANT => AddressQualifier::Constant,
        CL_KERNEL_ARG_ADDRESS_LOCAL => AddressQualifier::Local,
        _ => AddressQualifier::Private,
    };
    Some(ArgInfo {
        name: info(CL_KERNEL_ARG_NAME).map(String::from).unwrap_or_default(),
        type_name: info(CL_KERNEL_ARG_TYPE_NAME)?.into(),
        address,
        access: info(CL_KERNEL_ARG_ACCESS_QUALIFIER)?.into(),
        type_qualifier: info(CL_KERNEL_ARG_TYPE_QUALIFIER)?.into(),
    })
}

/// What may be passed for each of `count` arguments.
pub(super) fn parameters(infos: &[ArgInfo], count: cl_uint) -> Vec<Parameter> {
    (0..count as usize)
        .map(|index| infos.get(index).map_or(Parameter::Unknown, parameter))
        .collect()
}

fn parameter(info: &ArgInfo) -> Parameter {
    let type_name = info.type_name.as_str();
    if info.type_qualifier & u64::from(CL_KERNEL_ARG_TYPE_PIPE) != 0 {
        return Parameter::Pipe;
    }
    if type_name.starts_with("image") && info.access != CL_KERNEL_ARG_ACCESS_NONE {
        return Parameter::Image;
    }
    match info.address {
        AddressQualifier::Local => Parameter::Local,
        AddressQualifier::Global | AddressQualifier::Constant => Parameter::Buffer,
        AddressQualifier::Private if type_name == "sampler_t" => Parameter::Sampler,
        AddressQualifier::Private => value(type_name).unwrap_or(Parameter::Structure),
    }
}

/// A scalar or vector of OpenCL C.
fn value(type_name: &str) -> Option<Parameter> {
    let digits = type_name.find(|c: char| c.is_ascii_digit()).unwrap_or(type_name.len());
    let (scalar, width) = type_name.split_at(digits);
    let (size, numbers) = match scalar {
        "char" | "uchar" => (1, Numbers::Integers),
        "short" | "ushort" => (2, Numbers::Integers),
        "int" | "uint" => (4, Numbers::Integers),
        "long" | "ulong" => (8, Numbers::Integers),
        "half" => (2, Numbers::Unknown),
        "float" => (4, Numbers::Floats),
        "double" => (8, Numbers::Floats),
        _ => return None,
    };
    let width = match width {
        "" => 1,
        // A vector of 3 takes the place of one of 4.
        "3" | "4" => 4,
        "2" => 2,
        "8" => 8,
        "16" => 16,
        _ => return None,
    };
    Some(Parameter::Value { size: size * width, numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_say_what_may_be_passed() {
        use AddressQualifier::{Constant, Global, Local, Private};
        use cl3::kernel::{CL_KERNEL_ARG_ACCESS_READ_ONLY, CL_KERNEL_ARG_TYPE_CONST};
        const NONE: u32 = CL_KERNEL_ARG_ACCESS_NONE;
        let integers = |size| Parameter::Value { size, numbers: Numbers::Integers };
        let floats = |size| Parameter::Value { size, numbers: Numbers::Floats };
        for (type_name, address, access, type_qualifier, expected) in [
            ("uint*", Global, NONE, 0, Parameter::Buffer),
            ("float*", Constant, NONE, CL_KERNEL_ARG_TYPE_CONST.into(), Parameter::Buffer),
            ("int*", Local, NONE, 0, Parameter::Local),
            ("image2d_t", Global, CL_KERNEL_ARG_ACCESS_READ_ONLY, 0, Parameter::Image),
            ("image_like*", Global, NONE, 0, Parameter::Buffer),
            (
                "uint",
                Global,
                CL_KERNEL_ARG_ACCESS_READ_ONLY,
                CL_KERNEL_ARG_TYPE_PIPE.into(),
                Parameter::Pipe,
            ),
            ("sampler_t", Private, NONE, 0, Parameter::Sampler),
            ("uchar", Private, NONE, 0, integers(1)),
            ("int", Private, NONE, 0, integers(4)),
            ("float3", Private, NONE, 0, floats(16)),
            ("double16", Private, NONE, 0, floats(128)),
            ("half", Private, NONE, 0, Parameter::Value { size: 2, numbers: Numbers::Unknown }),
            ("struct S", Private, NONE, 0, Parameter::Structure),
            ("real", Private, NONE, 0, Parameter::Structure),
            ("float5", Private, NONE, 0, Parameter::Structure),
            ("int2x", Private, NONE, 0, Parameter::Structure),
        ] {
            let (name, type_name) = (String::new(), type_name.to_owned());
            let info = ArgInfo { name, type_name, address, access, type_qualifier };
            assert_eq!(parameter(&info), expected, "{info:?}");
        }
    }
}
