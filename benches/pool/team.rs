//! Threads that use one of two sources at the same time, round by round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, available_parallelism};

use crate::barrier::SpinBarrier;
use crate::source::Source;
use crate::workload::{Pace, Worker, Workload};

/// Threads that stay between rounds, as a program's do. They end when this is dropped.
///
/// The same threads use both sources: those of another might run on a processor that is slower, for what
/// else its core has to do.
pub struct Team {
    starts: Vec<Sender<Side>>,
    ends: Receiver<Pace>,
    round: Arc<Round>,
}

/// How often a round is repeated at most in which others disturbed the threads.
const TRIES: usize = 20;

/// How much of its time a thread may have waited for a processor.
const WAITED: f64 = 0.02;

/// Which of the two sources.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    Reference,
    Ours,
}

struct Round {
    barrier: SpinBarrier,
    one_has_ended: AtomicBool,
}

impl Round {
    fn of(&self, worker: &mut Worker<'_, impl Source>) -> Pace {
        worker.warm_up();
        self.barrier.wait();
        worker.round(&self.one_has_ended)
    }
}

impl Team {
    /// Starts threads, and waits until they are ready to be measured.
    pub fn start<'scope, R: Source, O: Source>(
        scope: &'scope Scope<'scope, '_>,
        reference: &'scope R,
        ours: &'scope O,
        workload: Workload,
        threads: usize,
    ) -> Self {
        let barrier = SpinBarrier::new(threads);
        let round = Arc::new(Round { barrier, one_has_ended: AtomicBool::new(false) });
        let (end, ends) = channel();
        let mut starts = vec![];
        for number in 0..threads {
            let (start, rounds) = channel();
            starts.push(start);
            let (end, round) = (end.clone(), Arc::clone(&round));
            scope.spawn(move || {
                let _member = round.barrier.member();
                let mut reference = Worker::new(reference, workload, number as u64);
                let mut ours = Worker::new(ours, workload, number as u64);
                let _ = end.send(ours.round(&AtomicBool::new(true)));
                for side in rounds {
                    let pace = match side {
                        Side::Reference => round.of(&mut reference),
                        Side::Ours => round.of(&mut ours),
                    };
                    let _ = end.send(pace);
                }
            });
        }
        let team = Self { starts, ends, round };
        team.paces();
        team
    }

    /// Nanoseconds per pair and thread: the time of all threads over the pairs of all. A thread that waits for a
    /// processor makes few pairs, so the mean of the threads' own figures would be the time of that wait.
    pub fn round(&self, side: Side) -> f64 {
        let processors = available_parallelism().map_or(1, usize::from);
        let tries = if self.starts.len() > processors { 1 } else { TRIES };
        let mut best = self.try_round(side);
        for _ in 1..tries {
            if disturbance(&best) <= WAITED {
                break;
            }
            let paces = self.try_round(side);
            if disturbance(&paces) < disturbance(&best) {
                best = paces;
            }
        }
        let pairs: usize = best.iter().map(|pace| pace.pairs).sum();
        best.iter().map(|pace| pace.nanoseconds).sum::<f64>() / pairs as f64
    }

    fn try_round(&self, side: Side) -> Vec<Pace> {
        self.round.one_has_ended.store(false, Ordering::Relaxed);
        for start in &self.starts {
            start.send(side).expect("the thread waits");
        }
        self.paces()
    }

    fn paces(&self) -> Vec<Pace> {
        self.ends.iter().take(self.starts.len()).collect()
    }
}

/// The largest part of its time that a thread has waited. All of it, if one has done less than half of
/// what another has: they did not run at the same time.
fn disturbance(paces: &[Pace]) -> f64 {
    let pairs = || paces.iter().map(|pace| pace.pairs);
    if pairs().min() < pairs().max().map(|most| most / 2) {
        return 1.0;
    }
    paces.iter().map(|pace| pace.waited / pace.nanoseconds).fold(0.0, f64::max)
}
