//! `clEnqueueMigrateMemObjects` (OpenCL 3.0, 5.5.3): what is in the objects stays.

use clmatrix::memory::{
    AnyMemoryObject, Buffer, MemFlags, MigrationFlags, enqueue_copy, enqueue_migrate_mem_objects,
};
use clmatrix::{CommandQueue, Device, Result};
use clmatrix_harness::{CtxFactory, device};
use rstest::rstest;

use crate::buffer::{DOUBLE, buffer_of, buffer_with, bytes_in, contents, counting, refusal};
use crate::support::gate::{assert_waits, fail, gate, meanwhile, open};
use crate::support::on_device::{OnDevice, on_device, region_offset};
use crate::support::pattern::{SIZES, assert_same, before, source};

#[rstest]
#[case::to_the_device(MigrationFlags::empty())]
#[case::to_the_host(MigrationFlags::HOST)]
#[clmatrix_harness::test]
fn a_migration_keeps_the_content(on_device: OnDevice, #[case] flags: MigrationFlags) -> Result<()> {
    let (one, other) = (buffer_of(&on_device, &counting(64))?, buffer_of(&on_device, &[7; 64])?);
    on_device.run(DOUBLE, &[&one], 64)?;
    enqueue_migrate_mem_objects(&on_device.queue, &[&one, &other], flags)?;
    on_device.run(DOUBLE, &[&one], 64)?;
    on_device.run(DOUBLE, &[&other], 64)?;
    assert!(contents(&on_device, &one)?.iter().zip(0..).all(|(found, i)| *found == 4 * i));
    assert_eq!(contents(&on_device, &other)?, [14; 64]);
    Ok(())
}

#[rstest]
#[case::to_the_device(MigrationFlags::empty())]
#[case::to_the_host(MigrationFlags::HOST)]
#[clmatrix_harness::test]
fn a_migration_keeps_all_bytes_of_any_size(
    on_device: OnDevice,
    #[case] flags: MigrationFlags,
) -> Result<()> {
    for size in SIZES {
        let contents = [source(size), before(size)];
        let [one, other] = [0, 1].map(|i| buffer_with(&on_device, &contents[i]));
        let (one, other) = (one?, other?);
        enqueue_migrate_mem_objects(&on_device.queue, &[&one, &other], flags)?;
        assert_same(&bytes_in(&on_device, &one)?, &contents[0], "the first buffer");
        assert_same(&bytes_in(&on_device, &other)?, &contents[1], "the second buffer");
    }
    Ok(())
}

#[rstest]
#[case::on_the_device(MigrationFlags::CONTENT_UNDEFINED)]
#[case::on_the_host(MigrationFlags::CONTENT_UNDEFINED.union(MigrationFlags::HOST))]
#[clmatrix_harness::test]
fn undefined_content_can_be_written_after_a_migration(
    on_device: OnDevice,
    #[case] flags: MigrationFlags,
) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 256)?;
    enqueue_migrate_mem_objects(&on_device.queue, &[&buffer], flags)?;
    enqueue_copy(&on_device.queue, &buffer, &counting(64), ..)?;
    on_device.run(DOUBLE, &[&buffer], 64)?;
    assert!(contents(&on_device, &buffer)?.iter().zip(0..).all(|(found, i)| *found == 2 * i));
    Ok(())
}

/// The regions migrate one after the other, or together, and are dropped in this order. OpenCL says nothing
/// about objects that overlap in one migration; it names no error for them.
// quirk: NVIDIA-11
#[rstest]
#[clmatrix_harness::test]
fn overlapping_regions_may_be_released_in_any_order(
    on_device: OnDevice,
    device: Device,
    #[values(true, false)] is_one_call: bool,
) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let buffer = buffer_of(&on_device, &counting(part as u32))?;
    for _ in 0..50 {
        let outer = buffer.sub_buffer(..4 * part)?;
        let inner = buffer.sub_buffer(2 * part..3 * part)?;
        let objects: [&dyn AnyMemoryObject; 2] = [&outer, &inner];
        for objects in objects.chunks(if is_one_call { 2 } else { 1 }) {
            let flags = MigrationFlags::empty();
            enqueue_migrate_mem_objects(&on_device.queue, objects, flags)?.wait()?;
        }
        drop(outer);
        drop(inner);
    }
    assert_eq!(contents(&on_device, &buffer)?, counting(part as u32));
    Ok(())
}

#[clmatrix_harness::test]
fn a_region_without_content_leaves_the_other_bytes(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let buffer = buffer_of(&on_device, &counting(part as u32))?;
    on_device.run(DOUBLE, &[&buffer], part)?;
    let region = buffer.sub_buffer(part..2 * part)?;
    let flags = MigrationFlags::CONTENT_UNDEFINED;
    enqueue_migrate_mem_objects(&on_device.queue, &[&region], flags)?;
    let found = contents(&on_device, &buffer)?;
    let others = (0..part as u32).filter(|i| *i as usize / (part / 4) != 1);
    assert!(others.clone().all(|i| found[i as usize] == 2 * i));
    assert_eq!(others.count(), part / 4 * 3);
    Ok(())
}

/// OpenCL says nothing about it, and names no error.
#[clmatrix_harness::test]
fn a_sub_buffer_and_its_parent_migrate_together(on_device: OnDevice, device: Device) -> Result<()> {
    let part = region_offset(&device, 64)?;
    let whole = buffer_of(&on_device, &counting(part as u32))?;
    let region = whole.sub_buffer(part..2 * part)?;
    let objects: [&dyn AnyMemoryObject; 2] = [&whole, &region];
    enqueue_migrate_mem_objects(&on_device.queue, &objects, MigrationFlags::HOST)?;
    on_device.run(DOUBLE, &[&region], part / 4)?;
    let found = contents(&on_device, &whole)?;
    assert_eq!(found[..part / 4], counting(part as u32 / 4));
    assert_eq!(found[part / 4], part as u32 / 2);
    Ok(())
}

#[clmatrix_harness::test]
fn a_migration_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let gate = gate(&on_device.context);
    let flags = MigrationFlags::empty();
    let event = enqueue_migrate_mem_objects(on_device.queue.after(&gate), &[&buffer], flags)?;
    assert_waits(&event, "clEnqueueMigrateMemObjects")?;
    meanwhile(&gate, open, || event.wait())?;
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test]
fn invalid_migrations_are_refused(on_device: OnDevice, ctx_factory: CtxFactory) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let none = MigrationFlags::empty();
    let migrate = |queue: &CommandQueue, buffer: &Buffer, flags| {
        enqueue_migrate_mem_objects(queue, &[buffer], flags)
    };
    assert_eq!(refusal(enqueue_migrate_mem_objects(queue, &[], none)), "CL_INVALID_VALUE");
    let unknown = MigrationFlags::from_bits_retain(1 << 5);
    assert_eq!(refusal(migrate(queue, &buffer, unknown)), "CL_INVALID_VALUE");

    let context = ctx_factory()?;
    let elsewhere = OnDevice { queue: CommandQueue::new(&context)?, context };
    let stranger = buffer_of(&elsewhere, &[1; 4])?;
    assert_eq!(refusal(migrate(queue, &stranger, none)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(migrate(&elsewhere.queue, &buffer, none)), "CL_INVALID_CONTEXT");
    let both: [&dyn AnyMemoryObject; 2] = [&buffer, &stranger];
    let refused = enqueue_migrate_mem_objects(queue, &both, none);
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");

    let failed = gate(&on_device.context);
    fail(&failed);
    let refused = enqueue_migrate_mem_objects(queue.after(&failed), &[&buffer], none);
    assert_eq!(refusal(refused), "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");

    let undefined = MigrationFlags::CONTENT_UNDEFINED;
    let map = buffer.map_read::<u32>(queue, ..1)?;
    assert_eq!(refusal(migrate(queue, &buffer, undefined)), "CL_INVALID_OPERATION");
    migrate(queue, &buffer, none)?;
    drop(map);
    let map = buffer.map_read_write::<u32>(queue, ..1)?;
    assert_eq!(refusal(migrate(queue, &buffer, none)), "CL_INVALID_OPERATION");
    drop(map);
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    Ok(())
}
