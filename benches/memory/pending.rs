//! Times of one map behind many commands that have not run.

use std::time::Instant;

use clmatrix::memory::{
    Buffer, MapRead, MemFlags, enqueue_fill_buffer, enqueue_map_buffer_nonblocking,
};
use clmatrix::{CommandQueue, Context, Result, UserEvent};

use crate::Subject;

/// The numbers of commands.
const COUNTS: [usize; 3] = [25_000, 50_000, 100_000];

/// Limit of the time per command behind the largest number, of that behind the smallest one.
const LIMIT: f64 = 2.0;

/// Prints the times of a map behind commands that wait for a user event. Returns false if the time per
/// command grows with their number.
pub fn report(subject: &Subject) -> bool {
    let title = "us per pending command";
    println!("\n{title:<36} {:>10} {:>10} {:>10}", "commands", "map", "wait");
    let context = subject.context();
    let times = COUNTS.map(|count| {
        let [enqueued, waited] = map_behind(&context, count).expect("the commands succeed");
        println!("{:<36} {count:>10} {enqueued:>10.3} {waited:>10.3}", "one map");
        enqueued + waited
    });
    let is_met = times[COUNTS.len() - 1] <= LIMIT * times[0];
    if !is_met {
        println!("the time per command grows with their number  MISSED");
    }
    is_met
}

/// Returns the microseconds per command of the call that maps, and of the wait for all commands and the
/// map.
fn map_behind(context: &Context, count: usize) -> Result<[f64; 2]> {
    let (queue, other_queue) = (CommandQueue::new(context)?, CommandQueue::new(context)?);
    let buffer = Buffer::new(context, MemFlags::READ_WRITE, 64)?;
    let gate = UserEvent::new(context)?;
    enqueue_fill_buffer(&queue, &buffer, &1_u32, .., &gate)?;
    for _ in 1..count {
        enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [])?;
    }
    let begin = Instant::now();
    let map = enqueue_map_buffer_nonblocking::<u32, _>(&other_queue, &buffer, MapRead, .., [])?;
    let enqueued = begin.elapsed();
    gate.set_complete()?;
    let map = map.wait()?;
    assert_eq!(map[..], [7; 16]);
    let waited = begin.elapsed() - enqueued;
    Ok([enqueued, waited].map(|time| time.as_secs_f64() * 1e6 / count as f64))
}
