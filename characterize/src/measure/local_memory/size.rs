//! The largest part of local memory with which a kernel really runs.

use clmatrix::Event;

use super::super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::super::measured::Sampled;
use super::super::series::{Point, Series};
use super::super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::Buffer;

/// Fills local memory with numbers, and counts the numbers that another work item finds changed.
///
/// The memory is an array and not an argument, for which a driver may use more than its size.
// quirk: NVIDIA-10
const SOURCE: &str = "
kernel void fill(uint steps, global uint *taken, global uint *wrong) {
    local uint memory[WORDS];
    const uint words = WORDS;
    uint i = get_local_id(0), n = get_local_size(0), step = 0, found = 0;
    for (; step < steps; step++) {
        uint at = step * n + i;
        if (at < words) memory[at] = at * 2654435761u + words;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint other = 0; other < steps; other++) {
        uint at = other * n + (n - 1 - i);
        if (at < words) found += memory[at] != at * 2654435761u + words;
    }
    taken[i] = step;
    wrong[i] = found;
}";

const WORD: u64 = size_of::<u32>() as u64;
const MOST_WORK_ITEMS: usize = 64;
/// Iterations of the kernel's loop at most; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
const MOST_STEPS: u64 = 60_000;

/// Measures the usable size. Refused sizes and those with wrong contents are too large.
pub(super) fn usable(bench: &Workbench, share: f64) -> MeasureResult<Sampled> {
    let fill = Fill::new(bench)?;
    // The budget begins here: the first build has no limit.
    let budget = bench.budget.share(share);
    let most = MOST_STEPS * fill.most_work_items as u64;
    let all = bench.facts.local_mem_size / WORD;
    let mut tried = Vec::new();
    let words = largest(all.min(most), |words| {
        if budget.is_spent() {
            let reason = "the budget ended before a size was found; increase it";
            return Err(NotMeasurable::new(reason));
        }
        let runs = fill.runs(words)?;
        tried.push(Point::trial(words * WORD, runs));
        Ok(runs)
    });
    tried.sort_by(|a, b| a.x.total_cmp(&b.x));
    let answer = words.map(|words| {
        let bytes = Value::Number((words * WORD) as f64);
        // Larger sizes are not tried, so there may be more.
        let confidence =
            if words == most && most < all { Confidence::Low } else { Confidence::High };
        Finding::exact(bytes, Unit::Bytes, confidence)
    });
    let series = Series::new(("local memory", Unit::Bytes), ("runs", Unit::Count), tried);
    Ok(Sampled::new(answer, (!series.points.is_empty()).then_some(series)))
}

/// Returns the largest number from 1 to `most` that works, where all smaller numbers work, too. It is
/// mostly `most`, or not far below.
fn largest(most: u64, mut does: impl FnMut(u64) -> MeasureResult<bool>) -> MeasureResult<u64> {
    if most > 0 && does(most)? {
        return Ok(most);
    }
    let (mut good, mut bad) = (0, most);
    while good + 1 < bad {
        let middle = good.midpoint(bad);
        *(if does(middle)? { &mut good } else { &mut bad }) = middle;
    }
    match good {
        0 => Err(NotMeasurable::new("no kernel runs with local memory")),
        good => Ok(good),
    }
}

struct Fill<'a> {
    bench: &'a Workbench<'a>,
    most_work_items: usize,
    taken: Buffer,
    wrong: Buffer,
}

impl<'a> Fill<'a> {
    fn new(bench: &'a Workbench<'a>) -> MeasureResult<Self> {
        // This fails if the device cannot build the kernel at all.
        let most = Self::kernel(bench, 1)?.work_group_info(&bench.device)?.max_size;
        let most_work_items = most.min(MOST_WORK_ITEMS);
        let numbers = || bench.buffer(most_work_items * size_of::<u32>());
        Ok(Self { bench, most_work_items, taken: numbers()?, wrong: numbers()? })
    }

    fn kernel(bench: &Workbench<'_>, words: u64) -> MeasureResult<Kernel> {
        bench.kernel(SOURCE, &format!("-DWORDS={words}"), "fill")
    }

    /// Returns whether this number of words can be written and read.
    fn runs(&self, words: u64) -> MeasureResult<bool> {
        let launched = self.launch(words).and_then(|(work_items, steps, event)| {
            event.wait()?;
            Ok((work_items, steps))
        });
        let (work_items, steps) = match launched {
            Ok(launched) => launched,
            Err(missing) => {
                log::debug!(
                    "{} bytes of local memory are refused: {}",
                    words * WORD,
                    missing.reason
                );
                return Ok(false);
            }
        };
        self.bench.check_steps(&self.taken, work_items, steps)?;
        let mut wrong = vec![0_u32; work_items];
        self.wrong.read(&self.bench.queue, &mut wrong)?;
        Ok(wrong.iter().all(|wrong| *wrong == 0))
    }

    /// Launches the kernel, and returns its work items and the steps of each, too.
    fn launch(&self, words: u64) -> MeasureResult<(usize, u32, Event)> {
        let mut kernel = Self::kernel(self.bench, words)?;
        let most = kernel.work_group_info(&self.bench.device)?.max_size;
        let work_items = most.min(self.most_work_items);
        let steps = words.div_ceil(work_items as u64) as u32;
        let mut launch = kernel.launch();
        launch.arg(steps).arg(&self.taken).arg(&self.wrong).global(work_items).local(work_items);
        // SAFETY: the arguments are the declared ones, the kernel leaves out steps beyond its array, and
        // each work item has its number in both buffers.
        let event = unsafe { launch.enqueue(&self.bench.queue) }?;
        Ok((work_items, steps, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_found() {
        for most in 1..50 {
            for limit in 1..=60 {
                assert_eq!(largest(most, |words| Ok(words <= limit)), Ok(limit.min(most)));
            }
            assert!(largest(most, |_| Ok(false)).is_err());
        }
        assert!(largest(0, |_| Ok(true)).is_err());
        assert!(largest(9, |_| Err(NotMeasurable::new("no time"))).is_err());
    }
}
