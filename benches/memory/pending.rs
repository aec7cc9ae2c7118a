//! Times of one map behind many commands that have not run.

use std::thread;
use std::time::{Duration, Instant};

use clmatrix::memory::{Buffer, MapRead, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, Context, Result, UserEvent};

use crate::Subject;

/// The numbers of commands.
const COUNTS: [usize; 3] = [25_000, 50_000, 100_000];

/// Limit of the time per command behind the largest number, of that behind the smallest one.
const LIMIT: f64 = 2.0;

/// Longer than a map takes to begin to wait.
const MOMENT: Duration = Duration::from_millis(20);

/// Prints the times of a map behind commands that wait for a user event, from the call until it can be
/// used. Returns false if the time per command grows with their number.
pub fn report(subject: &Subject) -> bool {
    let title = "one map, us per pending command";
    println!("\n{title:<36} {:>10} {:>10} {:>14}", "commands", "blocking", "not blocking");
    let context = subject.context();
    let times = COUNTS.map(|count| {
        let [blocking, pending] = [true, false]
            .map(|blocks| map_behind(&context, count, blocks).expect("the commands succeed"));
        println!("{:<36} {count:>10} {blocking:>10.3} {pending:>14.3}", "");
        [blocking, pending]
    });
    let is_met = (0..2).all(|kind| times[COUNTS.len() - 1][kind] <= LIMIT * times[0][kind]);
    if !is_met {
        println!("the time per command grows with their number  MISSED");
    }
    is_met
}

/// Returns the microseconds per command.
fn map_behind(context: &Context, count: usize, blocks: bool) -> Result<f64> {
    let (queue, other_queue) = (CommandQueue::new(context)?, CommandQueue::new(context)?);
    let buffer = Buffer::new(context, MemFlags::READ_WRITE, 64)?;
    let gate = UserEvent::new(context)?;
    enqueue_fill(queue.after(&gate), &buffer, &1_u32, ..)?;
    for _ in 1..count {
        enqueue_fill(&queue, &buffer, &7_u32, ..)?;
    }
    let begin = Instant::now();
    let map = if blocks {
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(MOMENT);
                gate.set_complete()
            });
            buffer.map_read::<u32>(&other_queue, ..)
        })?
    } else {
        let map = buffer.map_async::<u32, _>(&other_queue, MapRead, ..)?;
        gate.set_complete()?;
        map.wait()?
    };
    assert_eq!(map[..], [7; 16]);
    Ok(begin.elapsed().as_secs_f64() * 1e6 / count as f64)
}
