//! Wait lists of commands (5.11).

use std::ptr;

use clmatrix::cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST,
    CL_SUCCESS,
};
use clmatrix::cl3::types::{cl_event, cl_int};
use clmatrix::{Context, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::assert_code;
use super::command::Command;
use super::images::{Images, images};
use super::kinds::{OnBuffers, OnImages, OnSvm};
use super::objects::{Objects, objects};
use super::svm::{Svm, svm};
use crate::support::gate::{fail, gate, open};

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
        mut command: Box<dyn Command + '_>,
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

#[rstest]
#[case::valid(WaitList::Valid)]
#[case::null_with_a_count(WaitList::NullWithACount)]
#[case::no_events(WaitList::NoEvents)]
#[case::a_null_event(WaitList::NullEvent)]
#[case::of_another_context(WaitList::OfAnotherContext)]
#[clmatrix_harness::test]
fn buffer_commands_check_wait_lists(
    objects: Objects,
    ctx_factory: CtxFactory,
    #[case] wait_list: WaitList,
    #[values(
        OnBuffers::Read,
        OnBuffers::Write,
        OnBuffers::Copy,
        OnBuffers::ReadRect,
        OnBuffers::WriteRect,
        OnBuffers::CopyRect,
        OnBuffers::Fill,
        OnBuffers::Map,
        OnBuffers::Unmap,
        OnBuffers::Migrate
    )]
    command: OnBuffers,
) -> Result<()> {
    wait_list.check(command.valid(&objects), &objects.on_device.context, ctx_factory)
}

#[rstest]
#[case::valid(WaitList::Valid)]
#[case::null_with_a_count(WaitList::NullWithACount)]
#[case::no_events(WaitList::NoEvents)]
#[case::a_null_event(WaitList::NullEvent)]
#[case::of_another_context(WaitList::OfAnotherContext)]
#[clmatrix_harness::test(requires(images))]
fn image_commands_check_wait_lists(
    images: Images,
    ctx_factory: CtxFactory,
    #[case] wait_list: WaitList,
    #[values(
        OnImages::Read,
        OnImages::Write,
        OnImages::Copy,
        OnImages::CopyToBuffer,
        OnImages::CopyFromBuffer,
        OnImages::Fill,
        OnImages::Map
    )]
    command: OnImages,
) -> Result<()> {
    wait_list.check(command.valid(&images), &images.on_device.context, ctx_factory)
}

#[rstest]
#[case::valid(WaitList::Valid)]
#[case::null_with_a_count(WaitList::NullWithACount)]
#[case::no_events(WaitList::NoEvents)]
#[case::a_null_event(WaitList::NullEvent)]
#[case::of_another_context(WaitList::OfAnotherContext)]
#[clmatrix_harness::test(requires(svm))]
fn svm_commands_check_wait_lists(
    svm: Svm,
    ctx_factory: CtxFactory,
    #[case] wait_list: WaitList,
    #[values(OnSvm::Copy, OnSvm::Fill, OnSvm::Map)] command: OnSvm,
) -> Result<()> {
    wait_list.check(command.valid(&svm), &svm.objects.on_device.context, ctx_factory)
}

/// Checks the code of a command that blocks, and waits for an event that has failed.
fn check_failed(mut command: Box<dyn Command + '_>, context: &Context) {
    let failed = gate(context);
    fail(&failed);
    let events = [failed.as_raw()];
    (command.common().count, command.common().events) = (1, events.as_ptr());
    assert_code(command.code(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

#[rstest]
#[clmatrix_harness::test]
fn buffer_commands_refuse_failed_events(
    objects: Objects,
    #[values(
        OnBuffers::Read,
        OnBuffers::Write,
        OnBuffers::ReadRect,
        OnBuffers::WriteRect,
        OnBuffers::Map
    )]
    command: OnBuffers,
) {
    check_failed(command.valid(&objects), &objects.on_device.context);
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn image_commands_refuse_failed_events(
    images: Images,
    #[values(OnImages::Read, OnImages::Write, OnImages::Map)] command: OnImages,
) {
    check_failed(command.valid(&images), &images.on_device.context);
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_commands_refuse_failed_events(svm: Svm, #[values(OnSvm::Copy, OnSvm::Map)] command: OnSvm) {
    check_failed(command.valid(&svm), &svm.objects.on_device.context);
}
