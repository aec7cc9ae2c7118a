//! The rules, with events that the test sets.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// An event whose end the test sets.
#[derive(Clone, Debug, Default)]
struct Fake(Rc<Cell<Option<Outcome>>>);

thread_local! {
    /// True once an event of this test has failed.
    static HAVE_FAILED: Cell<bool> = const { Cell::new(false) };
}

impl Fake {
    fn completes(&self) {
        self.0.set(Some(Outcome::Complete));
    }

    fn fails(&self) {
        self.0.set(Some(Outcome::Failed));
        HAVE_FAILED.set(true);
    }

    fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl TrackedEvent for Fake {
    fn known_outcome(&self) -> Option<Outcome> {
        self.0.get()
    }

    fn have_failed() -> bool {
        HAVE_FAILED.get()
    }
}

use Access::{Read, Write};

const NO_MAP: u64 = NO_ID;

/// Returns an empty table, and one with so many maps of other bytes that those of some bytes are found by an index.
fn tables() -> [Table<Fake>; 2] {
    let mut tables = [Table::default(), Table::default()];
    for number in 0..100 {
        map(&mut tables[1], 1000 + number..1001 + number, Write);
    }
    tables
}

/// Submits a command.
fn command(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> Fake {
    let event = Fake::default();
    let id = table.begin_command(&Use::new(&range, access), false).expect("no conflict");
    table.submitted(id, &event);
    event
}

/// Maps bytes.
fn map(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> (u64, Fake) {
    let id = table.begin_map(&Use::new(&range, access), false).expect("no conflict");
    (id, Fake::default())
}

/// Unmaps a map.
fn unmap(table: &mut Table<Fake>, (id, mapped): (u64, Fake)) -> Fake {
    let event = Fake::default();
    table.unmapping(id, &mapped, &event);
    event
}

fn before_map(table: &mut Table<Fake>, range: Range<usize>, access: Access) -> Vec<Fake> {
    table.predecessors(NO_MAP, &Use::new(&range, access)).expect("no conflict").into_vec()
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
    assert!(are(&before_map(&mut table, 1024..2048, Write), &[]), "bytes between two commands");
    assert!(are(&before_map(&mut table, 0..8, Read), &[&first]));
    assert!(are(&before_map(&mut table, 4..12, Read), &[&first]), "two reads do not conflict");
    assert!(are(&before_map(&mut table, 4..12, Write), &[&first, &read]));
    assert!(are(&before_map(&mut table, 4095..5000, Read), &[&last]));
    first.completes();
    assert!(are(&before_map(&mut table, 0..4096, Read), &[&last]));
    last.fails();
    assert!(are(&before_map(&mut table, 0..4096, Read), &[]), "a failed command has ended");
}

#[test]
fn commands_on_mapped_bytes_are_refused_unless_both_read() {
    for (mapped, access, allowed) in
        [(Read, Read, true), (Read, Write, false), (Write, Read, false), (Write, Write, false)]
    {
        let mut table = Table::default();
        map(&mut table, 8..16, mapped);
        let in_it = table.begin_command(&Use::new(&(15..20), access), false);
        assert_eq!(in_it.is_ok(), allowed, "{mapped:?}, {access:?}");
        assert!(
            table.begin_command(&Use::new(&(16..20), access), false).is_ok(),
            "bytes beside it"
        );
        let other = table.begin_map(&Use::new(&(0..9), access), false);
        assert_eq!(other.is_ok(), allowed, "{mapped:?}, {access:?}");
    }
}

#[test]
fn a_rejected_map_is_removed() {
    let mut table = Table::<Fake>::default();
    let id = table.begin_map(&Use::new(&(0..8), Write), false).expect("no conflict");
    assert!(table.begin_command(&Use::new(&(0..8), Read), false).is_err());
    table.remove_map(id);
    assert!(table.begin_command(&Use::new(&(0..8), Read), false).is_ok());
}

#[test]
fn an_unmap_is_a_predecessor_until_it_has_ended() {
    for mut table in tables() {
        let mapped = map(&mut table, 0..8, Write);
        let unmapped = unmap(&mut table, mapped);
        assert!(matches!(
            table.begin_command(&Use::new(&(0..8), Write), false),
            Err(Conflict::Ask(_))
        ));
        assert!(table.begin_command(&Use::new(&(0..8), Read), true).is_ok(), "queues order it");
        let found = table.predecessors(NO_MAP, &Use::new(&(0..8), Read)).expect("no conflict");
        assert!(found.iter().any(|found| found.is(&unmapped)));
        unmapped.completes();
        assert!(table.begin_command(&Use::new(&(0..8), Write), false).is_ok());
    }
}

#[test]
fn bytes_stay_closed_where_an_unmap_failed() {
    for mut table in tables() {
        let mapped = map(&mut table, 0..8, Read);
        mapped.1.completes();
        unmap(&mut table, mapped).fails();
        assert!(matches!(
            table.begin_command(&Use::new(&(0..1), Write), false),
            Err(Conflict::InUse(..))
        ));
        assert!(table.begin_command(&Use::new(&(0..1), Read), false).is_ok(), "the map only reads");
        assert!(table.predecessors(NO_MAP, &Use::new(&(0..8), Write)).is_err());
        assert!(table.begin_command(&Use::new(&(8..9), Write), false).is_ok());
    }
}

#[test]
fn a_map_that_failed_is_removed() {
    for mut table in tables() {
        let mapped = map(&mut table, 0..8, Write);
        mapped.1.fails();
        unmap(&mut table, mapped).fails();
        assert!(table.begin_command(&Use::new(&(0..8), Write), false).is_ok());
    }
}

#[test]
fn an_unmap_that_fails_before_its_map_has_ended_closes_the_bytes() {
    let mut table = Table::default();
    let mapped = map(&mut table, 0..8, Write);
    let event = mapped.1.clone();
    unmap(&mut table, mapped).fails();
    assert!(table.has_only(&(0..8), |_| true).is_none());
    event.fails();
    assert!(matches!(
        table.begin_command(&Use::new(&(0..8), Write), false),
        Err(Conflict::InUse(..))
    ));
}

#[test]
fn maps_that_only_read_are_reaped() {
    let mut table = Table::default();
    for _ in 0..100 {
        let mapped = map(&mut table, 0..8, Read);
        mapped.1.completes();
        let (id, event, unmapped) = (mapped.0, mapped.1, Fake::default());
        let is_full = table.unmapping(id, &event, &unmapped);
        unmapped.completes();
        if is_full {
            table.reap();
        }
        assert!(table.maps.len() <= REAP_AT);
    }
}

#[test]
fn maps_may_go_before_the_look_that_is_at_them() {
    let mut table = Table::default();
    let mut events = Vec::new();
    for _ in 0..LOOK + 8 {
        let mapped = map(&mut table, 0..8, Read);
        mapped.1.completes();
        events.push(unmap(&mut table, mapped));
    }
    table.reap();
    events.iter().for_each(Fake::completes);
    let id = table.begin_map(&Use::new(&(0..8), Write), false).expect("all have ended");
    table.remove_map(id);
    table.reap();
    assert!(table.is_empty());
}

#[test]
fn maps_that_are_found_by_address_exclude_each_other() {
    let by_address = |range| Use { by_address: true, ..Use::new(&range, Read) };
    let mut table = Table::<Fake>::default();
    let id = table.begin_map(&by_address(0..8), false).expect("no conflict");
    assert!(matches!(table.begin_map(&by_address(0..4), false), Err(Conflict::InUse(..))));
    assert!(table.begin_map(&by_address(2..8), false).is_ok(), "another address");
    assert!(table.begin_command(&Use::new(&(0..8), Read), false).is_ok(), "no map");
    let (mapped, unmapped) = (Fake::default(), Fake::default());
    mapped.completes();
    table.unmapping(id, &mapped, &unmapped);
    let again = table.begin_map(&by_address(0..4), true).expect("the unmap is under way");
    let before = table.predecessors(again, &by_address(0..4)).expect("no conflict");
    assert!(are(&before, &[&unmapped]));
}

/// Begins a map after unmaps that the driver was asked about, and returns what it waits for.
fn map_after(table: &mut Table<Fake>, access: Access) -> ((u64, Fake), Vec<Fake>) {
    let used = Use::new(&(0..8), access);
    let id = table.begin_map(&used, true).expect("no conflict");
    let found = table.predecessors(id, &used).expect("no conflict");
    ((id, Fake::default()), found.into_vec())
}

#[test]
fn a_map_waits_for_the_last_map_that_writes_its_bytes() {
    let mut table = Table::default();
    let fill = command(&mut table, 0..8, Write);
    let beside = command(&mut table, 8..16, Write);
    let (first, before) = map_after(&mut table, Write);
    assert!(are(&before, &[&fill]));
    let first = unmap(&mut table, first);
    let (second, before) = map_after(&mut table, Read);
    assert!(are(&before, &[&first]), "the map before waits for the command");
    let second = unmap(&mut table, second);
    let (_, before) = map_after(&mut table, Write);
    assert!(are(&before, &[&first, &second]));
    assert!(are(&before_map(&mut table, 8..9, Read), &[&beside]), "bytes that no map has");
}

#[test]
fn a_map_waits_for_a_whole_chain_after_a_failure() {
    let mut table = Table::default();
    let fill = command(&mut table, 0..8, Write);
    let (mapped, _) = map_after(&mut table, Write);
    let event = mapped.1.clone();
    let unmapped = unmap(&mut table, mapped);
    event.fails();
    let (_, before) = map_after(&mut table, Read);
    assert!(are(&before, &[&fill, &unmapped]), "the map may have failed before the command ended");
}

#[test]
fn a_map_waits_for_the_last_map_on_each_of_its_bytes() {
    for mut table in tables() {
        let mut unmapped_after = |range, access| {
            let used = Use::new(&range, access);
            let id = table.begin_map(&used, true).expect("no conflict");
            let before = table.predecessors(id, &used).expect("no conflict").into_vec();
            (unmap(&mut table, (id, Fake::default())), before)
        };
        let (right, _) = unmapped_after(8..16, Write);
        let (left, before) = unmapped_after(0..8, Write);
        assert!(are(&before, &[]), "bytes beside the first map");
        let (read, before) = unmapped_after(4..12, Read);
        assert!(are(&before, &[&right, &left]));
        let (all, before) = unmapped_after(0..16, Write);
        assert!(are(&before, &[&right, &left, &read]));
        let (part, before) = unmapped_after(12..14, Write);
        assert!(are(&before, &[&all]));
        let (_, before) = unmapped_after(10..16, Read);
        assert!(are(&before, &[&all, &part]), "bytes that only the first map has");
        all.fails();
        part.fails();
        let found = table.begin_map(&Use::new(&(12..14), Read), true);
        assert!(matches!(found, Err(Conflict::InUse(..))), "bytes that may still be mapped");
    }
}

#[test]
fn bytes_of_a_failed_unmap_stay_closed_behind_a_later_map() {
    for mut table in tables() {
        let first = map(&mut table, 0..8, Write);
        first.1.completes();
        let first = unmap(&mut table, first);
        let (second, before) = map_after(&mut table, Write);
        assert!(are(&before, &[&first]));
        unmap(&mut table, second);
        first.fails();
        let found = table.begin_command(&Use::new(&(0..8), Write), true);
        assert!(matches!(found, Err(Conflict::InUse(..))));
    }
}

#[test]
fn a_map_waits_for_the_commands_after_the_last_map() {
    let mut table = Table::default();
    let (first, _) = map_after(&mut table, Write);
    let first = unmap(&mut table, first);
    let fill = Fake::default();
    let id = table.begin_command(&Use::new(&(0..8), Write), true).expect("no conflict");
    table.submitted(id, &fill);
    let (_, before) = map_after(&mut table, Write);
    assert!(are(&before, &[&fill, &first]));
}

/// An event that another thread finds failed between two looks at it.
#[derive(Clone, Default)]
struct FailsMeanwhile(Rc<Cell<u32>>);

impl TrackedEvent for FailsMeanwhile {
    fn known_outcome(&self) -> Option<Outcome> {
        let left = self.0.get().checked_sub(1)?;
        self.0.set(left.max(1));
        (left == 0).then_some(Outcome::Failed)
    }

    fn have_failed() -> bool {
        true
    }
}

#[test]
fn a_map_that_fails_meanwhile_stands_for_what_comes_before_it() {
    let mut table = Table::default();
    let used = Use::new(&(0..8), Write);
    let fill = table.begin_command(&used, true).ok().expect("no conflict");
    table.submitted(fill, &FailsMeanwhile::default());
    let id = table.begin_map(&used, true).ok().expect("no conflict");
    let looks = Rc::new(Cell::new(0));
    let event = FailsMeanwhile(looks.clone());
    table.unmapping(id, &event, &event);
    // Two looks find the last map.
    looks.set(3);
    let found = table.predecessors(NO_MAP, &used).ok().expect("no conflict");
    assert_eq!(found.len(), 1, "the unmap");
}

#[test]
fn a_submission_is_seen_until_it_has_ended() {
    let mut table = Table::default();
    let id = table.begin_command(&Use::new(&(0..8), Write), false).expect("no conflict");
    assert!(
        table.is_submitting(&Use::new(&(4..12), Read))
            && !table.is_submitting(&Use::new(&(8..12), Write))
    );
    assert!(table.predecessors(NO_MAP, &Use::new(&(8..12), Write)).is_ok());
    table.submitted(id, &Fake::default());
    assert!(!table.is_submitting(&Use::new(&(4..12), Read)));
}

#[test]
fn a_command_without_an_event_keeps_its_bytes_from_maps_and_frees() {
    let mut table = Table::<Fake>::default();
    let id = table.begin_command(&Use::new(&(0..8), Read), false).expect("no conflict");
    table.untracked(id);
    assert!(table.predecessors(NO_MAP, &Use::new(&(0..4), Write)).is_err());
    assert!(
        table.predecessors(NO_MAP, &Use::new(&(0..4), Read)).is_ok(),
        "two reads do not conflict"
    );
    assert!(table.predecessors(NO_MAP, &Use::new(&(8..9), Write)).is_ok());
    assert!(
        table.predecessors(NO_MAP, &Use::new(&(0..8), Write)).is_err()
            && table.has_only(&(0..8), |_| true).is_none()
    );
}

#[test]
fn the_oldest_commands_are_reaped() {
    let mut table = Table::default();
    let mut events = Vec::new();
    for _ in 0..1000 {
        let event = Fake::default();
        let id = table.begin_command(&Use::new(&(0..8), Write), false).expect("no conflict");
        if table.submitted(id, &event) {
            assert!(table.events().len() <= LOOK);
            table.reap();
        }
        events.push(event);
    }
    assert_eq!(table.commands.len(), 1000, "nothing has ended");
    events[..990].iter().for_each(Fake::completes);
    events[990].fails();
    table.reap_on(&(0..8));
    assert_eq!(table.events_on(&(0..8)).len(), 9);
    assert!(are(&before_map(&mut table, 0..8, Write), &events[991..].iter().collect::<Vec<_>>()));
}

#[test]
fn commands_that_have_ended_are_reaped_behind_others_that_have_not() {
    let mut table = Table::default();
    for _ in 0..100 {
        let id = table.begin_command(&Use::new(&(0..8), Write), false).expect("no conflict");
        table.submitted(id, &Fake::default());
    }
    for _ in 0..1000 {
        let event = Fake::default();
        let id = table.begin_command(&Use::new(&(0..8), Write), false).expect("no conflict");
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
    assert!(are(
        &table.predecessors(NO_MAP, &Use::new(&(0..8), Write)).expect("no map"),
        &[&own, &other]
    ));
    let mapped = map(&mut table, 0..8, Read);
    assert!(table.has_maps() && table.predecessors(NO_MAP, &Use::new(&(0..8), Write)).is_err());
    assert_eq!(table.has_only(&(0..8), |_| true), None);
    mapped.1.completes();
    let unmapped = unmap(&mut table, mapped);
    assert!(
        !table.has_maps()
            && table.predecessors(NO_MAP, &Use::new(&(0..8), Write)).expect("no map").len() == 3
    );
    let known = |event: &Fake| [&own, &other, &unmapped].iter().any(|one| event.is(one));
    assert_eq!(table.has_only(&(0..8), known), Some(true));
    unmapped.fails();
    assert_eq!(table.has_only(&(0..8), |_| true), None, "the bytes may still be mapped");
}
