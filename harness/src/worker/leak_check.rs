//! The search for objects of the driver that a test leaves behind.

use std::thread;
use std::time::Duration;

use clmatrix::memory::live_objects;

use super::contexts::kept;
use crate::text::counted;

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

/// The library's numbers before a test.
pub(super) struct LeakCheck {
    /// The number of memory objects.
    objects: usize,
    /// The number of references to contexts.
    references: usize,
}

impl LeakCheck {
    pub(super) fn begin() -> Self {
        Self { objects: live_objects(), references: clmatrix::context_references() }
    }

    /// Returns what the test left behind, a line each, or `None` if nothing of the test is left. Releases the
    /// contexts of the test, unless nothing is left and they are for later tests.
    pub(super) fn end(self) -> Option<Vec<String>> {
        clmatrix::clear_first_arg_caches();
        let mut contexts = kept().take();
        let mut for_later = Vec::new();
        for pause in [Duration::ZERO].into_iter().chain(PAUSES) {
            thread::sleep(pause);
            let ended = contexts.extract_if(.., |context| context.other_references() == 0);
            for_later.extend(ended.filter(|context| context.is_for_later));
            if contexts.is_empty() && self.new_objects() == 0 {
                if clmatrix::context_references() > self.references {
                    return Some(Vec::new());
                }
                // Released without the lock: a release takes time.
                let used = kept().make_idle(for_later);
                let is_nothing_left = used.is_empty();
                drop(used);
                return (!is_nothing_left).then(Vec::new);
            }
        }
        let mut notes = Vec::new();
        if !contexts.is_empty() && kept().finds_leaks {
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
        Some(notes)
    }

    fn new_objects(&self) -> usize {
        live_objects().saturating_sub(self.objects)
    }
}
