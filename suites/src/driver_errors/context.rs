//! Commands on a queue of one context with objects of another.

use super::prelude::*;
use Kind::*;

/// A bench of another context.
fn elsewhere(ctx_factory: CtxFactory) -> Result<Bench> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    Ok(bench(OnDevice { context, queue }))
}

/// Checks the code of a command on a queue of another context.
fn check_queue(bench: &Bench, ctx_factory: CtxFactory, kind: Kind) -> Result<()> {
    let elsewhere = elsewhere(ctx_factory)?;
    let queue = elsewhere.queue;
    check(bench, kind, "a queue of another context", |c| c.queue = queue, CL_INVALID_CONTEXT);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn buffer_commands_refuse_a_queue_of_another_context(
    bench: Bench,
    ctx_factory: CtxFactory,
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
    command: Kind,
) -> Result<()> {
    check_queue(&bench, ctx_factory, command)
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn image_commands_refuse_a_queue_of_another_context(
    bench: Bench,
    ctx_factory: CtxFactory,
    #[values(
        OnImages::Read,
        OnImages::Write,
        OnImages::Copy,
        OnImages::CopyToBuffer,
        OnImages::CopyFromBuffer,
        OnImages::Fill,
        OnImages::Map
    )]
    command: Kind,
) -> Result<()> {
    check_queue(&bench, ctx_factory, command)
}

/// Checks the code of a command with an operand of another context.
fn check_operand(bench: &Bench, ctx_factory: CtxFactory, kind: Kind, which: usize) -> Result<()> {
    let elsewhere = elsewhere(ctx_factory)?;
    let other = Arguments::valid(&elsewhere, kind).memory[which];
    let change = |c: &mut Arguments| {
        c.memory[which] = other;
        c.list = Some(c.memory);
    };
    check(bench, kind, "an operand of another context", change, CL_INVALID_CONTEXT);
    Ok(())
}

#[rstest]
#[case::the_source_of_a_copy(CopyBuffer, 0)]
#[case::the_target_of_a_copy(CopyBuffer, 1)]
#[case::the_source_of_a_rectangle(CopyRect, 0)]
#[case::the_target_of_a_rectangle(CopyRect, 1)]
#[case::one_of_two_to_migrate(Migrate, 1)]
#[clmatrix_harness::test]
fn commands_refuse_a_buffer_of_another_context(
    bench: Bench,
    ctx_factory: CtxFactory,
    #[case] kind: Kind,
    #[case] which: usize,
) -> Result<()> {
    check_operand(&bench, ctx_factory, kind, which)
}

#[rstest]
#[case::the_source_of_a_copy(CopyImage, 0)]
#[case::the_target_of_a_copy(CopyImage, 1)]
#[case::the_source_of_a_copy_to_a_buffer(ImageToBuffer, 0)]
#[case::the_target_of_a_copy_to_a_buffer(ImageToBuffer, 1)]
#[case::the_source_of_a_copy_from_a_buffer(BufferToImage, 1)]
#[case::the_target_of_a_copy_from_a_buffer(BufferToImage, 0)]
#[clmatrix_harness::test(requires(images))]
fn commands_refuse_an_operand_of_another_context(
    bench: Bench,
    ctx_factory: CtxFactory,
    #[case] kind: Kind,
    #[case] which: usize,
) -> Result<()> {
    check_operand(&bench, ctx_factory, kind, which)
}
