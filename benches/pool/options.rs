//! The command line.

use std::path::PathBuf;

pub const HELP: &str = "\
What memory from a pool costs: time beside a plain port of PyOpenCL's algorithm and beside the driver,
and how much is reserved for what is in use.

Usage: pool [speed] [waste] [driver] [uses] [--out FOLDER]      all four, if none is named

  speed    ns per allocate + drop pair, with several threads
  waste    reserved over active bytes on a trace, by options of the pool
  driver   ns per pair beside clCreateBuffer + clReleaseMemObject, and beside memory that exists at once
  uses     ns per fill, drop and allocation, by the queues that a pool is for

  --out FOLDER    where table.md, threads.svg and reserved.svg go, for several devices in a folder of
                  their own each; target/pool if it is not given

  CLMATRIX_TEST   the devices, as for tests; PoCL if it is not set

Where a limit is missed, the exit status is 1. `speed` and `waste` ask the driver for buffers of up to
30 GiB together and do not touch them: that is for drivers that take memory at first use.

The executable can be copied to another machine with the same C library.";

const SECTIONS: [&str; 4] = ["speed", "waste", "driver", "uses"];

pub struct Options {
    sections: Vec<String>,
    pub out: PathBuf,
}

impl Options {
    /// # Errors
    /// Returns the mistake as the error; `None` if help is requested.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Option<String>> {
        let mut options = Self { sections: vec![], out: ["target", "pool"].iter().collect() };
        // `--bench` comes from cargo.
        let mut arguments = arguments.filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" => return Err(None),
                "--out" => {
                    let folder =
                        arguments.next().ok_or_else(|| "--out needs a folder".to_owned())?;
                    options.out = folder.into();
                }
                section if SECTIONS.contains(&section) => options.sections.push(argument),
                unknown => return Err(Some(format!("unknown argument: {unknown}"))),
            }
        }
        Ok(options)
    }

    pub fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|wanted| wanted == section)
    }
}
