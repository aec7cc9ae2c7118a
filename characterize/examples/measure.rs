//! Measures the devices of this machine: `cargo run --release --example measure -- [TOPIC]...`
//!
//! Without topics: all but the amount of memory, at whose end a driver may end the process.

use std::env;

use clmatrix::Context;
use clmatrix::select::platforms;
use clmatrix_characterize::measure::{Settings, Topic, measure_all};

fn main() -> clmatrix::Result<()> {
    let wished: Vec<String> = env::args().skip(1).collect();
    let topics: Vec<Topic> = Topic::ALL
        .into_iter()
        .filter(|topic| match &wished[..] {
            [] => *topic != Topic::Exhaustion,
            wished => wished.iter().any(|name| name == topic.name()),
        })
        .collect();
    for platform in platforms()? {
        for (device, info) in platform.devices.iter().zip(&platform.info.devices) {
            println!("{} / {}", platform.info.name, info.name);
            let settings = Settings::for_device(device)?;
            let context = Context::new([device])?;
            for measured in measure_all(&context, &topics, &settings, |_| ()) {
                match measured.answer {
                    Ok(found) => println!("  {}: {found} {:?}", measured.name, found.confidence),
                    Err(why) => println!("  {}: {why}", measured.name),
                }
            }
        }
    }
    Ok(())
}
