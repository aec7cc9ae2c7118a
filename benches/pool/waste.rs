//! The memory of a pool over the memory in use, on one trace.

use crate::report::{Limit, Report};
use crate::sizes::Random;
use crate::source::Pool;
use crate::workload::LIVE;

/// The trace is what this seed begins.
const SEED: u64 = 447;

/// Blocks that are replaced once [`LIVE`] are in use.
const STEPS: usize = 100_000;

/// Steps between looks at the pool.
const BETWEEN: usize = 100;

/// How a pool did.
pub struct Replay {
    pub name: &'static str,
    pub looks: Vec<Look>,
    limit: Option<Limit>,
}

/// The bytes of a pool at a step.
pub struct Look {
    pub step: usize,
    pub reserved: u64,
    /// The bytes that were requested.
    pub active: u64,
}

impl Replay {
    /// Reserved over active bytes, the mean over time.
    fn ratio(&self) -> f64 {
        let ratios = self.looks.iter().map(|look| look.reserved as f64 / look.active as f64);
        ratios.sum::<f64>() / self.looks.len() as f64
    }
}

/// Replays the trace. `limit` is for the ratio to the first pool's.
pub fn replay(name: &'static str, pool: &impl Pool, limit: Option<Limit>) -> Replay {
    eprintln!("trace: {name}");
    let mut random = Random::new(SEED);
    let allocate = |random: &mut Random| {
        let size = random.size();
        (size as u64, pool.allocate(size))
    };
    let mut live: Vec<_> = (0..LIVE).map(|_| allocate(&mut random)).collect();
    let mut active = live.iter().map(|(size, _)| size).sum::<u64>();
    let mut looks = vec![];
    for step in 0..STEPS {
        let slot = random.below(LIVE);
        let block = allocate(&mut random);
        active = active + block.0 - live[slot].0;
        live[slot] = block;
        if step % BETWEEN == 0 {
            looks.push(Look { step, reserved: pool.reserved(), active });
        }
    }
    Replay { name, looks, limit }
}

pub fn report(replays: &[Replay], report: &mut Report) {
    report.table(&["reserved over active bytes", "mean", "ratio", "limit"]);
    for replay in replays {
        let ratio = replay.ratio() / replays[0].ratio();
        let [limit, _] = report.check(replay.name, ratio, replay.limit);
        report.row(replay.name, &[format!("{:.2}", replay.ratio()), format!("{ratio:.2}"), limit]);
    }
}
