//! Maps show what an earlier fill has written, and what is written to them stays.

use std::ops::DerefMut;

use clmatrix::memory::{
    Buffer, BufferMap, MapReadWrite, SvmAllocation, SvmFlags, SvmPointer, enqueue_copy,
    enqueue_fill,
};
use clmatrix::{CommandQueue, Result};
use rstest::rstest;

use super::{LEN, NEW, OLD, On, WAIT_LIST_FAILED, behind_a_gated_fill, fill_elsewhere};
use crate::buffer::{buffer_of, contents, refusal};
use crate::support::on_device::{OnDevice, on_device};

const FINE: SvmFlags = SvmFlags::READ_WRITE.union(SvmFlags::FINE_GRAIN_BUFFER);

/// Blocking and other calls.
#[derive(Clone, Copy, Debug)]
enum Way {
    Blocking,
    NonBlocking,
}

fn svm_of(on: &OnDevice, flags: SvmFlags) -> Result<SvmAllocation> {
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, flags)?;
    enqueue_copy(&on.queue, &svm, &[OLD; LEN][..], ..)?;
    Ok(svm)
}

fn map_buffer(
    queue: &CommandQueue,
    buffer: &Buffer,
    way: Way,
) -> Result<BufferMap<u32, MapReadWrite>> {
    match way {
        Way::Blocking => buffer.map_read_write(queue, ..),
        Way::NonBlocking => buffer.map_async(queue, MapReadWrite, ..)?.wait(),
    }
}

/// Checks what is mapped, and writes something else to it. Returns what is to stay. `unmap` is not for a queue on
/// which a command has failed, where a driver may refuse it.
pub(super) fn check<M: DerefMut<Target = [u32]>>(
    map: Result<M>,
    unmap: impl FnOnce(M) -> Result<()>,
) -> Result<u32> {
    match map {
        Ok(mut map) => {
            assert!(map.iter().all(|x| *x == NEW), "{:?}..., not {NEW}", &map[..4]);
            map.fill(1000);
            unmap(map)?;
            Ok(1000)
        }
        // OpenCL names no code for a call after a failed command: the driver may refuse it.
        Err(error) if error.detail().is_empty() => Ok(NEW),
        Err(error) => {
            assert_eq!(refusal::<()>(Err(error)), WAIT_LIST_FAILED);
            Ok(NEW)
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_buffer_map_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; LEN])?;
    let failed = behind_a_gated_fill(
        on,
        |queue, gate| enqueue_fill(queue.after(gate), &buffer, &NEW, ..),
        |queue, gate| fill_elsewhere(on, queue, gate),
    )?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| {
        check(map_buffer(queue, &buffer, way), |map| map.unmap_on(&on.another_queue())?.wait())
    })?;
    failed.filled.wait()?;
    assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_svm_map_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(On::Same, On::Another)] queue: On,
) -> Result<()> {
    let on = &on_device;
    let svm = svm_of(on, SvmFlags::READ_WRITE)?;
    let failed = behind_a_gated_fill(
        on,
        |queue, gate| enqueue_fill(queue.after(gate), &svm, &NEW, ..),
        |queue, gate| fill_elsewhere(on, queue, gate),
    )?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| {
        let map = svm.map_read_write::<u32>(queue, ..);
        check(map, |map| map.unmap_on(&on.another_queue())?.wait())
    })?;
    failed.filled.wait()?;
    // A map may fail with the unmap of a map that has failed.
    let mut found = vec![0; LEN];
    enqueue_copy(&on.queue, &mut found, &svm, ..)?;
    assert_eq!(found, vec![left; LEN]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_host_access_waits_for_earlier_commands(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let svm = svm_of(on, FINE)?;
    let failed = behind_a_gated_fill(
        on,
        |queue, gate| enqueue_fill(queue.after(gate), &svm, &NEW, ..),
        |queue, gate| fill_elsewhere(on, queue, gate),
    )?;
    let left = failed.meanwhile(|| {
        check(svm.access::<u32, _>(MapReadWrite, ..), |access| {
            drop(access);
            Ok(())
        })
    })?;
    failed.filled.wait()?;
    assert_eq!(svm.map_read::<u32>(&on.queue, ..)?[..], vec![left; LEN]);
    Ok(())
}

/// The command that fails is an unmap of other memory.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_before_a_failed_unmap(
    on_device: OnDevice,
    #[values(On::Same, On::Another)] queue: On,
) -> Result<()> {
    let on = &on_device;
    let (buffer, elsewhere) = (buffer_of(on, &[OLD; LEN])?, buffer_of(on, &[OLD; 4])?);
    let mapped = elsewhere.map_read_write::<u32>(&on.queue, ..)?;
    let failed = behind_a_gated_fill(
        on,
        |queue, gate| enqueue_fill(queue.after(gate), &buffer, &NEW, ..),
        |queue, gate| mapped.unmap_on(queue.after(gate)),
    )?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| {
        let map = map_buffer(queue, &buffer, Way::Blocking);
        check(map, |map| map.unmap_on(&on.another_queue())?.wait())
    })?;
    failed.filled.wait()?;
    assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    Ok(())
}
