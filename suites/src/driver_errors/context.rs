//! Commands on a queue of one context with objects of another.

use super::buffer::Copy;
use super::image_commands::{self, BufferCopy};
use super::kinds::{OnBuffers, OnImages};
use super::migrate::Migrate;
use super::prelude::*;
use super::rect::CopyRect;

/// Buffers of another context.
fn objects_elsewhere(ctx_factory: CtxFactory) -> Result<Objects> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    Ok(objects(OnDevice { context, queue }))
}

/// Images of another context.
fn images_elsewhere(ctx_factory: CtxFactory) -> Result<Images> {
    Ok(images(objects_elsewhere(ctx_factory)?))
}

/// Declares a test of commands on a queue of another context.
macro_rules! queues {
    (
        $(#[$attribute:meta])*
        fn $name:ident($on:ident: $On:ident, $Kind:ident: $($kind:ident)*);
    ) => {
        #[rstest]
        $(#[$attribute])*
        fn $name(
            $on: $On,
            ctx_factory: CtxFactory,
            #[values($($Kind::$kind),*)] command: $Kind,
        ) -> Result<()> {
            let elsewhere = objects_elsewhere(ctx_factory)?;
            let mut command = command.valid(&$on);
            command.common().queue = elsewhere.queue();
            assert_code(command.code(), CL_INVALID_CONTEXT);
            Ok(())
        }
    };
}

queues! {
    #[clmatrix_harness::test]
    fn buffer_commands_refuse_a_queue_of_another_context(
        objects: Objects,
        OnBuffers: Read Write Copy ReadRect WriteRect CopyRect Fill Map Unmap Migrate
    );
}

queues! {
    #[clmatrix_harness::test(requires(images))]
    fn image_commands_refuse_a_queue_of_another_context(
        images: Images,
        OnImages: Read Write Copy CopyToBuffer CopyFromBuffer Fill Map
    );
}

/// Declares a test of commands with one operand of another context: a case for each.
macro_rules! operands {
    (
        $(#[$attribute:meta])*
        fn $name:ident($on:ident: $On:ident, $other:ident: $elsewhere:ident);
        $($case:ident($command:expr, $operand:ident = $value:expr);)*
    ) => {
        #[rstest]
        $(#[case::$case(|$on: &$On, $other: &$On| {
            let mut command = $command;
            command.$operand = $value;
            command.code()
        })])*
        $(#[$attribute])*
        fn $name(
            $on: $On,
            ctx_factory: CtxFactory,
            #[case] code: fn(&$On, &$On) -> cl_int,
        ) -> Result<()> {
            assert_code(code(&$on, &$elsewhere(ctx_factory)?), CL_INVALID_CONTEXT);
            Ok(())
        }
    };
}

operands! {
    #[clmatrix_harness::test]
    fn commands_refuse_a_buffer_of_another_context(objects: Objects, other: objects_elsewhere);
    the_source_of_a_copy(Copy::valid(objects), source = other.buffer.as_raw());
    the_target_of_a_copy(Copy::valid(objects), target = other.buffer.as_raw());
    the_source_of_a_rectangle(CopyRect::valid(objects), source = other.buffer.as_raw());
    the_target_of_a_rectangle(CopyRect::valid(objects), target = other.buffer.as_raw());
    one_of_two_to_migrate(
        Migrate::valid(objects),
        objects = Some([objects.buffer.as_raw(), other.buffer.as_raw()])
    );
}

operands! {
    #[clmatrix_harness::test(requires(images))]
    fn commands_refuse_an_operand_of_another_context(images: Images, other: images_elsewhere);
    the_source_of_a_copy(image_commands::Copy::valid(images), source = other.image.as_raw());
    the_target_of_a_copy(image_commands::Copy::valid(images), target = other.image.as_raw());
    the_source_of_a_copy_to_a_buffer(
        BufferCopy::valid(images, Direction::Read), image = other.image.as_raw()
    );
    the_target_of_a_copy_to_a_buffer(
        BufferCopy::valid(images, Direction::Read), buffer = other.buffer.as_raw()
    );
    the_source_of_a_copy_from_a_buffer(
        BufferCopy::valid(images, Direction::Write), buffer = other.buffer.as_raw()
    );
    the_target_of_a_copy_from_a_buffer(
        BufferCopy::valid(images, Direction::Write), image = other.image.as_raw()
    );
}
