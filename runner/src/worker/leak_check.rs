//! The search for objects of the driver that a test leaves behind.

use std::thread;
use std::time::Duration;

use clmatrix::memory::live_objects;

use super::contexts::{KeptContext, kept};
use crate::text::counted;

/// The pauses between checks of objects that are still there: drivers release objects a moment after their last use.
/// 127 ms in all.
const PAUSES: [u64; 8] = [0, 1, 2, 4, 8, 16, 32, 64];

/// Returns the objects that the test left behind, a line each, or `None` if there are none. Before the test, there were
/// `objects` memory objects. Releases the contexts of the test, unless there are none and the contexts are for later
/// tests.
pub(super) fn leaks_since(objects: usize) -> Option<Vec<String>> {
    let new_objects = || live_objects().saturating_sub(objects);
    clmatrix::cache::clear_first_arg_caches();
    let mut contexts = std::mem::take(&mut kept().of_test);
    let mut ended = Vec::new();
    for pause in PAUSES {
        thread::sleep(Duration::from_millis(pause));
        ended.extend(contexts.extract_if(.., |context| context.other_references() == 0));
        if contexts.is_empty() && new_objects() == 0 {
            if ended.iter().any(|context: &KeptContext| context.watch.references() > 0) {
                return Some(Vec::new());
            }
            // Released without the lock: a release takes time.
            let (for_later, others): (Vec<_>, Vec<_>) =
                ended.into_iter().partition(|context| context.is_for_later);
            drop(others);
            let used = kept().make_idle(for_later);
            return (!used.is_empty()).then(Vec::new);
        }
    }
    let mut notes = Vec::new();
    if !contexts.is_empty() && kept().finds_leaks {
        let references = contexts.iter().map(|context| context.other_references() as usize).sum();
        let contexts = match contexts.len() {
            1 => "a context".to_owned(),
            several => format!("{several} contexts"),
        };
        notes.push(format!("{} to {contexts}", counted(references, "reference")));
    }
    let objects = new_objects();
    if objects > 0 {
        notes.push(counted(objects, "memory object"));
    }
    Some(notes)
}
