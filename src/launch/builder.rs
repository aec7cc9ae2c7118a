//! One launch: its arguments, its size, and what it waits for.

use std::ptr;
use std::sync::Arc;

use cl3::command_queue::enqueue_nd_range_kernel;
use cl3::error_codes::{
    CL_INVALID_ARG_SIZE, CL_INVALID_ARG_VALUE, CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS,
};
use cl3::kernel::{set_kernel_arg, set_kernel_arg_svm_pointer};
use cl3::types::cl_uint;
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use smallvec::SmallVec;

use super::Launcher;
use super::arg::{HandleKind, KernelArg, MemoryArg, Value};
use super::arg_info::{Numbers, Parameter};
use super::size::{self, WorkSize};
use crate::error::{Error, Result, in_call};
use crate::memory::command::{Operand, enqueue_in};
use crate::memory::svm::sealed::operand;
use crate::memory::uses::Access;
use crate::memory::{MemoryObject, Sampler, SvmPointer, WaitList};

pub(super) const CALL: &str = "clEnqueueNDRangeKernel";

/// How many arguments a launch has room for before it takes memory from the heap.
const ROOM: usize = 8;

/// A launch of a kernel that is being put together: [`Launcher::launch`].
///
/// Arguments come in the order in which the kernel declares them. Nothing reaches the driver before
/// [`enqueue`](Self::enqueue), which also says what is wrong with them.
///
/// ```
/// # use clmatrix::memory::{Buffer, MemFlags, enqueue_read_buffer};
/// # use clmatrix::{CommandQueue, Launcher, Program};
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = CommandQueue::create_default(&context, 0)?;
/// let source = "kernel void sum(global const int *a, global const int *b, global int *c) {
///     size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
///     c[i] = a[i] + b[i];
/// }";
/// # let program = Program::create_and_build_from_source(&context, source, "").expect("it compiles");
/// let mut sum = Launcher::create(&program, "sum")?;
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
/// # let mut data = [0; 6];
/// # enqueue_read_buffer(&queue, &c, 0, &mut data, &event)?;
/// # assert_eq!(data, [3; 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a launch does nothing until it is enqueued"]
pub struct Launch<'k, 'a> {
    launcher: &'k mut Launcher,
    args: SmallVec<[Value; ROOM]>,
    operands: SmallVec<[Operand<'a>; ROOM]>,
    wait_for: WaitList<'a>,
    global: WorkSize,
    local: WorkSize,
    offset: WorkSize,
}

impl<'k, 'a> Launch<'k, 'a> {
    #[inline]
    pub(super) fn new(launcher: &'k mut Launcher) -> Self {
        launcher.values.clear();
        Self {
            launcher,
            args: SmallVec::new(),
            operands: SmallVec::new(),
            wait_for: WaitList::default(),
            global: WorkSize::NONE,
            local: WorkSize::NONE,
            offset: WorkSize::NONE,
        }
    }

    /// The next argument (`clSetKernelArg`). [`KernelArg`] says what that can be.
    ///
    /// Memory counts as written by the kernel, except where its flags are
    /// [`READ_ONLY`](crate::memory::MemFlags::READ_ONLY).
    #[inline]
    pub fn arg(&mut self, arg: impl KernelArg<'a>) -> &mut Self {
        arg.pass(self);
        self
    }

    /// The next argument, memory that the kernel only reads: it may be mapped for reading
    /// meanwhile.
    #[inline]
    pub fn arg_read(&mut self, arg: impl MemoryArg<'a>) -> &mut Self {
        arg.pass_for(self, Access::Read);
        self
    }

    /// How many work items there are, in 1 to 3 dimensions.
    #[inline]
    pub fn global(&mut self, size: impl Into<WorkSize>) -> &mut Self {
        self.global = size.into();
        self
    }

    /// How many work items make a work group; the driver chooses where this is not called.
    #[inline]
    pub fn local(&mut self, size: impl Into<WorkSize>) -> &mut Self {
        self.local = size.into();
        self
    }

    /// The id of the first work item in each dimension, which is 0 otherwise.
    #[inline]
    pub fn offset(&mut self, offset: impl Into<WorkSize>) -> &mut Self {
        self.offset = offset.into();
        self
    }

    /// The events that the kernel waits for.
    #[inline]
    pub fn wait_for(&mut self, events: impl Into<WaitList<'a>>) -> &mut Self {
        self.wait_for = events.into();
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
    ///   the driver tells what the kernel declares (see [`Launcher::arg_infos`]);
    /// - CL_INVALID_CONTEXT for memory, a queue or an event of another context than the kernel;
    /// - CL_INVALID_OPERATION for memory that is mapped, except for reading where the kernel only
    ///   reads;
    /// - CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_ITEM_SIZE,
    ///   CL_INVALID_WORK_GROUP_SIZE and CL_INVALID_GLOBAL_OFFSET for sizes that no device takes;
    /// - CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed;
    /// - and what the driver answers, such as CL_INVALID_WORK_GROUP_SIZE for a group that is too
    ///   large for the device or not the one that the kernel requires.
    ///
    /// # Safety
    /// - The arguments are what the kernel declares, where the driver does not tell: a number must
    ///   not stand where the kernel has memory.
    /// - The kernel, run with these arguments and work sizes, is defined: it uses memory that it is
    ///   given within its bounds and no other, does not race with itself, ends, and does not write
    ///   what was passed with [`arg_read`](Self::arg_read) or is
    ///   [`READ_ONLY`](crate::memory::MemFlags::READ_ONLY).
    /// - No other handle to the same kernel object sets its arguments or launches it meanwhile.
    pub unsafe fn enqueue(&mut self, queue: &CommandQueue) -> Result<Event> {
        let Self { launcher, args, operands, wait_for, global, local, offset } = self;
        size::check(global, local, offset, launcher.uniform)?;
        launcher.check_args(args)?;
        if operands.is_empty() {
            launcher.queues.check_queue(CALL, queue, launcher.context.raw())?;
        }
        // SAFETY: the launcher is borrowed exclusively; all else is the caller's promise.
        unsafe { launcher.set_args(args) }?;
        let kernel = launcher.kernel.get();
        let issue = |(queue, count, events)| {
            // SAFETY: the handles are alive and of one context, the sizes have as many numbers as
            // they say, and what the kernel does is the caller's promise.
            unsafe {
                enqueue_nd_range_kernel(
                    queue,
                    kernel,
                    global.dimensions(),
                    offset.as_ptr(),
                    global.as_ptr(),
                    local.as_ptr(),
                    count,
                    events,
                )
            }
        };
        let event = enqueue_in(CALL, queue, &launcher.context, operands, wait_for, issue)?;
        Ok(event.into_event())
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) {
        self.args.push(value);
    }

    #[inline]
    pub(super) fn push_bytes(&mut self, bytes: &[u8], numbers: Numbers) {
        let values = &mut self.launcher.values;
        let start = values.len() as u32;
        for chunk in bytes.chunks(size_of::<u128>()) {
            let mut value = [0; size_of::<u128>()];
            value[..chunk.len()].copy_from_slice(chunk);
            values.push(u128::from_ne_bytes(value));
        }
        self.push(Value::Bytes { start, size: bytes.len(), numbers });
    }

    #[inline]
    pub(super) fn push_svm(&mut self, svm: &'a impl SvmPointer, access: Access) {
        let foreign = !Arc::ptr_eq(svm.memory().context(), &self.launcher.context);
        self.push(Value::Svm { pointer: svm.svm_ptr(), foreign });
        self.operands.push(operand(svm, access));
    }

    #[inline]
    pub(super) fn push_sampler(&mut self, sampler: &'a Sampler) {
        let foreign = !Arc::ptr_eq(sampler.context(), &self.launcher.context);
        let (raw, kind) = (sampler.as_raw(), HandleKind::Sampler);
        self.push(Value::Handle { raw, kind, foreign });
    }

    #[inline]
    pub(super) fn push_memory<M: MemoryObject>(
        &mut self,
        memory: &'a M,
        kind: HandleKind,
        access: Access,
    ) {
        let foreign = !Arc::ptr_eq(memory.object().context(), &self.launcher.context);
        self.push(Value::Handle { raw: memory.handle(), kind, foreign });
        let first = memory.first_byte();
        // It does not overflow: the object is within what is counted.
        let range = first..first + memory.about().size;
        self.operands.push(memory.object().operand(&range, access));
    }
}

impl Launcher {
    /// Refuses arguments that the kernel does not have, or has of another kind.
    #[inline]
    fn check_args(&self, args: &[Value]) -> Result<()> {
        if args.len() != self.parameters.len() {
            return Err(self.wrong_count(args.len()));
        }
        for (index, (arg, parameter)) in args.iter().zip(&self.parameters).enumerate() {
            if !self.may_pass(arg, *parameter) {
                return Err(self.what_is_wrong(index, arg, *parameter));
            }
        }
        Ok(())
    }

    #[inline]
    fn may_pass(&self, arg: &Value, parameter: Parameter) -> bool {
        use Parameter as P;
        match *arg {
            Value::Bytes { size, numbers, .. } => match parameter {
                P::Value { size: declared, numbers: of } => {
                    size == declared as usize
                        && (numbers == of || of == Numbers::Unknown || numbers == Numbers::Unknown)
                }
                P::Unknown | P::Structure => size != 0,
                _ => false,
            },
            Value::Handle { kind, foreign, .. } => !foreign && kind.fits(parameter),
            Value::Svm { foreign, .. } => !foreign && matches!(parameter, P::Buffer | P::Unknown),
            Value::Local { size } => {
                matches!(parameter, P::Local | P::Unknown)
                    && size != 0
                    && size as u64 <= self.local_memory
            }
        }
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> Error {
        let (name, expected) = (&self.name, self.parameters.len());
        let why = format!("the kernel {name} has {expected} arguments, {given} were given");
        Error::refused(CALL, CL_INVALID_KERNEL_ARGS, why)
    }

    #[cold]
    fn what_is_wrong(&self, index: usize, arg: &Value, parameter: Parameter) -> Error {
        const CALL: &str = "clSetKernelArg";
        let declared = match self.infos.get(index) {
            Some(info) => format!("`{} {}`", info.type_name, info.name),
            None => "not known".to_owned(),
        };
        let name = &self.name;
        let refused = |code, why: String| {
            let why = format!("argument {index} of the kernel {name} ({declared}) {why}");
            Error::refused(CALL, code, why)
        };
        match (arg, parameter) {
            (Value::Handle { foreign: true, .. } | Value::Svm { foreign: true, .. }, _) => {
                refused(CL_INVALID_CONTEXT, "is of another context than the kernel".to_owned())
            }
            (Value::Bytes { size, .. }, Parameter::Value { size: declared, .. })
                if *size != declared as usize =>
            {
                let why = format!("takes {declared} bytes, {size} were given");
                refused(CL_INVALID_ARG_SIZE, why)
            }
            (Value::Bytes { size: 0, .. }, Parameter::Structure | Parameter::Unknown) => {
                refused(CL_INVALID_ARG_SIZE, "was given a value of 0 bytes".to_owned())
            }
            (Value::Local { size: 0 }, Parameter::Local | Parameter::Unknown) => {
                refused(CL_INVALID_ARG_SIZE, "was given 0 bytes of local memory".to_owned())
            }
            (Value::Local { size }, Parameter::Local | Parameter::Unknown) => {
                let most = self.local_memory;
                let why =
                    format!("was given {size} bytes of local memory; the devices have {most}");
                refused(CL_INVALID_ARG_SIZE, why)
            }
            _ => refused(CL_INVALID_ARG_VALUE, format!("cannot be {}", arg.what())),
        }
    }

    /// # Safety
    /// The arguments have been checked, and are what the kernel declares where the driver does not
    /// tell.
    #[inline]
    unsafe fn set_args(&mut self, args: &[Value]) -> Result<()> {
        let kernel = self.kernel.get();
        for (index, arg) in args.iter().enumerate() {
            let index = index as cl_uint;
            let (size, value) = match arg {
                Value::Bytes { start, size, .. } => {
                    (*size, self.values[*start as usize..].as_ptr().cast())
                }
                Value::Handle { raw, .. } => (size_of_val(raw), ptr::from_ref(raw).cast()),
                Value::Local { size } => (*size, ptr::null()),
                Value::Svm { pointer, .. } => {
                    // SAFETY: the memory is there while the launch borrows it.
                    unsafe { set_kernel_arg_svm_pointer(kernel, index, *pointer) }
                        .map_err(in_call("clSetKernelArgSVMPointer"))?;
                    continue;
                }
            };
            // SAFETY: there are `size` bytes to be read, or it is local memory; a handle is alive
            // while the launch borrows what it stands for. The rest is the caller's promise.
            unsafe { set_kernel_arg(kernel, index, size, value) }
                .map_err(in_call("clSetKernelArg"))?;
        }
        Ok(())
    }
}

impl HandleKind {
    #[inline]
    fn fits(self, parameter: Parameter) -> bool {
        use Parameter as P;
        match self {
            Self::Buffer | Self::Null => matches!(parameter, P::Buffer | P::Unknown),
            Self::Image => matches!(parameter, P::Image | P::Unknown),
            Self::Pipe => matches!(parameter, P::Pipe | P::Unknown),
            // Its type may have another name.
            Self::Sampler => matches!(parameter, P::Sampler | P::Structure | P::Unknown),
        }
    }
}

impl Value {
    fn what(&self) -> &'static str {
        match self {
            Self::Bytes { numbers: Numbers::Integers, .. } => "an integer",
            Self::Bytes { numbers: Numbers::Floats, .. } => "a floating-point number",
            Self::Bytes { .. } => "a value",
            Self::Handle { kind: HandleKind::Buffer, .. } => "a buffer",
            Self::Handle { kind: HandleKind::Pipe, .. } => "a pipe",
            Self::Handle { kind: HandleKind::Sampler, .. } => "a sampler",
            Self::Handle { kind: HandleKind::Image, .. } => "an image",
            Self::Handle { kind: HandleKind::Null, .. } => "null",
            Self::Local { .. } => "local memory",
            Self::Svm { .. } => "shared virtual memory",
        }
    }
}
