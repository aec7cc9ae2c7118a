//! Buffers, and sub-buffers that inherit the flags of theirs.

use super::*;

/// The size in bytes of an object, the bytes that commands move, and where these begin.
const SIZE: usize = 3 * 4096;
const LEN: usize = 4097;
const START: usize = 13;

/// The same bytes as a rectangle of one row.
static ORIGIN: [usize; 3] = [START, 0, 0];
static HOST_ORIGIN: [usize; 3] = [0; 3];
static REGION: [usize; 3] = [LEN, 1, 1];

/// The object of a command.
#[derive(Clone, Copy, Debug)]
enum Of {
    Buffer,
    SubBuffer,
}

/// The form of a command.
#[derive(Clone, Copy, Debug)]
enum Form {
    Range,
    Rect,
}

/// An object of `SIZE` bytes, of the pattern `bytes`.
fn object_of(on: &OnDevice, host: Host, memory: Memory, of: Of, bytes: &[u8]) -> Result<Object> {
    let origin = match of {
        Of::Buffer => 0,
        Of::SubBuffer => region_offset(on.device(), 1)?,
    };
    let all = [&vec![255; origin], bytes].concat();
    // SAFETY: the host memory has all bytes.
    let create =
        |flags, data| unsafe { create_buffer(on.context.as_raw(), flags, all.len(), data) };
    let object = Object::new(on.queue.as_raw(), host, memory, &all, create);
    Ok(match of {
        Of::Buffer => object,
        Of::SubBuffer => object.into_part(origin, bytes.len()),
    })
}

/// All bytes, by way of another buffer, which no flag forbids.
fn contents(on: &OnDevice, object: &Object) -> Result<Vec<u8>> {
    let plain = Buffer::new(&on.context, MemFlags::READ_WRITE, SIZE)?;
    // SAFETY: both have as many bytes.
    let copied = unsafe { command!(object, enqueue_copy_buffer(plain.as_raw(), 0, 0, SIZE)) };
    copied.expect("a copy");
    let mut bytes = vec![0; SIZE];
    enqueue_copy(&on.queue, &mut bytes, &plain, ..)?;
    Ok(bytes)
}

fn map(object: &Object, flags: cl_map_flags) -> Answer<*mut c_void> {
    let mut mapped = ptr::null_mut();
    // SAFETY: the range is within the object.
    unsafe { command!(object, enqueue_map_buffer(CL_TRUE, flags, START, LEN, &mut mapped)) }?;
    Ok(mapped)
}

fn read(object: &Object, way: Read, form: Form) -> Answer<Vec<u8>> {
    let mut bytes = vec![0_u8; LEN];
    if let Read::Map = way {
        let mapped = map(object, CL_MAP_READ)?;
        // SAFETY: that many bytes are mapped.
        unsafe { bytes.as_mut_ptr().copy_from(mapped.cast(), LEN) };
        object.unmap(mapped);
        return Ok(bytes);
    }
    let data = bytes.as_mut_ptr().cast();
    let (origin, on_host, region) = (ORIGIN.as_ptr(), HOST_ORIGIN.as_ptr(), REGION.as_ptr());
    // SAFETY: there is room for the bytes, and the calls block.
    unsafe {
        match form {
            Form::Range => command!(object, enqueue_read_buffer(CL_TRUE, START, LEN, data)),
            Form::Rect => command!(
                object,
                enqueue_read_buffer_rect(CL_TRUE, origin, on_host, region, 0, 0, 0, 0, data)
            ),
        }
    }?;
    Ok(bytes)
}

fn write(object: &Object, bytes: &[u8], way: Write, form: Form) -> Answer<()> {
    if let Write::Map | Write::MapInvalidate = way {
        let mapped = map(object, way.map_flags())?;
        // SAFETY: that many bytes are mapped.
        unsafe { mapped.cast::<u8>().copy_from(bytes.as_ptr(), LEN) };
        object.unmap(mapped);
        return Ok(());
    }
    let data = bytes.as_ptr().cast();
    let (origin, on_host, region) = (ORIGIN.as_ptr(), HOST_ORIGIN.as_ptr(), REGION.as_ptr());
    // SAFETY: these are the bytes, and the calls block.
    unsafe {
        match form {
            Form::Range => command!(object, enqueue_write_buffer(CL_TRUE, START, LEN, data)),
            Form::Rect => command!(
                object,
                enqueue_write_buffer_rect(CL_TRUE, origin, on_host, region, 0, 0, 0, 0, data)
            ),
        }
    }
}

#[rstest]
#[case::a_range(Read::Command, Form::Range)]
#[case::a_rectangle(Read::Command, Form::Rect)]
#[case::a_map(Read::Map, Form::Range)]
#[clmatrix_harness::test]
fn reads_follow_host_access_flags(
    on_device: OnDevice,
    #[case] way: Read,
    #[case] form: Form,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let bytes = source(SIZE);
    let object = object_of(&on_device, host, memory, of, &bytes)?;
    let found = read(&object, way, form);
    if let Some(found) = permitted(found, host.may_read(), (way, form), ("a buffer", host)) {
        assert_same(&found, &bytes[START..START + LEN], "the bytes");
    }
    assert_same(&contents(&on_device, &object)?, &bytes, "the object");
    Ok(())
}

#[rstest]
#[case::a_range(Write::Command, Form::Range)]
#[case::a_rectangle(Write::Command, Form::Rect)]
#[case::a_map(Write::Map, Form::Range)]
#[case::a_map_that_invalidates(Write::MapInvalidate, Form::Range)]
#[clmatrix_harness::test]
fn writes_follow_host_access_flags(
    on_device: OnDevice,
    #[case] way: Write,
    #[case] form: Form,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let (earlier, bytes) = (before(SIZE), source(LEN));
    let object = object_of(&on_device, host, memory, of, &earlier)?;
    let written = write(&object, &bytes, way, form);
    if permitted(written, host.may_write(), (way, form), ("a buffer", host)).is_some() {
        assert_moved(&contents(&on_device, &object)?, &earlier, START, &bytes);
    } else {
        assert_same(&contents(&on_device, &object)?, &earlier, "the object");
    }
    Ok(())
}

/// Copies and fills on the device are not the host's accesses.
#[rstest]
#[clmatrix_harness::test]
fn device_copies_and_fills_ignore_host_access_flags(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let (earlier, bytes) = (before(SIZE), source(LEN));
    let object = object_of(&on_device, host, memory, of, &earlier)?;
    let plain = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &bytes)?;
    let (queue, from, to) = (object.queue, plain.as_raw(), object.raw);
    // SAFETY: the range is within both.
    let copied = unsafe { enqueue_copy_buffer(queue, from, to, 0, START, LEN, 0, ptr::null()) };
    object.wait(copied.expect("a copy"));
    let found = contents(&on_device, &object)?;
    assert_moved(&found, &earlier, START, &bytes);
    let pattern = [251_u8, 252, 253, 254];
    // SAFETY: the pattern has as many bytes.
    let filled =
        unsafe { command!(object, enqueue_fill_buffer(pattern.as_ptr().cast(), 4, 8, 4096)) };
    filled.expect("a fill");
    assert_moved(&contents(&on_device, &object)?, &found, 8, &pattern.repeat(1024));
    Ok(())
}

/// The pointer of a map is derived from that of CL_MEM_USE_HOST_PTR (5.2.4).
#[rstest]
#[clmatrix_harness::test]
fn maps_point_into_the_host_memory(
    on_device: OnDevice,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly)] host: Host,
) -> Result<()> {
    let object = object_of(&on_device, host, Memory::Used, Of::Buffer, &source(SIZE))?;
    let flags = if host.may_read() { CL_MAP_READ } else { Write::Map.map_flags() };
    let mapped = map(&object, flags).expect("a map");
    let offset = (mapped as usize).wrapping_sub(object.host() as usize);
    object.unmap(mapped);
    assert_eq!(offset, START, "bytes into the host memory");
    Ok(())
}
