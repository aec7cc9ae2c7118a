//! Calls of this crate beside the same calls of cl3, and what the former add.

use std::ptr;

use clmatrix::cl3::kernel::set_kernel_arg;
use clmatrix::cl3::types::{CL_BLOCKING, cl_buffer_region};
use clmatrix::cl3::{command_queue as cl, memory as cl_memory};
use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, MemoryObject, enqueue_copy_buffer, enqueue_fill_buffer,
    enqueue_map_buffer,
};
use clmatrix::{CommandQueue, Context, Event, Kernel, Launcher, Program};

use crate::callgrind::Count;
use crate::{Subject, allocations, instructions};

/// Instructions that may be added to each of the driver's calls.
const LIMIT: f64 = 200.0;

/// How often each call is made while it is looked at, and before that.
pub const TIMES: u32 = 1000;
const BEFORE: u32 = 100;

/// A call of this crate, and the same of cl3.
pub struct Call<'s> {
    pub name: &'static str,
    /// What is made of the driver's calls, apart from the release of events.
    commands: u32,
    pub safe: Box<dyn FnMut() + 's>,
    pub raw: Box<dyn FnMut() + 's>,
}

const BYTES: usize = 64;

/// What the calls work with.
pub struct Setup {
    queue: CommandQueue,
    a: Buffer,
    b: Buffer,
    program: Program,
}

impl Setup {
    pub fn new(context: &Context) -> Self {
        const SOURCE: &str =
            "kernel void add(global int *sum, global const int *more, int number) {
            sum[get_global_id(0)] += more[get_global_id(0)] + number;
        }";
        let buffer =
            || Buffer::from_slice(context, MemFlags::READ_WRITE, &[0_u8; 4096]).expect("a buffer");
        Self {
            queue: CommandQueue::create_default(context, 0).expect("a queue"),
            a: buffer(),
            b: buffer(),
            program: Program::create_and_build_from_source(context, SOURCE, "")
                .expect("the program compiles"),
        }
    }

    pub fn calls(&self) -> Vec<Call<'_>> {
        vec![self.fill(), self.copy(), self.map(), self.sub_region(), self.launch()]
    }

    /// Makes a call so often that all that is done once has been done.
    pub fn warm_up(&self, call: &mut dyn FnMut()) {
        self.repeat(BEFORE, call);
    }

    /// Makes a call so often that it can be looked at.
    pub fn repeat(&self, times: u32, mut call: impl FnMut()) {
        for time in 1..=times {
            call();
            // Else the queue grows.
            if time % 50 == 0 {
                self.queue.finish().expect("the queue finishes");
            }
        }
    }

    fn fill(&self) -> Call<'_> {
        let Self { queue, a, .. } = self;
        Call {
            name: "fill a buffer",
            commands: 1,
            safe: Box::new(|| {
                enqueue_fill_buffer(queue, a, &7_u32, 0..BYTES, []).expect("it is filled");
            }),
            raw: Box::new(|| {
                let pattern = 7_u32;
                // SAFETY: the handles are alive and of one context, and the bytes are there.
                let event = unsafe {
                    cl::enqueue_fill_buffer(
                        queue.get(),
                        a.as_raw(),
                        (&raw const pattern).cast(),
                        size_of_val(&pattern),
                        0,
                        BYTES,
                        0,
                        ptr::null(),
                    )
                };
                drop(Event::new(event.expect("it is filled")));
            }),
        }
    }

    fn copy(&self) -> Call<'_> {
        let Self { queue, a, b, .. } = self;
        Call {
            name: "copy between buffers",
            commands: 1,
            safe: Box::new(|| {
                enqueue_copy_buffer(queue, a, 0, b, 0, BYTES, []).expect("it is copied");
            }),
            raw: Box::new(|| {
                let (a, b) = (a.as_raw(), b.as_raw());
                // SAFETY: the handles are alive and of one context, and the bytes are there.
                let event = unsafe {
                    cl::enqueue_copy_buffer(queue.get(), a, b, 0, 0, BYTES, 0, ptr::null())
                };
                drop(Event::new(event.expect("it is copied")));
            }),
        }
    }

    fn map(&self) -> Call<'_> {
        let Self { queue, a, .. } = self;
        Call {
            name: "map and unmap",
            commands: 2,
            safe: Box::new(|| {
                let map = enqueue_map_buffer::<u32, _>(queue, a, MapReadWrite, 0..BYTES, []);
                map.expect("it is mapped").unmap([]).expect("it is unmapped");
            }),
            raw: Box::new(|| {
                let flags = cl_memory::CL_MAP_READ | cl_memory::CL_MAP_WRITE;
                let mut at = ptr::null_mut();
                let (queue, a) = (queue.get(), a.as_raw());
                // SAFETY: the handles are alive and of one context, the bytes are there, and are
                // unmapped once, from where they were mapped.
                let (mapped, unmapped) = unsafe {
                    let mapped = cl::enqueue_map_buffer(
                        queue,
                        a,
                        CL_BLOCKING,
                        flags,
                        0,
                        BYTES,
                        &mut at,
                        0,
                        ptr::null(),
                    );
                    (mapped, cl::enqueue_unmap_mem_object(queue, a, at, 0, ptr::null()))
                };
                drop(Event::new(mapped.expect("it is mapped")));
                drop(Event::new(unmapped.expect("it is unmapped")));
            }),
        }
    }

    fn sub_region(&self) -> Call<'_> {
        let Self { a, .. } = self;
        // A multiple of every device's alignment.
        let bytes = 1024..2048;
        let place = cl_buffer_region { origin: bytes.start, size: bytes.len() };
        Call {
            name: "create and drop a sub-region",
            commands: 2,
            safe: Box::new(move || drop(a.sub_region(bytes.clone()).expect("a region"))),
            raw: Box::new(move || {
                // SAFETY: the buffer is alive, the place has the type that its kind asks for, and
                // the region is released once.
                unsafe {
                    let kind = cl_memory::CL_BUFFER_CREATE_TYPE_REGION;
                    let place = (&raw const place).cast();
                    let region = cl_memory::create_sub_buffer(a.as_raw(), 0, kind, place);
                    cl_memory::release_mem_object(region.expect("a region"))
                }
                .expect("it is released");
            }),
        }
    }

    fn launch(&self) -> Call<'_> {
        let Self { queue, a, b, program } = self;
        let mut launcher = Launcher::create(program, "add").expect("a kernel");
        let kernel = Kernel::create(program, "add").expect("a kernel");
        Call {
            name: "launch a kernel with 3 arguments",
            commands: 4,
            safe: Box::new(move || {
                // SAFETY: the arguments are the kernel's, and large enough.
                let event =
                    unsafe { launcher.launch().arg(a).arg(b).arg(1).global(16).enqueue(queue) };
                event.expect("it is launched");
            }),
            raw: Box::new(move || {
                let (number, global) = (1_i32, [16_usize]);
                // SAFETY: as above, and each value is as long as it is said to be.
                let event = unsafe {
                    for (index, buffer) in [(0, a.as_raw()), (1, b.as_raw())] {
                        let value = (&raw const buffer).cast();
                        set_kernel_arg(kernel.get(), index, size_of_val(&buffer), value)
                            .expect("it is an argument");
                    }
                    let value = (&raw const number).cast();
                    set_kernel_arg(kernel.get(), 2, size_of_val(&number), value)
                        .expect("it is an argument");
                    cl::enqueue_nd_range_kernel(
                        queue.get(),
                        kernel.get(),
                        1,
                        ptr::null(),
                        global.as_ptr(),
                        ptr::null(),
                        0,
                        ptr::null(),
                    )
                };
                drop(Event::new(event.expect("it is launched")));
            }),
        }
    }
}

/// Prints what the calls add on a device. `false` where it is too much.
pub fn report(subject: &Subject) -> bool {
    let setup = Setup::new(&subject.context());
    let counts = instructions::count(subject);
    if let Err(why) = &counts {
        println!("{why}");
    }
    println!(
        "\n{:<34} {:>7} {:>7} {:>7} {:>11} {:>7} {:>7}",
        "instructions beside the driver's", "cl3", "ours", "added", "per command", "limit", "heap"
    );
    // A CPU's must be counted.
    let mut is_met = counts.is_ok() || !subject.info.device_type.is_cpu_only();
    for (position, mut call) in setup.calls().into_iter().enumerate() {
        let allocations = allocations_added(&setup, &mut call);
        let Call { name, commands, .. } = call;
        print!("{name:<34} ");
        let mut verdict = allocations <= 0.0;
        if let Some([raw, safe]) = counts.as_ref().ok().map(|counts| &counts[position]) {
            let added = added(raw, safe);
            let per_command = added / f64::from(commands);
            let [raw, safe] = [raw, safe].map(|count| count.own as f64 / f64::from(TIMES));
            print!("{raw:>7.0} {safe:>7.0} {added:>7.0} {per_command:>11.0} {LIMIT:>7.0}");
            verdict &= per_command <= LIMIT;
        } else {
            print!("{:>43}", "");
        }
        println!(" {allocations:>7.2}{}", if verdict { "" } else { "  MISSED" });
        is_met &= verdict;
    }
    is_met
}

/// Instructions of a call of ours over those of cl3's, apart from what the driver does for both.
fn added(raw: &Count, safe: &Count) -> f64 {
    let own = safe.own as f64 - raw.own as f64;
    let extra: f64 = safe
        .driver
        .iter()
        .map(|(function, calls)| {
            let asked = raw.driver.get(function).map_or(0, |calls| calls.number);
            let extra = calls.number.saturating_sub(asked) as f64;
            extra * calls.instructions as f64 / calls.number as f64
        })
        .sum();
    (own + extra) / f64::from(TIMES)
}

/// How many times a call of ours takes memory from the heap more than cl3's does.
fn allocations_added(setup: &Setup, call: &mut Call<'_>) -> f64 {
    let [raw, safe] = [&mut call.raw, &mut call.safe].map(|call| {
        setup.warm_up(call);
        allocations::count(|| setup.repeat(TIMES, call)) as f64
    });
    (safe - raw) / f64::from(TIMES)
}
