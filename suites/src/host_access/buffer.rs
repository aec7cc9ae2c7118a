//! Buffers, and sub-buffers that inherit the flags of theirs.

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{
    enqueue_copy_buffer, enqueue_fill_buffer, enqueue_map_buffer, enqueue_read_buffer,
    enqueue_read_buffer_rect, enqueue_write_buffer, enqueue_write_buffer_rect,
};
use clmatrix::cl3::memory::{CL_MAP_READ, create_buffer};
use clmatrix::cl3::types::{CL_TRUE, cl_map_flags};
use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use clmatrix::{Device, Result};
use clmatrix_harness::device;
use rstest::rstest;

use super::object::Object;
use super::{Answer, Host, Memory, Read, Write, permitted};
use crate::support::on_device::{OnDevice, on_device};
use crate::support::pattern::{assert_moved, assert_same, before, source};
use crate::support::unanswered;

/// The size in bytes of an object, the bytes that commands move, and where these begin.
const SIZE: usize = 3 * 4096;
const LEN: usize = 4097;
const START: usize = 13;

/// The same bytes as a rectangle of one row.
const ORIGIN: [usize; 3] = [START, 0, 0];
const HOST_ORIGIN: [usize; 3] = [0; 3];
const REGION: [usize; 3] = [LEN, 1, 1];

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
fn object_of(
    on: &OnDevice,
    device: Device,
    host: Host,
    memory: Memory,
    of: Of,
    bytes: &[u8],
) -> Result<Object> {
    let origin = match of {
        Of::Buffer => 0,
        Of::SubBuffer => device.opencl3().mem_base_addr_align().map_err(unanswered)? as usize / 8,
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
    let (queue, target) = (object.queue, plain.as_raw());
    // SAFETY: both have as many bytes.
    let copied =
        unsafe { enqueue_copy_buffer(queue, object.raw, target, 0, 0, SIZE, 0, ptr::null()) };
    object.wait(copied.expect("a copy"));
    let mut bytes = vec![0; SIZE];
    enqueue_copy(&on.queue, &mut bytes, &plain, ..)?;
    Ok(bytes)
}

fn map(object: &Object, flags: cl_map_flags) -> Answer<*mut c_void> {
    let (queue, none, mut mapped) = (object.queue, ptr::null(), ptr::null_mut());
    // SAFETY: the range is within the object.
    let event = unsafe {
        enqueue_map_buffer(queue, object.raw, CL_TRUE, flags, START, LEN, &mut mapped, 0, none)
    }?;
    object.wait(event);
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
    let (queue, raw, data) = (object.queue, object.raw, bytes.as_mut_ptr().cast());
    // SAFETY: there is room for the bytes, and the calls block.
    let event = unsafe {
        match form {
            Form::Range => {
                enqueue_read_buffer(queue, raw, CL_TRUE, START, LEN, data, 0, ptr::null())
            }
            Form::Rect => enqueue_read_buffer_rect(
                queue,
                raw,
                CL_TRUE,
                ORIGIN.as_ptr(),
                HOST_ORIGIN.as_ptr(),
                REGION.as_ptr(),
                0,
                0,
                0,
                0,
                data,
                0,
                ptr::null(),
            ),
        }
    }?;
    object.wait(event);
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
    let (queue, raw, data) = (object.queue, object.raw, bytes.as_ptr().cast());
    // SAFETY: these are the bytes, and the calls block.
    let event = unsafe {
        match form {
            Form::Range => {
                enqueue_write_buffer(queue, raw, CL_TRUE, START, LEN, data, 0, ptr::null())
            }
            Form::Rect => enqueue_write_buffer_rect(
                queue,
                raw,
                CL_TRUE,
                ORIGIN.as_ptr(),
                HOST_ORIGIN.as_ptr(),
                REGION.as_ptr(),
                0,
                0,
                0,
                0,
                data,
                0,
                ptr::null(),
            ),
        }
    }?;
    object.wait(event);
    Ok(())
}

#[rstest]
#[case::a_range(Read::Command, Form::Range)]
#[case::a_rectangle(Read::Command, Form::Rect)]
#[case::a_map(Read::Map, Form::Range)]
#[clmatrix_harness::test]
fn reads_follow_host_access_flags(
    on_device: OnDevice,
    device: Device,
    #[case] way: Read,
    #[case] form: Form,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let bytes = source(SIZE);
    let object = object_of(&on_device, device, host, memory, of, &bytes)?;
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
    device: Device,
    #[case] way: Write,
    #[case] form: Form,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let (earlier, bytes) = (before(SIZE), source(LEN));
    let object = object_of(&on_device, device, host, memory, of, &earlier)?;
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
    device: Device,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly, Host::NoAccess)] host: Host,
    #[values(Memory::Copied, Memory::Used)] memory: Memory,
    #[values(Of::Buffer, Of::SubBuffer)] of: Of,
) -> Result<()> {
    let (earlier, bytes) = (before(SIZE), source(LEN));
    let object = object_of(&on_device, device, host, memory, of, &earlier)?;
    let plain = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &bytes)?;
    let (queue, from, to) = (object.queue, plain.as_raw(), object.raw);
    // SAFETY: the range is within both.
    let copied = unsafe { enqueue_copy_buffer(queue, from, to, 0, START, LEN, 0, ptr::null()) };
    object.wait(copied.expect("a copy"));
    let found = contents(&on_device, &object)?;
    assert_moved(&found, &earlier, START, &bytes);
    let pattern = [251_u8, 252, 253, 254];
    // SAFETY: the pattern has as many bytes.
    let filled = unsafe {
        let pattern = pattern.as_ptr().cast();
        enqueue_fill_buffer(queue, to, pattern, 4, 8, 4096, 0, ptr::null())
    };
    object.wait(filled.expect("a fill"));
    assert_moved(&contents(&on_device, &object)?, &found, 8, &pattern.repeat(1024));
    Ok(())
}

/// The pointer of a map is derived from that of CL_MEM_USE_HOST_PTR (5.2.4).
#[rstest]
#[clmatrix_harness::test]
fn maps_point_into_the_host_memory(
    on_device: OnDevice,
    device: Device,
    #[values(Host::All, Host::ReadOnly, Host::WriteOnly)] host: Host,
) -> Result<()> {
    let object = object_of(&on_device, device, host, Memory::Used, Of::Buffer, &source(SIZE))?;
    let flags = if host.may_read() { CL_MAP_READ } else { Write::Map.map_flags() };
    let mapped = map(&object, flags).expect("a map");
    let offset = (mapped as usize).wrapping_sub(object.host() as usize);
    object.unmap(mapped);
    assert_eq!(offset, START, "bytes into the host memory");
    Ok(())
}
