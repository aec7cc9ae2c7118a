//! The order of commands: commands behind a gate that the test opens, or that fails.

use clmatrix::cl3::command_queue::enqueue_fill_buffer as cl3_fill_buffer;

use super::*;

/// A call that waits for events.
#[derive(Clone, Copy, Debug)]
enum Call {
    Read,
    Write,
    Map,
    Fill,
    Copy,
}

impl Call {
    /// Makes `buffer`, which counts up from 0, begin with 7, or reads it.
    fn issue(self, on: &OnDevice, buffer: &Buffer, gate: &Event) -> Result<Vec<u32>> {
        let queue = &on.queue;
        let mut data = vec![0_u32; 4];
        match self {
            Self::Read => drop(buffer.read(queue.after(gate), &mut data)?),
            Self::Write => drop(buffer.write(queue.after(gate), &[7_u32])?),
            Self::Map => data = buffer.map_read_write::<u32>(queue.after(gate), ..)?.to_vec(),
            Self::Fill => drop(enqueue_fill(queue.after(gate), buffer, &7_u32, ..4)?),
            Self::Copy => {
                let seven = buffer_of(on, &[7])?;
                enqueue_copy(queue.after(gate), buffer, &seven, Linear::default().byte_count(4))?;
            }
        }
        Ok(data)
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_failed_event_in_a_wait_list_is_refused(
    on_device: OnDevice,
    #[values(Call::Read, Call::Write, Call::Map, Call::Fill, Call::Copy)] call: Call,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    fail(&gate);
    assert_eq!(refusal(call.issue(&on_device, &buffer, &gate)), WAIT_LIST_FAILED);
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    // Nothing is left of it.
    drop(buffer.map_read_write::<u32>(&on_device.queue, ..)?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_blocking_call_fails_with_an_event_of_its_wait_list(
    on_device: OnDevice,
    #[values(Call::Read, Call::Write, Call::Map)] call: Call,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let result = meanwhile(&gate, fail, || call.issue(&on_device, &buffer, &gate));
    assert_eq!(refusal(result), WAIT_LIST_FAILED);
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    drop(buffer.map_read_write::<u32>(&on_device.queue, ..)?);
    Ok(())
}

/// The gate holds back a fill on another queue. The call must come after the fill.
#[rstest]
#[clmatrix_harness::test]
fn a_blocking_call_waits_for_its_wait_list(
    on_device: OnDevice,
    #[values(Call::Read, Call::Map)] call: Call,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let other_queue = on_device.another_queue();
    let filled = enqueue_fill(other_queue.after(&gate), &buffer, &5_u32, ..)?;
    let found = meanwhile(&gate, open, || call.issue(&on_device, &buffer, &filled))?;
    assert_eq!(found, [5; 4], "{call:?} shows the fill of its wait list: {EARLY}");
    Ok(())
}

#[clmatrix_harness::test]
fn a_write_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let other_queue = on_device.another_queue();
    let filled = enqueue_fill(other_queue.after(&gate), &buffer, &5_u32, ..)?;
    meanwhile(&gate, open, || Call::Write.issue(&on_device, &buffer, &filled))?;
    assert_eq!(contents(&on_device, &buffer)?, [7, 5, 5, 5], "the write comes last");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_non_blocking_call_runs_after_its_wait_list(
    on_device: OnDevice,
    #[values(Call::Fill, Call::Copy)] call: Call,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    call.issue(&on_device, &buffer, &gate)?;
    on_device.queue.flush()?;
    thread::sleep(A_MOMENT);
    let mut before = [0_u32; 4];
    buffer.read(&on_device.another_queue(), &mut before)?;
    open(&gate);
    assert_eq!(before[..], counting(4), "{call:?} while its wait list is not complete: {EARLY}");
    assert_eq!(contents(&on_device, &buffer)?, [7, 1, 2, 3], "the first number after {call:?}");
    Ok(())
}

/// Each queue waits for the one before it, and the program flushes none of them.
#[clmatrix_harness::test]
fn a_blocking_call_waits_for_a_chain_of_queues(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let queues: Vec<_> = (0..4).map(|_| on_device.another_queue()).collect();
    let mut last = enqueue_fill(&queues[0], &buffer, &5_u32, ..)?;
    for (queue, value) in queues[1..].iter().zip(6_u32..) {
        last = enqueue_fill(queue.after(&last), &buffer, &value, ..4)?;
    }
    let mut found = [0_u32; 4];
    buffer.read(on_device.queue.after(&last), &mut found)?;
    assert_eq!(
        found,
        [8, 5, 5, 5],
        "fills with 5 of all, then with 6, 7 and 8 of the first: {EARLY}"
    );
    Ok(())
}

/// A map comes after what changes its bytes, and after what reads them if it writes: on any queue.
#[rstest]
#[case::fill(Call::Fill)]
#[case::copy(Call::Copy)]
#[clmatrix_harness::test]
fn a_map_waits_for_earlier_commands_on_its_bytes(
    on_device: OnDevice,
    #[case] call: Call,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    call.issue(&on_device, &buffer, &gate)?;
    let other_queue = on_device.another_queue();
    let map = meanwhile(&gate, open, || buffer.map_read::<u32>(&other_queue, ..))?;
    assert_eq!(map[..], [7, 1, 2, 3], "a map shows the bytes that {call:?} wrote before");
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_for_writing_waits_for_earlier_reads_of_its_bytes(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let copy = buffer_of(&on_device, &[0; 4])?;
    let (queue, other_queue) = (&on_device.queue, on_device.another_queue());
    let gate = gate(&on_device.context);
    enqueue_copy(queue.after(&gate), &copy, &buffer, Linear::default().byte_count(16))?;
    // One that reads does not.
    assert_eq!(buffer.map_read::<u32>(&other_queue, ..)?[..], counting(4));
    meanwhile(&gate, open, || -> Result<()> {
        buffer.map_read_write::<u32>(&other_queue, ..)?.fill(9);
        Ok(())
    })?;
    assert_eq!(contents(&on_device, &copy)?, counting(4), "the copy comes before the map");
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_after_a_failed_command_is_refused_or_correct(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let elsewhere = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 16)?;
    enqueue_fill(on_device.queue.after(&gate), &elsewhere, &7_u32, ..)?;
    fail(&gate);
    match buffer.map_read::<u32>(&on_device.queue, ..) {
        Ok(map) => assert_eq!(map[..], counting(4)),
        // OpenCL names no code for a command after a failed one; NVIDIA returns CL_OUT_OF_RESOURCES.
        // quirk: NVIDIA-1
        Err(error) => assert_eq!(error.call(), Some("clEnqueueMapBuffer"), "{error}"),
    }
    Ok(())
}

/// The driver may still treat the bytes as mapped.
// quirk: DRIVER-10
#[clmatrix_harness::test]
fn bytes_of_a_failed_unmap_stay_inaccessible(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    map.unmap_on(on_device.queue.after(&gate))?;
    fail(&gate);
    let other_queue = on_device.another_queue();
    assert_eq!(refusal(buffer.map_read_write::<u32>(&other_queue, ..)), "CL_INVALID_OPERATION");
    assert_eq!(refusal(buffer.write(&other_queue, &[1_u32])), "CL_INVALID_OPERATION");
    Ok(())
}

#[clmatrix_harness::test]
fn an_unmap_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let mut map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    map.fill(3);
    let unmapped = map.unmap_on(on_device.queue.after(&gate))?;
    on_device.queue.flush()?;
    thread::sleep(A_MOMENT);
    assert_waits(&unmapped, "clEnqueueUnmapMemObject")?;
    let other_queue = on_device.another_queue();
    let map = meanwhile(&gate, open, || buffer.map_read_write::<u32>(&other_queue, ..))?;
    assert_eq!(map[..], [3; 4], "a map shows the bytes that an earlier map wrote");
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_for_reading_is_accepted_during_reads_of_another_thread(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[1; 1 << 12])?;
    let queue = on_device.another_queue();
    let maps = std::sync::atomic::AtomicBool::new(true);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut data = [0_u32; 1 << 12];
            let mut done = 0;
            while maps.load(std::sync::atomic::Ordering::Relaxed) {
                // Refused whenever the other has a map.
                done += u32::from(buffer.read(&queue, &mut data).is_ok());
            }
            done
        });
        let mapping = || -> Result<()> {
            for _ in 0..200 {
                // A read may begin as soon as the unmap is enqueued, and has to come after it.
                buffer.map_read_write::<u32>(&on_device.queue, ..)?.unmap()?.wait()?;
                thread::yield_now();
            }
            Ok(())
        };
        let mapped = mapping();
        maps.store(false, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
        mapped
    })
}

/// As in a program that returns early.
#[clmatrix_harness::test]
fn a_command_runs_when_its_user_event_is_dropped(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let filled = enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..)?;
    drop(gate);
    filled.wait()?;
    assert_eq!(contents(&on_device, &buffer)?, [7; 4], "a fill that has been waited for");
    Ok(())
}

/// Many commands may be under way on one buffer; entering each must not look at all others.
#[clmatrix_harness::test]
fn a_map_waits_for_many_pending_commands(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    for _ in 0..500 {
        enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..)?;
    }
    let other_queue = on_device.another_queue();
    meanwhile(&gate, open, || buffer.map_read_write::<u32>(&other_queue, ..).map(drop))
}

/// The queue has used bytes before and behind those of the map, and its commands wait for a gate that
/// opens after the map.
#[clmatrix_harness::test]
fn a_map_does_not_wait_for_commands_on_other_bytes(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(1024))?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..16)?;
    enqueue_fill(&on_device.queue, &buffer, &7_u32, 4080..)?;
    let queue = on_device.another_queue();
    let mut map = buffer.map_read_write::<u32>(&queue, 256..512)?;
    assert_eq!(map[..], counting(1024)[256..512]);
    map.fill(8);
    map.unmap()?.wait()?;
    open(&gate);
    on_device.queue.finish()?;
    let mut expected = counting(1024);
    expected[..4].fill(7);
    expected[256..512].fill(8);
    expected[1020..].fill(7);
    assert_eq!(contents(&on_device, &buffer)?, expected);
    Ok(())
}

/// PoCL and rusticl count the commands of a queue that have not ended as references to it.
#[clmatrix_harness::test]
fn a_call_with_a_wait_list_enqueues_one_command(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let (queue, buffer) = (on.another_queue(), buffer_of(on, &[1_u32; 4])?);
    let ended = enqueue_fill(&on.queue, &buffer, &1_u32, ..)?;
    ended.wait()?;
    let gate = gate(&on.context);
    let busy = enqueue_fill(queue.after(&gate), &buffer, &2_u32, ..)?;
    for event in [&*gate, &busy, &ended] {
        let before = queue.reference_count()?;
        let (pattern, wait_for) = (3_u32, event.as_raw());
        // SAFETY: the handles are valid and of one context, the pattern is copied, the buffer has
        // that many bytes, and the command is recorded.
        let theirs = unsafe {
            let (raw, pattern) = (queue.as_raw(), (&raw const pattern).cast());
            let event = cl3_fill_buffer(raw, buffer.as_raw(), pattern, 4, 0, 16, 1, &wait_for);
            queue.event_from_raw(event.expect("the driver accepts the command"))?
        };
        buffer.record_use(&theirs)?;
        let between = queue.reference_count()?;
        let ours = enqueue_fill(queue.after(event), &buffer, &4_u32, ..)?;
        let after = queue.reference_count()?;
        assert_eq!(after - between, between - before, "more commands than cl3's call");
        drop(ours);
    }
    soon_open(&gate, || queue.finish())?;
    assert_eq!(contents(on, &buffer)?, [4; 4]);
    Ok(())
}
