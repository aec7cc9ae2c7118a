//! Moving shared virtual memory before it is needed (`clEnqueueSVMMigrateMem`;
//! `pyopencl.enqueue_svm_migratemem`).

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine", opencl = "2.1"))]
fn a_migration_keeps_the_content(
    on_device: OnDevice,
    #[values(MigrationFlags::empty(), MigrationFlags::HOST)] flags: MigrationFlags,
) -> Result<()> {
    let one = svm_of(&on_device, COARSE, &counting(1000))?;
    let other = svm_of(&on_device, FINE, &[7; 4])?;
    let array = SvmAllocation::builder(&on_device.context).array::<u32, _>(4)?;
    enqueue_fill(&on_device.queue, &array, &9_u32, ..)?;
    enqueue_svm_migratemem(&on_device.queue, &[&one, &other, &array], flags)?;
    assert_on_device(&on_device, &one, &counting(1000));
    assert_on_device(&on_device, &other, &[7; 4]);
    assert_on_device(&on_device, &array, &[9; 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn a_migration_keeps_all_bytes_of_any_size(
    on_device: OnDevice,
    #[values(MigrationFlags::empty(), MigrationFlags::HOST)] flags: MigrationFlags,
) -> Result<()> {
    for size in SIZES {
        let bytes = source(size);
        let svm = svm_with(&on_device, COARSE, &bytes)?;
        enqueue_svm_migratemem(&on_device.queue, &[&svm], flags)?;
        assert_same(&bytes_in(&on_device, &svm)?, &bytes, "the memory");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn a_migration_may_leave_the_content_undefined(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let undefined = MigrationFlags::CONTENT_UNDEFINED;
    enqueue_svm_migratemem(&on_device.queue, &[&svm], undefined)?;
    enqueue_fill(&on_device.queue, &svm, &7_u32, ..)?;
    assert_on_device(&on_device, &svm, &[7; 4]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn a_map_waits_for_a_migration(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    let migrated = enqueue_svm_migratemem(queue.after(&gate), &[&svm], MigrationFlags::HOST)?;
    meanwhile(&gate, open, || svm.map_read_write::<u32>(&on_device.queue, ..).map(drop))?;
    migrated.wait()?;
    Ok(())
}

#[clmatrix_harness::test(requires(svm, opencl = "2.1"))]
fn invalid_migrations_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let nothing = SvmAllocation::new(&on_device.context, 0, 0, COARSE)?;
    let to_the_device = MigrationFlags::empty();
    assert_eq!(refusal(enqueue_svm_migratemem(queue, &[], to_the_device)), "CL_INVALID_VALUE");
    let empty = enqueue_svm_migratemem(queue, &[&svm, &nothing], to_the_device);
    assert_eq!(refusal(empty), "CL_INVALID_VALUE");
    let unknown = MigrationFlags::from_bits_retain(1 << 40);
    assert_eq!(refusal(enqueue_svm_migratemem(queue, &[&svm], unknown)), "CL_INVALID_VALUE");
    let map = svm.map_read_write::<u32>(queue, 1..2)?;
    let mapped = enqueue_svm_migratemem(queue, &[&svm], to_the_device);
    assert_eq!(refusal(mapped), "CL_INVALID_OPERATION");
    drop(map);
    let _map = svm.map_read::<u32>(queue, 1..2)?;
    let undefined = MigrationFlags::CONTENT_UNDEFINED;
    assert_eq!(refusal(enqueue_svm_migratemem(queue, &[&svm], undefined)), "CL_INVALID_OPERATION");
    Ok(())
}
