//! Commands on a queue of one context with objects of another.

use clmatrix::cl3::error_codes::CL_INVALID_CONTEXT;
use clmatrix::cl3::types::{cl_int, cl_mem};
use clmatrix::{CommandQueue, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::assert_code;
use super::buffer::{Copy, Direction};
use super::command::Command;
use super::image_commands::{self, BufferCopy};
use super::images::{Images, images};
use super::kinds::{OnBuffers, OnImages};
use super::migrate::Migrate;
use super::objects::{Objects, objects};
use super::rect::CopyRect;
use crate::support::on_device::OnDevice;

/// The operands of another context.
fn elsewhere(ctx_factory: CtxFactory) -> Result<Objects> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    Ok(Objects::new(OnDevice { context, queue }))
}

#[rstest]
#[clmatrix_harness::test]
fn buffer_commands_refuse_a_queue_of_another_context(
    objects: Objects,
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
    command: OnBuffers,
) -> Result<()> {
    let elsewhere = elsewhere(ctx_factory)?;
    let mut command = command.valid(&objects);
    command.common().queue = elsewhere.queue();
    assert_code(command.code(), CL_INVALID_CONTEXT);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn image_commands_refuse_a_queue_of_another_context(
    images: Images,
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
    command: OnImages,
) -> Result<()> {
    let elsewhere = elsewhere(ctx_factory)?;
    let mut command = command.valid(&images);
    command.common().queue = elsewhere.queue();
    assert_code(command.code(), CL_INVALID_CONTEXT);
    Ok(())
}

/// A copy or migration with one buffer of another context.
type WithBuffer = fn(&Objects, cl_mem) -> cl_int;

#[rstest]
#[case::the_source_of_a_copy(|own: &Objects, other: cl_mem| {
    Copy { source: other, ..Copy::valid(own) }.code()
})]
#[case::the_target_of_a_copy(|own: &Objects, other: cl_mem| {
    Copy { target: other, ..Copy::valid(own) }.code()
})]
#[case::the_source_of_a_rectangle(|own: &Objects, other: cl_mem| {
    CopyRect { source: other, ..CopyRect::valid(own) }.code()
})]
#[case::the_target_of_a_rectangle(|own: &Objects, other: cl_mem| {
    CopyRect { target: other, ..CopyRect::valid(own) }.code()
})]
#[case::one_of_two_to_migrate(|own: &Objects, other: cl_mem| {
    Migrate { objects: Some([own.buffer(), other]), ..Migrate::valid(own) }.code()
})]
#[clmatrix_harness::test]
fn commands_refuse_a_buffer_of_another_context(
    objects: Objects,
    ctx_factory: CtxFactory,
    #[case] code: WithBuffer,
) -> Result<()> {
    let elsewhere = elsewhere(ctx_factory)?;
    assert_code(code(&objects, elsewhere.buffer()), CL_INVALID_CONTEXT);
    Ok(())
}

/// A copy with one image or buffer of another context.
type WithImage = fn(&Images, &Images) -> cl_int;

#[rstest]
#[case::the_source_of_a_copy(|own: &Images, other: &Images| {
    image_commands::Copy { source: other.image(), ..image_commands::Copy::valid(own) }.code()
})]
#[case::the_target_of_a_copy(|own: &Images, other: &Images| {
    image_commands::Copy { target: other.image(), ..image_commands::Copy::valid(own) }.code()
})]
#[case::the_source_of_a_copy_to_a_buffer(|own: &Images, other: &Images| {
    BufferCopy { image: other.image(), ..BufferCopy::valid(own, Direction::Read) }.code()
})]
#[case::the_target_of_a_copy_to_a_buffer(|own: &Images, other: &Images| {
    BufferCopy { buffer: other.buffer(), ..BufferCopy::valid(own, Direction::Read) }.code()
})]
#[case::the_source_of_a_copy_from_a_buffer(|own: &Images, other: &Images| {
    BufferCopy { buffer: other.buffer(), ..BufferCopy::valid(own, Direction::Write) }.code()
})]
#[case::the_target_of_a_copy_from_a_buffer(|own: &Images, other: &Images| {
    BufferCopy { image: other.image(), ..BufferCopy::valid(own, Direction::Write) }.code()
})]
#[clmatrix_harness::test(requires(images))]
fn commands_refuse_an_operand_of_another_context(
    images: Images,
    ctx_factory: CtxFactory,
    #[case] code: WithImage,
) -> Result<()> {
    let elsewhere = Images::new(elsewhere(ctx_factory)?);
    assert_code(code(&images, &elsewhere), CL_INVALID_CONTEXT);
    Ok(())
}
