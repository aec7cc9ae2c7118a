//! The rules, with events that the test sets.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// An event whose end the test sets.
#[derive(Clone, Debug, Default)]
struct Fake(Rc<Cell<Option<Outcome>>>);

impl Fake {
    fn completes(&self) {
        self.0.set(Some(Outcome::Complete));
    }

    fn fails(&self) {
        self.0.set(Some(Outcome::Failed));
    }

    fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl TrackedEvent for Fake {
    fn known_outcome(&self) -> Option<Outcome> {
        self.0.get()
    }
}

use Access::{Read, Write};

/// Submits a command.
fn command(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> Fake {
    let event = Fake::default();
    let id = table.begin_command(&range, access, false).expect("no conflict");
    table.submitted(id, &event);
    event
}

/// Maps bytes at an address.
fn map(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> (u64, Fake) {
    let event = Fake::default();
    let id = table.begin_map(&range, access, false).expect("no conflict");
    table.mapped(id, &event, 0x1000 + range.start);
    (id, event)
}

/// Maps bytes of which maps are being unmapped.
fn map_asked(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> (u64, Fake) {
    let event = Fake::default();
    let id = table.begin_map(&range, access, true).expect("no conflict");
    table.mapped(id, &event, 0x1000 + range.start);
    (id, event)
}

/// Unmaps a map.
fn unmap(table: &mut Table<Fake>, (id, mapped): (u64, Fake)) -> Fake {
    let event = Fake::default();
    table.begin_unmap(id, false);
    table.unmapping(id, &mapped, &event);
    event
}

fn before_map(table: &Table<Fake>, range: Range<usize>, access: Access) -> Vec<Fake> {
    let found = table.predecessors(0, &range, access).expect("no conflict");
    found.into_iter().map(|found| found.event).collect()
}

fn are(found: &[Fake], expected: &[&Fake]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.is(b))
}

#[test]
fn a_map_waits_for_exactly_the_commands_on_its_bytes() {
    let mut table = Table::default();
    let first = command(&mut table, 0..16, Write);
    let last = command(&mut table, 4080..4096, Write);
    let read = command(&mut table, 8..24, Read);
    assert!(are(&before_map(&table, 1024..2048, Write), &[]), "bytes between two commands");
    assert!(are(&before_map(&table, 0..8, Read), &[&first]));
    assert!(are(&before_map(&table, 4..12, Read), &[&first]), "two reads do not conflict");
    assert!(are(&before_map(&table, 4..12, Write), &[&first, &read]));
    assert!(are(&before_map(&table, 4095..5000, Read), &[&last]));
    first.completes();
    assert!(are(&before_map(&table, 0..4096, Read), &[&last]));
    last.fails();
    assert!(are(&before_map(&table, 0..4096, Read), &[]), "a failed command has ended");
}

#[test]
fn commands_on_mapped_bytes_are_refused_unless_both_read() {
    for (mapped, access, allowed) in
        [(Read, Read, true), (Read, Write, false), (Write, Read, false), (Write, Write, false)]
    {
        let mut table = Table::default();
        map(&mut table, 8..16, mapped);
        let in_it = table.begin_command(&(15..20), access, false);
        assert_eq!(in_it.is_ok(), allowed, "{mapped:?}, {access:?}");
        assert!(table.begin_command(&(16..20), access, false).is_ok(), "bytes beside it");
        let other = table.begin_map(&(0..9), access, false);
        assert_eq!(other.is_ok(), allowed, "{mapped:?}, {access:?}");
    }
}

#[test]
fn a_rejected_map_is_removed() {
    let mut table = Table::<Fake>::default();
    let id = table.begin_map(&(0..8), Write, false).expect("no conflict");
    assert!(table.begin_command(&(0..8), Read, false).is_err());
    table.remove_map(id);
    assert!(table.begin_command(&(0..8), Read, false).is_ok());
}

#[test]
fn an_unmap_is_a_predecessor_until_it_has_ended() {
    let mut table = Table::default();
    let mapped = map(&mut table, 0..8, Write);
    let unmapped = unmap(&mut table, mapped);
    assert!(matches!(table.begin_command(&(0..8), Write, false), Err(Conflict::Ask(_))));
    assert!(table.begin_command(&(0..8), Read, true).is_ok(), "queues order it");
    let found = table.predecessors(0, &(0..8), Read).expect("no conflict");
    assert!(found.iter().any(|found| found.event.is(&unmapped) && found.unmaps.is_some()));
    unmapped.completes();
    assert!(table.begin_command(&(0..8), Write, false).is_ok());
}

#[test]
fn bytes_stay_closed_where_an_unmap_failed() {
    let mut table = Table::default();
    let mapped = map(&mut table, 0..8, Read);
    mapped.1.completes();
    let id = mapped.0;
    unmap(&mut table, mapped).fails();
    assert!(matches!(table.begin_command(&(0..1), Write, false), Err(Conflict::InUse(..))));
    assert!(table.begin_command(&(0..1), Read, false).is_ok(), "the map only reads");
    assert!(table.is_poisoned(id) && table.pending(&(0..8)).is_none());
    assert!(table.begin_command(&(8..9), Write, false).is_ok());
}

#[test]
fn a_map_that_failed_is_removed() {
    let mut table = Table::default();
    let mapped = map(&mut table, 0..8, Write);
    mapped.1.fails();
    unmap(&mut table, mapped).fails();
    assert!(table.begin_command(&(0..8), Write, false).is_ok());
}

#[test]
fn an_unmap_that_fails_before_its_map_has_ended_closes_the_bytes_until_then() {
    let mut table = Table::default();
    let mapped = map(&mut table, 0..8, Write);
    let (id, event) = (mapped.0, mapped.1.clone());
    unmap(&mut table, mapped).fails();
    table.reap();
    let Err(Conflict::Ask(asked)) = table.begin_command(&(0..8), Write, false) else {
        panic!("the end of the map is unknown")
    };
    assert!(are(&asked, &[&event]));
    assert!(matches!(table.begin_command(&(0..8), Write, true), Err(Conflict::InUse(..))));
    assert!(table.is_poisoned(id) && table.pending(&(0..8)).is_none());
    assert!(table.has_only(&(0..8), |_| true).is_none());
    event.fails();
    assert!(!table.is_poisoned(id));
    assert!(table.begin_command(&(0..8), Write, false).is_ok(), "never mapped");
}

#[test]
fn maps_that_only_read_are_reaped() {
    let mut table = Table::default();
    for _ in 0..100 {
        let mapped = map(&mut table, 0..8, Read);
        mapped.1.completes();
        let (id, event, unmapped) = (mapped.0, mapped.1, Fake::default());
        table.begin_unmap(id, false);
        let is_full = table.unmapping(id, &event, &unmapped);
        unmapped.completes();
        if is_full {
            table.reap();
        }
        assert!(table.maps.len() <= REAP_AT);
    }
}

#[test]
fn an_unmap_waits_for_the_other_maps_at_its_address() {
    let mut table = Table::default();
    let first = map(&mut table, 0..8, Read);
    let second = map(&mut table, 0..4, Read);
    let elsewhere = map(&mut table, 2..8, Read);
    assert!(are(&table.begin_unmap(second.0, false), &[&first.1]));
    assert!(are(&table.begin_unmap(elsewhere.0, false), &[]));
    first.1.completes();
    table.mapped(second.0, &second.1, 0x1000);
    assert!(are(&table.begin_unmap(second.0, false), &[]), "a map that has ended");
}

/// Begins a map and returns what it waits for.
fn map_after(table: &mut Table<Fake>, access: Access) -> ((u64, Fake), Vec<Fake>) {
    let mapped = map_asked(table, 0..8, access);
    let found = table.last_predecessors(mapped.0, &(0..8), access).expect("no conflict");
    (mapped, found.into_iter().map(|found| found.event).collect())
}

#[test]
fn a_map_waits_for_the_last_of_a_chain_of_maps() {
    let mut table = Table::default();
    let fill = command(&mut table, 0..8, Write);
    let beside = command(&mut table, 8..16, Write);
    let (first, before) = map_after(&mut table, Write);
    assert!(are(&before, &[&fill]));
    let first = unmap(&mut table, first);
    let (second, before) = map_after(&mut table, Read);
    assert!(are(&before, &[&first]), "the map before waits for the command");
    assert!(are(&table.begin_unmap(second.0, false), &[]), "the map has come after the other one");
    let unmapped = Fake::default();
    table.unmapping(second.0, &second.1, &unmapped);
    let (_, before) = map_after(&mut table, Write);
    assert!(are(&before, &[&unmapped]));
    assert!(are(&before_map(&table, 8..9, Read), &[&beside]), "bytes that no map has");
}

#[test]
fn a_map_waits_for_a_whole_chain_after_a_failure() {
    let mut table = Table::default();
    let fill = command(&mut table, 0..8, Write);
    let (mapped, _) = map_after(&mut table, Write);
    let event = mapped.1.clone();
    let unmapped = unmap(&mut table, mapped);
    event.fails();
    let (next, before) = map_after(&mut table, Read);
    assert!(are(&before, &[&fill, &unmapped]), "the map may have failed before the command ended");
    next.1.fails();
    table.unmapping(next.0, &next.1, &Fake::default());
    assert!(are(&before_map(&table, 0..8, Write)[..1], &[&fill]));
}

#[test]
fn a_submission_is_seen_until_it_has_ended() {
    let mut table = Table::default();
    let id = table.begin_command(&(0..8), Write, false).expect("no conflict");
    assert!(table.is_submitting(&(4..12), Read) && !table.is_submitting(&(8..12), Write));
    assert!(table.pending(&(8..12)).is_some());
    table.submitted(id, &Fake::default());
    assert!(!table.is_submitting(&(4..12), Read));
    let map = table.begin_map(&(16..24), Read, false).expect("no conflict");
    assert!(table.is_submitting_map(&(20..21)) && !table.is_submitting_map(&(0..16)));
    table.mapped(map, &Fake::default(), 1);
    assert!(!table.is_submitting_map(&(20..21)));
}

#[test]
fn a_command_without_an_event_keeps_its_bytes_from_maps_and_frees() {
    let mut table = Table::<Fake>::default();
    let id = table.begin_command(&(0..8), Read, false).expect("no conflict");
    table.untracked(id);
    assert!(table.predecessors(0, &(0..4), Write).is_err());
    assert!(table.predecessors(0, &(0..4), Read).is_ok(), "two reads do not conflict");
    assert!(table.predecessors(0, &(8..9), Write).is_ok());
    assert!(table.pending(&(0..8)).is_none() && table.has_only(&(0..8), |_| true).is_none());
}

#[test]
fn the_oldest_commands_are_reaped() {
    let mut table = Table::default();
    let mut events = Vec::new();
    for _ in 0..1000 {
        let event = Fake::default();
        let id = table.begin_command(&(0..8), Write, false).expect("no conflict");
        if table.submitted(id, &event) {
            assert!(table.events().len() <= LOOK);
            table.reap();
        }
        events.push(event);
    }
    assert_eq!(table.commands.len(), 1000, "nothing has ended");
    events[..990].iter().for_each(Fake::completes);
    events[990].fails();
    table.reap_all();
    assert_eq!(table.events_on(&(0..8)).len(), 9);
    assert!(are(&before_map(&table, 0..8, Write), &events[991..].iter().collect::<Vec<_>>()));
}

#[test]
fn commands_that_have_ended_are_reaped_behind_others_that_have_not() {
    let mut table = Table::default();
    for _ in 0..100 {
        let id = table.begin_command(&(0..8), Write, false).expect("no conflict");
        table.submitted(id, &Fake::default());
    }
    for _ in 0..1000 {
        let event = Fake::default();
        let id = table.begin_command(&(0..8), Write, false).expect("no conflict");
        if table.submitted(id, &event) {
            table.reap();
        }
        event.completes();
    }
    assert!(table.commands.len() <= 300, "{} commands for 100 that pend", table.commands.len());
}

#[test]
fn pools_see_the_uses_on_other_queues() {
    let mut table = Table::default();
    let own = command(&mut table, 0..8, Write);
    assert_eq!(table.has_only(&(0..8), |event| event.is(&own)), Some(true));
    let other = command(&mut table, 0..8, Read);
    assert_eq!(table.has_only(&(0..8), |event| event.is(&own)), Some(false));
    assert_eq!(table.has_only(&(8..9), |_| false), Some(true));
    assert!(are(&table.pending(&(0..8)).expect("no map"), &[&own, &other]));
    let mapped = map(&mut table, 0..8, Read);
    assert!(table.has_maps() && table.pending(&(0..8)).is_none());
    assert_eq!(table.has_only(&(0..8), |_| true), None);
    let unmapped = unmap(&mut table, mapped);
    assert!(!table.has_maps() && table.pending(&(0..8)).expect("no map").len() == 3);
    let known = |event: &Fake| [&own, &other, &unmapped].iter().any(|one| event.is(one));
    assert_eq!(table.has_only(&(0..8), known), Some(true));
    unmapped.fails();
    assert_eq!(table.has_only(&(0..8), |_| true), None, "the bytes may still be mapped");
}
