//! The time to build a program, and whether the driver caches programs.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{mem, process};

use clmatrix::Context;
use clmatrix::Program;

use super::clock::nanoseconds;
use super::estimate::{Floor, Summary, is_cached, repeatable};
use super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::measured::Sampled;
use super::sampling::{Rounds, sample};
use super::series::{Point, Series};
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "build",
    measurements: &["program_build_cold", "program_build_warm", "has_src_build_cache"],
    // A build takes a tenth of a second on some devices.
    weight: 6.0,
    take,
};

/// A build may take a second.
const BUILDS: Rounds = Rounds { least: 3, most: 15 };

/// The kinds of builds: of a source that has never been built before, or just now.
const COLD: u32 = 0;
const WARM: u32 = 1;

fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    let points = builds(bench)?;
    let [cold, warm] = [0, 1].map(|number: usize| Summary::from_samples(&points[number].samples));
    let time = |point: &Point| {
        let series = series(vec![point.clone()]);
        Sampled::new(repeatable(&point.samples, Unit::Nanoseconds, Floor::HOST), [series])
    };
    Ok(vec![time(&points[0]), time(&points[1]), Sampled::new(cache(cold, warm), [series(points)])])
}

fn series(points: Vec<Point>) -> Series {
    Series::new(("built before", Unit::Count), ("time of a build", Unit::Nanoseconds), points)
}

fn cache(cold: Summary, warm: Summary) -> MeasureResult<Finding> {
    match is_cached(cold, warm) {
        Some(cached) => Ok(Finding::exact(Value::Flag(cached), Unit::Count, Confidence::High)),
        None => Err(NotMeasurable::new(
            "the second build takes neither as long as the first nor clearly less",
        )),
    }
}

/// Samples the nanoseconds of cold and of warm builds. Each is in a context that has not built the source, so
/// that a cache of the context has no effect.
fn builds(bench: &Workbench) -> MeasureResult<Vec<Point>> {
    let mut sources = Sources::new();
    let mut last = sources.next();
    let build = |context: &Context, source: &str| {
        let (time, built) = nanoseconds(bench.budget.clock(), || Program::build(context, source));
        built
            .map_err(|error| NotMeasurable::new(format!("the program does not build: {error}")))?;
        Ok::<_, NotMeasurable>(time)
    };
    // A round has one build of each kind, so that at most two warm builds follow a cold one.
    let [mut warm, mut other] = [Context::new([&bench.device])?, Context::new([&bench.device])?];
    build(&bench.context, &last)?;
    sample(&bench.budget, BUILDS, &[COLD, WARM], |kind| {
        if kind == COLD {
            last = sources.next();
            return build(&bench.context, &last);
        }
        mem::swap(&mut warm, &mut other);
        build(&warm, &last)
    })
}

/// Sources that no driver can have built before.
struct Sources {
    run: u128,
    number: u32,
}

impl Sources {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { run: now.as_nanos() ^ u128::from(process::id()), number: 0 }
    }

    /// Returns the source of a kernel that is long enough for a measurable build.
    fn next(&mut self) -> String {
        /// The number of lines.
        const LINES: u32 = 40;
        self.number += 1;
        let mut source = format!(
            "/* {} {} */ kernel void work(global float *values) {{\n\
             float x = values[get_global_id(0)], y = {}.0f;\n",
            self.run,
            self.number,
            self.run % 1_000_003 + u128::from(self.number),
        );
        for line in 0..LINES {
            let step = "x = native_sin(x * y) + y; if (x > y) y = fma(x, y, ";
            let _ = writeln!(source, "{step}{line}.0f); else x += sqrt(fabs(y));");
        }
        source + "values[get_global_id(0)] = x + y; }\n"
    }
}
