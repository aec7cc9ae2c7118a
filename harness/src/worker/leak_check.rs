//! The search for objects of the driver that a test leaves behind.

use std::thread;
use std::time::Duration;

use clmatrix::memory::live_objects;

use super::kept_context::{self, KeptContext};
use crate::report::counted;

/// The pauses between looks at objects that are still there: drivers release objects a moment after
/// their last use. 127 ms in all.
const PAUSES: [Duration; 7] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
    Duration::from_millis(32),
    Duration::from_millis(64),
];

/// The number of the library's memory objects before a test.
pub(super) struct LeakCheck {
    objects: usize,
}

impl LeakCheck {
    pub(super) fn begin() -> Self {
        Self { objects: live_objects() }
    }

    /// Returns what the test left behind, a line each. Releases its contexts.
    pub(super) fn end(self) -> Vec<String> {
        clmatrix::clear_first_arg_caches();
        let mut contexts = kept_context::take();
        for pause in [Duration::ZERO].into_iter().chain(PAUSES) {
            thread::sleep(pause);
            contexts.retain(KeptContext::is_left_behind);
            if contexts.is_empty() && self.new_objects() == 0 {
                return Vec::new();
            }
        }
        let mut notes = Vec::new();
        if !contexts.is_empty() {
            let references =
                contexts.iter().map(|context| context.other_references() as usize).sum();
            let contexts = match contexts.len() {
                1 => "a context".to_owned(),
                several => format!("{several} contexts"),
            };
            notes.push(format!("{} to {contexts}", counted(references, "reference")));
        }
        let objects = self.new_objects();
        if objects > 0 {
            notes.push(counted(objects, "memory object"));
        }
        notes
    }

    fn new_objects(&self) -> usize {
        live_objects().saturating_sub(self.objects)
    }
}
