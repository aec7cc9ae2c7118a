//! Wait lists of commands (5.11).

use super::prelude::*;

/// A wait list.
#[derive(Clone, Copy, Debug)]
enum WaitList {
    /// One event that is complete.
    Valid,
    /// No list, and one event.
    NullWithACount,
    /// A list, and no events.
    NoEvents,
    /// A null event.
    NullEvent,
    /// An event of another context, which is complete.
    OfAnotherContext,
}

impl WaitList {
    /// Checks the code of a command with this wait list.
    fn check(self, bench: &Bench, kind: Kind, ctx_factory: CtxFactory) -> Result<()> {
        let (mut elsewhere, mut named) = (None, CL_INVALID_EVENT_WAIT_LIST);
        match self {
            Self::Valid => named = CL_SUCCESS,
            Self::OfAnotherContext => {
                (elsewhere, named) = (Some(ctx_factory()?), CL_INVALID_CONTEXT)
            }
            _ => (),
        }
        let event = Gate::closed(elsewhere.as_ref().map_or(bench.context, Context::as_raw));
        event.open();
        let events = [if let Self::NullEvent = self { NULL } else { event.raw() }];
        let waits = match self {
            Self::NullWithACount => (1, ptr::null()),
            Self::NoEvents => (0, events.as_ptr()),
            _ => (1, events.as_ptr()),
        };
        check(bench, kind, &format!("the wait list {self:?}"), |c| c.waits = waits, named);
        Ok(())
    }
}

/// Checks the code of a command that blocks, and waits for an event that has failed.
fn check_failed(bench: &Bench, kind: Kind) {
    let failed = Gate::closed(bench.context);
    failed.fail(-5);
    let (events, named) = ([failed.raw()], CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    check(bench, kind, "a failed event", |c| c.waits = wait_list(&events), named);
}

/// Declares the tests of commands with wait lists, and of those that block with failed events.
macro_rules! wait_lists {
    (
        $(#[$attribute:meta])*
        $Kind:ident;
        fn $check:ident: $($kind:ident)*;
        fn $refuse:ident: $($blocking:ident)*;
    ) => {
        #[rstest]
        #[case::valid(WaitList::Valid)]
        #[case::null_with_a_count(WaitList::NullWithACount)]
        #[case::no_events(WaitList::NoEvents)]
        #[case::a_null_event(WaitList::NullEvent)]
        #[case::of_another_context(WaitList::OfAnotherContext)]
        $(#[$attribute])*
        fn $check(
            bench: Bench,
            ctx_factory: CtxFactory,
            #[case] wait_list: WaitList,
            #[values($($Kind::$kind),*)] command: Kind,
        ) -> Result<()> {
            wait_list.check(&bench, command, ctx_factory)
        }

        #[rstest]
        $(#[$attribute])*
        fn $refuse(bench: Bench, #[values($($Kind::$blocking),*)] command: Kind) {
            check_failed(&bench, command);
        }
    };
}

wait_lists! {
    #[clmatrix_harness::test]
    OnBuffers;
    fn buffer_commands_check_wait_lists:
        Read Write Copy ReadRect WriteRect CopyRect Fill Map Unmap Migrate Marker Barrier;
    fn buffer_commands_refuse_failed_events: Read Write ReadRect WriteRect Map;
}

wait_lists! {
    #[clmatrix_harness::test(requires(images))]
    OnImages;
    fn image_commands_check_wait_lists: Read Write Copy CopyToBuffer CopyFromBuffer Fill Map;
    fn image_commands_refuse_failed_events: Read Write Map;
}

wait_lists! {
    #[clmatrix_harness::test(requires(svm))]
    OnSvm;
    fn svm_commands_check_wait_lists: Copy Fill Map;
    fn svm_commands_refuse_failed_events: Copy Map;
}
