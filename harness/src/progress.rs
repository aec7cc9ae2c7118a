//! What a person sees while a run goes on: a bar per device, or without a terminal a line per
//! device when it is done; and each result that is not as expected, at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::events::TestResult;
use crate::front::tell;
use crate::plan::{HOST, Plan};
use crate::verdict::Verdict;

/// Shows progress on standard error.
pub struct Progress {
    bars: MultiProgress,
    lanes: Vec<Lane>,
    /// For each entry of the plan, its lane.
    lane_of: Vec<usize>,
}

struct Lane {
    name: String,
    total: usize,
    done: AtomicUsize,
    unexpected: AtomicUsize,
    not_run: AtomicUsize,
    bar: ProgressBar,
}

impl Progress {
    /// Begins with all of `plan` ahead.
    pub fn new(plan: &Plan) -> Self {
        let bars = MultiProgress::new();
        let host = plan.devices.len();
        let lane_of: Vec<usize> = plan
            .entries
            .iter()
            .map(|entry| entry.device.map_or(host, |device| device as usize))
            .collect();
        let names = plan.devices.iter().map(|device| device.run.id.as_str()).chain([HOST]);
        let width = names.clone().map(str::len).max().unwrap_or(0);
        let lanes = names
            .enumerate()
            .map(|(lane, name)| {
                let total = lane_of.iter().filter(|at| **at == lane).count();
                let bar = ProgressBar::new(total as u64)
                    .with_style(style(width))
                    .with_prefix(name.to_owned());
                let bar = if total > 0 { bars.add(bar) } else { bar };
                Lane {
                    name: name.to_owned(),
                    total,
                    done: AtomicUsize::new(0),
                    unexpected: AtomicUsize::new(0),
                    not_run: AtomicUsize::new(0),
                    bar,
                }
            })
            .collect();
        Self { bars, lanes, lane_of }
    }

    /// An entry of the plan has its result.
    pub fn advance(&self, position: usize, result: &TestResult) {
        let lane = &self.lanes[self.lane_of[position]];
        if result.verdict == Verdict::NotRun {
            lane.not_run.fetch_add(1, Ordering::Relaxed);
        } else if !result.verdict.is_as_expected() {
            lane.unexpected.fetch_add(1, Ordering::Relaxed);
            let first_line = result.summary();
            let first_line = first_line.lines().next().unwrap_or_default();
            self.say(&format!("{}: {first_line}", result.test));
        }
        lane.bar.set_message(result.test_and_device().0.to_owned());
        lane.bar.inc(1);
        let done = lane.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done == lane.total && self.bars.is_hidden() {
            let unexpected = lane.unexpected.load(Ordering::Relaxed);
            let not_run = lane.not_run.load(Ordering::Relaxed);
            let done = done - not_run;
            let mut line = format!("{}: {done} done, {unexpected} not as expected", lane.name);
            if not_run > 0 {
                line += &format!(", {not_run} not run");
            }
            self.say(&line);
        }
    }

    fn say(&self, line: &str) {
        if self.bars.is_hidden() {
            tell(line);
        } else {
            let _ = self.bars.println(line);
        }
    }

    /// Leaves the terminal as it was.
    pub fn finish(&self) {
        let _ = self.bars.clear();
    }
}

fn style(width: usize) -> ProgressStyle {
    let template = format!("{{prefix:{width}}} {{bar:20}} {{pos:>4}}/{{len:4}} {{wide_msg}}");
    ProgressStyle::with_template(&template).expect("the template is well-formed")
}
