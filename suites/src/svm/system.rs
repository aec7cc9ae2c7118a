//! The host's own memory, where devices can use it (CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
//! `pyopencl.SVM` of any array).

use ndarray::{Array2, ShapeBuilder, array};

use super::*;
use crate::support::logger::panics_as_it_logs;

#[clmatrix_harness::test(requires(svm = "system"))]
fn host_memory_is_used_in_place_and_returned(on_device: OnDevice) -> Result<()> {
    let memory = counting(1000);
    let at = memory.as_ptr();
    let svm = SystemSvm::new(&on_device.context, memory)?;
    assert_eq!((svm.svm_ptr().cast_const().cast(), svm.size()), (at, 4000));
    assert!(svm.svm_flags().contains(SvmFlags::FINE_GRAIN_BUFFER));
    assert_on_device(&on_device, &svm, &counting(1000));
    double(&on_device, &svm)?;
    let memory = svm.into_inner()?;
    assert_eq!(memory.as_ptr(), at);
    assert_eq!(memory, (0..1000).map(|x| 2 * x).collect::<Vec<_>>());
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn all_bytes_of_any_size_are_returned(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (data, to) = (source(size), before(size + 20));
        let svm = SystemSvm::new(&on_device.context, to.clone())?;
        let at = Linear::default().dst_offset(5);
        enqueue_copy(&on_device.queue, &svm, &data, at)?;
        assert_moved(&svm.into_inner()?, &to, 5, &data);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn the_host_accesses_it_between_kernels(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = SystemSvm::new(&on_device.context, counting(4).into_boxed_slice())?;
    svm.access::<u32, _>(MapReadWrite, ..)?[0] = 5;
    double(&on_device, &svm)?;
    assert_eq!(svm.access::<u32, _>(MapRead, ..)?[..], [10, 2, 4, 6]);
    svm.map_read_write::<u32>(queue, ..)?[3] = 1;
    enqueue_fill(queue, &svm, &9_u32, 4..8)?;
    let array = SvmAllocation::builder(&on_device.context).array::<u32, _>(4)?;
    enqueue_copy(queue, &array, &svm, ..)?;
    assert_on_device(&on_device, &array, &[10, 9, 4, 1]);
    enqueue_copy(queue, &svm, &[1_u32, 2], ..)?;
    assert_eq!(svm.into_inner()?[..], [1, 2, 4, 1]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn host_memory_may_be_an_array_of_any_order(on_device: OnDevice) -> Result<()> {
    let mut columns = Array2::<u32>::zeros((2, 3).f());
    columns.assign(&array![[0, 1, 2], [10, 11, 12]]);
    let svm = SystemSvm::new(&on_device.context, columns)?;
    assert_on_device(&on_device, &svm, &[0, 10, 1, 11, 2, 12]);
    double(&on_device, &svm)?;
    let columns = svm.into_inner()?;
    assert_eq!(columns, array![[0, 2, 4], [20, 22, 24]]);
    let every_second = columns.slice_move(ndarray::s![.., ..;2]);
    let Err(back) = SystemSvm::new(&on_device.context, every_second) else { panic!("taken") };
    assert_eq!(back.memory, array![[0, 4], [20, 24]]);
    assert_eq!(refusal(Err::<(), _>(back.error)), "CL_INVALID_HOST_PTR");
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn into_inner_waits_for_commands(on_device: OnDevice) -> Result<()> {
    let svm = SystemSvm::new(&on_device.context, vec![0_u32; 1 << 16])?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &svm, &7_u32, ..)?;
    let memory = meanwhile(&gate, open, || svm.into_inner())?;
    assert_elements(&memory, &[7; 1 << 16], "clEnqueueSVMMemFill before the memory was returned");
    Ok(())
}

/// Or it would be written after it has been freed.
#[clmatrix_harness::test(requires(svm = "system"))]
fn dropped_system_svm_waits_for_commands(on_device: OnDevice) -> Result<()> {
    let svm = SystemSvm::new(&on_device.context, vec![0_u32; 1 << 16])?;
    let gate = gate(&on_device.context);
    let filled = enqueue_fill(on_device.queue.after(&gate), &svm, &7_u32, ..)?;
    meanwhile(&gate, open, || drop(svm));
    assert_eq!(filled.status()?, Status::Complete, "the fill before the memory's end");
    Ok(())
}

/// The device may still use it: not even a logger that panics has it freed.
#[rstest]
#[clmatrix_harness::test(requires(svm = "system"))]
fn memory_of_a_failed_unmap_is_never_freed(
    on_device: OnDevice,
    #[values(false, true)] logger_panics: bool,
    #[values(false, true)] noticed: bool,
) -> Result<()> {
    // So much that it goes back to the operating system when it is freed, and cannot be read then.
    let memory = vec![7_u32; 16 << 20];
    let at = memory.as_ptr();
    let svm = SystemSvm::new(&on_device.context, memory)?;
    let gate = gate(&on_device.context);
    svm.map_read_write::<u32>(&on_device.queue, ..)?.unmap_on(on_device.queue.after(&gate))?;
    fail(&gate);
    if noticed {
        assert_eq!(refusal(svm.access::<u32, _>(MapRead, ..)), "CL_INVALID_OPERATION");
    }
    if logger_panics {
        let logged = panics_as_it_logs(|| drop(svm));
        assert!(logged.contains("never freed"), "{logged}");
    } else {
        drop(svm);
    }
    // SAFETY: it is never freed, and no command writes it.
    let memory = unsafe { std::slice::from_raw_parts(at, 16 << 20) };
    assert!(memory.iter().all(|element| *element == 7));
    Ok(())
}

/// The unmap fails while a thread waits for a fill of other bytes.
#[clmatrix_harness::test(requires(svm = "system"))]
fn an_unmap_that_fails_during_the_wait_is_noticed(on_device: OnDevice) -> Result<()> {
    let svm = SystemSvm::new(&on_device.context, counting(4))?;
    let (unmap, fill) = (gate(&on_device.context), gate(&on_device.context));
    svm.map_read_write::<u32>(&on_device.queue, 2..)?.unmap_on(on_device.queue.after(&unmap))?;
    enqueue_fill(on_device.another_queue().after(&fill), &svm, &7_u32, ..8)?;
    let Err(back) = fail_then_open(&unmap, &fill, || svm.into_inner()) else {
        panic!("the memory is given back, although it may be mapped");
    };
    assert_eq!(refusal(Err::<(), _>(back.error)), "CL_INVALID_OPERATION");
    assert!(back.memory.is_some());
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn into_inner_of_memory_in_use_is_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let refused = |svm: SystemSvm<Vec<u32>>| {
        let Err(back) = svm.into_inner() else { panic!("given back") };
        assert_eq!(refusal(Err::<(), _>(back.error)), "CL_INVALID_OPERATION");
        back.memory.expect("the memory")
    };
    let svm = SystemSvm::new(&on_device.context, counting(4))?;
    let map = svm.map_read::<u32>(queue, ..)?;
    let svm = refused(svm);
    drop(map);
    let access = svm.access::<u32, _>(MapRead, ..)?;
    let svm = refused(svm);
    drop(access);
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    enqueue_fill(queue, &buffer, &7_u32, ..8)?;
    let svm = refused(svm);
    assert_on_device(&on_device, &svm, &[7, 7, 2, 3]);
    Ok(())
}

/// OpenCL moves only what it has allocated.
#[clmatrix_harness::test(requires(svm = "system", opencl = "2.1"))]
fn migrations_of_host_memory_are_refused(on_device: OnDevice) -> Result<()> {
    let svm = SystemSvm::new(&on_device.context, counting(4))?;
    let flags = MigrationFlags::empty();
    let migrated = enqueue_svm_migratemem(&on_device.queue, &[&svm], flags);
    assert_eq!(refusal(migrated), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn host_memory_may_be_empty(on_device: OnDevice) -> Result<()> {
    let svm = SystemSvm::new(&on_device.context, Vec::<u32>::new())?;
    assert!(svm.svm_ptr().is_null());
    assert_eq!(refusal(svm.access::<u32, _>(MapRead, ..)), "CL_INVALID_VALUE");
    assert!(svm.into_inner()?.is_empty());
    Ok(())
}
