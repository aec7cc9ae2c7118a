//! All kinds of commands, and the calls that enqueue them.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::event::*;
use clmatrix::cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_WRITE};
use clmatrix::cl3::types::{cl_command_queue, cl_command_type, cl_context, cl_event, cl_int};

use super::api::{Named, cl, named, ok};
use super::object::{Class, Object, wait_list};

/// The bytes of each buffer, image, shared allocation and piece of host memory of a [`Bench`](super::bench::Bench).
pub const SIZE: usize = 256;

/// The pixels of each image, of four bytes each.
pub static SHAPE: [usize; 3] = [8, 8, 1];

/// The bytes of a buffer as a rectangle.
static RECTANGLE: [usize; 3] = [16, 4, 4];

/// The bytes of each element or pixel that a fill writes.
pub static FILL: [u8; 4] = [0xf1, 0xe2, 0xd3, 0xc4];

/// The needs of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Images,
    Svm,
    /// Shared virtual memory, and OpenCL 2.1.
    SvmMigration,
}

/// Declares the kinds of commands, each with its needs, the name of its function and its command type.
macro_rules! kinds {
    ($($kind:ident $needs:ident $function:literal $command_type:ident;)*) => {
        /// The kinds of commands, one for each clEnqueue function of OpenCL 1.2 to 2.1 that needs no kind of kernel.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The name of the function.
            pub fn function(self) -> &'static str {
                match self {
                    $(Self::$kind => $function,)*
                }
            }

            /// The command type of the event (OpenCL 3.0 API, 5.11, table of clGetEventInfo).
            pub fn command_type(self) -> Named<cl_command_type> {
                match self {
                    $(Self::$kind => named!($command_type),)*
                }
            }

            /// Returns the needs of the command.
            pub fn needs(self) -> Needs {
                match self {
                    $(Self::$kind => Needs::$needs,)*
                }
            }
        }
    };
}

kinds! {
    ReadBuffer Nothing "clEnqueueReadBuffer" CL_COMMAND_READ_BUFFER;
    WriteBuffer Nothing "clEnqueueWriteBuffer" CL_COMMAND_WRITE_BUFFER;
    ReadRect Nothing "clEnqueueReadBufferRect" CL_COMMAND_READ_BUFFER_RECT;
    WriteRect Nothing "clEnqueueWriteBufferRect" CL_COMMAND_WRITE_BUFFER_RECT;
    CopyBuffer Nothing "clEnqueueCopyBuffer" CL_COMMAND_COPY_BUFFER;
    CopyRect Nothing "clEnqueueCopyBufferRect" CL_COMMAND_COPY_BUFFER_RECT;
    FillBuffer Nothing "clEnqueueFillBuffer" CL_COMMAND_FILL_BUFFER;
    MapBuffer Nothing "clEnqueueMapBuffer" CL_COMMAND_MAP_BUFFER;
    UnmapBuffer Nothing "clEnqueueUnmapMemObject(buffer)" CL_COMMAND_UNMAP_MEM_OBJECT;
    Kernel Nothing "clEnqueueNDRangeKernel" CL_COMMAND_NDRANGE_KERNEL;
    Migrate Nothing "clEnqueueMigrateMemObjects" CL_COMMAND_MIGRATE_MEM_OBJECTS;
    Marker Nothing "clEnqueueMarkerWithWaitList" CL_COMMAND_MARKER;
    Barrier Nothing "clEnqueueBarrierWithWaitList" CL_COMMAND_BARRIER;
    ReadImage Images "clEnqueueReadImage" CL_COMMAND_READ_IMAGE;
    WriteImage Images "clEnqueueWriteImage" CL_COMMAND_WRITE_IMAGE;
    CopyImage Images "clEnqueueCopyImage" CL_COMMAND_COPY_IMAGE;
    ImageToBuffer Images "clEnqueueCopyImageToBuffer" CL_COMMAND_COPY_IMAGE_TO_BUFFER;
    BufferToImage Images "clEnqueueCopyBufferToImage" CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    FillImage Images "clEnqueueFillImage" CL_COMMAND_FILL_IMAGE;
    MapImage Images "clEnqueueMapImage" CL_COMMAND_MAP_IMAGE;
    UnmapImage Images "clEnqueueUnmapMemObject(image)" CL_COMMAND_UNMAP_MEM_OBJECT;
    SvmCopy Svm "clEnqueueSVMMemcpy" CL_COMMAND_SVM_MEMCPY;
    SvmFill Svm "clEnqueueSVMMemFill" CL_COMMAND_SVM_MEMFILL;
    SvmMap Svm "clEnqueueSVMMap" CL_COMMAND_SVM_MAP;
    SvmUnmap Svm "clEnqueueSVMUnmap" CL_COMMAND_SVM_UNMAP;
    SvmFree Svm "clEnqueueSVMFree" CL_COMMAND_SVM_FREE;
    SvmMigrate SvmMigration "clEnqueueSVMMigrateMem" CL_COMMAND_SVM_MIGRATE_MEM;
}

impl Kind {
    /// Returns whether the call has a blocking flag.
    pub fn has_blocking_flag(self) -> bool {
        matches!(
            self,
            Self::ReadBuffer
                | Self::WriteBuffer
                | Self::ReadRect
                | Self::WriteRect
                | Self::MapBuffer
                | Self::ReadImage
                | Self::WriteImage
                | Self::MapImage
                | Self::SvmCopy
                | Self::SvmMap
        )
    }

    /// The command that begins the map that this one ends.
    pub fn map(self) -> Option<Self> {
        match self {
            Self::UnmapBuffer => Some(Self::MapBuffer),
            Self::UnmapImage => Some(Self::MapImage),
            Self::SvmUnmap => Some(Self::SvmMap),
            _ => None,
        }
    }

    /// The command that ends the map that this one begins.
    pub fn unmap(self) -> Option<Self> {
        match self {
            Self::MapBuffer => Some(Self::UnmapBuffer),
            Self::MapImage => Some(Self::UnmapImage),
            Self::SvmMap => Some(Self::SvmUnmap),
            _ => None,
        }
    }
}

/// Declares a test of one kind of command: a case for each kind, which devices that lack it skip.
macro_rules! per_kind {
    ($(#[$attribute:meta])* fn $name:ident($bench:ident, $kind:ident) $body:block) => {
        $(#[$attribute])*
        #[rstest::rstest]
        #[case::read_buffer($crate::driver::command::Kind::ReadBuffer)]
        #[case::write_buffer($crate::driver::command::Kind::WriteBuffer)]
        #[case::read_rect($crate::driver::command::Kind::ReadRect)]
        #[case::write_rect($crate::driver::command::Kind::WriteRect)]
        #[case::copy_buffer($crate::driver::command::Kind::CopyBuffer)]
        #[case::copy_rect($crate::driver::command::Kind::CopyRect)]
        #[case::fill_buffer($crate::driver::command::Kind::FillBuffer)]
        #[case::map_buffer($crate::driver::command::Kind::MapBuffer)]
        #[case::unmap_buffer($crate::driver::command::Kind::UnmapBuffer)]
        #[case::kernel($crate::driver::command::Kind::Kernel)]
        #[case::migrate($crate::driver::command::Kind::Migrate)]
        #[case::marker($crate::driver::command::Kind::Marker)]
        #[case::barrier($crate::driver::command::Kind::Barrier)]
        #[case::read_image($crate::driver::command::Kind::ReadImage)]
        #[case::write_image($crate::driver::command::Kind::WriteImage)]
        #[case::copy_image($crate::driver::command::Kind::CopyImage)]
        #[case::image_to_buffer($crate::driver::command::Kind::ImageToBuffer)]
        #[case::buffer_to_image($crate::driver::command::Kind::BufferToImage)]
        #[case::fill_image($crate::driver::command::Kind::FillImage)]
        #[case::map_image($crate::driver::command::Kind::MapImage)]
        #[case::unmap_image($crate::driver::command::Kind::UnmapImage)]
        #[case::svm_copy($crate::driver::command::Kind::SvmCopy)]
        #[case::svm_fill($crate::driver::command::Kind::SvmFill)]
        #[case::svm_map($crate::driver::command::Kind::SvmMap)]
        #[case::svm_unmap($crate::driver::command::Kind::SvmUnmap)]
        #[case::svm_free($crate::driver::command::Kind::SvmFree)]
        #[case::svm_migrate($crate::driver::command::Kind::SvmMigrate)]
        #[clmatrix_harness::test]
        fn $name($bench: Bench, #[case] $kind: $crate::driver::command::Kind) {
            $bench.requires($kind);
            $body
        }
    };
}

pub(crate) use per_kind;

/// The objects that commands use: each reads the first one of a kind and writes the second one, or uses the
/// first one alone. All are valid and have [`SIZE`] bytes.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    pub context: cl_context,
    /// Has the arguments `(global const uchar *from, global uchar *to)`, and inverts each byte. Null, as images and
    /// shared memory, where no command needs it.
    pub kernel: *mut c_void,
    pub buffers: [*mut c_void; 2],
    pub images: [*mut c_void; 2],
    pub svm: [*mut c_void; 2],
    pub host: [*mut c_void; 2],
    /// The pointer that the last map returned.
    pub mapped: *mut c_void,
}

impl Operands {
    /// The same operands in the other direction.
    pub fn reversed(self) -> Self {
        let swap = |[first, second]: [*mut c_void; 2]| [second, first];
        let (buffers, images) = (swap(self.buffers), swap(self.images));
        Self { buffers, images, svm: swap(self.svm), host: swap(self.host), ..self }
    }
}

/// The arrays that a call gets. The caller may use their memory again when the call has returned (5.10).
#[derive(Clone, Copy)]
struct Arrays {
    origin: [usize; 3],
    rectangle: [usize; 3],
    pixels: [usize; 3],
    global: [usize; 1],
    fill: [u8; 4],
    colour: [u32; 4],
    memory: [*mut c_void; 1],
    pointers: [*const c_void; 1],
}

thread_local! {
    static ARRAYS: Cell<Arrays> = const { Cell::new(SPOILED) };
}

/// Other valid arrays.
const SPOILED: Arrays = Arrays {
    origin: [1, 1, 0],
    rectangle: [1; 3],
    pixels: [1; 3],
    global: [1],
    fill: [0x5a; 4],
    colour: [0x5a; 4],
    memory: [ptr::null_mut()],
    pointers: [ptr::null()],
};

/// Where and when a command runs.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub queue: cl_command_queue,
    pub is_blocking: bool,
    pub wait_list: &'a [cl_event],
}

impl<'a> Call<'a> {
    /// A command that does not block, without a wait list.
    pub fn on(queue: cl_command_queue) -> Self {
        Self { queue, is_blocking: false, wait_list: &[] }
    }

    /// The same with this wait list.
    pub fn after(self, wait_list: &'a [cl_event]) -> Self {
        Self { wait_list, ..self }
    }

    /// The same as a call that blocks.
    pub fn blocking(self) -> Self {
        Self { is_blocking: true, ..self }
    }
}

impl Kind {
    /// Enqueues the command, and returns its event. A map leaves its pointer in `operands`; an unmap takes it
    /// from there. Panics if the driver refuses the call.
    #[track_caller]
    pub fn enqueue(self, operands: &mut Operands, call: Call<'_>) -> Object {
        let mut event = ptr::null_mut();
        self.succeeds(operands, call, &raw mut event);
        assert!(
            !event.is_null(),
            "{}: the driver returned CL_SUCCESS, and no event",
            self.function()
        );
        // SAFETY: the driver has just created the event.
        unsafe { Object::new(Class::Event, event) }
    }

    /// Begins the map that an unmap ends, and waits for it; does nothing for other commands.
    #[track_caller]
    pub fn prepare(self, operands: &mut Operands, queue: cl_command_queue) {
        if let Some(map) = self.map() {
            // PoCL 6.0 crashes in the unmap of a map without an event: `memory::svm` has a test of that.
            drop(map.enqueue(operands, Call::on(queue).blocking()));
        }
    }

    /// Waits for the queue, and ends the map that this command has begun.
    #[track_caller]
    pub fn finish(self, operands: &mut Operands, queue: cl_command_queue) {
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(queue)) };
        if let Some(unmap) = self.unmap() {
            unmap.enqueue_without_event(operands, Call::on(queue));
            // SAFETY: as above.
            unsafe { ok!(clFinish(queue)) };
        }
    }

    /// Enqueues the command without an event. Panics if the driver refuses the call.
    #[track_caller]
    pub fn enqueue_without_event(self, operands: &mut Operands, call: Call<'_>) {
        self.succeeds(operands, call, ptr::null_mut());
    }

    #[track_caller]
    fn succeeds(self, operands: &mut Operands, call: Call<'_>, event: *mut cl_event) {
        let function = self.function();
        super::api::succeeds(function, self.code(operands, call, event));
        let has_pointer = self.unmap().is_none() || !operands.mapped.is_null();
        assert!(has_pointer, "{function}: the driver returned CL_SUCCESS, and null");
    }

    /// Enqueues the command, and returns the code of the call.
    pub fn code(self, operands: &mut Operands, call: Call<'_>, event: *mut cl_event) -> cl_int {
        let Call { queue, is_blocking, wait_list: events } = call;
        let (n, list) = wait_list(events);
        let blocking = u32::from(is_blocking);
        let Operands { buffers: [from, to], images: [image, other], svm: [svm, to_svm], .. } =
            *operands;
        let [read, written] = operands.host;
        let (rectangle, pixels, global) = (RECTANGLE, SHAPE, [SIZE]);
        let (fill, colour) = (FILL, FILL.map(u32::from));
        let (memory, pointers) = ([from], [svm.cast_const()]);
        ARRAYS.set(Arrays {
            origin: [0; 3],
            rectangle,
            pixels,
            global,
            fill,
            colour,
            memory,
            pointers,
        });
        let arrays = ARRAYS.with(Cell::as_ptr);
        // SAFETY: the arrays of the thread live as long as it does.
        let (zero, rows, pixels, global, fill, colour, memory, pointers) = unsafe {
            (
                (&raw const (*arrays).origin).cast(),
                (&raw const (*arrays).rectangle).cast(),
                (&raw const (*arrays).pixels).cast(),
                (&raw const (*arrays).global).cast(),
                (&raw const (*arrays).fill).cast(),
                (&raw const (*arrays).colour).cast(),
                (&raw const (*arrays).memory).cast(),
                (&raw const (*arrays).pointers).cast(),
            )
        };
        let flags = CL_MAP_READ | CL_MAP_WRITE;
        let (mut code, mut pitches) = (super::api::UNWRITTEN, [0_usize; 2]);
        let [row, slice] = pitches.each_mut().map(ptr::from_mut);
        // SAFETY: all operands are valid and have `SIZE` bytes; they live until their commands have ended, which
        // the tests wait for.
        let code = unsafe {
            match self {
                Self::ReadBuffer => cl!(clEnqueueReadBuffer(
                    queue, from, blocking, 0, SIZE, written, n, list, event
                )),
                Self::WriteBuffer => {
                    cl!(clEnqueueWriteBuffer(queue, to, blocking, 0, SIZE, read, n, list, event))
                }
                Self::ReadRect => cl!(clEnqueueReadBufferRect(
                    queue, from, blocking, zero, zero, rows, 0, 0, 0, 0, written, n, list, event
                )),
                Self::WriteRect => cl!(clEnqueueWriteBufferRect(
                    queue, to, blocking, zero, zero, rows, 0, 0, 0, 0, read, n, list, event
                )),
                Self::CopyBuffer => {
                    cl!(clEnqueueCopyBuffer(queue, from, to, 0, 0, SIZE, n, list, event))
                }
                Self::CopyRect => cl!(clEnqueueCopyBufferRect(
                    queue, from, to, zero, zero, rows, 0, 0, 0, 0, n, list, event
                )),
                Self::FillBuffer => {
                    cl!(clEnqueueFillBuffer(queue, to, fill, 4, 0, SIZE, n, list, event))
                }
                Self::MapBuffer => {
                    operands.mapped = cl!(clEnqueueMapBuffer(
                        queue,
                        from,
                        blocking,
                        flags,
                        0,
                        SIZE,
                        n,
                        list,
                        event,
                        &raw mut code
                    ));
                    code
                }
                Self::MapImage => {
                    operands.mapped = cl!(clEnqueueMapImage(
                        queue,
                        image,
                        blocking,
                        flags,
                        zero,
                        pixels,
                        row,
                        slice,
                        n,
                        list,
                        event,
                        &raw mut code
                    ));
                    code
                }
                Self::UnmapBuffer | Self::UnmapImage => {
                    let object = if self == Self::UnmapBuffer { from } else { image };
                    cl!(clEnqueueUnmapMemObject(queue, object, operands.mapped, n, list, event))
                }
                Self::Kernel => {
                    let kernel = operands.kernel;
                    for (index, buffer) in [from, to].iter().enumerate() {
                        let value = ptr::from_ref(buffer).cast();
                        ok!(clSetKernelArg(kernel, index as u32, size_of::<usize>(), value));
                    }
                    let null = ptr::null();
                    cl!(clEnqueueNDRangeKernel(
                        queue, kernel, 1, null, global, null, n, list, event
                    ))
                }
                Self::Migrate => {
                    cl!(clEnqueueMigrateMemObjects(queue, 1, memory, 0, n, list, event))
                }
                Self::Marker => cl!(clEnqueueMarkerWithWaitList(queue, n, list, event)),
                Self::Barrier => cl!(clEnqueueBarrierWithWaitList(queue, n, list, event)),
                Self::ReadImage => cl!(clEnqueueReadImage(
                    queue, image, blocking, zero, pixels, 0, 0, written, n, list, event
                )),
                Self::WriteImage => cl!(clEnqueueWriteImage(
                    queue, other, blocking, zero, pixels, 0, 0, read, n, list, event
                )),
                Self::CopyImage => {
                    cl!(clEnqueueCopyImage(queue, image, other, zero, zero, pixels, n, list, event))
                }
                Self::ImageToBuffer => cl!(clEnqueueCopyImageToBuffer(
                    queue, image, to, zero, pixels, 0, n, list, event
                )),
                Self::BufferToImage => cl!(clEnqueueCopyBufferToImage(
                    queue, from, other, 0, zero, pixels, n, list, event
                )),
                Self::FillImage => {
                    cl!(clEnqueueFillImage(queue, other, colour, zero, pixels, n, list, event))
                }
                Self::SvmCopy => {
                    cl!(clEnqueueSVMMemcpy(queue, blocking, to_svm, svm, SIZE, n, list, event))
                }
                Self::SvmFill => {
                    cl!(clEnqueueSVMMemFill(queue, to_svm, fill, 4, SIZE, n, list, event))
                }
                Self::SvmMap => {
                    operands.mapped = svm;
                    cl!(clEnqueueSVMMap(queue, blocking, flags, svm, SIZE, n, list, event))
                }
                Self::SvmUnmap => cl!(clEnqueueSVMUnmap(queue, svm, n, list, event)),
                Self::SvmFree => {
                    let memory = cl!(clSVMAlloc(operands.context, CL_MEM_READ_WRITE, SIZE, 0));
                    // PoCL 3.0 reads the array when the command runs: `lives` has a test of that.
                    let pointers = Box::leak(Box::new([memory.cast_const()]));
                    cl!(clEnqueueSVMFree(
                        queue,
                        1,
                        pointers.as_ptr(),
                        None,
                        ptr::null_mut(),
                        n,
                        list,
                        event
                    ))
                }
                Self::SvmMigrate => {
                    let none = ptr::null();
                    cl!(clEnqueueSVMMigrateMem(queue, 1, pointers, none, 0, n, list, event))
                }
            }
        };
        ARRAYS.set(SPOILED);
        code
    }
}
