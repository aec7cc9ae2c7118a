//! The output of a process.

use std::time::Instant;

use clmatrix_harness::private::os::Source;
use clmatrix_harness::private::outside::Watch;
use clmatrix_harness::private::worker::capture::Capture;

/// The output of a process so far.
pub(super) struct Output {
    pub stdout: Capture,
    pub stderr: Capture,
    /// The time of the last output on standard output.
    pub last: Instant,
}

impl Output {
    pub fn new() -> Self {
        Self { stdout: Capture::default(), stderr: Capture::default(), last: Instant::now() }
    }

    /// Adds output, and shows it to `watch`. The process goes on.
    pub fn add(&mut self, watch: &mut dyn Watch, from: Source, bytes: &[u8]) -> bool {
        watch.wrote(from, bytes);
        match from {
            Source::Stderr => self.stderr.push(bytes),
            _ => {
                self.stdout.push(bytes);
                self.last = Instant::now();
            }
        }
        true
    }
}
