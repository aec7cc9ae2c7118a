//! A memory object and the host memory that it was created with.

use std::cell::Cell;

use super::*;

/// The alignment in bytes of the host memory.
const ALIGNMENT: usize = 4096;

/// An object of which the host may use a part of the accesses.
pub struct Object {
    pub raw: cl_mem,
    pub queue: cl_command_queue,
    /// The buffer of which the object is a part.
    parent: Option<cl_mem>,
    host: Box<[Cell<u8>]>,
    /// The index of the first byte in `host` that is as aligned as drivers may want it.
    start: usize,
}

impl Object {
    /// Creates an object that begins with `bytes`: calls `create` with the flags and the host memory.
    pub fn new(
        queue: cl_command_queue,
        host: Host,
        memory: Memory,
        bytes: &[u8],
        create: impl FnOnce(u64, *mut c_void) -> Answer<cl_mem>,
    ) -> Self {
        let kind = match memory {
            Memory::Copied => MemFlags::COPY_HOST_PTR,
            Memory::Used => MemFlags::USE_HOST_PTR,
        };
        let flags = MemFlags::READ_WRITE | kind | host.flags();
        let cells: Box<[Cell<u8>]> = vec![Cell::new(0); bytes.len() + ALIGNMENT].into();
        let start = cells.as_ptr().align_offset(ALIGNMENT);
        for (cell, byte) in cells[start..].iter().zip(bytes) {
            cell.set(*byte);
        }
        let data = cells[start..].as_ptr().cast_mut().cast();
        let raw = create(flags.bits(), data).expect("an object");
        Self { raw, queue, parent: None, host: cells, start }
    }

    /// A sub-buffer of the object, which inherits its flags.
    pub fn into_part(mut self, origin: usize, size: usize) -> Self {
        let region = cl_buffer_region { origin, size };
        let info = (&raw const region).cast();
        // SAFETY: the call reads the region only.
        let part = unsafe { create_sub_buffer(self.raw, 0, CL_BUFFER_CREATE_TYPE_REGION, info) };
        self.parent = Some(self.raw);
        self.raw = part.expect("a sub-buffer");
        self
    }

    /// Where the host memory begins.
    pub fn host(&self) -> *const u8 {
        self.host[self.start..].as_ptr().cast()
    }

    /// Waits for a command.
    pub fn wait(&self, event: cl_event) {
        wait_for_events(&[event]).expect("the command ends");
        // SAFETY: nothing else has the event.
        unsafe { release_event(event) }.expect("the driver releases its event");
    }

    /// Unmaps, and waits for it.
    pub fn unmap(&self, mapped: *mut c_void) {
        // SAFETY: the caller does not use the mapped memory any more.
        unsafe { command!(self, enqueue_unmap_mem_object(mapped)) }.expect("an unmap");
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // A driver that does not refuse a command may still use the host memory.
        _ = finish(self.queue);
        for object in [Some(self.raw), self.parent].into_iter().flatten() {
            // SAFETY: nothing else has the object.
            _ = unsafe { release_mem_object(object) };
        }
    }
}
