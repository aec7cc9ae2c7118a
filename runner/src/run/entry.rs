//! A position in the plan.

use std::ops::{Index, IndexMut};

/// The position of a test on a device in the plan. Lists with an element for each test of a plan are indexed by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Entry(pub u32);

impl<T> Index<Entry> for Vec<T> {
    type Output = T;

    fn index(&self, entry: Entry) -> &T {
        &self[entry.0 as usize]
    }
}

impl<T> IndexMut<Entry> for Vec<T> {
    fn index_mut(&mut self, entry: Entry) -> &mut T {
        &mut self[entry.0 as usize]
    }
}
