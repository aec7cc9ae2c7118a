//! The repeatability of measurements, and their time: `cargo xtask bench characterize`.
//!
//! Every topic is measured several times. For each measurement, the output has the values of the runs, the number of
//! their pairs that agree within the stated spreads, and the time of the topic. If all topics together exceed their
//! limit, the exit status is 1.
//!
//! The executable needs nothing but itself, and can be carried to another machine.

mod agreement;
#[expect(dead_code, reason = "the number of a device is not shown")]
#[path = "../../../benches/common/device.rs"]
mod device;
mod options;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clmatrix::select::DeviceType;
use clmatrix_characterize::measure::{Measured, Settings, Topic, measure_all};

use device::Subject;
use options::{HELP, Options};

/// The budget of all topics on a CPU, and on any other device.
const LIMITS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(20)];

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(Some(why)) => {
            eprintln!("{why}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let mut status = ExitCode::SUCCESS;
    for subject in device::chosen(&[device::POCL]) {
        let longest = report(&subject, &options);
        let limit = LIMITS[usize::from(!subject.info.device_type.contains(DeviceType::CPU))];
        println!("\nthe longest run took {:.1} s", longest.as_secs_f64());
        if longest > limit {
            eprintln!("limit missed: {:.0} s for a run", limit.as_secs_f64());
            status = ExitCode::FAILURE;
        }
    }
    device::print_where_this_is();
    status
}

/// Measures a device. Returns the time of the longest run.
fn report(subject: &Subject, options: &Options) -> Duration {
    println!("\n{}", subject.header());
    let settings = Settings::for_device(&subject.device).expect("the driver reports them");
    let context = subject.context();
    let mut longest = Duration::ZERO;
    let runs: Vec<Vec<Measured>> = (1..=options.runs)
        .map(|run| {
            let begin = Instant::now();
            let measured = measure_all(&context, &options.topics, &settings, |topic: Topic| {
                eprint!("\rrun {run} of {}: {:<20}", options.runs, topic.name());
            });
            longest = longest.max(begin.elapsed());
            measured
        })
        .collect();
    eprintln!();
    print!("{}", agreement::table(&runs));
    longest
}
