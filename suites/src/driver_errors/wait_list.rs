//! Wait lists of commands (5.11).

use super::kinds::{OnBuffers, OnImages, OnSvm};
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
    /// Checks the code of `command` with this wait list.
    fn check(
        self,
        mut command: Box<dyn Command>,
        context: &Context,
        ctx_factory: CtxFactory,
    ) -> Result<()> {
        let event = match self {
            Self::OfAnotherContext => gate(&ctx_factory()?),
            _ => gate(context),
        };
        open(&event);
        let events: [cl_event; 1] = match self {
            Self::NullEvent => [ptr::null_mut()],
            _ => [event.as_raw()],
        };
        let common = command.common();
        common.count = if let Self::NoEvents = self { 0 } else { 1 };
        common.events = if let Self::NullWithACount = self { ptr::null() } else { events.as_ptr() };
        assert_code(command.code(), self.code());
        Ok(())
    }

    fn code(self) -> cl_int {
        match self {
            Self::Valid => CL_SUCCESS,
            Self::OfAnotherContext => CL_INVALID_CONTEXT,
            _ => CL_INVALID_EVENT_WAIT_LIST,
        }
    }
}

/// Checks the code of a command that blocks, and waits for an event that has failed.
fn check_failed(mut command: Box<dyn Command>, context: &Context) {
    let failed = gate(context);
    fail(&failed);
    let events = [failed.as_raw()];
    (command.common().count, command.common().events) = (1, events.as_ptr());
    assert_code(command.code(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

/// Declares the tests of commands with wait lists, and of those that block with failed events.
macro_rules! wait_lists {
    (
        $(#[$attribute:meta])*
        $Kind:ident($on:ident: $On:ident);
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
            $on: $On,
            ctx_factory: CtxFactory,
            #[case] wait_list: WaitList,
            #[values($($Kind::$kind),*)] command: $Kind,
        ) -> Result<()> {
            wait_list.check(command.valid(&$on), &$on.on_device.context, ctx_factory)
        }

        #[rstest]
        $(#[$attribute])*
        fn $refuse($on: $On, #[values($($Kind::$blocking),*)] command: $Kind) {
            check_failed(command.valid(&$on), &$on.on_device.context);
        }
    };
}

wait_lists! {
    #[clmatrix_harness::test]
    OnBuffers(objects: Objects);
    fn buffer_commands_check_wait_lists:
        Read Write Copy ReadRect WriteRect CopyRect Fill Map Unmap Migrate;
    fn buffer_commands_refuse_failed_events: Read Write ReadRect WriteRect Map;
}

wait_lists! {
    #[clmatrix_harness::test(requires(images))]
    OnImages(images: Images);
    fn image_commands_check_wait_lists: Read Write Copy CopyToBuffer CopyFromBuffer Fill Map;
    fn image_commands_refuse_failed_events: Read Write Map;
}

wait_lists! {
    #[clmatrix_harness::test(requires(svm))]
    OnSvm(svm: Svm);
    fn svm_commands_check_wait_lists: Copy Fill Map;
    fn svm_commands_refuse_failed_events: Copy Map;
}
