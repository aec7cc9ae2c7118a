//! Buffers made from the driver's handles (`pyopencl.MemoryObject.from_int_ptr`).

use super::*;

#[clmatrix_harness::test]
fn from_raw_retains_or_takes_over_a_reference(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    on_device.queue.finish()?;
    let count = buffer.reference_count()?;
    // SAFETY: the handle is valid, and nothing is mapped.
    let added = unsafe { Buffer::retain_raw(buffer.as_raw())? };
    assert_eq!(buffer.reference_count()?, count + 1, "CL_MEM_REFERENCE_COUNT after a retain");
    assert_eq!((added.size(), added.offset(), added.flags()), (16, 0, buffer.flags()));
    assert_eq!(added.context(), on_device.context);
    assert!(added.parent().is_none());
    let raw = added.as_raw();
    std::mem::forget(added);
    // SAFETY: the handle is valid, its reference is that of `added`, and nothing is mapped.
    let taken = unsafe { Buffer::from_raw(raw)? };
    assert_eq!(buffer.reference_count()?, count + 1, "CL_MEM_REFERENCE_COUNT after a retain");
    assert_eq!(contents(&on_device, &taken)?, counting(4));
    drop(taken);
    assert!(soon(|| Ok(buffer.reference_count()? == count))?, "{}", buffer.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn the_handle_of_a_sub_buffer_is_a_sub_buffer(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let buffer = buffer_of(&on_device, &counting(part as u32))?;
    let region = buffer.sub_buffer(part..2 * part)?;
    // SAFETY: the handle is valid, and nothing is mapped.
    let again = unsafe { Buffer::retain_raw(region.as_raw())? };
    drop(region);
    assert_eq!((again.size(), again.offset()), (part, part), "CL_MEM_SIZE, CL_MEM_OFFSET");
    assert_eq!(again.parent().as_ref(), Some(&buffer));
    assert_eq!(contents(&on_device, &again)?[0], (part / 4) as u32);
    assert_eq!(again.sub_buffer(..)?.offset(), part);
    Ok(())
}
