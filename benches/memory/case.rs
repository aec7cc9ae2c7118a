//! One measurement: a kind of call, its wait list, and a number of threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clmatrix::cl3::event::{CL_COMPLETE, set_user_event_status};

use crate::allocations;
use crate::barrier::SpinBarrier;
use crate::place::{Api, Cl3, Kept, Ours, Place, Work, call_without_event};
use crate::time;

/// Calls in a batch.
const CALLS: usize = 50;
const CALLS_BEHIND: usize = 1600;

/// Rounds that are measured at least.
const ROUNDS: usize = 3;

/// The wait list of each call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    Nothing,
    /// The call before.
    SameQueue,
    /// The call before, which used the other of two queues.
    OtherQueue,
    /// An event that has ended.
    Ended,
    /// A user event that ends after the batch.
    Behind,
}

impl Waits {
    /// All but `Nothing`.
    pub const LISTS: [Self; 4] = [Self::SameQueue, Self::OtherQueue, Self::Ended, Self::Behind];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::SameQueue => ", same queue",
            Self::OtherQueue => ", other queue",
            Self::Ended => ", ended event",
            Self::Behind => ", 1600 behind one event",
        }
    }
}

pub struct Case {
    pub work: Work,
    pub waits: Waits,
    pub threads: usize,
}

/// The side that makes the calls of a batch.
#[derive(Clone, Copy)]
pub enum Side {
    WithoutEvent,
    Cl3,
    /// cl3, with each event kept until the driver has said that its command has ended.
    Kept,
    Ours,
}

impl Side {
    const ALL: [Self; 4] = [Self::WithoutEvent, Self::Cl3, Self::Kept, Self::Ours];
    const WITH_WAIT_LIST: [Self; 3] = [Self::Cl3, Self::Kept, Self::Ours];
}

/// Averages per call.
#[derive(Clone, Copy, Default)]
struct Sample {
    nanoseconds: f64,
    allocations: f64,
}

/// The batches of each side. The sides take turns: batches with the same index are of the same round.
#[derive(Default)]
pub struct Samples([Vec<Sample>; Side::ALL.len()]);

impl Samples {
    /// Nanoseconds per call.
    pub fn times(&self, side: Side) -> Vec<f64> {
        self.0[side as usize].iter().map(|sample| sample.nanoseconds).collect()
    }

    /// Heap allocations per call.
    pub fn allocations(&self, side: Side) -> f64 {
        let samples = &self.0[side as usize];
        samples.iter().map(|sample| sample.allocations).sum::<f64>() / samples.len() as f64
    }
}

impl Case {
    /// Measures for `time`, and adds to `samples`. Each thread has a place of its own.
    pub fn measure(&self, places: &mut [Place<'_>], samples: &mut Samples, time: Duration) {
        let places = &mut places[..self.threads];
        let (barrier, is_over) = (SpinBarrier::new(places.len()), AtomicBool::new(false));
        let rounds = thread::scope(|scope| {
            let threads: Vec<_> = places
                .iter_mut()
                .enumerate()
                .map(|(number, place)| {
                    let (barrier, is_over) = (&barrier, &is_over);
                    let is_leader = number == 0;
                    scope.spawn(move || self.rounds(place, barrier, is_over, is_leader, time))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        for &side in self.sides() {
            // The first round warms up.
            let means = (1..rounds[0].len())
                .map(|round| mean(rounds.iter().map(|rounds| rounds[round][side as usize])));
            samples.0[side as usize].extend(means);
        }
    }

    /// A wait list needs events.
    fn sides(&self) -> &'static [Side] {
        if self.waits == Waits::Nothing { &Side::ALL } else { &Side::WITH_WAIT_LIST }
    }

    /// The batches of one thread, by round and side. The leader ends the rounds of all threads.
    fn rounds(
        &self,
        place: &mut Place<'_>,
        barrier: &SpinBarrier,
        is_over: &AtomicBool,
        is_leader: bool,
        time: Duration,
    ) -> Vec<[Sample; Side::ALL.len()]> {
        let _member = barrier.member();
        let mut rounds = vec![];
        let begin = Instant::now();
        loop {
            if is_leader && rounds.len() > ROUNDS && begin.elapsed() >= time {
                is_over.store(true, Ordering::Relaxed);
            }
            barrier.wait();
            if is_over.load(Ordering::Relaxed) {
                return rounds;
            }
            let mut order = self.sides().to_vec();
            // A batch finds the caches as the one before has left them.
            if rounds.len() % 2 == 1 {
                order.reverse();
            }
            let mut round = [Sample::default(); Side::ALL.len()];
            for side in order {
                round[side as usize] = match side {
                    Side::WithoutEvent => self.batch_without_event(place, barrier),
                    Side::Cl3 => self.batch::<Cl3>(place, barrier),
                    Side::Kept => self.batch::<Kept>(place, barrier),
                    Side::Ours => self.batch::<Ours>(place, barrier),
                };
                place.finish();
            }
            rounds.push(round);
        }
    }

    fn batch<A: Api>(&self, place: &mut Place<'_>, barrier: &SpinBarrier) -> Sample {
        match self.waits {
            Waits::Nothing => sample(CALLS, place, barrier, |place| {
                for _ in 0..CALLS {
                    drop(A::call(place, self.work, 0, []));
                }
            }),
            Waits::SameQueue => self.chain::<A>(place, barrier, |_| 0),
            Waits::OtherQueue => self.chain::<A>(place, barrier, |number| number % 2),
            Waits::Ended => {
                let event = first_event::<A>(place);
                place.finish();
                self.all_after::<A>(CALLS, &event, place, barrier)
            }
            Waits::Behind => {
                let raw = place.user_event();
                let event = A::adopt(place, raw);
                let sample = self.all_after::<A>(CALLS_BEHIND, &event, place, barrier);
                set_user_event_status(raw, CL_COMPLETE).expect("the event ends");
                sample
            }
        }
    }

    /// Each call waits for the one before.
    fn chain<A: Api>(
        &self,
        place: &mut Place<'_>,
        barrier: &SpinBarrier,
        queue: fn(usize) -> usize,
    ) -> Sample {
        let mut last = first_event::<A>(place);
        sample(CALLS, place, barrier, |place| {
            for number in 1..=CALLS {
                last = A::call(place, self.work, queue(number), [&last]).expect("an event");
            }
        })
    }

    fn all_after<A: Api>(
        &self,
        calls: usize,
        event: &A::Event,
        place: &mut Place<'_>,
        barrier: &SpinBarrier,
    ) -> Sample {
        sample(calls, place, barrier, |place| {
            for _ in 0..calls {
                drop(A::call(place, self.work, 0, [event]));
            }
        })
    }

    fn batch_without_event(&self, place: &mut Place<'_>, barrier: &SpinBarrier) -> Sample {
        sample(CALLS, place, barrier, |place| {
            for _ in 0..CALLS {
                call_without_event(place, self.work);
            }
        })
    }
}

fn first_event<A: Api>(place: &mut Place<'_>) -> A::Event {
    let event = A::call(place, Work::Fill, 0, []).expect("an event");
    A::keep_last(place);
    event
}

/// Measures `f`. All threads begin at the same time.
fn sample(
    calls: usize,
    place: &mut Place<'_>,
    barrier: &SpinBarrier,
    f: impl FnOnce(&mut Place<'_>),
) -> Sample {
    barrier.wait();
    let mut nanoseconds = 0.0;
    let allocations = allocations::count(|| nanoseconds = time::nanoseconds(|| f(place)));
    // The commands of this thread end after the other threads have been measured.
    barrier.wait();
    let per_call = 1.0 / calls as f64;
    Sample { nanoseconds: nanoseconds * per_call, allocations: allocations as f64 * per_call }
}

fn mean(samples: impl ExactSizeIterator<Item = Sample>) -> Sample {
    let part = 1.0 / samples.len() as f64;
    samples.fold(Sample::default(), |sum, sample| Sample {
        nanoseconds: sum.nanoseconds + sample.nanoseconds * part,
        allocations: sum.allocations + sample.allocations * part,
    })
}
