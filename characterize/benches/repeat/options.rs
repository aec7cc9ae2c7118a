//! The command line.

use clmatrix_characterize::measure::Topic;

pub const HELP: &str = "\
How well measurements repeat, and how long they take.

Usage: characterize [TOPIC]... [--runs N]      all topics but exhaustion, if none is named; 5 runs

  CLMATRIX_TEST   the devices, as for tests; PoCL if it is not set

Where a run takes more than 30 s on a CPU or 20 s on another device, the exit status is 1.

The executable can be copied to another machine with the same C library.";

pub struct Options {
    pub topics: Vec<Topic>,
    pub runs: usize,
}

impl Options {
    /// # Errors
    /// The mistake; `None` if help is requested.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Option<String>> {
        let mut options = Self { topics: vec![], runs: 5 };
        // `--bench` comes from cargo.
        let mut arguments = arguments.filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" => return Err(None),
                "--runs" => {
                    let runs = arguments.next().and_then(|runs| runs.parse().ok());
                    let runs = runs.filter(|runs| *runs >= 2);
                    options.runs = runs.ok_or("--runs needs a number of at least 2".to_owned())?;
                }
                name => {
                    let topic = Topic::ALL.into_iter().find(|topic| topic.name() == name);
                    options.topics.push(topic.ok_or(format!("unknown topic: {name}"))?);
                }
            }
        }
        if options.topics.is_empty() {
            // At the end of memory a driver may end the process.
            options.topics.extend(Topic::ALL.into_iter().filter(|it| *it != Topic::Exhaustion));
        }
        Ok(options)
    }
}
