//! The calls that are measured: this crate's, and the same calls of cl3.

use std::ptr;

use clmatrix::cl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, create_user_event, get_event_info,
};
use clmatrix::cl3::kernel::set_kernel_arg;
use clmatrix::cl3::types::{
    CL_BLOCKING, CL_NON_BLOCKING, cl_bool, cl_buffer_region, cl_event, cl_map_flags, cl_mem,
    cl_uint,
};
use clmatrix::cl3::{self, command_queue as cl, memory as cl_memory};
use clmatrix::memory::{Buffer, Linear, MapReadWrite, MemFlags, enqueue_copy, enqueue_fill};
use clmatrix::{CommandQueue, Context, Event, Kernel, Program};

/// Bytes that a command touches.
const BYTES: usize = 64;

static PATTERN: u32 = 7;

/// Work items of a launch.
static ITEMS: usize = 16;

/// The bytes of a sub-region. A multiple of every device's alignment.
static REGION: cl_buffer_region = cl_buffer_region { origin: 1024, size: 1024 };

const MAP_FLAGS: cl_map_flags = cl_memory::CL_MAP_READ | cl_memory::CL_MAP_WRITE;

const SOURCE: &str = "kernel void add(global int *sum, global const int *more, int number) {
    sum[get_global_id(0)] += more[get_global_id(0)] + number;
}";

/// The fewest kept events that are worth a look.
const FEWEST_KEPT: usize = 16;

const SUCCESS: &str = "the call succeeds";

/// The kind of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Fill,
    Copy,
    /// A write that blocks.
    Write,
    /// A read that blocks.
    Read,
    /// With three arguments, which are set as well.
    Launch,
    /// A map that blocks, and its unmap.
    Map,
    /// A map that does not block, and its unmap.
    MapNonBlocking,
    /// Creates and releases a sub-region. Enqueues nothing.
    SubRegion,
}

impl Work {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill a buffer",
            Self::Copy => "copy between buffers",
            Self::Write => "write, blocking",
            Self::Read => "read, blocking",
            Self::Launch => "launch with 3 arguments",
            Self::Map => "map and unmap",
            Self::MapNonBlocking => "map, not blocking, and unmap",
            Self::SubRegion => "sub-region",
        }
    }

    /// The handles that a call makes: an event for each command, and a region.
    pub const fn handles(self) -> u32 {
        match self {
            Self::Map | Self::MapNonBlocking => 2,
            _ => 1,
        }
    }
}

/// The objects that a thread works with.
pub struct Place<'c> {
    context: &'c Context,
    queues: [CommandQueue; 2],
    buffers: [Buffer; 2],
    /// The kernel of this crate's launches.
    ours: Kernel,
    /// The kernel of cl3's launches.
    kernel: Kernel,
    /// The events that [`Kept`] keeps.
    kept: Vec<opencl3::event::Event>,
    /// The number of events at which `kept` is searched for those that have ended.
    look_at: usize,
    /// The event that all calls of a batch of [`Kept`] wait for.
    awaited: Option<opencl3::event::Event>,
}

impl<'c> Place<'c> {
    pub fn new(context: &'c Context) -> Self {
        let queue = || CommandQueue::new(context).expect("a queue");
        let buffer =
            || Buffer::from_slice(context, MemFlags::READ_WRITE, &[0_u8; 4096]).expect("a buffer");
        let program = Program::build(context, SOURCE).expect("the program compiles");
        let kernel = || program.kernel("add").expect("a kernel");
        Self {
            queues: [queue(), queue()],
            buffers: [buffer(), buffer()],
            ours: kernel(),
            kernel: kernel(),
            kept: Vec::new(),
            look_at: FEWEST_KEPT,
            awaited: None,
            context,
        }
    }

    /// Creates a user event, as a reference that the caller owns.
    pub fn user_event(&self) -> cl_event {
        create_user_event(self.context.as_raw()).expect("a user event")
    }

    /// Waits for the end of all commands, without this crate.
    pub fn finish(&self) {
        let queues = self.queues.each_ref().map(CommandQueue::as_raw);
        queues.iter().for_each(|queue| cl::flush(*queue).expect(SUCCESS));
        queues.iter().for_each(|queue| cl::finish(*queue).expect(SUCCESS));
    }

    /// Keeps an event. Releases those that have ended when their number has doubled.
    fn keep(&mut self, event: opencl3::event::Event) {
        if self.kept.len() >= self.look_at {
            self.kept.retain(|event| is_pending(event.get()));
            self.look_at = FEWEST_KEPT.max(2 * self.kept.len());
        }
        self.kept.push(event);
    }

    /// The first buffer, and the second one for commands with two. Each queue has its own first one.
    fn raw_buffers(&self, on: usize) -> [cl_mem; 2] {
        [on, 1 - on].map(|number| self.buffers[number].as_raw())
    }

    fn set_kernel_args(&self, buffers: [cl_mem; 2]) {
        fn set<T>(kernel: &Kernel, index: cl_uint, value: &T) {
            // SAFETY: the kernel is alive, and `value` has the type of this argument.
            unsafe {
                set_kernel_arg(kernel.as_raw(), index, size_of::<T>(), ptr::from_ref(value).cast())
            }
            .expect(SUCCESS);
        }
        set(&self.kernel, 0, &buffers[0]);
        set(&self.kernel, 1, &buffers[1]);
        set(&self.kernel, 2, &1_i32);
    }
}

/// A library whose calls return events.
pub trait Api {
    type Event;

    /// Does `work` on the queue number `on`, after `wait_for`. Returns the event of the last command
    /// that has a wait list.
    fn call<const N: usize>(
        place: &mut Place<'_>,
        work: Work,
        on: usize,
        wait_for: [&Self::Event; N],
    ) -> Option<Self::Event>;

    /// Takes over the reference that [`Place::user_event`] returned.
    fn adopt(place: &mut Place<'_>, event: cl_event) -> Self::Event;

    /// Keeps the event of the last call until the next batch.
    fn keep_last(_: &mut Place<'_>) {}
}

/// This crate.
pub struct Ours;

impl Api for Ours {
    type Event = Event;

    fn call<const N: usize>(
        place: &mut Place<'_>,
        work: Work,
        on: usize,
        wait_for: [&Event; N],
    ) -> Option<Event> {
        let Place { queues, buffers, ours, .. } = place;
        let (queue, first, second) = (&queues[on], &buffers[on], &buffers[1 - on]);
        let event = match work {
            Work::Fill => enqueue_fill(queue.after(wait_for), first, &PATTERN, 0..BYTES),
            Work::Copy => enqueue_copy(
                queue.after(wait_for),
                second,
                first,
                Linear::default().byte_count(BYTES),
            ),
            Work::Write => first.write(queue.after(wait_for), &[PATTERN; BYTES / 4]),
            Work::Read => first.read(queue.after(wait_for), &mut [0_u32; BYTES / 4]),
            Work::Launch => {
                let mut launch = ours.launch();
                launch.arg(first).arg(second).arg(1).global(ITEMS);
                // SAFETY: the arguments have the kernel's types and are large enough.
                unsafe { launch.enqueue(queue.after(wait_for)) }
            }
            Work::Map => first
                .map_read_write::<u32>(queue.after(wait_for), ..BYTES / 4)
                .and_then(|map| map.unmap()),
            Work::MapNonBlocking => first
                .map_async::<u32, _>(queue.after(wait_for), MapReadWrite, ..BYTES / 4)
                .map(|map| retained(map.event())),
            Work::SubRegion => {
                let end = REGION.origin + REGION.size;
                drop(first.sub_buffer(REGION.origin..end).expect("a region"));
                return None;
            }
        };
        Some(event.expect(SUCCESS))
    }

    fn adopt(_: &mut Place<'_>, event: cl_event) -> Event {
        // SAFETY: the caller owns the reference.
        unsafe { Event::from_raw(event) }.expect(SUCCESS)
    }
}

fn retained(event: &Event) -> Event {
    event.clone()
}

/// cl3, with the release of the events.
pub struct Cl3;

impl Api for Cl3 {
    type Event = opencl3::event::Event;

    fn call<const N: usize>(
        place: &mut Place<'_>,
        work: Work,
        on: usize,
        wait_for: [&Self::Event; N],
    ) -> Option<Self::Event> {
        let (event, unmapped) = call_with_events(place, work, on, wait_for.map(Self::Event::get))?;
        drop(unmapped);
        Some(event)
    }

    fn adopt(_: &mut Place<'_>, event: cl_event) -> Self::Event {
        Self::Event::new(event)
    }
}

/// cl3, with each event kept until the driver has said that its command has ended.
pub struct Kept;

impl Api for Kept {
    type Event = cl_event;

    fn call<const N: usize>(
        place: &mut Place<'_>,
        work: Work,
        on: usize,
        wait_for: [&Self::Event; N],
    ) -> Option<Self::Event> {
        let (event, unmapped) = call_with_events(place, work, on, wait_for.map(|event| *event))?;
        let raw = event.get();
        if let Some(unmapped) = unmapped {
            place.keep(unmapped);
        }
        place.keep(event);
        Some(raw)
    }

    fn adopt(place: &mut Place<'_>, event: cl_event) -> Self::Event {
        place.awaited = Some(opencl3::event::Event::new(event));
        event
    }

    fn keep_last(place: &mut Place<'_>) {
        place.awaited = place.kept.pop();
    }
}

fn is_pending(event: cl_event) -> bool {
    let status = get_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS);
    i32::from(status.expect("a status")) > CL_COMPLETE
}

/// Does `work` with calls of cl3. Returns the event of the last command that has a wait list, and that of
/// an unmap.
fn call_with_events<const N: usize>(
    place: &Place<'_>,
    work: Work,
    on: usize,
    wait_for: [cl_event; N],
) -> Option<(opencl3::event::Event, Option<opencl3::event::Event>)> {
    let queue = place.queues[on].as_raw();
    let [first, second] = place.raw_buffers(on);
    let list = if N == 0 { ptr::null() } else { wait_for.as_ptr() };
    let count = N as cl_uint;
    let mut unmapped = None;
    let mut map = |blocking: cl_bool| {
        let mut at = ptr::null_mut();
        // SAFETY: as below; the bytes are unmapped once, from where they were mapped.
        unsafe {
            let mapped = cl::enqueue_map_buffer(
                queue, first, blocking, MAP_FLAGS, 0, BYTES, &mut at, count, list,
            );
            unmapped = Some(cl::enqueue_unmap_mem_object(queue, first, at, 0, ptr::null()));
            mapped
        }
    };
    // SAFETY: the handles are alive and of one context, and the bytes are there.
    let event = unsafe {
        match work {
            Work::Fill => {
                let pattern = (&raw const PATTERN).cast();
                let size = size_of_val(&PATTERN);
                cl::enqueue_fill_buffer(queue, first, pattern, size, 0, BYTES, count, list)
            }
            Work::Copy => cl::enqueue_copy_buffer(queue, first, second, 0, 0, BYTES, count, list),
            Work::Write => {
                let host = [PATTERN; BYTES / 4];
                let from = host.as_ptr().cast();
                cl::enqueue_write_buffer(queue, first, CL_BLOCKING, 0, BYTES, from, count, list)
            }
            Work::Read => {
                let mut host = [0_u32; BYTES / 4];
                let to = host.as_mut_ptr().cast();
                cl::enqueue_read_buffer(queue, first, CL_BLOCKING, 0, BYTES, to, count, list)
            }
            Work::Launch => {
                place.set_kernel_args([first, second]);
                let (kernel, none) = (place.kernel.as_raw(), ptr::null());
                let items = &raw const ITEMS;
                cl::enqueue_nd_range_kernel(queue, kernel, 1, none, items, none, count, list)
            }
            Work::Map => map(CL_BLOCKING),
            Work::MapNonBlocking => map(CL_NON_BLOCKING),
            Work::SubRegion => {
                create_and_release_region(first);
                return None;
            }
        }
    };
    let owned = |event: Result<cl_event, i32>| opencl3::event::Event::new(event.expect(SUCCESS));
    Some((owned(event), unmapped.map(owned)))
}

fn create_and_release_region(buffer: cl_mem) {
    let kind = cl_memory::CL_BUFFER_CREATE_TYPE_REGION;
    // SAFETY: the buffer is alive, the region has the type that its kind asks for, and it is released
    // once.
    unsafe {
        let region = cl_memory::create_sub_buffer(buffer, 0, kind, (&raw const REGION).cast());
        cl_memory::release_mem_object(region.expect("a region"))
    }
    .expect(SUCCESS);
}

/// Does `work` on the first queue without asking for an event, as cl3 cannot.
pub fn call_without_event(place: &mut Place<'_>, work: Work) {
    let api = cl3::load_library().as_ref().expect("an OpenCL library");
    let queue = place.queues[0].as_raw();
    let [first, second] = place.raw_buffers(0);
    let none = ptr::null();
    let no_event = ptr::null_mut();
    let map = |blocking: cl_bool| {
        let mut status = 0;
        let status = &raw mut status;
        let at = api.clEnqueueMapBuffer(
            queue, first, blocking, MAP_FLAGS, 0, BYTES, 0, none, no_event, status,
        );
        api.clEnqueueUnmapMemObject(queue, first, at.expect(SUCCESS), 0, none, no_event)
    };
    let status = match work {
        Work::Fill => {
            let pattern = (&raw const PATTERN).cast();
            let size = size_of_val(&PATTERN);
            api.clEnqueueFillBuffer(queue, first, pattern, size, 0, BYTES, 0, none, no_event)
        }
        Work::Copy => api.clEnqueueCopyBuffer(queue, first, second, 0, 0, BYTES, 0, none, no_event),
        Work::Write => {
            let host = [PATTERN; BYTES / 4];
            let from = host.as_ptr().cast();
            api.clEnqueueWriteBuffer(queue, first, CL_BLOCKING, 0, BYTES, from, 0, none, no_event)
        }
        Work::Read => {
            let mut host = [0_u32; BYTES / 4];
            let to = host.as_mut_ptr().cast();
            api.clEnqueueReadBuffer(queue, first, CL_BLOCKING, 0, BYTES, to, 0, none, no_event)
        }
        Work::Launch => {
            place.set_kernel_args([first, second]);
            let (kernel, items) = (place.kernel.as_raw(), &raw const ITEMS);
            let unset = ptr::null();
            api.clEnqueueNDRangeKernel(queue, kernel, 1, unset, items, unset, 0, none, no_event)
        }
        Work::Map => map(CL_BLOCKING),
        Work::MapNonBlocking => map(CL_NON_BLOCKING),
        Work::SubRegion => {
            create_and_release_region(first);
            Some(0)
        }
    };
    assert_eq!(status, Some(0), "{SUCCESS}");
}
