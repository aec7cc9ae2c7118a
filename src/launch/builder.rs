//! One launch: its arguments, its size and its wait list.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use crate::driver::Driver;
use crate::event::Event;
use cl3::command_queue::enqueue_nd_range_kernel;
use cl3::error_codes::{
    CL_INVALID_ARG_SIZE, CL_INVALID_ARG_VALUE, CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS,
};
use cl3::kernel::{
    CL_KERNEL_EXEC_INFO_SVM_PTRS, set_kernel_arg, set_kernel_arg_svm_pointer, set_kernel_exec_info,
};
use cl3::types::{cl_mem, cl_uint};
use smallvec::SmallVec;

use super::arg::sealed::PassMemory;
use super::arg::{KernelArg, MemoryArg};
use super::arg_info::Parameter;
use super::size::{self, CALL, WorkSize};
use super::value::{Data, Kinds, Value};
use super::{Kernel, create_kernel};
use crate::error::{Error, Result, in_call};
use crate::handle::{MemRef, SamplerRef};
use crate::mem_context::MemContext;
use crate::memory::command::{AccessedRange, enqueue};
use crate::memory::object;
use crate::memory::svm;
use crate::memory::track::Access;
use crate::memory::{MemFlags, MemoryObject, Order, Sampler, SvmPointer};

/// The number of arguments that a launch holds without memory from the heap.
const ROOM: usize = 8;

/// A launch of a kernel that is being built: [`Kernel::launch`].
///
/// Arguments come in the order in which the kernel declares them. Nothing reaches the driver before
/// [`enqueue`](Self::enqueue), which also checks them.
///
/// ```
/// # use clmatrix::memory::{Buffer, MemFlags};
/// # use clmatrix::{CommandQueue, Program};
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = CommandQueue::new(&context)?;
/// let source = "kernel void sum(global const int *a, global const int *b, global int *c) {
///     size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
///     c[i] = a[i] + b[i];
/// }";
/// # let program = Program::build(&context, source)?;
/// let mut sum = program.kernel("sum")?;
/// let a = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1; 6])?;
/// let b = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[2; 6])?;
/// let c = Buffer::new(&context, MemFlags::READ_WRITE, 24)?;
///
/// let mut launch = sum.launch();
/// for read in [&a, &b] {
///     launch.arg_read(read);
/// }
/// launch.arg(&c).global([3, 2]).local([1, 1]);
/// // SAFETY: the arguments are those that the kernel declares, it only reads the first two, and
/// // each of the 3 x 2 work items has its element in all of them.
/// let event = unsafe { launch.enqueue(&queue)? };
/// assert_eq!(c.to_vec::<i32>(queue.after(&event))?, [3; 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a launch does nothing until it is enqueued"]
pub struct Launch<'k, 'a> {
    kernel: &'k mut Kernel,
    args: SmallVec<[Value; ROOM]>,
    accesses: SmallVec<[AccessedRange<'a>; ROOM]>,
    indirect: SmallVec<[*mut c_void; 1]>,
    /// Memory objects in host memory that the driver's command does not keep.
    in_host_memory: SmallVec<[cl_mem; 1]>,
    global: Option<WorkSize>,
    local: Option<WorkSize>,
    offset: Option<WorkSize>,
}

impl<'k, 'a> Launch<'k, 'a> {
    #[inline]
    pub(super) fn new(kernel: &'k mut Kernel) -> Self {
        kernel.values.clear();
        Self {
            kernel,
            args: SmallVec::new(),
            accesses: SmallVec::new(),
            indirect: SmallVec::new(),
            in_host_memory: SmallVec::new(),
            global: None,
            local: None,
            offset: None,
        }
    }

    /// Adds the next argument (`clSetKernelArg`): see [`KernelArg`].
    ///
    /// Memory counts as written by the kernel, except where its flags are
    /// [`READ_ONLY`](crate::memory::MemFlags::READ_ONLY), of shared virtual memory
    /// [`READ_ONLY`](crate::memory::SvmFlags::READ_ONLY).
    #[inline]
    pub fn arg(&mut self, arg: impl KernelArg<'a>) -> &mut Self {
        arg.pass(self);
        self
    }

    /// Adds the next argument, memory that the kernel only reads: it may be mapped for reading
    /// meanwhile.
    #[inline]
    pub fn arg_read(&mut self, arg: impl MemoryArg<'a>) -> &mut Self {
        arg.into_memory().pass_for(self, Access::Read);
        self
    }

    /// Adds shared virtual memory that the kernel reaches through pointers in memory, not through an argument
    /// (`clSetKernelExecInfo` with CL_KERNEL_EXEC_INFO_SVM_PTRS). It counts as written.
    pub fn indirect(&mut self, svm: &'a impl SvmPointer) -> &mut Self {
        self.accesses.push(svm::memory::all_bytes(svm, Access::Write));
        self.indirect.push(svm.svm_ptr());
        self
    }

    /// Sets the number of work items in each of 1 to 3 dimensions.
    #[inline]
    pub fn global(&mut self, size: impl Into<WorkSize>) -> &mut Self {
        self.global = Some(size.into());
        self
    }

    /// Sets the number of work items of a work group in each dimension. By default, the driver chooses it.
    #[inline]
    pub fn local(&mut self, size: impl Into<WorkSize>) -> &mut Self {
        self.local = Some(size.into());
        self
    }

    /// Sets the id of the first work item in each dimension, by default 0.
    #[inline]
    pub fn offset(&mut self, offset: impl Into<WorkSize>) -> &mut Self {
        self.offset = Some(offset.into());
        self
    }

    /// Sets the arguments and enqueues the kernel (`clSetKernelArg`, `clEnqueueNDRangeKernel`;
    /// PyOpenCL's `Kernel.__call__`). The event ends with the kernel. The launch may be enqueued
    /// again.
    ///
    /// # Errors
    /// - CL_INVALID_KERNEL_ARGS for too few or too many arguments;
    /// - CL_INVALID_ARG_VALUE for an argument of another kind than the kernel declares, and
    ///   CL_INVALID_ARG_SIZE for one of another size and for local memory that no device has, where
    ///   the driver reports what the kernel declares (see [`Kernel::arg_infos`]);
    /// - CL_INVALID_CONTEXT for memory, a queue or an event of another context than the kernel;
    /// - CL_INVALID_OPERATION for memory that is mapped, except for reading where the kernel only
    ///   reads;
    /// - CL_INVALID_WORK_DIMENSION without a work size, for a slice of no or more than three sizes, and for sizes
    ///   of different lengths;
    /// - CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_WORK_GROUP_SIZE and
    ///   CL_INVALID_GLOBAL_OFFSET for sizes that no device takes;
    /// - CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed;
    /// - and the driver's errors, such as CL_INVALID_WORK_GROUP_SIZE for a group that is too
    ///   large for the device or not the one that the kernel requires.
    ///
    /// # Safety
    /// - The arguments match the kernel's declaration, where the driver does not report it: a number must
    ///   not be passed where the kernel declares memory.
    /// - The kernel, run with these arguments and work sizes, is defined: it uses memory that it is
    ///   given within its bounds and no other, does not race with itself, ends, and does not write memory
    ///   that was passed with [`arg_read`](Self::arg_read) or is
    ///   [`READ_ONLY`](crate::memory::MemFlags::READ_ONLY).
    /// - No other handle to the same kernel object sets its arguments or launches it meanwhile.
    ///
    /// These hold whenever the kernel starts. A kernel behind a [`UserEvent`](crate::UserEvent) may start
    /// when that is dropped, also by a panic.
    pub unsafe fn enqueue<'q>(&mut self, order: impl Into<Order<'q>>) -> Result<Event> {
        let order = order.into();
        let Self { kernel, args, accesses, indirect, in_host_memory, global, local, offset } = self;
        let [global, local, offset] = [global, local, offset].map(|size| size.as_ref());
        let dimensions = size::check(global, local, offset)?;
        order.queue.check_context(CALL, "kernel", kernel.context.raw())?;
        // First, as it may replace the kernel object.
        kernel.forget_settings(args, !indirect.is_empty())?;
        if !indirect.is_empty() {
            // SAFETY: the memory is there while the launch borrows it.
            unsafe { kernel.set_indirect(indirect, accesses) }?;
        }
        // SAFETY: the kernel is borrowed exclusively; all else is the caller's promise.
        let event = unsafe { kernel.set_args(args) }.and_then(|()| {
            let raw = kernel.as_raw();
            let submit = |(queue, count, events)| {
                // SAFETY: the handles are alive and of one context, the sizes have as many numbers as they say, and
                // the caller vouches for the kernel.
                unsafe {
                    enqueue_nd_range_kernel(
                        queue,
                        raw,
                        dimensions,
                        WorkSize::as_ptr(offset),
                        WorkSize::as_ptr(global),
                        WorkSize::as_ptr(local),
                        count,
                        events,
                    )
                }
            };
            // SAFETY: the launch borrows the samplers.
            let samplers = unsafe { retain_samplers(args) }?;
            // SAFETY: the launch borrows the memory.
            let retain = |raw: &cl_mem| unsafe { MemRef::retain(*raw) };
            let memory = in_host_memory.iter().map(retain).collect::<Result<Vec<_>>>()?;
            let event = enqueue(CALL, &order, accesses, submit)?;
            // Kernels of PoCL 3.1 do not keep their samplers, and those of rusticl not their memory.
            // quirk: POCL-16, RUSTICL-13
            if !samplers.is_empty() {
                event.keep(samplers);
            }
            if !memory.is_empty() {
                event.keep(memory);
            }
            Ok(event)
        });
        kernel.forget_buffers(args);
        event
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) {
        self.args.push(value);
    }

    #[inline]
    pub(super) fn push_value(&mut self, bytes: &[u8], kind: Kinds) {
        let data = match bytes.len() {
            0..=16 => {
                let mut data = [0_u64; 2];
                bytemuck::bytes_of_mut(&mut data)[..bytes.len()].copy_from_slice(bytes);
                Data::Here(data)
            }
            _ => {
                let values = &mut self.kernel.values;
                let start = values.len();
                // Whole numbers of 16 bytes, so that the next one is aligned.
                values.resize(start + bytes.len().div_ceil(16), 0);
                bytemuck::cast_slice_mut(&mut values[start..])[..bytes.len()]
                    .copy_from_slice(bytes);
                Data::There(start)
            }
        };
        self.push(Value { kind, size: bytes.len(), data });
    }

    #[inline]
    pub(super) fn push_local(&mut self, size: usize) {
        let there_is = size != 0 && size as u64 <= self.kernel.local_memory;
        let kind = if there_is { Kinds::LOCAL } else { Kinds::NO_SIZE };
        self.push(Value { kind, size, data: Data::Nothing });
    }

    #[inline]
    pub(super) fn push_svm(&mut self, svm: &'a dyn SvmPointer, access: Access) {
        let kind =
            if self.is_foreign(svm.memory().context()) { Kinds::FOREIGN } else { Kinds::SVM };
        self.push(Value { kind, size: 0, data: Data::Svm(svm.svm_ptr()) });
        self.accesses.push(svm::memory::all_bytes(svm, access));
    }

    #[inline]
    pub(super) fn push_sampler(&mut self, sampler: &'a Sampler) {
        let is_foreign = self.is_foreign(sampler.mem_context());
        self.push(Value::handle(sampler.as_raw(), Kinds::SAMPLER, is_foreign));
    }

    #[inline]
    pub(super) fn push_memory<M: MemoryObject>(
        &mut self,
        memory: &'a M,
        kind: Kinds,
        access: Access,
    ) {
        let is_foreign = self.is_foreign(memory.object().context());
        self.push(Value::handle(memory.handle(), kind, is_foreign));
        // quirk: RUSTICL-13
        if self.kernel.driver.contains(Driver::KEEPS_ARGUMENTS)
            && memory.flags().contains(MemFlags::USE_HOST_PTR)
        {
            self.in_host_memory.push(memory.handle());
        }
        self.accesses.push(object::all_bytes(memory, access));
    }

    #[inline]
    fn is_foreign(&self, context: &Arc<MemContext>) -> bool {
        context.raw() != self.kernel.context.raw()
    }
}

/// Adds a reference to each sampler among the arguments.
///
/// # Safety
/// The handles of the arguments are valid.
#[inline]
unsafe fn retain_samplers(args: &[Value]) -> Result<Vec<SamplerRef>> {
    let samplers = args.iter().filter_map(|arg| match arg.data {
        Data::Handle(raw) if arg.kind == Kinds::SAMPLER => Some(raw),
        _ => None,
    });
    // SAFETY: as the caller promises.
    samplers.map(|raw| unsafe { SamplerRef::retain(raw) }).collect()
}

impl Kernel {
    /// Refuses arguments that the kernel does not have, or has of another kind, and sets the others.
    ///
    /// # Safety
    /// The arguments match the kernel's declaration, where the driver does not report it.
    #[inline]
    unsafe fn set_args(&mut self, args: &[Value]) -> Result<()> {
        if args.len() != self.parameters.len() {
            return Err(self.wrong_count(args.len()));
        }
        let kernel = self.as_raw();
        for (position, (arg, parameter)) in args.iter().zip(&self.parameters).enumerate() {
            if !parameter.takes(arg) {
                return Err(self.what_is_wrong(position, arg, *parameter));
            }
            let index = position as cl_uint;
            let value = match &arg.data {
                Data::Here(bytes) => bytes.as_ptr().cast(),
                Data::There(start) => self.values[*start..].as_ptr().cast(),
                Data::Handle(raw) => ptr::from_ref(raw).cast(),
                Data::Nothing => ptr::null(),
                Data::Svm(pointer) => {
                    // SAFETY: the memory is there while the launch borrows it.
                    unsafe { set_kernel_arg_svm_pointer(kernel, index, *pointer) }
                        .map_err(in_call("clSetKernelArgSVMPointer"))?;
                    self.has_svm[position] = true;
                    continue;
                }
            };
            // SAFETY: there are so many bytes to be read, or it is local memory; a handle is alive
            // while the launch borrows its object. The rest is the caller's promise.
            unsafe { set_kernel_arg(kernel, index, arg.size, value) }
                .map_err(in_call("clSetKernelArg"))?;
        }
        Ok(())
    }

    /// # Safety
    /// The pointers are to shared virtual memory.
    #[cold]
    unsafe fn set_indirect(
        &mut self,
        pointers: &[*mut c_void],
        accesses: &[AccessedRange<'_>],
    ) -> Result<()> {
        const CALL: &str = "clSetKernelExecInfo";
        let is_foreign = accesses.iter().any(|accessed| accessed.context != self.context.raw());
        Error::refuse_if(is_foreign, CALL, CL_INVALID_CONTEXT, || {
            format!("memory for {} belongs to another context than the kernel", self.name)
        })?;
        // SAFETY: there are so many pointers to be read; the rest is the caller's promise.
        unsafe {
            set_kernel_exec_info(
                self.as_raw(),
                CL_KERNEL_EXEC_INFO_SVM_PTRS,
                size_of_val(pointers),
                pointers.as_ptr().cast(),
            )
        }
        .map_err(in_call(CALL))?;
        self.has_indirect = true;
        Ok(())
    }

    /// Replaces the kernel object if it has settings that a launch with these arguments cannot change:
    /// OpenCL has no call that removes pointers besides the arguments, and NVIDIA's driver crashes on an
    /// empty list of them. An argument that was a pointer cannot become a memory object with that driver.
    // quirk: NVIDIA-4, NVIDIA-7
    #[inline]
    fn forget_settings(&mut self, args: &[Value], has_indirect: bool) -> Result<()> {
        let mut pointers = args.iter().zip(&self.has_svm);
        let was_pointer = pointers.any(|(arg, had)| *had && !matches!(arg.data, Data::Svm(_)));
        if was_pointer || self.has_indirect && !has_indirect {
            self.raw = create_kernel(self.program.get(), &self.name, self.driver)?;
            self.has_indirect = false;
            self.has_svm.fill(false);
        }
        Ok(())
    }

    /// Sets the buffers among the arguments to NULL where the driver keeps them as long as the kernel, which the
    /// next launch sets anew. The driver has taken the arguments of this launch.
    // quirk: RUSTICL-11
    #[inline]
    fn forget_buffers(&mut self, args: &[Value]) {
        if !self.driver.contains(Driver::KEEPS_ARGUMENTS) {
            return;
        }
        for ((arg, parameter), index) in args.iter().zip(&self.parameters).zip(0..) {
            if arg.kind == Kinds::BUFFER && parameter.takes(arg) {
                // SAFETY: the kernel is borrowed exclusively; a buffer may be NULL.
                _ = unsafe { set_kernel_arg(self.as_raw(), index, arg.size, ptr::null()) };
            }
        }
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> Error {
        let (name, expected) = (&self.name, self.parameters.len());
        let reason = format!("the kernel {name} has {expected} arguments, {given} were given");
        Error::refused(CALL, CL_INVALID_KERNEL_ARGS, reason)
    }

    #[cold]
    fn what_is_wrong(&self, index: usize, arg: &Value, parameter: Parameter) -> Error {
        let (code, reason) = match arg.kind {
            Kinds::FOREIGN => {
                (CL_INVALID_CONTEXT, "belongs to another context than the kernel".to_owned())
            }
            Kinds::NO_SIZE if !matches!(arg.data, Data::Nothing) => {
                (CL_INVALID_ARG_SIZE, "cannot be a value of 0 bytes".to_owned())
            }
            Kinds::NO_SIZE if parameter.kinds.contains(Kinds::LOCAL) => {
                let (size, most) = (arg.size, self.local_memory);
                let reason = format!("cannot be {size} bytes of local memory, but 1 to {most}");
                (CL_INVALID_ARG_SIZE, reason)
            }
            Kinds::NO_SIZE => (CL_INVALID_ARG_VALUE, "cannot be local memory".to_owned()),
            kind if Kinds::VALUES.contains(kind)
                && Kinds::VALUES.intersects(parameter.kinds)
                && ![0, arg.size].contains(&parameter.size) =>
            {
                let reason = format!("takes {} bytes, {} were given", parameter.size, arg.size);
                (CL_INVALID_ARG_SIZE, reason)
            }
            kind => (CL_INVALID_ARG_VALUE, format!("cannot be {}", what(kind))),
        };
        let declared = match self.infos.get(index) {
            Some(info) => format!("`{} {}`", info.type_name, info.name),
            None => "of a type that the driver does not report".to_owned(),
        };
        let reason = format!("argument {index} of the kernel {} ({declared}) {reason}", self.name);
        Error::refused("clSetKernelArg", code, reason)
    }
}

fn what(kind: Kinds) -> &'static str {
    match kind {
        Kinds::INTEGERS => "integers",
        Kinds::FLOATS => "floating-point numbers",
        Kinds::BUFFER => "a buffer",
        Kinds::NULL => "null",
        Kinds::SVM => "shared virtual memory",
        Kinds::IMAGE => "an image",
        Kinds::PIPE => "a pipe",
        Kinds::SAMPLER => "a sampler",
        Kinds::LOCAL => "local memory",
        _ => "a value",
    }
}
