//! Times of many maps of one buffer at once.

use std::ptr;
use std::time::Instant;

use clmatrix::cl3::command_queue::{enqueue_map_buffer, enqueue_unmap_mem_object, finish};
use clmatrix::cl3::event::release_event;
use clmatrix::cl3::memory::CL_MAP_READ;
use clmatrix::cl3::types::CL_NON_BLOCKING;
use clmatrix::memory::{Buffer, MapRead, MemFlags};
use clmatrix::{CommandQueue, Context, Result};

use crate::Subject;

/// The numbers of maps.
const COUNTS: [usize; 2] = [8_000, 16_000];

/// Limit of the time of the larger number, of that of the smaller one.
const LIMIT: f64 = 2.5;

/// Limit of the time of the larger number, of that of cl3, where the driver misses the other one: Intel's looks at all
/// maps of the buffer in each map.
const LIMIT_OF_CL3: f64 = 1.5;

/// Rounds, of which the fastest counts: other load only adds to it.
const ROUNDS: usize = 3;

/// Bytes of a map.
const SIZE: usize = 64;

/// Prints the times of maps of disjoint parts, from the first call until the last unmap has ended. Returns false if the
/// time per map grows with their number.
pub fn report(subject: &Subject) -> bool {
    let title = "maps of one buffer, ms";
    println!("\n{title:<36} {:>10} {:>10} {:>10}", "maps", "cl3", "ours");
    let context = subject.context();
    let [few, many] = COUNTS.map(|count| {
        let fastest = |maps: fn(&Context, usize) -> Result<()>| {
            let times = (0..ROUNDS).map(|_| {
                let begin = Instant::now();
                maps(&context, count).expect("the commands succeed");
                begin.elapsed().as_secs_f64() * 1e3
            });
            times.fold(f64::INFINITY, f64::min)
        };
        let (plain, ours) = (fastest(plain), fastest(ours));
        println!("{:<36} {count:>10} {plain:>10.1} {ours:>10.1}", "");
        (plain, ours)
    });
    let is_met = many.1 <= LIMIT * few.1 || many.1 <= LIMIT_OF_CL3 * many.0;
    if !is_met {
        println!("the time per map grows with their number  MISSED");
    }
    is_met
}

fn ours(context: &Context, count: usize) -> Result<()> {
    let queue = CommandQueue::new(context)?;
    let buffer = Buffer::new(context, MemFlags::READ_WRITE, count * SIZE)?;
    let part = |number| number * SIZE..(number + 1) * SIZE;
    let maps = (0..count).map(|number| buffer.map_async::<u8, _>(&queue, MapRead, part(number)));
    let maps = maps.collect::<Result<Vec<_>>>()?;
    for map in maps.into_iter().map(|map| map.wait()).collect::<Result<Vec<_>>>()? {
        map.unmap()?;
    }
    queue.finish()
}

fn plain(context: &Context, count: usize) -> Result<()> {
    let queue = CommandQueue::new(context)?;
    let buffer = Buffer::new(context, MemFlags::READ_WRITE, count * SIZE)?;
    let (queue, buffer) = (queue.as_raw(), buffer.as_raw());
    let mut maps = vec![(ptr::null_mut(), ptr::null_mut()); count];
    for (number, (pointer, event)) in maps.iter_mut().enumerate() {
        let at = number * SIZE;
        // SAFETY: the handles are alive and of one context, and the bytes are within the buffer.
        let mapped = unsafe {
            enqueue_map_buffer(
                queue,
                buffer,
                CL_NON_BLOCKING,
                CL_MAP_READ,
                at,
                SIZE,
                pointer,
                0,
                ptr::null(),
            )
        };
        *event = mapped.expect("the driver maps the bytes");
    }
    finish(queue).expect("the maps end");
    for (pointer, mapped) in maps {
        // SAFETY: the handles are alive, and the bytes are mapped at this pointer, which is not used any more.
        let unmapped = unsafe { enqueue_unmap_mem_object(queue, buffer, pointer, 0, ptr::null()) };
        for event in [mapped, unmapped.expect("the driver unmaps the bytes")] {
            // SAFETY: the driver has created the event, with one reference.
            unsafe { release_event(event) }.expect("the event is released");
        }
    }
    finish(queue).expect("the unmaps end");
    Ok(())
}
