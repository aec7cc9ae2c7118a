//! The rules, with queues and events that are only names.

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use Access::{Read, Write};

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fake {
    key: usize,
    in_order: bool,
    /// True if a command of it may have failed, so that others may overtake.
    is_marked: Rc<Cell<bool>>,
}

impl Queue for Fake {
    fn key(&self) -> usize {
        self.key
    }

    fn is_in_order(&self) -> bool {
        self.in_order
    }

    fn orders_what_follows(&self) -> bool {
        self.in_order && !self.is_marked.get()
    }

    fn fails_without_mark(&self) -> bool {
        false
    }
}

const MAPPED: &str = "are mapped, or about to be; unmap them first";

/// What a map comes after: queues, with how many commands they had been given, and ids.
type Found = (Vec<(usize, u64)>, Vec<u64>);

const QUEUE: usize = 8;
const OTHER: usize = 16;
/// A queue that may reorder its commands.
const LOOSE: usize = 24;

/// A table that knows [`QUEUE`], [`OTHER`] and [`LOOSE`].
struct World {
    table: Table<Fake, &'static str>,
    issuing: Issuing,
}

/// What came of an attempt to enter something.
#[derive(Debug, PartialEq, Eq)]
enum Entering<T> {
    Done(T),
    UnknownQueue,
    Unmapping(Vec<(u64, &'static str)>),
    Refused(Range<usize>, &'static str),
}
use Entering::{Done, Refused, UnknownQueue, Unmapping};

impl<T> Entering<T> {
    fn of(result: Result<T, Obstacle<&'static str>>) -> Self {
        match result {
            Ok(entered) => Done(entered),
            Err(Obstacle::UnknownQueue) => UnknownQueue,
            Err(Obstacle::Unmapping(running)) => Unmapping(names(&running)),
            Err(Obstacle::Refused(refusal)) => Refused(refusal.held, refusal.why),
        }
    }

    #[track_caller]
    fn done(self) -> T
    where
        T: std::fmt::Debug,
    {
        match self {
            Done(entered) => entered,
            other => panic!("{other:?}"),
        }
    }
}

fn names(running: &[Running<&'static str>]) -> Vec<(u64, &'static str)> {
    running.iter().map(|(id, event)| (*id, **event)).collect()
}

impl World {
    fn new() -> Self {
        let mut world = Self { table: Table::default(), issuing: Issuing::default() };
        for key in [QUEUE, OTHER, LOOSE] {
            assert!(world.introduce(key).is_none());
        }
        world
    }

    fn introduce(&mut self, key: usize) -> Option<(usize, Vec<u64>)> {
        let queue = Fake { key, in_order: key != LOOSE, is_marked: Rc::default() };
        let out = self.table.introduce(&self.issuing, queue);
        out.map(|out| (out.queue.key, out.ids))
    }

    fn try_enter(
        &mut self,
        key: usize,
        range: Range<usize>,
        access: Access,
        settled: bool,
    ) -> Entering<Entered> {
        Entering::of(self.table.enter_command(&self.issuing, key, &range, access, settled))
    }

    /// Enters a command, and leaves it to be issued.
    #[track_caller]
    fn enter(&mut self, key: usize, range: Range<usize>, access: Access) -> Entered {
        self.try_enter(key, range, access, false).done()
    }

    /// Begins a command without the table, and leaves it to be issued.
    fn usual(&self, key: usize, range: Range<usize>, access: Access) -> Option<Slot> {
        self.issuing.begin_usual(key, &range, access, |_| panic!("nobody waits"))
    }

    /// Enters a command that the driver takes at once.
    #[track_caller]
    fn command(&mut self, key: usize, range: Range<usize>, access: Access) {
        match self.enter(key, range, access) {
            Entered::OnQueue(slot) => assert!(!self.issuing.end(slot), "nobody waits"),
            Entered::Alone(id) => self.table.set_running(id, Arc::new("command")),
            Entered::Not => panic!("it was entered"),
        }
    }

    fn try_map(
        &mut self,
        key: usize,
        range: Range<usize>,
        access: Access,
        settled: bool,
    ) -> Entering<EnteredMap> {
        Entering::of(self.table.enter_map(&self.issuing, key, &range, access, settled))
    }

    #[track_caller]
    fn map(&mut self, key: usize, range: Range<usize>, access: Access) -> EnteredMap {
        self.try_map(key, range, access, false).done()
    }

    fn before(
        &self,
        map: EnteredMap,
        key: usize,
        range: Range<usize>,
        access: Access,
    ) -> Result<Found, Refusal> {
        let before = self.table.before_map(map.id, key, &range, access)?;
        let queues = before.queues.iter().map(|(queue, commands)| (queue.key, *commands)).collect();
        Ok((queues, before.running.iter().map(|(id, _)| *id).collect()))
    }

    fn is_being_issued(&self, range: Range<usize>, access: Access) -> bool {
        self.table.is_being_issued(&self.issuing, &range, access)
    }

    /// Whoever waited does not any more.
    fn let_all_be(&self) {
        self.table.queues.iter().for_each(|known| self.issuing.let_be(known.slot));
    }
}

#[test]
fn maps_keep_away_what_conflicts() {
    for (mapped, access, range, expected) in [
        (Read, Read, 4..8, true),
        (Read, Write, 4..8, false),
        (Write, Read, 4..8, false),
        (Write, Write, 4..8, false),
        (Write, Write, 0..4, true),
        (Write, Write, 8..12, true),
        (Write, Read, 0..5, false),
        (Write, Read, 7..12, false),
        (Write, Read, 5..6, false),
        (Write, Read, 0..12, false),
    ] {
        let case = format!("{access:?} of {range:?} where 4..8 is mapped for {mapped:?}");
        for key in [QUEUE, OTHER, LOOSE] {
            let mut world = World::new();
            world.map(QUEUE, 4..8, mapped);
            assert!(world.table.has_maps());
            assert_eq!(world.usual(key, range.clone(), access), None, "{case}");
            match world.try_enter(key, range.clone(), access, false) {
                Done(_) => assert!(expected, "{case}"),
                other => assert_eq!((other, expected), (Refused(4..8, MAPPED), false), "{case}"),
            }
            match world.try_map(key, range.clone(), access, true) {
                Done(map) => {
                    assert!(expected, "{case}");
                    world.table.remove(map.id);
                }
                other => assert_eq!((other, expected), (Refused(4..8, MAPPED), false), "{case}"),
            }
            let host = world.table.enter_host(&world.issuing, &range, access, false);
            assert_eq!(host.is_ok(), expected, "{case}");
        }
    }
}

#[test]
fn commands_keep_away_nothing() {
    let mut world = World::new();
    for key in [QUEUE, OTHER, LOOSE, QUEUE] {
        world.enter(key, 0..8, Write);
        world.command(key, 0..8, Read);
    }
    assert!(!world.table.has_maps());
}

#[test]
fn the_usual_command_is_like_the_one_before_it() {
    let mut world = World::new();
    assert_eq!(world.usual(QUEUE, 0..8, Write), None);
    world.command(QUEUE, 0..8, Write);
    for (key, range, access, expected) in [
        (QUEUE, 0..8, Write, true),
        (QUEUE, 2..4, Write, true),
        (QUEUE, 0..9, Write, false),
        (QUEUE, 0..8, Read, false),
        (OTHER, 0..8, Write, false),
        (LOOSE, 0..8, Write, false),
        (100, 0..8, Write, false),
    ] {
        let usual = world.usual(key, range.clone(), access);
        assert_eq!(usual.is_some(), expected, "{access:?} of {range:?} on {key}");
        assert_eq!(world.is_being_issued(range, access), expected, "it is counted");
        if let Some(slot) = usual {
            assert!(world.issuing.end(slot), "somebody waits");
        }
        world.let_all_be();
        world.command(QUEUE, 0..1, Write);
    }
    world.command(OTHER, 0..4, Read);
    assert_eq!(world.usual(QUEUE, 0..8, Write), None);
    assert_eq!(world.usual(OTHER, 0..8, Read), None);
    assert!(world.usual(OTHER, 0..4, Read).is_some());
    world.command(LOOSE, 0..8, Write);
    assert!(world.usual(OTHER, 0..4, Read).is_some(), "it is followed by itself");
}

#[test]
fn no_command_is_usual_after_a_map_has_looked() {
    let mut world = World::new();
    let looks: [fn(&mut World) -> bool; 4] = [
        |world| !world.map(QUEUE, 20..24, Read).must_wait,
        |world| world.table.enter_host(&world.issuing, &(20..24), Read, false).is_ok(),
        |world| !world.is_being_issued(20..24, Read),
        |world| world.introduce(200).is_none(),
    ];
    for look in looks {
        world.command(QUEUE, 0..8, Write);
        let usual = world.usual(QUEUE, 0..8, Write);
        assert!(!world.issuing.end(usual.expect("it is usual")));
        assert!(look(&mut world));
        assert_eq!(world.usual(QUEUE, 0..8, Write), None);
        world.table.maps.clear();
        world.let_all_be();
    }
    // What has been looked for must not come to be unseen.
    world.command(QUEUE, 0..8, Write);
    world.is_being_issued(0..8, Read);
    world.let_all_be();
    let commands = world.table.known(QUEUE).unwrap().commands;
    world.command(QUEUE, 0..8, Write);
    assert!(world.usual(QUEUE, 0..8, Write).is_some());
    world.table.queue_was_idle(QUEUE, commands);
    assert!(world.map(OTHER, 0..8, Read).must_wait);
}

#[test]
fn a_queue_at_an_odd_address_has_no_usual_commands() {
    let mut world = World::new();
    assert_eq!(world.introduce(QUEUE + 1), None);
    world.command(QUEUE + 1, 0..8, Write);
    assert_eq!(world.usual(QUEUE + 1, 0..8, Write), None);
    world.command(QUEUE, 0..8, Write);
    assert_eq!(world.usual(QUEUE + 1, 0..8, Write), None);
}

#[test]
fn queues_are_introduced_first() {
    let mut world = World::new();
    assert_eq!(world.try_enter(3, 0..8, Write, false), UnknownQueue);
    assert_eq!(world.try_map(3, 0..8, Write, false), UnknownQueue);
    assert!(!world.table.has_maps() && world.table.queue(3).is_none());
    assert_eq!(world.introduce(3), None);
    assert!(world.table.queue(3).is_some());
    world.map(3, 0..8, Write);
}

#[test]
fn a_map_on_its_own_queue_need_not_wait_for_it() {
    let mut world = World::new();
    world.command(QUEUE, 0..8, Write);
    let map = world.map(QUEUE, 0..8, Write);
    assert!(!map.must_wait && world.table.ends_in_order(map.id));
    assert_eq!(world.before(map, QUEUE, 0..8, Write), Ok((vec![], vec![])));
}

#[test]
fn a_map_waits_even_for_its_own_queue_where_a_command_may_have_failed() {
    let mut world = World::new();
    world.command(QUEUE, 0..8, Write);
    let map = world.map(QUEUE, 0..8, Write);
    assert!(!map.may_fail);
    world.table.remove(map.id);
    world.table.queue(QUEUE).unwrap().is_marked.set(true);
    let map = world.map(QUEUE, 0..8, Write);
    assert!(map.must_wait && map.may_fail && world.table.ends_in_order(map.id));
    assert_eq!(world.before(map, QUEUE, 0..8, Write), Ok((vec![(QUEUE, 1)], vec![])));
    world.table.remove(map.id);
    let map = world.map(QUEUE, 8..16, Write);
    assert_eq!((map.must_wait, map.may_fail), (false, false));
}

#[test]
fn a_map_waits_for_what_conflicts_on_other_queues() {
    for (command, range, access, expected) in [
        (Write, 0..8, Read, true),
        (Write, 0..8, Write, true),
        (Read, 0..8, Read, false),
        (Read, 0..8, Write, true),
        (Write, 8..16, Write, false),
        (Write, 7..16, Write, true),
    ] {
        let case = format!("{access:?} map of {range:?} after {command:?} of 0..8");
        let mut world = World::new();
        world.command(OTHER, 0..8, command);
        world.command(OTHER, 0..8, command);
        let map = world.map(QUEUE, range.clone(), access);
        assert_eq!(map.must_wait, expected, "{case}");
        let queues = if expected { vec![(OTHER, 2)] } else { vec![] };
        assert_eq!(world.before(map, QUEUE, range, access), Ok((queues, vec![])), "{case}");
    }
}

#[test]
fn the_commands_of_a_queue_in_order_are_taken_together() {
    let mut world = World::new();
    world.command(QUEUE, 0..4, Write);
    world.command(QUEUE, 12..16, Write);
    world.command(QUEUE, 20..24, Read);
    for (range, access, expected) in [
        // Between the first two nothing was written, but nobody has kept that.
        (6..8, Read, true),
        (16..32, Read, false),
        (16..32, Write, true),
        (24..32, Write, false),
    ] {
        let map = world.map(OTHER, range.clone(), access);
        assert_eq!(map.must_wait, expected, "{range:?}");
        let queues = if expected { vec![(QUEUE, 3)] } else { vec![] };
        assert_eq!(world.before(map, OTHER, range, access).unwrap().0, queues);
        world.table.remove(map.id);
    }
}

#[test]
fn a_queue_that_was_idle_holds_nothing_unless_it_was_given_more() {
    let mut world = World::new();
    world.command(QUEUE, 0..8, Write);
    world.command(QUEUE, 0..8, Write);
    world.table.queue_was_idle(QUEUE, 1);
    let map = world.map(OTHER, 0..8, Write);
    assert!(map.must_wait, "there was another command meanwhile");
    world.table.remove(map.id);
    world.table.queue_was_idle(QUEUE, 2);
    assert!(!world.map(OTHER, 0..8, Write).must_wait);
}

#[test]
fn what_is_being_issued_is_waited_for_even_on_the_same_queue() {
    let mut world = World::new();
    let Entered::OnQueue(slot) = world.enter(QUEUE, 0..8, Write) else { panic!("it is in order") };
    assert!(!world.is_being_issued(8..16, Write));
    assert!(!world.issuing.end(slot), "nobody has asked");
    let Entered::OnQueue(slot) = world.enter(QUEUE, 0..8, Write) else { panic!("it is in order") };
    let map = world.map(QUEUE, 0..8, Read);
    assert!(map.must_wait);
    assert!(world.is_being_issued(0..8, Read));
    assert!(world.issuing.end(slot), "somebody waits");
    assert!(!world.is_being_issued(0..8, Read));
    world.issuing.let_be(slot);
    world.issuing.begin(slot);
    assert!(!world.issuing.end(slot), "nobody waits any more");
}

#[test]
fn commands_of_a_queue_without_order_are_followed_by_themselves() {
    let mut world = World::new();
    let [first, second] = [0..8, 8..16].map(|range| match world.enter(LOOSE, range, Write) {
        Entered::Alone(id) => id,
        other => panic!("{other:?}"),
    });
    assert!(world.is_being_issued(0..8, Read));
    world.table.set_running(first, Arc::new("first"));
    assert!(!world.is_being_issued(0..8, Read) && world.is_being_issued(0..9, Read));
    world.table.set_running(second, Arc::new("second"));
    // Its own queue does not order them.
    let map = world.map(LOOSE, 0..8, Read);
    assert!(map.must_wait && !world.table.ends_in_order(map.id));
    assert_eq!(world.before(map, LOOSE, 0..8, Read), Ok((vec![], vec![first])));
    assert_eq!(world.before(map, LOOSE, 0..9, Read), Ok((vec![], vec![first, second])));
    world.table.remove(first);
    assert_eq!(world.before(map, LOOSE, 0..8, Read), Ok((vec![], vec![])));
    // A command that has failed holds nothing, unlike an unmap.
    world.table.fail(second);
    assert_eq!(world.before(map, LOOSE, 0..16, Read), Ok((vec![], vec![])));
}

#[test]
fn a_command_whose_end_nobody_can_tell_keeps_maps_away() {
    let mut world = World::new();
    let Entered::Alone(id) = world.enter(LOOSE, 0..8, Write) else { panic!("not in order") };
    world.table.set_lost(id);
    world.table.lose(8..16, Read);
    let lost = |held| Some(Refusal { held, why: LOST_COMMAND });
    for (range, access, refusal) in
        [(0..4, Read, lost(0..8)), (8..9, Write, lost(8..16)), (8..16, Read, None)]
    {
        let map = world.map(QUEUE, range.clone(), access);
        assert!(map.must_wait);
        assert_eq!(world.before(map, QUEUE, range, access).err(), refusal);
        world.table.remove(map.id);
    }
    // Other commands are the queues' business.
    world.command(QUEUE, 0..16, Write);
}

#[test]
fn an_unmap_on_a_queue_in_order_is_a_command_of_it() {
    let mut world = World::new();
    let map = world.map(QUEUE, 0..8, Write);
    assert!(world.table.was_unmapped(map.id));
    assert!(!world.table.has_maps());
    world.command(QUEUE, 0..8, Write);
    let again = world.map(OTHER, 0..8, Read);
    assert!(again.must_wait);
    assert_eq!(world.before(again, OTHER, 0..8, Read), Ok((vec![(QUEUE, 2)], vec![])));
}

#[test]
fn an_unmap_on_a_queue_without_order_is_followed_by_itself() {
    let mut world = World::new();
    let map = world.map(LOOSE, 0..8, Write);
    assert!(!world.table.was_unmapped(map.id));
    assert!(world.table.has_maps(), "until it is known by what");
}

#[test]
fn an_unmap_under_way_is_looked_at() {
    let mut world = World::new();
    let map = world.map(QUEUE, 0..8, Write);
    world.table.set_running(map.id, Arc::new("unmap"));
    assert!(!world.table.has_maps());
    let unmapping = || vec![(map.id, "unmap")];
    assert_eq!(world.try_enter(OTHER, 0..8, Read, false), Unmapping(unmapping()));
    assert_eq!(world.try_map(OTHER, 0..8, Read, false), Unmapping(unmapping()));
    world.command(OTHER, 8..16, Write);
    // Looked at, and still under way: the queues order commands, and a map waits for it.
    assert!(matches!(world.try_enter(OTHER, 0..8, Read, true), Done(Entered::OnQueue(_))));
    let again = world.try_map(QUEUE, 0..8, Read, true).done();
    assert!(again.must_wait);
    assert_eq!(world.before(again, QUEUE, 0..8, Read).unwrap().1, [map.id]);
    world.table.remove(again.id);
    // Ended well.
    world.table.remove(map.id);
    world.enter(OTHER, 0..8, Write);
}

#[test]
fn an_unmap_that_failed_closes_its_bytes() {
    for lose in [Table::fail, Table::set_lost] {
        let mut world = World::new();
        let map = world.map(QUEUE, 0..8, Read);
        world.table.set_running(map.id, Arc::new("unmap"));
        assert!(world.table.is_map(map.id));
        lose(&mut world.table, map.id);
        for settled in [false, true] {
            assert_eq!(world.try_enter(OTHER, 4..12, Write, settled), Refused(0..8, LOST_MAP));
            assert_eq!(world.try_map(OTHER, 4..12, Write, settled), Refused(0..8, LOST_MAP));
        }
        // Nor do they end.
        let end = world.table.before_map(0, 0, &(0..16), Write);
        assert_eq!(end.err(), Some(Refusal { held: 0..8, why: LOST_MAP }));
        // As it was mapped for reading, reading is harmless.
        world.command(OTHER, 4..12, Read);
    }
}

#[test]
fn a_map_that_never_began_leaves_nothing() {
    let mut world = World::new();
    let map = world.map(QUEUE, 0..8, Write);
    world.table.remove(map.id);
    assert!(!world.table.has_maps() && !world.table.is_map(map.id));
    world.command(OTHER, 0..8, Write);
    assert_eq!(world.table.known(QUEUE).unwrap().maps, 0);
}

#[test]
fn the_host_excludes_as_a_map_does_and_has_no_queue() {
    let mut world = World::new();
    let id = world.table.enter_host(&world.issuing, &(0..8), Write, false).unwrap();
    assert_eq!(world.try_enter(QUEUE, 0..8, Read, false), Refused(0..8, MAPPED));
    world.table.remove(id);
    world.command(QUEUE, 0..8, Read);
}

#[test]
fn a_queue_makes_room_and_what_it_touched_is_not_forgotten() {
    const MANY: usize = known::QUEUES;
    let mut world = World::new();
    // QUEUE, OTHER and LOOSE are known; the first two are not idle.
    world.map(QUEUE, 0..1, Read);
    world.enter(OTHER, 1..2, Read);
    world.command(LOOSE, 2..3, Read);
    let more = 3 * LOOSE;
    for key in more..more + MANY - 3 {
        assert_eq!(world.introduce(key), None);
        assert_eq!(world.introduce(key), None, "it is known");
    }
    // What a queue without order was given is followed by itself already.
    assert_eq!(world.introduce(100), Some((LOOSE, vec![])));
    world.command(more, 8..12, Write);
    world.command(more, 12..16, Read);
    let (out, ids) = world.introduce(101).expect("one makes room");
    assert_eq!((out, ids.len()), (more, 2));
    assert!(world.table.queue(more).is_none());
    // Until its last command says when.
    for (range, access, expected) in
        [(8..12, Read, true), (12..16, Read, false), (12..16, Write, true), (16..20, Write, false)]
    {
        assert_eq!(world.is_being_issued(range, access), expected);
    }
    let last = vec![Arc::new("before a failure"), Arc::new("last command")];
    for id in &ids {
        world.table.set_all_running(*id, &last);
    }
    let map = world.map(QUEUE, 8..16, Write);
    assert!(map.must_wait);
    let (queues, running) = world.before(map, QUEUE, 8..16, Write).unwrap();
    assert_eq!((queues, running.len()), (vec![], 4));
    assert!(ids.iter().all(|id| running.contains(id)));
    assert!(!world.is_being_issued(8..16, Write));
}

#[test]
fn a_queue_that_comes_back_is_not_idle_because_it_was_before() {
    const MANY: usize = known::QUEUES;
    let mut world = World::new();
    world.command(QUEUE, 0..8, Write);
    let more = 3 * LOOSE;
    let out: Vec<_> = (more..more + MANY - 2).filter_map(|key| world.introduce(key)).collect();
    let [(QUEUE, ids)] = &out[..] else { panic!("{out:?}") };
    // What it was given then has ended.
    ids.iter().for_each(|id| world.table.remove(*id));
    world.introduce(QUEUE);
    world.command(QUEUE, 0..8, Write);
    // Told late.
    world.table.queue_was_idle(QUEUE, 1);
    assert!(world.introduce(OTHER).is_some());
    assert!(world.map(OTHER, 0..8, Write).must_wait);
}

#[test]
fn no_queue_makes_room_that_is_in_use() {
    const MANY: usize = known::QUEUES;
    let mut world = World { table: Table::default(), issuing: Issuing::default() };
    let keys: Vec<usize> = (100..100 + 2 * MANY).collect();
    let mut entered = Vec::new();
    for &key in &keys {
        assert_eq!(world.introduce(key), None, "all others are in use");
        entered.push(world.enter(key, key..key + 1, Write));
    }
    assert!(keys.iter().all(|key| world.table.queue(*key).is_some()));
    for (key, entered) in keys.iter().zip(entered) {
        assert!(world.is_being_issued(*key..key + 1, Read), "{key}");
        let Entered::OnQueue(slot) = entered else { panic!("it is in order") };
        world.issuing.end(slot);
    }
    let all = keys[0]..keys[0] + keys.len();
    assert!(!world.is_being_issued(all, Write));
}

/// What one has touched must not be taken for what another has.
#[test]
fn queues_that_share_a_counter_have_no_usual_commands() {
    const MANY: usize = known::QUEUES;
    let mut world = World { table: Table::default(), issuing: Issuing::default() };
    for n in 1..MANY + 3 {
        let key = LOOSE + n * QUEUE;
        world.introduce(key);
        world.enter(key, 0..8, Write);
        assert_eq!(world.usual(key, 0..8, Write).is_some(), n <= MANY, "queue {n}");
    }
}

#[test]
fn uses_that_have_ended_are_looked_for_now_and_then() {
    const SLACK: usize = course::SLACK;
    let mut world = World::new();
    for _ in 0..SLACK {
        world.command(LOOSE, 0..8, Read);
        assert!(world.table.untidy().is_none());
    }
    world.command(LOOSE, 0..8, Read);
    let running = world.table.untidy().expect("it is time");
    assert_eq!(running.len(), SLACK + 1);
    // Not again until there are twice as many.
    world.command(LOOSE, 0..8, Read);
    assert!(world.table.untidy().is_none());
    // Unless few are left.
    for (id, _) in running {
        world.table.remove(id);
    }
    world.table.was_tidied();
    for _ in 0..SLACK - 1 {
        assert!(world.table.untidy().is_none());
        world.command(LOOSE, 0..8, Read);
    }
    world.command(LOOSE, 0..8, Read);
    assert_eq!(world.table.untidy().expect("it is time").len(), SLACK + 1);
}

/// What an owner of all the bytes finds before somebody else gets them.
#[test]
fn other_queues_are_followed_by_events_from_then_on() {
    let mut world = World::new();
    world.command(QUEUE, 0..8, Write);
    world.command(OTHER, 0..4, Read);
    world.command(LOOSE, 4..8, Write);
    assert_eq!(world.table.only_queue(), None);
    let retired = world.table.retire_others(&world.issuing, QUEUE);
    let retired: Vec<_> = retired.into_iter().map(|out| (out.queue.key, out.ids)).collect();
    let [(OTHER, ids), (LOOSE, none)] = &retired[..] else { panic!("{retired:?}") };
    assert!(none.is_empty(), "each of its commands is followed");
    let [id] = ids[..] else { panic!("{ids:?}") };
    assert_eq!(world.table.running(&(0..4)).map(|found| names(&found)), None, "no event yet");
    world.table.set_all_running(id, &[Arc::new("marker")]);
    let running = |world: &World, range| {
        let found = world.table.running(&range).expect("all have events");
        let mut names: Vec<_> = names(&found).into_iter().map(|(_, event)| event).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(running(&world, 0..8), ["command", "marker"]);
    assert_eq!(running(&world, 0..4), ["marker"]);
    for (id, _) in names(&world.table.running(&(0..8)).unwrap()) {
        world.table.remove(id);
    }
    assert_eq!(world.table.only_queue(), Some(QUEUE));
    // It would have to be introduced again.
    assert_eq!(world.try_enter(OTHER, 0..4, Write, false), UnknownQueue);
    assert!(world.table.retire_others(&world.issuing, 0).len() == 1);
    assert_eq!(world.table.only_queue(), None, "what it was given is being issued");
}

#[test]
fn bytes_that_nobody_can_tell_the_end_of_are_not_given_away() {
    let mut world = World::new();
    assert!(world.table.retire_others(&world.issuing, 0).len() == 3);
    assert_eq!(world.table.only_queue(), Some(0));
    world.introduce(QUEUE);
    let map = world.map(QUEUE, 0..4, Write);
    assert!(world.table.running(&(0..8)).is_none());
    assert!(world.table.running(&(4..8)).is_some());
    assert!(world.table.retire_others(&world.issuing, 0).is_empty(), "a map ends there");
    let entered = world.table.enter_running(0..8, Arc::new("seen elsewhere"));
    assert_eq!(entered.unwrap_err().held, 0..4);
    world.table.set_lost(map.id);
    assert!(world.table.running(&(0..8)).is_none());
    world.table.enter_running(4..8, Arc::new("seen elsewhere")).unwrap();
    assert_eq!(world.table.running(&(4..8)).map(|found| found.len()), Some(1));
    assert_eq!(world.table.only_queue(), None);
}
