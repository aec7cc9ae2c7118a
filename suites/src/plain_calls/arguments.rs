//! The arguments of commands, and the calls of the C functions.

use super::prelude::*;
use Kind::*;

/// The arguments of a command as its C function takes them. A function leaves out those that it lacks; `None` is null.
#[derive(Clone, Copy)]
pub struct Arguments {
    pub kind: Kind,
    pub queue: cl_command_queue,
    pub blocking: cl_bool,
    /// The memory of the command: the object, and the host memory of a transfer; the source and the target of a copy;
    /// or an image and a buffer.
    pub memory: [*mut c_void; 2],
    /// The first byte of each. A function that takes a pointer without an offset gets the pointer to this byte.
    pub offsets: [usize; 2],
    pub origins: [Option<[usize; 3]>; 2],
    /// The pitches of rows and slices.
    pub pitches: [[usize; 2]; 2],
    pub size: usize,
    pub region: Option<[usize; 3]>,
    /// The pattern of a fill, aligned for any type of eight bytes, and its length in bytes.
    pub pattern: (Option<[u64; 32]>, usize),
    pub colour: Option<[u32; 4]>,
    pub flags: u64,
    /// The pointer that a map returns, and that an unmap takes.
    pub mapped: *mut c_void,
    /// The places for the pitches of rows and slices that the map of an image returns.
    pub mapped_pitches: [Option<usize>; 2],
    /// The length of the lists of objects or pointers, and of sizes.
    pub count: u32,
    pub list: Option<[*mut c_void; 2]>,
    pub sizes: Option<[usize; 2]>,
    /// The wait list, and its length.
    pub waits: (u32, *const cl_event),
}

impl Kind {
    /// The arguments of a valid call.
    pub fn arguments(self, operands: &Operands, call: Call<'_>) -> Arguments {
        let Operands { kernel, buffers, images, svm, host, mapped } = *operands;
        // Both memories in the order of the arguments, and whether the command reads (0) or writes (1) the first one.
        let ([one, two], i) = match self {
            ReadBuffer | ReadRect => ([buffers, host], 0),
            WriteBuffer | WriteRect | FillBuffer => ([buffers, host], 1),
            ReadImage => ([images, host], 0),
            WriteImage | FillImage => ([images, host], 1),
            ImageToBuffer => ([images, buffers], 0),
            BufferToImage => ([images, buffers], 1),
            CopyImage | MapImage | UnmapImage => ([images; 2], 0),
            Kernel => ([[kernel; 2]; 2], 1),
            _ if self.needs() == Needs::Svm => ([svm; 2], usize::from(self == SvmFill)),
            _ => ([buffers; 2], 0),
        };
        let span = call.span.unwrap_or_else(|| self.whole());
        let (memory, sides) = ([one[i], two[1 - i]], [span.sides[i], span.sides[1 - i]]);
        Arguments {
            kind: self,
            queue: call.queue,
            blocking: call.is_blocking.into(),
            memory,
            offsets: sides.map(start),
            origins: sides.map(|(origin, _)| Some(origin)),
            pitches: sides.map(|(_, pitches)| pitches),
            size: span.region[0],
            region: Some(span.region),
            pattern: (Some(bytemuck::cast(span.pattern.0)), span.pattern.1),
            colour: Some([0, 1, 2, 3].map(|component| span.pattern.0[component].into())),
            flags: span.flags,
            mapped: if self == SvmMap {
                memory[0].wrapping_byte_add(start(sides[0]))
            } else {
                mapped
            },
            mapped_pitches: [Some(0); 2],
            count: 1,
            list: Some(memory),
            sizes: None,
            waits: wait_list(call.wait_list),
        }
    }
}

impl Arguments {
    /// Calls the function of the command, and returns the code.
    pub fn call(&mut self, event: *mut cl_event) -> cl_int {
        let Self { queue, blocking, size, flags, mapped, count, .. } = *self;
        let ([one, two], [at, to_at], (n, waits)) = (self.memory, self.offsets, self.waits);
        let ([[row, slice], [to_row, to_slice]], (_, length)) = (self.pitches, self.pattern);
        // The first bytes of memory that is a pointer.
        let [source, target] = [one.wrapping_byte_add(at), two.wrapping_byte_add(to_at)];
        let [origin, to_origin] = self.origins.each_ref().map(|at| pointer(at.as_slice()).cast());
        let [row_to, slice_to] = (self.mapped_pitches.each_mut())
            .map(|place| place.as_mut().map_or(ptr::null_mut(), ptr::from_mut));
        let region = pointer(self.region.as_slice()).cast();
        let pattern = pointer(self.pattern.0.as_slice());
        let colour = pointer(self.colour.as_slice());
        let (list, sizes) = (pointer(self.list.as_slice()), pointer(self.sizes.as_slice()).cast());
        // PoCL 3.0 reads the list when the command runs: `lives` has a test of that.
        let kept = || pointer(Box::leak(Box::new(self.list)).as_slice()).cast();
        macro_rules! call {
            ($function:ident($($argument:expr),*)) => {
                // SAFETY: handles and memory are valid, or the driver must refuse the call; they live until their
                // commands have ended, which the tests wait for.
                unsafe { cl!($function(queue, $($argument,)* n, waits, event)) }
            };
            ($function:ident($($argument:expr),*) -> $mapped:ident) => {{
                let mut code = UNWRITTEN;
                let to = &raw mut code;
                // SAFETY: as above.
                self.$mapped = unsafe { cl!($function(queue, $($argument,)* n, waits, event, to)) };
                code
            }};
        }
        // Rows: a kind, its call, and `mapped` if the call returns the pointer of a map.
        macro_rules! calls {
            ($($kind:ident $function:ident $arguments:tt $(-> $mapped:ident)?;)*) => {
                match self.kind { $($kind => call!($function $arguments $(-> $mapped)?),)* }
            };
        }
        calls! {
            ReadBuffer clEnqueueReadBuffer(one, blocking, at, size, target);
            WriteBuffer clEnqueueWriteBuffer(one, blocking, at, size, target);
            ReadRect clEnqueueReadBufferRect(
                one, blocking, origin, to_origin, region, row, slice, to_row, to_slice, two);
            WriteRect clEnqueueWriteBufferRect(
                one, blocking, origin, to_origin, region, row, slice, to_row, to_slice, two);
            CopyBuffer clEnqueueCopyBuffer(one, two, at, to_at, size);
            CopyRect clEnqueueCopyBufferRect(
                one, two, origin, to_origin, region, row, slice, to_row, to_slice);
            FillBuffer clEnqueueFillBuffer(one, pattern.cast(), length, at, size);
            MapBuffer clEnqueueMapBuffer(one, blocking, flags, at, size) -> mapped;
            UnmapBuffer clEnqueueUnmapMemObject(one, mapped);
            Kernel clEnqueueNDRangeKernel(one, 1, origin, region, ptr::null());
            Migrate clEnqueueMigrateMemObjects(count, list.cast(), flags);
            Marker clEnqueueMarkerWithWaitList();
            Barrier clEnqueueBarrierWithWaitList();
            ReadImage clEnqueueReadImage(one, blocking, origin, region, to_row, to_slice, two);
            WriteImage clEnqueueWriteImage(one, blocking, origin, region, to_row, to_slice, two);
            CopyImage clEnqueueCopyImage(one, two, origin, to_origin, region);
            ImageToBuffer clEnqueueCopyImageToBuffer(one, two, origin, region, to_at);
            BufferToImage clEnqueueCopyBufferToImage(two, one, to_at, origin, region);
            FillImage clEnqueueFillImage(one, colour.cast(), origin, region);
            MapImage clEnqueueMapImage(one, blocking, flags, origin, region, row_to, slice_to)
                -> mapped;
            UnmapImage clEnqueueUnmapMemObject(one, mapped);
            SvmCopy clEnqueueSVMMemcpy(blocking, target, source, size);
            SvmFill clEnqueueSVMMemFill(source, pattern.cast(), length, size);
            SvmMap clEnqueueSVMMap(blocking, flags, source, size);
            SvmUnmap clEnqueueSVMUnmap(mapped);
            SvmFree clEnqueueSVMFree(count, kept(), None, ptr::null_mut());
            SvmMigrate clEnqueueSVMMigrateMem(count, list.cast(), sizes, flags);
        }
    }
}
