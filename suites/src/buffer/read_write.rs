//! `clEnqueueReadBuffer` and `clEnqueueWriteBuffer` (OpenCL 3.0, 5.2.2).

use super::*;

#[rstest]
#[case::bytes(&[1u8, 2, 255])]
#[case::floats(&[0.0f32, -0.0, f32::MAX, f32::MIN_POSITIVE])]
#[case::doubles(&[0.1f64, f64::EPSILON])]
#[case::longs(&[i64::MIN, -1, i64::MAX])]
#[case::pairs(&[[1u16, 2], [3, 4]])]
#[clmatrix_harness::test]
fn elements_of_any_type_are_written_and_read_back<T: Pod + PartialEq + std::fmt::Debug>(
    on_device: OnDevice,
    #[case] data: &[T],
) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, size_of_val(data))?;
    buffer.write(&on_device.queue, data)?;
    let mut back = vec![T::zeroed(); data.len()];
    buffer.read(&on_device.queue, &mut back)?;
    assert_eq!(back, data);
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_sees_written_bytes(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 4 * 1000)?;
    buffer.write(&on_device.queue, &counting(1000))?;
    on_device.run(DOUBLE, &[&buffer], 1000)?;
    let sum: u32 = contents(&on_device, &buffer)?.iter().sum();
    assert_eq!(sum, 999 * 1000);
    Ok(())
}

/// A kernel reads what was written, and has written what is read.
#[clmatrix_harness::test]
fn an_offset_counts_bytes_and_other_bytes_keep_their_values(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    for size in [1, 13, 64] {
        let (data, device, host) = (source(size), before(80), bytes(2, 80));
        let buffer = inverter.written(&device)?;
        buffer.slice::<u8>(5..).write(&on_device.queue, &data)?;
        assert_moved(&inverter.read(&buffer)?, &device, 5, &data);
        let buffer = inverter.written(&device)?;
        let mut found = host.clone();
        buffer.slice::<u8>(11..).read(&on_device.queue, &mut found[7..7 + size])?;
        assert_moved(&found, &host, 7, &device[11..11 + size]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_written_and_read(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (data, device, host) = (source(size), before(size + 20), bytes(2, size + 30));
        let buffer = buffer_with(&on_device, &device)?;
        buffer.slice::<u8>(5..).write(&on_device.queue, &data)?;
        let mut found = host.clone();
        buffer.read(&on_device.queue, &mut found[7..7 + device.len()])?;
        assert_moved(&found[7..7 + device.len()], &device, 5, &data);
        let mut found = host.clone();
        buffer.slice::<u8>(5..).read(&on_device.queue, &mut found[11..11 + size])?;
        assert_moved(&found, &host, 11, &data);
    }
    Ok(())
}

#[rstest]
#[case::one_byte_too_far(61)]
#[case::past_the_end(65)]
#[case::beyond_all_memory(usize::MAX)]
#[clmatrix_harness::test]
fn bytes_past_the_end_are_refused(on_device: OnDevice, #[case] offset: usize) -> Result<()> {
    let invalid = "CL_INVALID_VALUE";
    let buffer = buffer_of(&on_device, &counting(16))?;
    let mut one = [0_u8; 4];
    assert_eq!(refusal(buffer.slice::<u8>(offset..).read(&on_device.queue, &mut one)), invalid);
    assert_eq!(refusal(buffer.slice::<u8>(offset..).write(&on_device.queue, &one)), invalid);
    assert_eq!(contents(&on_device, &buffer)?, counting(16), "nothing was changed");
    Ok(())
}

#[clmatrix_harness::test]
fn reads_and_writes_respect_host_access_flags(on_device: OnDevice) -> Result<()> {
    let mut data = counting(4);
    for (host, reads, writes) in [
        (MemFlags::HOST_READ_ONLY, true, false),
        (MemFlags::HOST_WRITE_ONLY, false, true),
        (MemFlags::HOST_NO_ACCESS, false, false),
    ] {
        let flags = MemFlags::READ_WRITE | host;
        let buffer = Buffer::from_slice(&on_device.context, flags, &counting(4))?;
        let read = buffer.read(&on_device.queue, &mut data);
        let written = buffer.write(&on_device.queue, &data);
        for (result, allowed) in [(read, reads), (written, writes)] {
            match result {
                Ok(_) => assert!(allowed, "{host:?}"),
                Err(error) => {
                    assert!(!allowed, "{host:?}: {error}");
                    assert_eq!(error.code_name(), "CL_INVALID_OPERATION");
                }
            }
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_read_waits_for_events_of_another_queue(on_device: OnDevice) -> Result<()> {
    let n = 1 << 16;
    let buffer = buffer_of(&on_device, &counting(n))?;
    let doubled = on_device.run(DOUBLE, &[&buffer], n as usize)?;
    on_device.queue.flush()?;
    let mut data = counting(n);
    buffer.read(on_device.another_queue().after(&doubled), &mut data)?;
    assert!(data.iter().zip(0..).all(|(found, i)| *found == 2 * i));
    Ok(())
}

#[clmatrix_harness::test]
fn threads_use_one_buffer_on_different_queues(on_device: OnDevice) -> Result<()> {
    const THREADS: usize = 4;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, THREADS * 4096)?;
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (buffer, queue) = (&buffer, on_device.another_queue());
            scope.spawn(move || {
                for round in 0..20 {
                    let data = [(thread * 100 + round) as u32; 1024];
                    let mut back = [0u32; 1024];
                    buffer.slice::<u32>(thread * 1024..).write(&queue, &data).unwrap();
                    buffer.slice::<u32>(thread * 1024..).read(&queue, &mut back).unwrap();
                    assert_eq!(back, data);
                }
            });
        }
    });
    Ok(())
}
