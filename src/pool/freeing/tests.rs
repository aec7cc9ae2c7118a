//! Who waits for whom.

use std::sync::Barrier;
use std::thread;

use super::*;

#[test]
fn what_others_are_about_to_free_is_waited_for() {
    let (freeing, taken) = (Freeing::default(), Barrier::new(2));
    assert!(!freeing.has_changed_since(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            freeing.free(
                || {
                    taken.wait();
                    Some(())
                },
                |()| assert!(!freeing.has_changed_since(0), "it does not wait for itself"),
            )
        });
        taken.wait();
        assert!(freeing.has_changed_since(0));
    });
    assert!(!freeing.free(|| None, |(): ()| ()));
    assert!(freeing.times() == 1 && !freeing.has_changed_since(1));
}

/// What is looked at comes back, or is handed out; nobody waits for those that begin later.
#[test]
fn what_others_look_at_is_waited_for() {
    for is_put_back in [true, false] {
        let (freeing, began) = (Freeing::default(), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let out = freeing.begin();
                began.wait();
                let waited = freeing.has_changed_since(0);
                assert!(!waited, "it does not wait for itself");
                out.is_of_use(is_put_back);
            });
            began.wait();
            assert_eq!(freeing.has_changed_since(0), is_put_back);
        });
    }
}

#[test]
fn what_unwinds_keeps_nobody_waiting() {
    let freeing = Freeing::default();
    thread::scope(|scope| {
        let free = || freeing.free(|| Some(()), |()| panic!("it unwinds"));
        assert!(scope.spawn(free).join().is_err());
    });
    assert!(freeing.has_changed_since(0));
}
