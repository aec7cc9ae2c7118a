//! Maps show what the kernel wrote, or are refused; what is written to them stays.

use std::ops::DerefMut;

use clmatrix::cl3::command_queue::enqueue_marker_with_wait_list;
use clmatrix::memory::{
    Buffer, BufferMap, MapReadWrite, MemFlags, SvmAllocation, SvmFlags, SvmMap, SvmPointer,
    enqueue_copy, enqueue_fill_buffer, enqueue_map_buffer, enqueue_map_buffer_nonblocking,
};
use clmatrix::{CommandQueue, Result};
use rstest::rstest;

use super::{By, LEN, OLD, On, WAIT_LIST_FAILED, behind_a_slow_kernel, fails};
use crate::buffer::{buffer_of, contents, refusal};
use crate::support::gate::{fail, gate};
use crate::support::on_device::{OnDevice, on_device};

const FINE: SvmFlags = SvmFlags::READ_WRITE.union(SvmFlags::FINE_GRAIN_BUFFER);

/// True if a call blocks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Blocking,
    NonBlocking,
}

pub(super) fn old() -> Vec<u32> {
    vec![OLD; LEN]
}

pub(super) fn svm_of(on: &OnDevice, flags: SvmFlags) -> Result<SvmAllocation> {
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, flags)?;
    enqueue_copy(&on.queue, &svm, &old()[..], .., [])?;
    Ok(svm)
}

pub(super) fn map_buffer(
    queue: &CommandQueue,
    buffer: &Buffer,
    way: Way,
) -> Result<BufferMap<u32, MapReadWrite>> {
    match way {
        Way::Blocking => enqueue_map_buffer(queue, buffer, MapReadWrite, .., []),
        Way::NonBlocking => {
            enqueue_map_buffer_nonblocking(queue, buffer, MapReadWrite, .., [])?.wait()
        }
    }
}

pub(super) fn map_svm(
    queue: &CommandQueue,
    svm: &SvmAllocation,
    way: Way,
) -> Result<SvmMap<u32, MapReadWrite>> {
    match way {
        Way::Blocking => svm.map(queue, MapReadWrite, .., []),
        Way::NonBlocking => svm.map_nonblocking(queue, MapReadWrite, .., [])?.wait(),
    }
}

/// Checks what is mapped, and writes something else to it. Returns what is to stay.
pub(super) fn check(map: Result<impl DerefMut<Target = [u32]>>, written: u32) -> u32 {
    match map {
        Ok(mut map) => {
            assert!(map.iter().all(|x| *x == written), "{:?}..., not {written}", &map[..4]);
            map.fill(1000);
            1000
        }
        Err(error) => {
            assert_eq!(refusal::<()>(Err(error)), WAIT_LIST_FAILED);
            written
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_buffer_map_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &old())?;
    let failed = behind_a_slow_kernel(&on_device, by, &buffer, |queue| fails(&on_device, queue))?;
    let queue = queue.of(&on_device, &failed);
    let left = failed.meanwhile(|| check(map_buffer(queue, &buffer, way), failed.value));
    failed.slow.wait()?;
    assert_eq!(contents(&on_device, &buffer)?, vec![left; LEN]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_svm_map_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let svm = svm_of(&on_device, SvmFlags::READ_WRITE)?;
    let failed = behind_a_slow_kernel(&on_device, by, &svm, |queue| fails(&on_device, queue))?;
    let queue = queue.of(&on_device, &failed);
    let left = failed.meanwhile(|| check(map_svm(queue, &svm, way), failed.value));
    failed.slow.wait()?;
    assert_eq!(svm.map_ro::<u32>(&on_device.queue, [])?[..], vec![left; LEN]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_host_access_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
) -> Result<()> {
    let svm = svm_of(&on_device, FINE)?;
    let failed = behind_a_slow_kernel(&on_device, by, &svm, |queue| fails(&on_device, queue))?;
    let left = failed.meanwhile(|| check(svm.access::<u32, _>(MapReadWrite, ..), failed.value));
    failed.slow.wait()?;
    assert_eq!(svm.map_ro::<u32>(&on_device.queue, [])?[..], vec![left; LEN]);
    Ok(())
}

/// More than are kept in mind.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_of_many_queues(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &vec![OLD; LEN + 20])?;
    let failed = behind_a_slow_kernel(&on_device, by, &buffer, |queue| fails(&on_device, queue))?;
    let others: Vec<_> = (0..20).map(|_| on_device.another_queue()).collect();
    for (element, other) in (LEN..).zip(&others) {
        enqueue_fill_buffer(other, &buffer, &OLD, 4 * element..4 * element + 4, [])?;
    }
    let queue = queue.of(&on_device, &failed);
    let map = failed.meanwhile(|| map_buffer(queue, &buffer, Way::Blocking));
    if let Ok(map) = map {
        assert!(map[..LEN].iter().all(|x| *x == failed.value), "{:?}...", &map[..4]);
    }
    Ok(())
}

/// A part is unmapped behind what failed, while the kernel writes to the other part.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_before_an_unmap(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &[OLD; 2 * LEN])?;
    let part = buffer.sub_region(..4 * LEN)?;
    let mut rest =
        enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapReadWrite, LEN.., [])?;
    let failed = behind_a_slow_kernel(&on_device, by, &part, |queue| fails(&on_device, queue))?;
    rest.fill(500);
    rest.unmap_on(&failed.queue, [])?;
    let queue = queue.of(&on_device, &failed);
    if let Ok(map) = failed.meanwhile(|| map_buffer(queue, &buffer, way)) {
        let (written, unmapped) = map.split_at(LEN);
        assert!(written.iter().all(|x| *x == failed.value), "{:?}...", &written[..4]);
        assert!(unmapped.iter().all(|x| *x == 500), "{:?}...", &unmapped[..4]);
    }
    Ok(())
}

/// An unmap fails, on another queue than that of the map.
#[rstest]
#[clmatrix_harness::test(fresh_context)]
fn a_map_waits_for_commands_before_a_failed_unmap(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &old())?;
    // Mapped before the kernel starts: on Intel's runtime a thread that waits for a map runs the
    // kernel.
    // quirk: INTEL-5
    let elsewhere = (0..16).map(|_| {
        let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
        enqueue_map_buffer::<u32, _>(&on.queue, &elsewhere, MapReadWrite, .., [])
    });
    let mut elsewhere = elsewhere.collect::<Result<Vec<_>>>()?;
    let failed = behind_a_slow_kernel(on, by, &buffer, |queue| {
        let gate = gate(&on.context);
        elsewhere.pop().expect("a kernel that is slow").unmap_on(queue, &gate)?;
        fail(&gate);
        Ok(())
    })?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| check(map_buffer(queue, &buffer, way), failed.value));
    failed.slow.wait()?;
    assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    Ok(())
}

/// The command that fails is a marker that the library has not enqueued.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_before_a_marker(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
    #[values(Way::Blocking, Way::NonBlocking)] way: Way,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &old())?;
    let mut markers = Vec::new();
    let failed = behind_a_slow_kernel(on, by, &buffer, |queue| {
        let gate = gate(&on.context);
        // SAFETY: the queue and the event of the wait list are valid.
        let marker = unsafe { enqueue_marker_with_wait_list(queue.as_raw(), 1, &gate.as_raw()) };
        // SAFETY: the marker is a command of this queue, and the reference is the test's.
        markers.push(unsafe { queue.event_from_raw(marker.expect("a marker"), false) }?);
        fail(&gate);
        Ok(())
    })?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| check(map_buffer(queue, &buffer, way), failed.value));
    failed.slow.wait()?;
    assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    Ok(())
}
