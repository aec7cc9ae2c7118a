//! One allocator, several threads.

use std::thread;

use super::*;

/// Runs `work` on each of some threads, with a queue of its own and its number.
fn on_threads<T: Send>(
    on_device: &OnDevice,
    work: impl Fn(&CommandQueue, u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (queue, work) = (on_device.another_queue(), &work);
                scope.spawn(move || work(&queue, number))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

#[rstest]
#[clmatrix_harness::test]
fn threads_get_different_buffers(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let allocator = kind.allocator(&on_device)?;
    let threads = on_threads(&on_device, |queue, number| {
        (0..16)
            .map(|i| {
                let value = 16 * number + i;
                let buffer = allocate(&allocator, 256 << (i % 4))?;
                enqueue_fill(queue, &buffer, &value, ..)?.wait()?;
                Ok((value, buffer))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let mut double = on_device.kernel(DOUBLE, "")?;
    for (value, buffer) in threads.iter().flatten() {
        buffer.launch(&mut double, &on_device.queue)?;
        buffer.assert_holds(&on_device.queue, 2 * value, "a kernel doubles a thread's number")?;
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn threads_get_different_svm(on_device: OnDevice) -> Result<()> {
    let allocator = svm_allocator(&on_device.context, Some(&on_device.queue))?;
    let threads = on_threads(&on_device, |queue, number| {
        (0..16)
            .map(|i| {
                let memory = allocate(&allocator, 256)?;
                enqueue_copy(queue, &memory, &[16 * number + i; 64][..], ..)?;
                Ok((16 * number + i, memory))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    let queue = &on_device.queue;
    let mut double = on_device.kernel(DOUBLE, "")?;
    for (value, memory) in threads.iter().flatten() {
        memory.launch(&mut double, queue)?;
        assert_eq!(memory.map_read::<u32>(queue, ..)?[..], [2 * value; 64]);
    }
    Ok(())
}
