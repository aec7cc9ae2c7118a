//! A driver's description of a kernel's arguments (`clGetKernelArgInfo`), and the values that may be
//! passed for them.
//!
//! A driver may report nothing: then all values are allowed here, and the driver checks them.

use cl3::kernel::{
    CL_KERNEL_ARG_ACCESS_QUALIFIER, CL_KERNEL_ARG_ACCESS_READ_ONLY,
    CL_KERNEL_ARG_ACCESS_READ_WRITE, CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
    CL_KERNEL_ARG_ADDRESS_CONSTANT, CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ADDRESS_LOCAL,
    CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_NAME, CL_KERNEL_ARG_TYPE_CONST,
    CL_KERNEL_ARG_TYPE_NAME, CL_KERNEL_ARG_TYPE_PIPE, CL_KERNEL_ARG_TYPE_QUALIFIER,
    CL_KERNEL_ARG_TYPE_RESTRICT, CL_KERNEL_ARG_TYPE_VOLATILE, get_kernel_arg_info,
};
use cl3::types::{cl_kernel, cl_uint};

use super::value::{Kinds, Value};

/// The memory that holds an argument (CL_KERNEL_ARG_ADDRESS_QUALIFIER).
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

/// The access of a kernel to an image or a pipe (CL_KERNEL_ARG_ACCESS_QUALIFIER).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessQualifier {
    /// The kernel only reads it.
    ReadOnly,
    /// The kernel only writes it.
    WriteOnly,
    /// The kernel reads and writes it.
    ReadWrite,
}

bitflags::bitflags! {
    /// The qualifiers of an argument's type (CL_KERNEL_ARG_TYPE_QUALIFIER).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct TypeQualifiers: u64 {
        /// The kernel does not write where the pointer points.
        const CONST = CL_KERNEL_ARG_TYPE_CONST as u64;
        /// No other pointer points there.
        const RESTRICT = CL_KERNEL_ARG_TYPE_RESTRICT as u64;
        /// Other code may change it meanwhile.
        const VOLATILE = CL_KERNEL_ARG_TYPE_VOLATILE as u64;
        /// The argument is a pipe.
        const PIPE = CL_KERNEL_ARG_TYPE_PIPE as u64;
    }
}

/// The driver's description of an argument of a kernel (`clGetKernelArgInfo`; `kernel_arg_info`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ArgInfo {
    /// Its name in the source; empty where the driver does not report it.
    pub name: String,
    /// Its type without qualifiers, such as `float4`, `uint*` or `image2d_t`.
    pub type_name: String,
    /// The memory that holds it.
    pub address: AddressQualifier,
    /// The access of the kernel to an image or a pipe; `None` for other arguments.
    pub access: Option<AccessQualifier>,
    /// The qualifiers of its type.
    pub type_qualifiers: TypeQualifiers,
}

/// The values that may be passed for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub kinds: Kinds,
    /// In bytes; 0 for any size.
    pub size: usize,
}

impl Parameter {
    /// Any value, for an argument that the driver does not describe.
    const UNKNOWN: Self = Self::new(Kinds::all().difference(Kinds::FOREIGN.union(Kinds::NO_SIZE)));

    const fn new(kinds: Kinds) -> Self {
        Self { kinds, size: 0 }
    }

    #[inline]
    pub(super) fn takes(self, value: &Value) -> bool {
        self.kinds.intersects(value.kind) && (self.size == value.size || self.size == 0)
    }
}

/// Queries one description for each argument; none where the driver does not describe all.
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
        access: match info(CL_KERNEL_ARG_ACCESS_QUALIFIER)?.into() {
            CL_KERNEL_ARG_ACCESS_READ_ONLY => Some(AccessQualifier::ReadOnly),
            CL_KERNEL_ARG_ACCESS_WRITE_ONLY => Some(AccessQualifier::WriteOnly),
            CL_KERNEL_ARG_ACCESS_READ_WRITE => Some(AccessQualifier::ReadWrite),
            _ => None,
        },
        type_qualifiers: TypeQualifiers::from_bits_retain(
            info(CL_KERNEL_ARG_TYPE_QUALIFIER)?.into(),
        ),
    })
}

/// Returns the values that may be passed for each of `count` arguments.
pub(super) fn parameters(infos: &[ArgInfo], count: cl_uint) -> Vec<Parameter> {
    (0..count as usize)
        .map(|index| infos.get(index).map_or(Parameter::UNKNOWN, parameter))
        .collect()
}

fn parameter(info: &ArgInfo) -> Parameter {
    let type_name = info.type_name.as_str();
    if info.type_qualifiers.contains(TypeQualifiers::PIPE) {
        return Parameter::new(Kinds::PIPE);
    }
    if type_name.starts_with("image") && info.access.is_some() {
        return Parameter::new(Kinds::IMAGE);
    }
    match info.address {
        AddressQualifier::Local => Parameter::new(Kinds::LOCAL),
        AddressQualifier::Global | AddressQualifier::Constant => Parameter::new(Kinds::POINTERS),
        AddressQualifier::Private if type_name == "sampler_t" => Parameter::new(Kinds::SAMPLER),
        // A structure, or another name for anything.
        AddressQualifier::Private => {
            value(type_name).unwrap_or(Parameter::new(Kinds::VALUES.union(Kinds::SAMPLER)))
        }
    }
}

/// A scalar or vector of OpenCL C.
fn value(type_name: &str) -> Option<Parameter> {
    const INTEGERS: Kinds = Kinds::INTEGERS.union(Kinds::OTHER_VALUE);
    const FLOATS: Kinds = Kinds::FLOATS.union(Kinds::OTHER_VALUE);
    let digits = type_name.find(|c: char| c.is_ascii_digit()).unwrap_or(type_name.len());
    let (scalar, width) = type_name.split_at(digits);
    let (size, kinds) = match scalar {
        "char" | "uchar" => (1, INTEGERS),
        "short" | "ushort" => (2, INTEGERS),
        "int" | "uint" => (4, INTEGERS),
        "long" | "ulong" => (8, INTEGERS),
        "half" => (2, Kinds::VALUES),
        "float" => (4, FLOATS),
        "double" => (8, FLOATS),
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
    Some(Parameter { kinds, size: size * width })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_say_what_may_be_passed() {
        use AddressQualifier::{Constant, Global, Local, Private};
        const READ_ONLY: Option<AccessQualifier> = Some(AccessQualifier::ReadOnly);
        const NO: TypeQualifiers = TypeQualifiers::empty();
        let value = |kinds: Kinds, size| Parameter { kinds: kinds | Kinds::OTHER_VALUE, size };
        let integers = |size| value(Kinds::INTEGERS, size);
        let floats = |size| value(Kinds::FLOATS, size);
        let [pointer, local] = [Kinds::POINTERS, Kinds::LOCAL].map(Parameter::new);
        let [image, pipe, sampler] =
            [Kinds::IMAGE, Kinds::PIPE, Kinds::SAMPLER].map(Parameter::new);
        let other = Parameter::new(Kinds::VALUES | Kinds::SAMPLER);
        for (type_name, address, access, type_qualifiers, expected) in [
            ("uint*", Global, None, NO, pointer),
            ("float*", Constant, None, TypeQualifiers::CONST, pointer),
            ("int*", Local, None, NO, local),
            ("image2d_t", Global, READ_ONLY, NO, image),
            ("image_like*", Global, None, NO, pointer),
            ("uint", Global, READ_ONLY, TypeQualifiers::PIPE, pipe),
            ("sampler_t", Private, None, NO, sampler),
            ("uchar", Private, None, NO, integers(1)),
            ("int", Private, None, NO, integers(4)),
            ("float3", Private, None, NO, floats(16)),
            ("double16", Private, None, NO, floats(128)),
            ("half", Private, None, NO, value(Kinds::VALUES, 2)),
            ("struct S", Private, None, NO, other),
            ("real", Private, None, NO, other),
            ("float5", Private, None, NO, other),
            ("int2x", Private, None, NO, other),
        ] {
            let (name, type_name) = (String::new(), type_name.to_owned());
            let info = ArgInfo { name, type_name, address, access, type_qualifiers };
            assert_eq!(parameter(&info), expected, "{info:?}");
        }
    }
}
