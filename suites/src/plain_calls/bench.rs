//! The fixture of both suites: a device, its objects, operands for commands, and the rules that the driver breaks.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::mem;
use std::panic::{catch_unwind, resume_unwind};

use clmatrix::Device;
use clmatrix::select::Version;
use clmatrix_harness::Fixture;
use rstest::fixture;

use super::api::one_of;
use super::prelude::*;

/// The kernel of [`Operands`].
const SOURCE: &str = "kernel void invert(global const uchar *from, global uchar *to) {
    to[get_global_id(0)] = ~from[get_global_id(0)];
}";

/// The format of pixels of four unsigned bytes.
pub const BYTES: [u32; 2] = [CL_RGBA, CL_UNSIGNED_INT8];

/// A context of the device under test, all that a test has created in it, and the rules that the driver breaks. When it
/// is dropped, it panics with these, and releases all after the commands of the queues have ended.
pub struct Bench {
    findings: RefCell<Vec<String>>,
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
    svm: RefCell<Vec<*mut c_void>>,
    host: RefCell<Vec<Box<[Cell<u64>]>>>,
    /// Released last.
    pub on_device: OnDevice,
}

/// The fixture of that name.
#[fixture]
pub fn bench(on_device: OnDevice) -> Bench {
    SETTING.set("");
    let device = on_device.context.default_device().as_raw();
    let of_device = Subject::Device(device);
    let version = Version::parse(&of_device.text(named!(CL_DEVICE_VERSION))).expect("a version");
    let svm = named!(CL_DEVICE_SVM_CAPABILITIES);
    let svm_capabilities = if version.major >= 2 { of_device.value(svm) } else { 0 };
    Bench {
        findings: RefCell::default(),
        device,
        devices: on_device.context.devices().iter().map(Device::as_raw).collect(),
        context: on_device.context.as_raw(),
        queue: on_device.queue.as_raw(),
        version,
        has_images: of_device.value::<u32>(named!(CL_DEVICE_IMAGE_SUPPORT)) != 0,
        svm_capabilities,
        inverter: RefCell::default(),
        objects: RefCell::default(),
        svm: RefCell::default(),
        host: RefCell::default(),
        on_device,
    }
}

impl Fixture for Bench {
    fn of_device_under_test() -> Self {
        bench(Fixture::of_device_under_test())
    }
}

impl Bench {
    /// Adds a broken rule: the call with the argument or query, the rule with its section of the
    /// OpenCL 3.0 API specification, and the driver's answer.
    pub fn report(&self, call: impl Display, rule: impl Display, answer: impl Display) {
        self.findings.borrow_mut().push(format!("{call}: {rule}; the driver: {answer}"));
    }

    /// Adds a broken rule unless the result is `Ok`.
    pub fn check_result(&self, result: Checked, call: impl Display, rule: impl Display) {
        result.unwrap_or_else(|answer| self.report(call, rule, answer));
    }

    /// Adds a broken rule unless the call has returned this code.
    pub fn check_code(&self, found: cl_int, code: cl_int, call: impl Display, rule: impl Display) {
        self.findings.borrow_mut().extend(one_of(found, &[code], call, rule).err());
    }

    /// Adds a broken rule unless `holds`.
    pub fn check(&self, holds: bool, call: impl Display, rule: impl Display, answer: impl Display) {
        if !holds {
            self.report(call, rule, answer);
        }
    }

    /// The device's answer to a query, which is one value.
    #[track_caller]
    pub fn value<T: Pod>(&self, query: Named<u32>) -> T {
        Subject::Device(self.device).value(query)
    }

    /// The platform of the device.
    pub fn platform(&self) -> *mut c_void {
        Subject::Device(self.device).handle(named!(CL_DEVICE_PLATFORM))
    }

    /// Returns whether the device says that it is of every type, as a simulator does, which takes long for many work
    /// items.
    pub fn is_simulated(&self) -> bool {
        self.value::<u64>(named!(CL_DEVICE_TYPE)) & 0xf == 0xf
    }

    /// Returns whether the device has coarse-grain shared virtual memory.
    pub fn has_svm(&self) -> bool {
        self.svm_capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0
    }

    /// Returns whether the device has this kind of command.
    pub fn has(&self, kind: Kind) -> bool {
        match kind.needs() {
            Needs::Nothing => true,
            Needs::Images => self.has_images,
            Needs::Svm => self.has_svm() && (kind != Kind::SvmMigrate || self.is(2, 1)),
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
    pub fn has_queues(&self, properties: u64) -> bool {
        self.value::<u64>(named!(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES)) & properties == properties
    }

    /// Skips the test unless the device has host queues with these properties.
    pub fn requires_queues(&self, properties: u64) {
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
        self.objects.borrow_mut().retain(|object| object.class == Class::Queue);
        drop(self.inverter.take());
    }

    /// Creates a queue, which the bench finishes and releases.
    pub fn new_queue(&self, properties: u64) -> *mut c_void {
        self.new_queue_on(self.device, properties)
    }

    /// Creates a queue of one of the devices of the context, by the function of OpenCL 2.0 if it has properties, which
    /// the bench finishes and releases.
    pub fn new_queue_on(&self, device: cl_device_id, properties: u64) -> *mut c_void {
        if properties == 0 || !self.is(2, 0) {
            return self.keep(self.own_queue(device, properties));
        }
        self.keep(self.queue_of(device, &[u64::from(CL_QUEUE_PROPERTIES), properties, 0]))
    }

    /// The queues that the bench has created, in their order.
    pub fn queues(&self) -> Vec<*mut c_void> {
        let objects = self.objects.borrow();
        objects.iter().filter(|object| object.class == Class::Queue).map(Object::raw).collect()
    }

    /// Creates a queue, which the caller releases.
    pub fn own_queue(&self, device: cl_device_id, properties: u64) -> Object {
        // SAFETY: context and device are valid; the call creates a reference.
        unsafe { created!(Queue clCreateCommandQueue(self.context, device, properties)) }
    }

    /// Creates a queue, which the caller releases, with a list of properties, which is null where it is empty.
    pub fn queue_of(&self, device: cl_device_id, list: &[u64]) -> Object {
        let list = pointer(list);
        // SAFETY: context and device are valid; the list, if any, ends with 0; the call creates a reference.
        unsafe { created!(Queue clCreateCommandQueueWithProperties(self.context, device, list)) }
    }

    /// Creates a buffer with host memory, which is null where the flags need none.
    pub fn buffer(&self, flags: u64, size: usize, host: *mut c_void) -> Object {
        // SAFETY: the host memory has the bytes, and outlives the buffer if it uses it; the call creates a reference.
        unsafe { created!(Memory clCreateBuffer(self.context, flags, size, host)) }
    }

    /// Creates a buffer without host memory.
    pub fn new_buffer(&self, flags: u64, size: usize) -> Object {
        self.buffer(flags, size, ptr::null_mut())
    }

    /// Creates a buffer with these contents.
    pub fn buffer_of<T: Pod>(&self, contents: &[T]) -> Object {
        let from = contents.as_ptr().cast_mut().cast();
        self.buffer(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size_of_val(contents), from)
    }

    /// Reads the first elements of a buffer, after all commands of the bench's queue.
    pub fn contents_of<T: Pod>(&self, buffer: *mut c_void, count: usize) -> Vec<T> {
        let mut contents = vec![T::zeroed(); count];
        let (size, to) = (size_of_val(&*contents), contents.as_mut_ptr().cast());
        // SAFETY: the buffer has as many elements, and the call blocks.
        unsafe { enqueued!(clEnqueueReadBuffer(self.queue, buffer, 1, 0, size, to)) };
        contents
    }

    /// The bytes of which the origins of sub-buffers are multiples.
    pub fn alignment(&self) -> usize {
        (self.value::<u32>(named!(CL_DEVICE_MEM_BASE_ADDR_ALIGN)) as usize / 8).max(1)
    }

    /// Creates a sub-buffer of a buffer that has its bytes, which are the first one and their number.
    pub fn sub_buffer(&self, whole: cl_mem, flags: u64, region: [usize; 2]) -> Object {
        let (kind, region) = (CL_BUFFER_CREATE_TYPE_REGION, region.as_ptr().cast());
        // SAFETY: the buffer has the region; the call creates a reference.
        unsafe { created!(Memory clCreateSubBuffer(whole, flags, kind, region)) }
    }

    /// Creates a sampler with an addressing mode and a filter.
    pub fn sampler(&self, normalized: bool, mode: u32, filter: u32) -> Object {
        // SAFETY: the context is valid; the call creates a reference.
        unsafe { created!(Sampler clCreateSampler(self.context, normalized.into(), mode, filter)) }
    }

    /// Creates a 2D image of `SHAPE`, with pixels of four unsigned bytes.
    pub fn new_image(&self, flags: u64) -> Object {
        self.flat(flags, SHAPE)
    }

    /// The same of another size.
    fn flat(&self, flags: u64, [image_width, image_height, _]: [usize; 3]) -> Object {
        let image_type = CL_MEM_OBJECT_IMAGE2D;
        let shape = cl_image_desc { image_type, image_width, image_height, ..no_image() };
        self.image(flags, BYTES, &shape, ptr::null_mut())
    }

    /// Creates an image with host memory, which is null where the flags need none.
    pub fn image(
        &self,
        flags: u64,
        format: [u32; 2],
        shape: &cl_image_desc,
        host: *mut c_void,
    ) -> Object {
        let (format, shape) = (format.as_ptr().cast(), ptr::from_ref(shape));
        // SAFETY: the context is valid; the buffer or the host memory, if any, has all pixels; the call creates a
        // reference.
        unsafe { created!(Memory clCreateImage(self.context, flags, format, shape, host)) }
    }

    /// Allocates coarse-grain shared virtual memory, which the bench frees.
    pub fn new_svm(&self, size: usize) -> *mut c_void {
        self.new_svm_with(CL_MEM_READ_WRITE, size, 0)
    }

    /// Allocates shared virtual memory with these flags and this alignment in bytes, which the bench frees.
    pub fn new_svm_with(&self, flags: u64, size: usize, alignment: u32) -> *mut c_void {
        // SAFETY: the context is valid.
        let memory = unsafe { cl!(clSVMAlloc(self.context, flags, size, alignment)) };
        let call = format!("clSVMAlloc(flags {flags:#x}, {size} bytes, alignment {alignment})");
        assert!(!memory.is_null(), "{call}: the driver returned null");
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
        let (text, length) = (source.as_ptr().cast(), source.len());
        let (text, length) = (&raw const text, &raw const length);
        let given = CString::new(options).expect("no zero in the options");
        let (context, n, devices) = (self.context, self.devices.len(), self.devices.as_ptr());
        // SAFETY: the source has the length that the call gets; the call creates a reference.
        unsafe {
            let program = created!(Program clCreateProgramWithSource(context, 1, text, length));
            let (raw, n, options) = (program.raw(), n as u32, given.as_ptr());
            let code = cl!(clBuildProgram(raw, n, devices, options, None, ptr::null_mut()));
            if code != CL_SUCCESS {
                let log = Subject::Build(raw, self.device).text(named!(CL_PROGRAM_BUILD_LOG));
                panic!("clBuildProgram({given:?}) returned {}: {log}", code_name(code));
            }
            program
        }
    }

    /// Creates a kernel of a program.
    pub fn new_kernel(&self, program: &Object, name: &str) -> Object {
        let name = CString::new(name).expect("no zero in the name");
        // SAFETY: the program is valid; the call creates a reference.
        unsafe { created!(Kernel clCreateKernel(program.raw(), name.as_ptr())) }
    }

    /// Runs a kernel, whose first argument is a buffer with these elements, and returns the elements after it. The
    /// caller has set the other arguments.
    pub fn run<T: Pod>(&self, kernel: &Object, elements: &[T], range: Range<'_>) -> Vec<T> {
        let buffer = self.buffer_of(elements);
        set(kernel.raw(), 0, buffer.raw());
        succeeds("clEnqueueNDRangeKernel", launch(kernel, self.queue, range, &[]));
        self.contents_of(buffer.raw(), elements.len())
    }

    /// Operands that are null.
    pub fn no_operands(&self) -> Operands {
        let (null, none) = (ptr::null_mut(), [ptr::null_mut(); 2]);
        Operands { kernel: null, buffers: none, images: none, svm: none, host: none, mapped: null }
    }

    /// Creates operands for commands of these kinds; what none of them uses is null. Their bytes are undefined, but
    /// for the host memory.
    pub fn operands(&self, kinds: &[Kind]) -> Operands {
        self.operands_of(SIZE, SHAPE, kinds)
    }

    /// The same with other sizes in bytes and in pixels.
    pub fn operands_of(&self, size: usize, shape: [usize; 3], kinds: &[Kind]) -> Operands {
        let needs = |wanted: Needs| kinds.iter().any(|kind| kind.needs() == wanted);
        let mut operands = self.no_operands();
        operands.buffers = [(); 2].map(|()| self.keep(self.new_buffer(CL_MEM_READ_WRITE, size)));
        if needs(Needs::Images) {
            operands.images = [(); 2].map(|()| self.keep(self.flat(CL_MEM_READ_WRITE, shape)));
        }
        if needs(Needs::Svm) {
            operands.svm = [(); 2].map(|()| self.new_svm(size));
        }
        operands.host = [(); 2].map(|()| self.new_host(size));
        if kinds.contains(&Kind::Kernel) {
            operands.kernel = self.new_inverter();
        }
        operands
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
        let broken = self.findings.take().join("\n");
        // The findings are told before a driver may hang.
        let told = catch_unwind(|| match &*broken {
            "" => (),
            // Another panic would end the process.
            _ if thread::panicking() => eprintln!("{broken}"),
            _ => panic!("{broken}"),
        });
        // A driver may still use the memory of commands that a test does not wait for.
        for queue in self.queues().into_iter().chain([self.queue]) {
            // SAFETY: the queue is valid.
            _ = unsafe { cl!(clFinish(queue)) };
        }
        for memory in self.svm.take() {
            // SAFETY: all commands have ended.
            unsafe { cl!(clSVMFree(self.context, memory)) };
        }
        if let Err(findings) = told {
            resume_unwind(findings);
        }
    }
}

/// The description of an image without a type, which has no pixels.
pub fn no_image() -> cl_image_desc {
    // SAFETY: all fields are numbers or null.
    unsafe { mem::zeroed() }
}
