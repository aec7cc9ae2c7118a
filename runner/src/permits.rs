//! Permits of tests whose groups let only some of them run at the same time.

use std::collections::HashMap;

use parking_lot::{Condvar, Mutex};

use crate::config::{Group, GroupScope};

/// The name of a group, its scope, and for a group per device the position of the device.
type Key = (String, GroupScope, Option<u32>);

/// The permits of all groups.
#[derive(Default)]
pub(crate) struct Permits {
    /// The number of running tests of each group.
    running: Mutex<HashMap<Key, usize>>,
    ended: Condvar,
}

/// The permit of a running test, until it is dropped.
pub(crate) struct Permit<'a> {
    permits: &'a Permits,
    key: Key,
}

impl Permits {
    /// Waits until the group of a test on a device has room for it. A test without a group needs no permit.
    pub fn take(&self, group: Option<&Group>, device: Option<u32>) -> Option<Permit<'_>> {
        let group = group?;
        let key = key(group, device);
        let is_full = |running: &mut HashMap<Key, usize>| {
            running.get(&key).is_some_and(|running| *running >= group.max)
        };
        let mut running = self.running.lock();
        self.ended.wait_while(&mut running, is_full);
        *running.entry(key.clone()).or_default() += 1;
        Some(Permit { permits: self, key })
    }

    /// Returns whether the group of a test on a device has room for it.
    pub fn has_room(&self, group: Option<&Group>, device: Option<u32>) -> bool {
        group.is_none_or(|group| {
            self.running.lock().get(&key(group, device)).is_none_or(|running| *running < group.max)
        })
    }
}

fn key(group: &Group, device: Option<u32>) -> Key {
    let device = device.filter(|_| group.per == GroupScope::Device);
    (group.name.clone(), group.per, device)
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.permits.running.lock().get_mut(&self.key) {
            *running -= 1;
        }
        self.permits.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_room_for_some_of_its_tests() {
        let group = |per| Group { name: "big".to_owned(), max: 2, per };
        for (per, on_another) in [(GroupScope::Device, true), (GroupScope::Host, false)] {
            let (permits, group) = (Permits::default(), group(per));
            let group = Some(&group);
            let first = permits.take(group, Some(0));
            assert!(permits.has_room(group, Some(0)));
            let _second = permits.take(group, Some(0));
            assert!(!permits.has_room(group, Some(0)));
            assert_eq!(permits.has_room(group, Some(1)), on_another);
            assert_eq!(permits.has_room(group, None), on_another);
            assert!(permits.has_room(None, Some(0)) && permits.take(None, Some(0)).is_none());
            drop(first);
            assert!(permits.has_room(group, Some(0)));
        }
    }

    #[test]
    fn a_test_waits_for_its_permit() {
        let group = Group { name: "one".to_owned(), max: 1, per: GroupScope::Host };
        let (permits, running) = (Permits::default(), Mutex::new(()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _permit = permits.take(Some(&group), None);
                    let _running = running.try_lock().expect("no other test runs");
                    std::thread::yield_now();
                });
            }
        });
    }
}
