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

/// Declares the kinds of commands, each with the name of its cases, its needs, whether the call has a blocking flag, the
/// name of its function and its command type; and `per_kind!`.
macro_rules! kinds {
    ($d:tt $($case:ident $kind:ident $needs:ident $blocks:literal $function:literal $type:ident;)*) => {
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
                    $(Self::$kind => named!($type),)*
                }
            }

            /// Returns the needs of the command.
            pub fn needs(self) -> Needs {
                match self {
                    $(Self::$kind => Needs::$needs,)*
                }
            }

            /// Returns whether the call has a blocking flag.
            pub fn has_blocking_flag(self) -> bool {
                match self {
                    $(Self::$kind => $blocks,)*
                }
            }
        }

        /// Declares a test of one kind of command: a case for each kind, which devices that lack it skip.
        macro_rules! per_kind {
            ($d(#[$d attribute:meta])* fn $d name:ident($d bench:ident, $d kind:ident) $d body:block) => {
                $d(#[$d attribute])*
                #[rstest::rstest]
                $(#[case::$case($crate::driver::command::Kind::$kind)])*
                #[clmatrix_harness::test]
                fn $d name($d bench: Bench, #[case] $d kind: $crate::driver::command::Kind) {
                    $d bench.requires($d kind);
                    $d body
                }
            };
        }

        pub(crate) use per_kind;
    };
}

kinds! { $
    read_buffer ReadBuffer Nothing true "clEnqueueReadBuffer" CL_COMMAND_READ_BUFFER;
    write_buffer WriteBuffer Nothing true "clEnqueueWriteBuffer" CL_COMMAND_WRITE_BUFFER;
    read_rect ReadRect Nothing true "clEnqueueReadBufferRect" CL_COMMAND_READ_BUFFER_RECT;
    write_rect WriteRect Nothing true "clEnqueueWriteBufferRect" CL_COMMAND_WRITE_BUFFER_RECT;
    copy_buffer CopyBuffer Nothing false "clEnqueueCopyBuffer" CL_COMMAND_COPY_BUFFER;
    copy_rect CopyRect Nothing false "clEnqueueCopyBufferRect" CL_COMMAND_COPY_BUFFER_RECT;
    fill_buffer FillBuffer Nothing false "clEnqueueFillBuffer" CL_COMMAND_FILL_BUFFER;
    map_buffer MapBuffer Nothing true "clEnqueueMapBuffer" CL_COMMAND_MAP_BUFFER;
    unmap_buffer UnmapBuffer Nothing false "clEnqueueUnmapMemObject(buffer)" CL_COMMAND_UNMAP_MEM_OBJECT;
    kernel Kernel Nothing false "clEnqueueNDRangeKernel" CL_COMMAND_NDRANGE_KERNEL;
    migrate Migrate Nothing false "clEnqueueMigrateMemObjects" CL_COMMAND_MIGRATE_MEM_OBJECTS;
    marker Marker Nothing false "clEnqueueMarkerWithWaitList" CL_COMMAND_MARKER;
    barrier Barrier Nothing false "clEnqueueBarrierWithWaitList" CL_COMMAND_BARRIER;
    read_image ReadImage Images true "clEnqueueReadImage" CL_COMMAND_READ_IMAGE;
    write_image WriteImage Images true "clEnqueueWriteImage" CL_COMMAND_WRITE_IMAGE;
    copy_image CopyImage Images false "clEnqueueCopyImage" CL_COMMAND_COPY_IMAGE;
    image_to_buffer ImageToBuffer Images false "clEnqueueCopyImageToBuffer" CL_COMMAND_COPY_IMAGE_TO_BUFFER;
    buffer_to_image BufferToImage Images false "clEnqueueCopyBufferToImage" CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    fill_image FillImage Images false "clEnqueueFillImage" CL_COMMAND_FILL_IMAGE;
    map_image MapImage Images true "clEnqueueMapImage" CL_COMMAND_MAP_IMAGE;
    unmap_image UnmapImage Images false "clEnqueueUnmapMemObject(image)" CL_COMMAND_UNMAP_MEM_OBJECT;
    svm_copy SvmCopy Svm true "clEnqueueSVMMemcpy" CL_COMMAND_SVM_MEMCPY;
    svm_fill SvmFill Svm false "clEnqueueSVMMemFill" CL_COMMAND_SVM_MEMFILL;
    svm_map SvmMap Svm true "clEnqueueSVMMap" CL_COMMAND_SVM_MAP;
    svm_unmap SvmUnmap Svm false "clEnqueueSVMUnmap" CL_COMMAND_SVM_UNMAP;
    svm_free SvmFree Svm false "clEnqueueSVMFree" CL_COMMAND_SVM_FREE;
    svm_migrate SvmMigrate SvmMigration false "clEnqueueSVMMigrateMem" CL_COMMAND_SVM_MIGRATE_MEM;
}

/// The commands that begin maps, and those that end them.
const MAPS: [[Kind; 2]; 3] = [
    [Kind::MapBuffer, Kind::UnmapBuffer],
    [Kind::MapImage, Kind::UnmapImage],
    [Kind::SvmMap, Kind::SvmUnmap],
];

impl Kind {
    /// The command that begins the map that this one ends.
    pub fn map(self) -> Option<Self> {
        MAPS.iter().find(|[_, unmap]| *unmap == self).map(|[map, _]| *map)
    }

    /// The command that ends the map that this one begins.
    pub fn unmap(self) -> Option<Self> {
        MAPS.iter().find(|[map, _]| *map == self).map(|[_, unmap]| *unmap)
    }
}

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
        let [row_to, slice_to] = pitches.each_mut().map(ptr::from_mut);
        // Pitches of zero are a matter of their own: `sizes` and `memory` have tests of those.
        let (row, slice) = (RECTANGLE[0], RECTANGLE[0] * RECTANGLE[1]);
        macro_rules! call {
            ($function:ident($($argument:expr),*) $($code:expr)?) => {
                cl!($function(queue, $($argument,)* n, list, event $(, $code)?))
            };
        }
        // SAFETY: all operands are valid and have `SIZE` bytes; they live until their commands have ended, which
        // the tests wait for.
        let code = unsafe {
            match self {
                Self::ReadBuffer => call!(clEnqueueReadBuffer(from, blocking, 0, SIZE, written)),
                Self::WriteBuffer => call!(clEnqueueWriteBuffer(to, blocking, 0, SIZE, read)),
                Self::ReadRect => call!(clEnqueueReadBufferRect(
                    from, blocking, zero, zero, rows, row, slice, row, slice, written
                )),
                Self::WriteRect => call!(clEnqueueWriteBufferRect(
                    to, blocking, zero, zero, rows, row, slice, row, slice, read
                )),
                Self::CopyBuffer => call!(clEnqueueCopyBuffer(from, to, 0, 0, SIZE)),
                Self::CopyRect => {
                    call!(clEnqueueCopyBufferRect(
                        from, to, zero, zero, rows, row, slice, row, slice
                    ))
                }
                Self::FillBuffer => call!(clEnqueueFillBuffer(to, fill, 4, 0, SIZE)),
                Self::MapBuffer => {
                    operands.mapped =
                        call!(clEnqueueMapBuffer(from, blocking, flags, 0, SIZE) &raw mut code);
                    code
                }
                Self::MapImage => {
                    operands.mapped = call!(clEnqueueMapImage(
                        image, blocking, flags, zero, pixels, row_to, slice_to
                    ) &raw mut code);
                    code
                }
                Self::UnmapBuffer => call!(clEnqueueUnmapMemObject(from, operands.mapped)),
                Self::UnmapImage => call!(clEnqueueUnmapMemObject(image, operands.mapped)),
                Self::Kernel => {
                    let kernel = operands.kernel;
                    for (index, buffer) in [from, to].iter().enumerate() {
                        let value = ptr::from_ref(buffer).cast();
                        ok!(clSetKernelArg(kernel, index as u32, size_of::<usize>(), value));
                    }
                    call!(clEnqueueNDRangeKernel(kernel, 1, ptr::null(), global, ptr::null()))
                }
                Self::Migrate => call!(clEnqueueMigrateMemObjects(1, memory, 0)),
                Self::Marker => call!(clEnqueueMarkerWithWaitList()),
                Self::Barrier => call!(clEnqueueBarrierWithWaitList()),
                Self::ReadImage => {
                    call!(clEnqueueReadImage(image, blocking, zero, pixels, 0, 0, written))
                }
                Self::WriteImage => {
                    call!(clEnqueueWriteImage(other, blocking, zero, pixels, 0, 0, read))
                }
                Self::CopyImage => call!(clEnqueueCopyImage(image, other, zero, zero, pixels)),
                Self::ImageToBuffer => {
                    call!(clEnqueueCopyImageToBuffer(image, to, zero, pixels, 0))
                }
                Self::BufferToImage => {
                    call!(clEnqueueCopyBufferToImage(from, other, 0, zero, pixels))
                }
                Self::FillImage => call!(clEnqueueFillImage(other, colour, zero, pixels)),
                Self::SvmCopy => call!(clEnqueueSVMMemcpy(blocking, to_svm, svm, SIZE)),
                Self::SvmFill => call!(clEnqueueSVMMemFill(to_svm, fill, 4, SIZE)),
                Self::SvmMap => {
                    operands.mapped = svm;
                    call!(clEnqueueSVMMap(blocking, flags, svm, SIZE))
                }
                Self::SvmUnmap => call!(clEnqueueSVMUnmap(svm)),
                Self::SvmFree => {
                    let memory = cl!(clSVMAlloc(operands.context, CL_MEM_READ_WRITE, SIZE, 0));
                    // PoCL 3.0 reads the array when the command runs: `lives` has a test of that.
                    let pointers = Box::leak(Box::new([memory.cast_const()])).as_ptr();
                    call!(clEnqueueSVMFree(1, pointers, None, ptr::null_mut()))
                }
                Self::SvmMigrate => call!(clEnqueueSVMMigrateMem(1, pointers, ptr::null(), 0)),
            }
        };
        ARRAYS.set(SPOILED);
        code
    }
}
