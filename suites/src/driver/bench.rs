//! The fixture of the suite: a device, its objects, and operands for commands.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_void};
use std::ptr;

use bytemuck::Pod;
use clmatrix::Device;
use clmatrix::cl3::command_queue::CL_QUEUE_PROPERTIES;
use clmatrix::cl3::device::*;
use clmatrix::cl3::memory::*;
use clmatrix::cl3::program::CL_PROGRAM_BUILD_LOG;
use clmatrix::cl3::types::*;
use clmatrix::select::Version;
use clmatrix_harness::skip;
use rstest::fixture;

use super::api::{cl, created, named, ok};
use super::command::{Kind, Needs, Operands, SHAPE, SIZE};
use super::object::{Class, Object};
use super::query::Subject;
use crate::support::on_device::{OnDevice, on_device};

/// The kernel of [`Operands`].
const SOURCE: &str = "kernel void invert(global const uchar *from, global uchar *to) {
    to[get_global_id(0)] = ~from[get_global_id(0)];
}";

/// A context of the device under test, and all that a test has created in it. It is released when it is dropped,
/// after all commands of the queues have ended.
pub struct Bench {
    pub device: cl_device_id,
    /// All devices of the context, with `device` as the first one.
    pub devices: Vec<cl_device_id>,
    pub context: cl_context,
    /// An in-order queue.
    pub queue: *mut c_void,
    pub version: Version,
    pub has_images: bool,
    /// CL_DEVICE_SVM_CAPABILITIES.
    pub svm_capabilities: u64,
    inverter: RefCell<Option<Object>>,
    objects: RefCell<Vec<Object>>,
    queues: RefCell<Vec<Object>>,
    svm: RefCell<Vec<*mut c_void>>,
    host: RefCell<Vec<Box<[Cell<u64>]>>>,
    /// Released last.
    _on_device: OnDevice,
}

/// The fixture of that name.
#[fixture]
pub fn bench(on_device: OnDevice) -> Bench {
    let device = on_device.context.default_device().as_raw();
    let of_device = Subject::Device(device);
    let version = Version::parse(&of_device.text(named!(CL_DEVICE_VERSION))).expect("a version");
    let is_2_0 = version >= Version { major: 2, minor: 0 };
    let svm_query = named!(CL_DEVICE_SVM_CAPABILITIES);
    let svm_capabilities = if is_2_0 { of_device.value::<u64>(svm_query) } else { 0 };
    Bench {
        device,
        devices: on_device.context.devices().iter().map(Device::as_raw).collect(),
        context: on_device.context.as_raw(),
        queue: on_device.queue.as_raw(),
        version,
        has_images: of_device.value::<u32>(named!(CL_DEVICE_IMAGE_SUPPORT)) != 0,
        svm_capabilities,
        inverter: RefCell::default(),
        objects: RefCell::default(),
        queues: RefCell::default(),
        svm: RefCell::default(),
        host: RefCell::default(),
        _on_device: on_device,
    }
}

impl Bench {
    /// Returns whether the device has coarse-grain shared virtual memory.
    pub fn has_svm(&self) -> bool {
        self.svm_capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0
    }

    /// Returns whether the device has this kind of command.
    pub fn has(&self, kind: Kind) -> bool {
        match kind.needs() {
            Needs::Nothing => true,
            Needs::Images => self.has_images,
            Needs::Svm => self.has_svm(),
            Needs::SvmMigration => self.has_svm() && self.is(2, 1),
        }
    }

    /// The kinds of commands that the device has.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(|kind| self.has(*kind))
    }

    /// Skips the test unless the device has this kind of command.
    pub fn requires(&self, kind: Kind) {
        if !self.has(kind) {
            skip!("the device lacks {}: {:?}", kind.function(), kind.needs());
        }
    }

    /// Returns whether the device has at least this version of OpenCL.
    pub fn is(&self, major: u32, minor: u32) -> bool {
        self.version >= Version { major, minor }
    }

    /// Returns whether the device has host queues with these properties.
    pub fn has_queues(&self, properties: cl_command_queue_properties) -> bool {
        let supported = Subject::Device(self.device)
            .value::<cl_command_queue_properties>(named!(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES));
        supported & properties == properties
    }

    /// Skips the test unless the device has host queues with these properties.
    pub fn requires_queues(&self, properties: cl_command_queue_properties) {
        if !self.has_queues(properties) {
            skip!("the device has no queues with the properties {properties:#x}");
        }
    }

    /// Keeps an object until the end of the test.
    pub fn keep(&self, object: Object) -> *mut c_void {
        let raw = object.raw();
        self.objects.borrow_mut().push(object);
        raw
    }

    /// Releases the program and the objects that the bench keeps, but for queues and shared memory.
    pub fn release_objects(&self) {
        self.objects.take().into_iter().for_each(Object::release);
        self.inverter.take().into_iter().for_each(Object::release);
    }

    /// Creates a queue, which the bench finishes and releases.
    pub fn new_queue(&self, properties: cl_command_queue_properties) -> *mut c_void {
        self.new_queue_on(self.device, properties)
    }

    /// Creates a queue of one of the devices of the context, by the function of OpenCL 2.0 if it has properties, which
    /// the bench finishes and releases.
    pub fn new_queue_on(
        &self,
        device: cl_device_id,
        properties: cl_command_queue_properties,
    ) -> *mut c_void {
        let (context, list) = (self.context, [u64::from(CL_QUEUE_PROPERTIES), properties, 0]);
        let queue = if self.is(2, 0) && properties != 0 {
            // SAFETY: context and device are valid; the call creates a reference.
            unsafe {
                let list = list.as_ptr();
                let raw = created!(clCreateCommandQueueWithProperties(context, device, list));
                Object::new(Class::Queue, raw)
            }
        } else {
            self.own_queue(device, properties)
        };
        let raw = queue.raw();
        self.queues.borrow_mut().push(queue);
        raw
    }

    /// The queues that the bench has created, in their order.
    pub fn queues(&self) -> Vec<*mut c_void> {
        self.queues.borrow().iter().map(Object::raw).collect()
    }

    /// Creates a queue, which the caller releases.
    pub fn own_queue(
        &self,
        device: cl_device_id,
        properties: cl_command_queue_properties,
    ) -> Object {
        // SAFETY: context and device are valid; the call creates a reference.
        unsafe {
            let raw = created!(clCreateCommandQueue(self.context, device, properties));
            Object::new(Class::Queue, raw)
        }
    }

    /// Creates a buffer without host memory.
    pub fn new_buffer(&self, flags: cl_mem_flags, size: usize) -> Object {
        // SAFETY: the context is valid; the call creates a reference.
        unsafe {
            let raw = created!(clCreateBuffer(self.context, flags, size, ptr::null_mut()));
            Object::new(Class::Memory, raw)
        }
    }

    /// Creates a buffer with these contents.
    pub fn buffer_of<T: Pod>(&self, contents: &[T]) -> Object {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let (size, from) = (size_of_val(contents), contents.as_ptr().cast_mut().cast());
        // SAFETY: the driver copies the contents; the call creates a reference.
        unsafe {
            let raw = created!(clCreateBuffer(self.context, flags, size, from));
            Object::new(Class::Memory, raw)
        }
    }

    /// Reads the first elements of a buffer, after all commands of the bench's queue.
    pub fn contents_of<T: Pod>(&self, buffer: *mut c_void, count: usize) -> Vec<T> {
        let mut contents = vec![T::zeroed(); count];
        let (size, to) = (size_of_val(&*contents), contents.as_mut_ptr().cast());
        let (queue, none) = (self.queue, ptr::null_mut());
        // SAFETY: the buffer has as many elements, and the call blocks.
        unsafe { ok!(clEnqueueReadBuffer(queue, buffer, 1, 0, size, to, 0, ptr::null(), none)) };
        contents
    }

    /// The bytes of which the origins of sub-buffers are multiples.
    pub fn alignment(&self) -> usize {
        let bits: u32 = Subject::Device(self.device).value(named!(CL_DEVICE_MEM_BASE_ADDR_ALIGN));
        (bits as usize / 8).max(1)
    }

    /// Creates a sub-buffer of a buffer that has its bytes.
    pub fn sub_buffer(
        &self,
        whole: *mut c_void,
        flags: cl_mem_flags,
        origin: usize,
        size: usize,
    ) -> Object {
        let region = cl_buffer_region { origin, size };
        let (kind, region) = (CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast());
        // SAFETY: the buffer has the region; the call creates a reference.
        unsafe {
            let raw = created!(clCreateSubBuffer(whole, flags, kind, region));
            Object::new(Class::Memory, raw)
        }
    }

    /// Creates a sampler.
    pub fn sampler(&self, normalized: bool, addressing: u32, filter: u32) -> Object {
        // SAFETY: the context is valid; the call creates a reference.
        unsafe {
            let raw =
                created!(clCreateSampler(self.context, normalized.into(), addressing, filter));
            Object::new(Class::Sampler, raw)
        }
    }

    /// Creates a 2D image of `SHAPE`, with pixels of four unsigned bytes.
    pub fn new_image(&self, flags: cl_mem_flags) -> Object {
        self.image_of(flags, [SHAPE[0], SHAPE[1], 1], ptr::null_mut())
    }

    /// Creates a 2D or 3D image of this size, with pixels of four unsigned bytes.
    pub fn image_of(&self, flags: cl_mem_flags, size: [usize; 3], host: *mut c_void) -> Object {
        let format = cl_image_format {
            image_channel_order: CL_RGBA,
            image_channel_data_type: CL_UNSIGNED_INT8,
        };
        let image_type = if size[2] == 1 { CL_MEM_OBJECT_IMAGE2D } else { CL_MEM_OBJECT_IMAGE3D };
        let [image_width, image_height, image_depth] = size;
        let shape =
            cl_image_desc { image_type, image_width, image_height, image_depth, ..no_image() };
        // SAFETY: the context is valid, and the host memory has all pixels; the call creates a reference.
        unsafe {
            let (format, shape) = (&raw const format, &raw const shape);
            let raw = created!(clCreateImage(self.context, flags, format, shape, host));
            Object::new(Class::Memory, raw)
        }
    }

    /// Allocates coarse-grain shared virtual memory, which the bench frees.
    pub fn new_svm(&self, size: usize) -> *mut c_void {
        self.new_svm_with(CL_MEM_READ_WRITE, size, 0)
    }

    /// Allocates shared virtual memory with these flags and this alignment in bytes, which the bench frees.
    pub fn new_svm_with(&self, flags: cl_mem_flags, size: usize, alignment: u32) -> *mut c_void {
        // SAFETY: the context is valid.
        let memory = unsafe { cl!(clSVMAlloc(self.context, flags, size, alignment)) };
        assert!(
            !memory.is_null(),
            "clSVMAlloc(flags {flags:#x}, {size} bytes, alignment {alignment}): the driver returned null"
        );
        self.svm.borrow_mut().push(memory);
        memory
    }

    /// Allocates zeroed host memory, at a multiple of eight bytes.
    pub fn new_host(&self, size: usize) -> *mut c_void {
        let memory: Box<[Cell<u64>]> = vec![Cell::new(0); size.div_ceil(8)].into();
        let pointer = memory.as_ptr().cast_mut().cast();
        self.host.borrow_mut().push(memory);
        pointer
    }

    /// Builds a program for all devices.
    pub fn build(&self, source: &str, options: &str) -> Object {
        let mut text: *const c_char = source.as_ptr().cast();
        let length = source.len();
        let options = CString::new(options).expect("no zero in the options");
        // SAFETY: the source has the length that the call gets; the call creates a reference.
        unsafe {
            let (text, length) = (&raw mut text, &raw const length);
            let raw = created!(clCreateProgramWithSource(self.context, 1, text, length));
            let program = Object::new(Class::Program, raw);
            let (n, devices) = (self.devices.len() as u32, self.devices.as_ptr());
            let options = options.as_ptr();
            let code = cl!(clBuildProgram(raw, n, devices, options, None, ptr::null_mut()));
            if code != 0 {
                let log = Subject::Build(raw, self.device).text(named!(CL_PROGRAM_BUILD_LOG));
                panic!("clBuildProgram returned {}: {log}", super::api::code_name(code));
            }
            program
        }
    }

    /// Creates a kernel of a program.
    pub fn new_kernel(&self, program: &Object, name: &str) -> Object {
        let name = CString::new(name).expect("no zero in the name");
        // SAFETY: the program is valid; the call creates a reference.
        unsafe {
            let raw = created!(clCreateKernel(program.raw(), name.as_ptr()));
            Object::new(Class::Kernel, raw)
        }
    }

    /// Creates operands for commands of these kinds; what none of them uses is null. Their bytes are undefined, but
    /// for the host memory.
    pub fn operands(&self, kinds: &[Kind]) -> Operands {
        let pair = |create: &dyn Fn() -> *mut c_void, is_needed: bool| {
            [(); 2].map(|()| if is_needed { create() } else { ptr::null_mut() })
        };
        let needs = |wanted: Needs| kinds.iter().any(|kind| kind.needs() == wanted);
        let images = needs(Needs::Images);
        let svm = needs(Needs::Svm) || needs(Needs::SvmMigration);
        let has_kernel = kinds.contains(&Kind::Kernel);
        Operands {
            context: self.context,
            kernel: if has_kernel { self.new_inverter() } else { ptr::null_mut() },
            buffers: pair(&|| self.keep(self.new_buffer(CL_MEM_READ_WRITE, SIZE)), true),
            images: pair(&|| self.keep(self.new_image(CL_MEM_READ_WRITE)), images),
            svm: pair(&|| self.new_svm(SIZE), svm),
            host: pair(&|| self.new_host(SIZE), true),
            mapped: ptr::null_mut(),
        }
    }

    /// Creates the kernel of [`Operands`]. Its program is built once.
    pub fn new_inverter(&self) -> *mut c_void {
        let inverter = &mut *self.inverter.borrow_mut();
        let program = inverter.get_or_insert_with(|| self.build(SOURCE, "-cl-kernel-arg-info"));
        self.keep(self.new_kernel(program, "invert"))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A driver may still use the memory of commands that a test does not wait for.
        for queue in self.queues.get_mut().iter().map(Object::raw).chain([self.queue]) {
            // SAFETY: the queue is valid.
            _ = unsafe { cl!(clFinish(queue)) };
        }
        for memory in self.svm.get_mut().drain(..) {
            // SAFETY: all commands have ended.
            unsafe { cl!(clSVMFree(self.context, memory)) };
        }
    }
}

/// The description of an image without a type, which has no pixels.
pub fn no_image() -> cl_image_desc {
    cl_image_desc {
        image_type: 0,
        image_width: 0,
        image_height: 0,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: ptr::null_mut(),
    }
}
