//! Times of this crate's calls beside the same calls of cl3.

use std::time::{Duration, Instant};

use crate::Subject;
use crate::case::{Case, Samples, Side, Waits};
use crate::place::{Place, Work};
use crate::time::quantile;

/// Limit of the time of a call without a wait list: of the time of cl3 with events that are kept as
/// this crate keeps them, or nanoseconds more than that, whichever is larger.
const LIMIT: f64 = 1.1;
const NANOSECONDS_MORE: f64 = 100.0;

/// The same for a call with a wait list.
const LIMIT_WITH_WAIT_LIST: f64 = 1.25;

/// Limit of the heap allocations of a handle, the event of a command or a region.
const ALLOCATIONS: f64 = 1.0;

/// Allocations per call that are not counted: lists that grow with the number of commands, and the nodes of the tree
/// that a map, of two handles, is in where there are many.
const RARE_ALLOCATIONS: [f64; 2] = [0.02, 0.5];

/// Time for a row.
const TIME: Duration = Duration::from_millis(500);

/// Time for a row that misses its limit: other load may have disturbed it.
const PATIENCE: Duration = Duration::from_secs(2);

const WORKS: [Work; 7] =
    [Work::Fill, Work::Copy, Work::Write, Work::Read, Work::Launch, Work::Map, Work::SubRegion];

/// The works that a wait list is possible with. A map that blocks cannot wait for a later event.
const WORKS_THAT_WAIT: [Work; 4] = [Work::Fill, Work::Copy, Work::Launch, Work::MapNonBlocking];

const THREADS: usize = 2;

/// Prints the times of calls without a wait list. Returns false if a limit is missed.
pub fn report(subject: &Subject) -> bool {
    print_head("ns per call");
    let context = subject.context();
    let mut places = [Place::new(&context)];
    let cases = WORKS.map(|work| Case { work, waits: Waits::Nothing, threads: 1 });
    print_rows(&cases, &mut places)
}

/// Prints the times of calls with a wait list. Returns false if a limit is missed.
pub fn report_waits(subject: &Subject) -> bool {
    let context = subject.context();
    let mut places = [(); THREADS].map(|()| Place::new(&context));
    let mut is_met = true;
    for threads in 1..=THREADS {
        print_head(&format!("ns per call, after events, threads: {threads}"));
        for waits in Waits::LISTS {
            let cases = WORKS_THAT_WAIT.map(|work| Case { work, waits, threads });
            is_met &= print_rows(&cases, &mut places);
        }
    }
    is_met
}

fn print_head(title: &str) {
    println!(
        "\n{title:<52} {:>8} {:>8} {:>8} {:>6} {:>6}-{:<6} {:>5} {:>8} {:>8} {:>5}",
        "cl3", "kept", "ours", "ratio", "from", "to", "limit", "to cl3", "no event", "heap"
    );
}

fn print_rows(cases: &[Case], places: &mut [Place<'_>]) -> bool {
    let mut is_met = true;
    for case in cases {
        is_met &= Row::measure(case, places).print();
    }
    is_met
}

struct Row<'c> {
    case: &'c Case,
    samples: Samples,
}

impl<'c> Row<'c> {
    fn measure(case: &'c Case, places: &mut [Place<'_>]) -> Self {
        let mut row = Self { case, samples: Samples::default() };
        let begin = Instant::now();
        loop {
            case.measure(places, &mut row.samples, TIME);
            if row.ratio() <= row.limit() || begin.elapsed() >= PATIENCE {
                return row;
            }
        }
    }

    /// Nanoseconds per call: other load only adds to it.
    fn time(&self, side: Side) -> f64 {
        quantile(&self.samples.times(side), 0.25)
    }

    /// Our time divided by that of kept events.
    fn ratio(&self) -> f64 {
        self.time(Side::Ours) / self.time(Side::Kept)
    }

    fn limit(&self) -> f64 {
        match self.case.waits {
            Waits::Nothing => LIMIT.max(1.0 + NANOSECONDS_MORE / self.time(Side::Kept)),
            _ => LIMIT_WITH_WAIT_LIST,
        }
    }

    /// The quartiles of the ratios in single rounds.
    fn spread(&self) -> [f64; 2] {
        let [kept, ours] = [Side::Kept, Side::Ours].map(|side| self.samples.times(side));
        let ratios: Vec<_> = ours.iter().zip(kept).map(|(ours, kept)| ours / kept).collect();
        [0.25, 0.75].map(|part| quantile(&ratios, part))
    }

    /// Heap allocations per call beyond those of cl3.
    fn allocations(&self) -> f64 {
        self.samples.allocations(Side::Ours) - self.samples.allocations(Side::Cl3)
    }

    fn column(&self, side: Side) -> String {
        format!("{:.0}", self.time(side))
    }

    /// Returns false if a limit is missed.
    fn print(&self) -> bool {
        let &Case { work, waits, .. } = self.case;
        let [cl3, ours] = [Side::Cl3, Side::Ours].map(|side| self.time(side));
        let without_event = match waits {
            Waits::Nothing => self.column(Side::WithoutEvent),
            _ => "-".to_owned(),
        };
        let kept = self.column(Side::Kept);
        let (ratio, limit, [from, to]) = (self.ratio(), self.limit(), self.spread());
        let name = format!("{}{}", work.name(), waits.name());
        print!("{name:<52} {cl3:>8.0} {kept:>8} {ours:>8.0} {ratio:>6.2} {from:>6.2}-{to:<6.2}");
        print!(" {limit:>5.2} {:>8.2} {without_event:>8}", ours / cl3);
        let allocations = self.allocations();
        let handles = work.handles();
        let rare = RARE_ALLOCATIONS[handles as usize - 1];
        let allowed = ALLOCATIONS * f64::from(handles) + rare;
        let is_met = ratio <= limit && allocations <= allowed;
        println!(" {allocations:>5.2}{}", if is_met { "" } else { "  MISSED" });
        is_met
    }
}
