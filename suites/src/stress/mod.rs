//! Random commands of several threads, through safe functions only but for launches.
//!
//! A seed determines the commands of each thread, whatever the timing. The checks:
//! - mapped bytes do not change, and commands on them are refused;
//! - a map, a read or a transfer finds what the commands before it have written, where the order of
//!   the commands is determined;
//! - a pool hands out no block that is in use;
//! - host memory that no command uses does not change.
//!
//! [`random_calls`] makes more kinds of calls, with invalid arguments, too, and checks only that each of
//! them returns.

mod calls;
pub mod driver;
mod map;
mod memory;
mod object;
mod plan;
mod runner;
mod state;
mod trace;
mod values;
mod world;

use std::env;
use std::ops::{Bound, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clmatrix::memory::{
    Buffer, Linear, MapRead, MapReadWrite, MapWriteInvalidate, MemFlags, Order, PendingTransfer,
    SvmAllocation, SvmFlags, SvmPointer, enqueue_copy, enqueue_fill,
};
use clmatrix::pool::{PooledBuffer, PooledSvm};
use clmatrix::{
    Class, CommandQueue, Context, Error, Event, Kernel, Platform, Program, QueueProperties, Result,
    UserEvent, enqueue_barrier, enqueue_marker,
};
use clmatrix_harness::CtxFactory;
use fastrand::Rng;

use crate::support::pattern::assert_same;
use crate::support::{logger, unanswered};
use calls::{Calls, KINDS, Stranger};
use driver::Driver;
use map::Map;
use memory::*;
use object::*;
use plan::*;
use runner::Thread;
use state::*;
use trace::Trace;
use values::Values;
use world::*;

/// The number of commands of a thread for one seed.
const COMMANDS: usize = 500;

/// The time after which commands that do not end are printed. The time limit of the test follows.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most seeds of a run, and the time after which no other one begins.
const SEEDS: (u64, Duration) = (4, Duration::from_secs(3));

/// The seeds and threads of a run: those of the environment, which `cargo xtask stress` sets.
struct Settings {
    first_seed: u64,
    /// The number of seeds, if it is given.
    seeds: Option<u64>,
    threads: usize,
    /// True if each command is printed before it runs.
    prints: bool,
}

impl Settings {
    fn from_environment() -> Self {
        let number = |name: &str| {
            let value = env::var(name).ok()?;
            Some(value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
        };
        Self {
            first_seed: number("CLMATRIX_STRESS_SEED").unwrap_or(1),
            seeds: number("CLMATRIX_STRESS_SEEDS"),
            threads: number("CLMATRIX_STRESS_THREADS").map_or(3, |number| number as usize),
            prints: env::var_os("CLMATRIX_STRESS_TRACE").is_some(),
        }
    }

    /// Returns the seeds, at least one. Each is run to its end.
    fn seeds(&self) -> impl Iterator<Item = u64> {
        let (first, begin, (most, time)) = (self.first_seed, Instant::now(), SEEDS);
        let is_within = move |seed: &u64| *seed == first || begin.elapsed() < time;
        let seeds = first..first + self.seeds.unwrap_or(most);
        let has_number = self.seeds.is_some();
        seeds.take_while(move |seed| has_number || is_within(seed))
    }
}

#[clmatrix_harness::test(timeout = "5m")]
fn random_commands(ctx_factory: CtxFactory, platform: Platform) -> Result<()> {
    logger::init();
    let driver = Driver::for_platform(platform)?;
    let settings = Settings::from_environment();
    let threads = if driver.one_thread { 1 } else { settings.threads };
    for seed in settings.seeds() {
        eprintln!("cargo xtask stress --seed {seed} --threads {threads}");
        let world = World::new(ctx_factory, driver)?;
        let new_trace = |number| Trace::new(number, settings.prints);
        let traces: Vec<_> = (0..threads).map(new_trace).collect();
        thread::scope(|scope| {
            let (ends, all_ended) = mpsc::channel::<()>();
            let start = |trace| {
                let (world, ends) = (&world, ends.clone());
                scope.spawn(move || {
                    let _ends = ends;
                    run_thread(world, seed, trace);
                })
            };
            let threads: Vec<_> = traces.iter().map(start).collect();
            drop(ends);
            let mut seen = 0;
            while let Err(RecvTimeoutError::Timeout) = all_ended.recv_timeout(PATIENCE) {
                let count = traces.iter().map(Trace::count).sum();
                if count == seen {
                    eprintln!("no thread ends its command");
                    traces.iter().for_each(Trace::print);
                }
                seen = count;
            }
            // The message of the test is that of the thread.
            for thread in threads {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
    }
    Ok(())
}

/// Random calls of the public functions: see [`calls`].
#[clmatrix_harness::test(timeout = "5m")]
fn random_calls(ctx_factory: CtxFactory, platform: Platform) -> Result<()> {
    logger::init();
    let driver = Driver::for_platform(platform)?;
    let settings = Settings::from_environment();
    // One thread makes the calls of all.
    let (threads, calls) = match settings.threads {
        threads if driver.one_thread => (1, COMMANDS * threads),
        threads => (threads, COMMANDS),
    };
    let counts = Mutex::new([[0; 2]; KINDS]);
    for seed in settings.seeds() {
        eprintln!("cargo xtask stress --api --seed {seed} --threads {threads}");
        let (world, strange) = (World::new(ctx_factory, driver)?, ctx_factory()?);
        let stranger = Stranger::new(&strange)?;
        thread::scope(|scope| {
            for thread in 0..threads {
                let (world, stranger, counts) = (&world, &stranger, &counts);
                scope.spawn(move || {
                    let mut thread = Calls::new(world, stranger, seed, thread).expect("a thread");
                    (0..calls).for_each(|_| thread.call());
                    let accepted: usize = thread.results.iter().map(|[accepted, _]| accepted).sum();
                    assert!((calls / 4..calls).contains(&accepted), "{accepted} of {calls}");
                    let mut counts = counts.lock().unwrap();
                    let all = counts.iter_mut().flatten().zip(thread.results.as_flattened());
                    all.for_each(|(sum, count)| *sum += count);
                });
            }
        });
    }
    // `cargo xtask stress` adds them up.
    for ((kind, _), [accepted, refused]) in Calls::ALL.iter().zip(counts.into_inner().unwrap()) {
        eprintln!("{kind}: {accepted} accepted, {refused} refused");
    }
    Ok(())
}

fn run_thread(world: &World, seed: u64, trace: &Trace) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut plan = Plan { rng: numbers(seed, trace.thread), queues: world.queues.len() + 1 };
        let mut thread = Thread::new(world).expect("a thread");
        for _ in 0..COMMANDS {
            let command = plan.next();
            trace.push(&command);
            thread.run(&command).unwrap_or_else(|error| panic!("{error}"));
        }
        thread.end().unwrap_or_else(|error| panic!("{error}"));
    }));
    if let Err(panic) = done {
        trace.print();
        resume_unwind(panic);
    }
}
