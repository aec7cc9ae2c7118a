//! Launching kernels with arguments that are checked before the driver sees them (OpenCL 3.0, 5.8
//! and 5.9; PyOpenCL's `Kernel`).
//!
//! A [`Kernel`] owns a kernel object and knows the types of its arguments; a [`Launch`] takes the arguments of one
//! launch as values and memory objects. opencl3's `ExecuteKernel` would pass the raw bytes of a handle of this crate.
//!
//! - `clSetKernelArg` must not race with itself or with a launch of the same kernel. A launch
//!   borrows its kernel exclusively, and sets the arguments only when it is enqueued.
//! - A launch records its event for the memory that it uses, so that maps and pools wait for it.
//!   Memory that is mapped is refused.
//! - A launch is `unsafe`: the library cannot check how a kernel uses its arguments.
//!
//! A launch queries nothing but its arguments and itself, and takes no memory from the heap for up to 8 arguments;
//! all other properties are queried once for each kernel.

pub(crate) mod arg;
mod arg_info;
mod builder;
mod size;
mod value;

use std::ffi::{CStr, CString};
use std::mem;
use std::sync::Arc;

use cl3::device::{CL_DEVICE_LOCAL_MEM_SIZE, get_device_info};
use cl3::error_codes::{CL_INVALID_DEVICE, CL_INVALID_KERNEL_NAME};
use cl3::info_type::InfoType;
use cl3::kernel as cl;
use cl3::kernel::{
    CL_KERNEL_CONTEXT, CL_KERNEL_FUNCTION_NAME, CL_KERNEL_NUM_ARGS, CL_KERNEL_PROGRAM,
};
use cl3::program::{CL_PROGRAM_KERNEL_NAMES, get_program_info};
use cl3::types::{cl_kernel, cl_program};

pub use arg::{KernelArg, LocalMemory, MemoryArg, NullBuffer};
pub use arg_info::{AccessQualifier, AddressQualifier, ArgInfo, TypeQualifiers};
pub use builder::Launch;
pub use size::WorkSize;

use crate::create::create;
use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Error, Result, in_call};
use crate::handle::{KernelRef, ProgramRef, retain_raw};
use crate::mem_context::MemContext;
use crate::program::Program;
use arg_info::Parameter;

/// A kernel that is ready to be launched, with the types of its arguments (PyOpenCL's `Kernel`).
///
/// It holds no memory, except on rusticl and unknown drivers the images and pipes of its last launch.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags};
/// use clmatrix::{CommandQueue, Program};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let queue = CommandQueue::new(&context)?;
/// let source = "kernel void scale(global float *values, float factor) {
///     values[get_global_id(0)] *= factor;
/// }";
/// let program = Program::build(&context, source)?;
/// let mut scale = program.kernel("scale")?;
///
/// let values = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1.0_f32, 2.0, 3.0])?;
/// // SAFETY: the arguments are those that the kernel declares, and each work item has an element.
/// unsafe { scale.launch().arg(&values).arg(2.0_f32).global(3).enqueue(&queue)? };
///
/// let mut scaled = [0.0_f32; 3];
/// values.read(&queue, &mut scaled)?;
/// assert_eq!(scaled, [2.0, 4.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Kernel {
    raw: KernelRef,
    program: ProgramRef,
    name: String,
    parameters: Vec<Parameter>,
    infos: Vec<ArgInfo>,
    context: Arc<MemContext>,
    /// The largest CL_DEVICE_LOCAL_MEM_SIZE of the context's devices, in bytes.
    local_memory: u64,
    /// True if the kernel was given pointers besides its arguments.
    has_indirect: bool,
    /// For each argument, true if it was set to a pointer and cannot be set to a memory object.
    has_svm: Vec<bool>,
    driver: Driver,
    /// The values among the arguments of the launch that is being put together.
    values: Vec<u128>,
}

/// The longest name of a kernel that no driver aborts on, in bytes.
const LONGEST_NAME: usize = 249;

/// Creates the kernel `name` of a valid program that is built.
fn create_kernel(program: cl_program, name: &str, driver: Driver) -> Result<KernelRef> {
    const CALL: &str = "clCreateKernel";
    // quirk: POCL-19
    let aborts = driver.contains(Driver::ABORTS_ON_LONG_NAMES) && name.len() > LONGEST_NAME;
    Error::refuse_if(aborts, CALL, CL_INVALID_KERNEL_NAME, || {
        format!("the driver crashes on names of more than {LONGEST_NAME} bytes")
    })?;
    let name = CString::new(name).map_err(|_| {
        let reason = format!("{name:?} has a zero byte in it");
        Error::refused(CALL, CL_INVALID_KERNEL_NAME, reason)
    })?;
    // SAFETY: the program is valid, and a zero byte ends the name.
    let created = unsafe { create!(KernelRef, clCreateKernel(program, name.as_ptr())) };
    created.map_err(|error| match error.code() {
        CL_INVALID_KERNEL_NAME => no_such_kernel(CALL, program, &name),
        _ => error,
    })
}

fn no_such_kernel(call: &'static str, program: cl_program, name: &CStr) -> Error {
    let known = get_program_info(program, CL_PROGRAM_KERNEL_NAMES).map(String::from);
    let known = known.map_or_else(|_| String::new(), |names| format!("; it has {names:?}"));
    Error::refused(call, CL_INVALID_KERNEL_NAME, format!("the program has no {name:?}{known}"))
}

impl Kernel {
    /// Creates the kernel `name` of a program that is built.
    pub(crate) fn create(program: &Program, name: &str) -> Result<Self> {
        // SAFETY: the program is alive.
        let reference = unsafe { ProgramRef::retain(program.as_raw()) }?;
        let driver = Driver::of_devices(program.context().devices());
        let kernel = create_kernel(program.as_raw(), name, driver)?;
        // SAFETY: the kernel is alive, and its reference is taken over.
        let taken = unsafe { Self::of(kernel.get(), reference, program.context().retained()?) }?;
        mem::forget(kernel);
        Ok(taken)
    }

    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// The driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid kernel, and the caller owns a reference to it.
    pub unsafe fn from_raw(raw: cl_kernel) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { MemContext::retain_answer(info(raw, CL_KERNEL_CONTEXT)?) }?;
        let program = isize::from(info(raw, CL_KERNEL_PROGRAM)?) as cl_program;
        // SAFETY: the driver says that it is the program of a valid kernel.
        let program = unsafe { ProgramRef::retain(program) }?;
        // SAFETY: the caller vouches for the handle and its reference.
        unsafe { Self::of(raw, program, context) }
    }

    /// Takes over a reference to a kernel, unless this fails. Queries the arguments of the kernel.
    ///
    /// # Safety
    /// `kernel` is a valid kernel of the program, in the context, and the caller owns a reference to it.
    unsafe fn of(kernel: cl_kernel, program: ProgramRef, context: Arc<MemContext>) -> Result<Self> {
        let count: u32 = info(kernel, CL_KERNEL_NUM_ARGS)?.into();
        let infos = arg_info::ask(kernel, count);
        let local_memory = |device: &Device| {
            get_device_info(device.as_raw(), CL_DEVICE_LOCAL_MEM_SIZE).map_or(u64::MAX, u64::from)
        };
        Ok(Self {
            name: info(kernel, CL_KERNEL_FUNCTION_NAME)?.into(),
            parameters: arg_info::parameters(&infos, count),
            infos,
            driver: Driver::of_devices(context.devices()),
            local_memory: context.devices().iter().map(local_memory).max().unwrap_or(u64::MAX),
            context,
            program,
            has_indirect: false,
            has_svm: vec![false; count as usize],
            values: Vec::new(),
            // SAFETY: as the caller promises.
            raw: unsafe { KernelRef::owned(kernel) },
        })
    }

    /// Begins a launch, without arguments and work size.
    #[inline]
    pub fn launch<'a>(&mut self) -> Launch<'_, 'a> {
        Launch::new(self)
    }

    /// Returns the name (CL_KERNEL_FUNCTION_NAME).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of arguments (CL_KERNEL_NUM_ARGS).
    pub fn num_args(&self) -> usize {
        self.parameters.len()
    }

    /// Returns the driver's description of each argument (`clGetKernelArgInfo`; PyOpenCL's
    /// `Kernel.get_arg_info`). Empty where the driver has none: PoCL for programs
    /// of binaries, and NVIDIA for those that are built without `-cl-kernel-arg-info`.
    pub fn arg_infos(&self) -> &[ArgInfo] {
        &self.infos
    }

    /// Returns the driver's handle, valid as long as `self` lives and is not launched (PyOpenCL's `int_ptr`).
    /// A launch replaces the kernel object where OpenCL or the driver cannot change a setting of the last
    /// launch: pointers of [`Launch::indirect`], and on NVIDIA a pointer as an argument that becomes a memory
    /// object.
    pub fn as_raw(&self) -> cl_kernel {
        self.raw.get()
    }

    /// Returns the kernel's needs and preferences on a device (`clGetKernelWorkGroupInfo`;
    /// `Kernel.get_work_group_info`).
    ///
    /// # Errors
    /// CL_INVALID_DEVICE for a device that is not in the context of the kernel, and the driver's errors.
    pub fn work_group_info(&self, device: &Device) -> Result<WorkGroupInfo> {
        const CALL: &str = "clGetKernelWorkGroupInfo";
        // PoCL reads the device of another driver as one of its own.
        let is_foreign = !self.context.devices().contains(device);
        let reason = "the device is not in the context of the kernel";
        Error::refuse_if(is_foreign, CALL, CL_INVALID_DEVICE, || reason)?;
        let info = |name| {
            cl::get_kernel_work_group_info(self.as_raw(), device.as_raw(), name)
                .map_err(in_call(CALL))
        };
        Ok(WorkGroupInfo {
            max_size: info(cl::CL_KERNEL_WORK_GROUP_SIZE)?.into(),
            preferred_multiple: info(cl::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)?.into(),
            local_memory: info(cl::CL_KERNEL_LOCAL_MEM_SIZE)?.into(),
            private_memory: info(cl::CL_KERNEL_PRIVATE_MEM_SIZE)?.into(),
        })
    }
}

retain_raw!(Kernel, cl_kernel, KernelRef, "clRetainKernel");

/// The needs and preferences of a kernel on a device: [`Kernel::work_group_info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WorkGroupInfo {
    /// The largest number of work items of a work group.
    pub max_size: usize,
    /// The number of work items whose multiples are best for the size of a work group.
    pub preferred_multiple: usize,
    /// The local memory of a work group, in bytes, with the arguments that are set.
    pub local_memory: u64,
    /// The private memory of a work item, in bytes.
    pub private_memory: u64,
}

/// `clGetKernelInfo` of a kernel that is alive.
fn info(raw: cl_kernel, name: u32) -> Result<InfoType> {
    cl::get_kernel_info(raw, name).map_err(in_call("clGetKernelInfo"))
}
