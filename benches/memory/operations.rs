//! The operations that are counted: each as a safe call, and as the calls of cl3 that it stands for.

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::{command_queue as cl, kernel as clk, memory as clm};
use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, MemoryObject, enqueue_copy_buffer, enqueue_fill_buffer,
    enqueue_map_buffer,
};
use clmatrix::{Event, Kernel, Launcher, Program, Result};

use crate::Bench;

/// Bytes that are filled, copied and mapped: little, so that the call is what costs.
const SIZE: usize = 64;
const SOURCE: &str = "kernel void k(global uint *x, global const uint *y, uint z) { x[get_global_id(0)] = y[0] + z; }";

/// An operation, done in two ways.
pub struct Operation<'a> {
    pub name: &'static str,
    /// Calls of the driver's that do something, as against releasing what they gave.
    pub calls: u64,
    pub raw: Box<dyn FnMut() + 'a>,
    pub safe: Box<dyn FnMut() + 'a>,
}

fn event(event: std::result::Result<clmatrix::cl3::types::cl_event, i32>) {
    drop(Event::new(event.expect("the driver takes the command")));
}

pub fn all(bench: &Bench) -> Result<Vec<Operation<'_>>> {
    let (context, queue) = (&bench.context, &bench.queue);
    let raw_queue = queue.get();
    let buffer = Buffer::new(context, MemFlags::READ_WRITE, 1 << 16)?;
    let other = Buffer::new(context, MemFlags::READ_WRITE, 1 << 16)?;
    let program = Program::create_and_build_from_source(context, SOURCE, "").expect("it compiles");
    let mut launcher = Launcher::create(&program, "k")?;
    let kernel = Kernel::create(&program, "k")?;
    let mut operations = Vec::new();

    let (x, y) = (buffer.clone(), buffer.clone());
    operations.push(Operation {
        name: "fill",
        calls: 1,
        raw: Box::new(move || {
            let pattern = 7_u32;
            let pattern: *const c_void = (&raw const pattern).cast();
            // SAFETY: the handles are valid, the bytes are there, and so is the pattern.
            event(unsafe {
                cl::enqueue_fill_buffer(raw_queue, x.as_raw(), pattern, 4, 0, SIZE, 0, ptr::null())
            });
        }),
        safe: Box::new(move || {
            drop(enqueue_fill_buffer(queue, &y, &7_u32, ..SIZE, []).expect("a fill"));
        }),
    });

    let (x, y) = ((buffer.clone(), other.clone()), (buffer.clone(), other.clone()));
    operations.push(Operation {
        name: "copy",
        calls: 1,
        raw: Box::new(move || {
            let (from, to) = (x.0.as_raw(), x.1.as_raw());
            // SAFETY: the handles are valid, and the bytes are there.
            event(unsafe {
                cl::enqueue_copy_buffer(raw_queue, from, to, 0, 0, SIZE, 0, ptr::null())
            });
        }),
        safe: Box::new(move || {
            drop(enqueue_copy_buffer(queue, &y.0, 0, &y.1, 0, SIZE, []).expect("a copy"));
        }),
    });

    let (x, y) = (buffer.clone(), buffer.clone());
    operations.push(Operation {
        name: "map and unmap",
        calls: 2,
        raw: Box::new(move || {
            let mut at = ptr::null_mut();
            let flags = clm::CL_MAP_READ | clm::CL_MAP_WRITE;
            let raw = x.as_raw();
            // SAFETY: the handles are valid, the bytes are there, and nobody uses the pointer.
            unsafe {
                event(cl::enqueue_map_buffer(
                    raw_queue,
                    raw,
                    1,
                    flags,
                    0,
                    SIZE,
                    &mut at,
                    0,
                    ptr::null(),
                ));
                event(cl::enqueue_unmap_mem_object(raw_queue, raw, at, 0, ptr::null()));
            }
        }),
        safe: Box::new(move || {
            let map = enqueue_map_buffer::<u32, _>(queue, &y, MapReadWrite, ..SIZE, []);
            drop(map.expect("a map").unmap([]).expect("an unmap"));
        }),
    });

    let (x, y) = (buffer.clone(), buffer.clone());
    operations.push(Operation {
        name: "region",
        calls: 1,
        raw: Box::new(move || {
            let region = clmatrix::cl3::types::cl_buffer_region { origin: 4096, size: 4096 };
            let kind = clm::CL_BUFFER_CREATE_TYPE_REGION;
            // SAFETY: the handle is valid, and the bytes are there; the region is given up at once.
            unsafe {
                let region = (&raw const region).cast();
                let raw = clm::create_sub_buffer(x.as_raw(), 0, kind, region).expect("a region");
                clm::release_mem_object(raw).expect("it is released");
            }
        }),
        safe: Box::new(move || {
            drop(y.sub_buffer(4096, 4096, MemFlags::empty()).expect("a region"));
        }),
    });

    let (x, y) = ((buffer.clone(), other.clone()), (buffer, other));
    operations.push(Operation {
        name: "launch, 3 arguments",
        calls: 4,
        raw: Box::new(move || {
            let (first, second, third) = (x.0.as_raw(), x.1.as_raw(), 5_u32);
            let kernel = kernel.get();
            let global = 1_usize;
            // SAFETY: the arguments are those of the kernel, whose one work item has an element.
            unsafe {
                for (index, (size, value)) in [
                    (size_of_val(&first), (&raw const first).cast()),
                    (size_of_val(&second), (&raw const second).cast()),
                    (size_of_val(&third), (&raw const third).cast::<c_void>()),
                ]
                .into_iter()
                .enumerate()
                {
                    clk::set_kernel_arg(kernel, index as u32, size, value).expect("an argument");
                }
                let none = ptr::null();
                event(cl::enqueue_nd_range_kernel(
                    raw_queue,
                    kernel,
                    1,
                    none,
                    &global,
                    none,
                    0,
                    ptr::null(),
                ));
            }
        }),
        safe: Box::new(move || {
            // SAFETY: as above.
            let event = unsafe {
                launcher.launch().arg(&y.0).arg(&y.1).arg(5_u32).global(1).enqueue(queue)
            };
            drop(event.expect("a launch"));
        }),
    });
    Ok(operations)
}
