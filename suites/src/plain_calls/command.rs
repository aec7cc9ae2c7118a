//! All kinds of commands, and valid calls that enqueue them.

use std::cell::Cell;

use super::arguments::Arguments;
use super::prelude::*;

/// The bytes of each buffer, image, shared allocation and piece of host memory of a [`Bench`](super::bench::Bench).
pub const SIZE: usize = 256;

/// The pixels of each image, of four bytes each.
pub static SHAPE: [usize; 3] = [8, 8, 1];

/// The bytes of each element or pixel that a fill writes.
pub static FILL: [u8; 4] = [0xf1, 0xe2, 0xd3, 0xc4];

/// The pattern of a fill of many bytes.
static LONG_FILL: [u8; 16] = *b"0123456789abcdef";

/// The needs of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Images,
    Svm,
}

/// Declares the kinds of commands, each with the name of its cases, its needs, whether the call has a blocking flag, the
/// name of its function, its section of the OpenCL 3.0 API specification and its command type; and `per_kind!`.
macro_rules! kinds {
    ($d:tt $(
        $case:ident $kind:ident $needs:ident $blocks:literal $function:literal $section:literal $type:ident;
    )*) => {
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
                [$($function),*][self as usize]
            }

            /// The section of the OpenCL 3.0 API specification.
            pub fn section(self) -> &'static str {
                [$($section),*][self as usize]
            }

            /// The command type of the event (5.11, table of clGetEventInfo).
            pub fn command_type(self) -> Named<cl_command_type> {
                [$(named!($type)),*][self as usize]
            }

            /// Returns the needs of the command.
            pub fn needs(self) -> Needs {
                [$(Needs::$needs),*][self as usize]
            }

            /// Returns whether the call has a blocking flag.
            pub fn has_blocking_flag(self) -> bool {
                [$($blocks),*][self as usize]
            }
        }

        /// Declares a test of one kind of command: a case for each kind, which devices that lack it skip.
        macro_rules! per_kind {
            (fn $d name:ident($d bench:ident, $d kind:ident) $d body:block) => {
                #[rstest::rstest]
                $(#[case::$case($crate::plain_calls::command::Kind::$kind)])*
                #[clmatrix_harness::test]
                fn $d name($d bench: Bench, #[case] $d kind: $crate::plain_calls::command::Kind) {
                    $d bench.requires($d kind);
                    $d body
                }
            };
        }

        pub(crate) use per_kind;
    };
}

kinds! { $
    read_buffer ReadBuffer Nothing true "clEnqueueReadBuffer" "5.2.2" CL_COMMAND_READ_BUFFER;
    write_buffer WriteBuffer Nothing true "clEnqueueWriteBuffer" "5.2.2" CL_COMMAND_WRITE_BUFFER;
    read_rect ReadRect Nothing true "clEnqueueReadBufferRect" "5.2.2" CL_COMMAND_READ_BUFFER_RECT;
    write_rect WriteRect Nothing true "clEnqueueWriteBufferRect" "5.2.2" CL_COMMAND_WRITE_BUFFER_RECT;
    copy_buffer CopyBuffer Nothing false "clEnqueueCopyBuffer" "5.2.2" CL_COMMAND_COPY_BUFFER;
    copy_rect CopyRect Nothing false "clEnqueueCopyBufferRect" "5.2.2" CL_COMMAND_COPY_BUFFER_RECT;
    fill_buffer FillBuffer Nothing false "clEnqueueFillBuffer" "5.2.3" CL_COMMAND_FILL_BUFFER;
    map_buffer MapBuffer Nothing true "clEnqueueMapBuffer" "5.2.4" CL_COMMAND_MAP_BUFFER;
    unmap_buffer UnmapBuffer Nothing false "clEnqueueUnmapMemObject(buffer)" "5.5.2" CL_COMMAND_UNMAP_MEM_OBJECT;
    kernel Kernel Nothing false "clEnqueueNDRangeKernel" "5.9.2, 5.10" CL_COMMAND_NDRANGE_KERNEL;
    migrate Migrate Nothing false "clEnqueueMigrateMemObjects" "5.5.4" CL_COMMAND_MIGRATE_MEM_OBJECTS;
    marker Marker Nothing false "clEnqueueMarkerWithWaitList" "5.12" CL_COMMAND_MARKER;
    barrier Barrier Nothing false "clEnqueueBarrierWithWaitList" "5.12" CL_COMMAND_BARRIER;
    read_image ReadImage Images true "clEnqueueReadImage" "5.3.3" CL_COMMAND_READ_IMAGE;
    write_image WriteImage Images true "clEnqueueWriteImage" "5.3.3" CL_COMMAND_WRITE_IMAGE;
    copy_image CopyImage Images false "clEnqueueCopyImage" "5.3.3" CL_COMMAND_COPY_IMAGE;
    image_to_buffer ImageToBuffer Images false "clEnqueueCopyImageToBuffer" "5.3.5" CL_COMMAND_COPY_IMAGE_TO_BUFFER;
    buffer_to_image BufferToImage Images false "clEnqueueCopyBufferToImage" "5.3.5" CL_COMMAND_COPY_BUFFER_TO_IMAGE;
    fill_image FillImage Images false "clEnqueueFillImage" "5.3.4" CL_COMMAND_FILL_IMAGE;
    map_image MapImage Images true "clEnqueueMapImage" "5.3.6" CL_COMMAND_MAP_IMAGE;
    unmap_image UnmapImage Images false "clEnqueueUnmapMemObject(image)" "5.5.2" CL_COMMAND_UNMAP_MEM_OBJECT;
    svm_copy SvmCopy Svm true "clEnqueueSVMMemcpy" "5.6.1" CL_COMMAND_SVM_MEMCPY;
    svm_fill SvmFill Svm false "clEnqueueSVMMemFill" "5.6.1" CL_COMMAND_SVM_MEMFILL;
    svm_map SvmMap Svm true "clEnqueueSVMMap" "5.6.1" CL_COMMAND_SVM_MAP;
    svm_unmap SvmUnmap Svm false "clEnqueueSVMUnmap" "5.6.1" CL_COMMAND_SVM_UNMAP;
    svm_free SvmFree Svm false "clEnqueueSVMFree" "5.6.1" CL_COMMAND_SVM_FREE;
    svm_migrate SvmMigrate Svm false "clEnqueueSVMMigrateMem" "5.6.1" CL_COMMAND_SVM_MIGRATE_MEM;
}

use Kind::*;

/// The commands that begin maps, and those that end them.
const MAPS: [[Kind; 2]; 3] = [[MapBuffer, UnmapBuffer], [MapImage, UnmapImage], [SvmMap, SvmUnmap]];

impl Kind {
    /// The command that begins the map that this one ends.
    pub fn map(self) -> Option<Self> {
        MAPS.iter().find(|[_, unmap]| *unmap == self).map(|[map, _]| *map)
    }

    /// Returns whether the command begins or ends a map.
    pub fn is_of_map(self) -> bool {
        self.map().or(self.unmap()).is_some()
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

/// Where a box of bytes lies in an operand: its origin, and the pitches of rows and slices.
pub type Side = ([usize; 3], [usize; 2]);

/// The bytes or pixels that a command uses: a box in both operands. A line is a box of one row.
#[derive(Clone, Copy)]
pub struct Span {
    pub region: [usize; 3],
    pub sides: [Side; 2],
    /// The pattern of a fill, and its length.
    pub pattern: ([u8; 256], usize),
    /// The flags of a map or a migration.
    pub flags: u64,
}

impl Span {
    /// A box, without a pattern and flags.
    pub const fn of(region: [usize; 3], sides: [Side; 2]) -> Self {
        Self { region, sides, pattern: ([0x5a; 256], 0), flags: 0 }
    }

    /// Bytes in one row: the first one in both operands, and their number.
    pub const fn line([from, to, size]: [usize; 3]) -> Self {
        Self::of([size, 1, 1], [([from, 0, 0], [0; 2]), ([to, 0, 0], [0; 2])])
    }

    /// The same with a pattern.
    pub fn fill(mut self, pattern: &[u8]) -> Self {
        self.pattern.0[..pattern.len()].copy_from_slice(pattern);
        self.pattern.1 = pattern.len();
        self
    }
}

/// Returns the first byte of a box (5.2.2).
pub const fn start(([x, y, z], [row, slice]): Side) -> usize {
    x + y * row + z * slice
}

thread_local! {
    /// The arguments of the last call. The caller may use the memory of their arrays again when the call has returned
    /// (5.10): then these are those of another valid call.
    static ARGUMENTS: Cell<Option<Arguments>> = const { Cell::new(None) };
}

/// The bytes of that call.
const SPOILED: Span = Span::of([1; 3], [([1, 1, 0], [0; 2]); 2]);

/// Where and when a command runs.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub queue: cl_command_queue,
    pub is_blocking: bool,
    pub wait_list: &'a [cl_event],
    /// The bytes, if they are not all.
    pub span: Option<Span>,
}

impl<'a> Call<'a> {
    /// A command that does not block, without a wait list.
    pub fn on(queue: cl_command_queue) -> Self {
        Self { queue, is_blocking: false, wait_list: &[], span: None }
    }

    /// The same with this wait list.
    pub fn after(self, wait_list: &'a [cl_event]) -> Self {
        Self { wait_list, ..self }
    }

    /// The same for these bytes.
    pub fn of(self, span: Span) -> Self {
        Self { span: Some(span), ..self }
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
        let (function, mut event) = (self.function(), ptr::null_mut());
        self.succeeds(operands, call, &raw mut event);
        assert!(!event.is_null(), "{function}: the driver returned CL_SUCCESS, and no event");
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
        finish(queue);
        if let Some(unmap) = self.unmap() {
            unmap.enqueue_without_event(operands, Call::on(queue));
            finish(queue);
        }
    }

    /// Runs the command with operands of its own, and returns its event, which has ended.
    #[track_caller]
    pub fn run(self, bench: &Bench, queue: cl_command_queue) -> Object {
        let mut operands = bench.operands(&[self]);
        self.prepare(&mut operands, queue);
        let event = self.enqueue(&mut operands, Call::on(queue));
        self.finish(&mut operands, queue);
        event
    }

    /// Enqueues the command without an event. Panics if the driver refuses the call.
    #[track_caller]
    pub fn enqueue_without_event(self, operands: &mut Operands, call: Call<'_>) {
        self.succeeds(operands, call, ptr::null_mut());
    }

    #[track_caller]
    fn succeeds(self, operands: &mut Operands, call: Call<'_>, event: *mut cl_event) {
        let function = self.function();
        succeeds(function, self.code(operands, call, event));
        let has_pointer = self.unmap().is_none() || !operands.mapped.is_null();
        assert!(has_pointer, "{function}: the driver returned CL_SUCCESS, and null");
    }

    /// All bytes or pixels of the operands of a [`Bench`](super::bench::Bench).
    pub fn whole(self) -> Span {
        let whole = match self {
            // Pitches of zero are a matter of their own: `sizes` and `memory` have tests of those.
            ReadRect | WriteRect | CopyRect => Span::of([16, 4, 4], [([0; 3], [16, 64]); 2]),
            _ if self.needs() == Needs::Images => Span::of(SHAPE, [([0; 3], [0; 2]); 2]),
            _ => Span::line([0, 0, SIZE]),
        };
        let is_fill = matches!(self, FillBuffer | SvmFill);
        let flags = if self.unmap().is_some() { CL_MAP_READ | CL_MAP_WRITE } else { 0 };
        Span { flags, ..whole.fill(if is_fill { &LONG_FILL } else { &FILL }) }
    }

    /// The first four bytes of each operand, or the first pixel. Drivers may embed so few bytes in a command.
    pub fn few(self) -> Span {
        let whole = self.whole();
        let is_image = self.needs() == Needs::Images;
        Span { region: [if is_image { 1 } else { FILL.len() }, 1, 1], ..whole.fill(&FILL) }
    }

    /// Enqueues the command, and returns the code of the call.
    pub fn code(self, operands: &mut Operands, call: Call<'_>, event: *mut cl_event) -> cl_int {
        let of_kernel = operands.buffers.into_iter().zip(operands.svm).filter(|_| self == Kernel);
        for (index, (buffer, pointer)) in (0..).zip(of_kernel) {
            if buffer.is_null() {
                // SAFETY: the kernel and the pointer are valid.
                unsafe { ok!(clSetKernelArgSVMPointer(operands.kernel, index, pointer)) };
            } else {
                set(operands.kernel, index, buffer);
            }
        }
        let mut valid = self.arguments(operands, call);
        if self == SvmFree {
            let context = Subject::Queue(call.queue).handle(named!(CL_QUEUE_CONTEXT));
            // SAFETY: the context is valid.
            valid.list = Some([unsafe { cl!(clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0)) }; 2]);
        }
        // SAFETY: the arguments of the thread live as long as it does. Nothing else uses them meanwhile: the driver may
        // make callbacks within the call, but no callback of the tests enqueues commands.
        let arguments = unsafe { &mut *ARGUMENTS.with(Cell::as_ptr) }.insert(valid);
        let code = arguments.call(event);
        operands.mapped = arguments.mapped;
        *arguments = self.arguments(operands, call.of(SPOILED));
        arguments.list = Some([ptr::null_mut(); 2]);
        code
    }
}
