//! Nanoseconds per allocate + drop pair, beside the reference.
//!
//! The two take turns. Other load on the machine only adds time, and more to code that waits for memory
//! most. So the figures of a run are lower quartiles as long as each thread has a processor.

use std::thread;
use std::time::{Duration, Instant};

use crate::report::{Limit, Report};
use crate::source::Source;
use crate::team::{Side, Team};
use crate::time::quantile;
use crate::workload::Workload;

/// Runs of a figure, each with threads and pools of its own: the share of a pool that a thread works with
/// does not change in a run.
const RUNS: usize = 5;

/// Rounds of a run, at least.
const ROUNDS: usize = 12;

/// Time of a run, at least: other load often comes for a second or two.
const TIME: Duration = Duration::from_millis(800);

/// The times of a number of threads, per thread.
pub struct Figure {
    pub workload: Workload,
    pub threads: usize,
    runs: Vec<Run>,
}

/// Nanoseconds per pair, by round.
#[derive(Default)]
struct Run {
    reference: Vec<f64>,
    ours: Vec<f64>,
}

impl Figure {
    /// Nanoseconds per pair, the median of the runs.
    pub fn reference(&self) -> f64 {
        self.median(|run| self.typical(&run.reference))
    }

    /// Nanoseconds per pair, the median of the runs.
    pub fn ours(&self) -> f64 {
        self.median(|run| self.typical(&run.ours))
    }

    /// Our time divided by the reference's, the median of the runs.
    fn ratio(&self) -> f64 {
        self.median(|run| self.typical(&run.ours) / self.typical(&run.reference))
    }

    fn median(&self, value: impl Fn(&Run) -> f64) -> f64 {
        let values: Vec<_> = self.runs.iter().map(value).collect();
        quantile(&values, 0.5)
    }

    fn typical(&self, times: &[f64]) -> f64 {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        // Threads that wait for a processor leave more to the others.
        quantile(times, if self.threads > processors { 0.5 } else { 0.25 })
    }

    fn limit(&self) -> Option<Limit> {
        match (self.workload, self.threads) {
            (Workload::Hot, 1) => Some(Limit { at_most: 0.45, aim: Some(0.25) }),
            (Workload::Random, 1) => Some(Limit { at_most: 0.32, aim: Some(0.2) }),
            (_, 2) => Some(Limit { at_most: 0.09, aim: None }),
            (Workload::Random, 3) => Some(Limit { at_most: 0.3, aim: None }),
            _ => None,
        }
    }

    fn name(&self) -> String {
        let what = match self.workload {
            Workload::Hot => "one hot size",
            Workload::Random => "random sizes, 1000 live",
        };
        match self.threads {
            1 => what.to_owned(),
            threads => format!("{what}, {threads} threads"),
        }
    }
}

/// Measures with 1 to 4 threads, and with more where there are more processors.
pub fn measure<R: Source, O: Source>(
    reference: impl Fn() -> R,
    ours: impl Fn() -> O,
) -> Vec<Figure> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let more = (3..).map(|power| 1 << power).take_while(|&threads| threads <= processors);
    let counts: Vec<_> = (1..=4).chain(more).collect();
    let mut figures = vec![];
    for workload in [Workload::Hot, Workload::Random] {
        for &threads in &counts {
            let mut figure = Figure { workload, threads, runs: vec![] };
            eprintln!("{}", figure.name());
            let run = || take_turns(workload, threads, &reference(), &ours());
            figure.runs = (0..RUNS).map(|_| run()).collect();
            figures.push(figure);
        }
    }
    figures
}

fn take_turns(
    workload: Workload,
    threads: usize,
    reference: &impl Source,
    ours: &impl Source,
) -> Run {
    let mut run = Run::default();
    thread::scope(|scope| {
        let team = Team::start(scope, reference, ours, workload, threads);
        let begun = Instant::now();
        for round in (0..).take_while(|round| *round < ROUNDS || begun.elapsed() < TIME) {
            // The second finds caches and frequencies as the first has left them.
            if round % 2 == 0 {
                run.reference.push(team.round(Side::Reference));
                run.ours.push(team.round(Side::Ours));
            } else {
                run.ours.push(team.round(Side::Ours));
                run.reference.push(team.round(Side::Reference));
            }
        }
    });
    run
}

pub fn report(figures: &[Figure], report: &mut Report) {
    report.table(&["ns per pair, per thread", "reference", "ours", "ratio", "limit", "aimed at"]);
    for figure in figures {
        let (name, ratio) = (figure.name(), figure.ratio());
        let mut cells = vec![
            format!("{:.0}", figure.reference()),
            format!("{:.0}", figure.ours()),
            format!("{ratio:.2}"),
        ];
        cells.extend(report.check(&name, ratio, figure.limit()));
        report.row(&name, &cells);
    }
}
