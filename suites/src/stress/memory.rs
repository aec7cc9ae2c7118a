//! Buffers and shared virtual memory behind one interface.

use std::ops::Range;

use clmatrix::memory::{
    Buffer, BufferMap, Linear, MapRead, MapReadWrite, MapWriteInvalidate, Order, PendingMap,
    PendingTransfer, SvmAllocation, SvmMap, SvmPointer, enqueue_copy, enqueue_fill,
};
use clmatrix::pool::{PooledBuffer, PooledSvm};
use clmatrix::{CommandQueue, Event, Kernel, Result};

use super::plan::Mode;

/// A handle that keeps memory.
pub enum Handle {
    Buffer(Buffer),
    Svm(SvmAllocation),
    PooledBuffer(PooledBuffer),
    PooledSvm(PooledSvm),
}

impl Handle {
    pub fn memory(&self) -> Memory<'_> {
        match self {
            Self::Buffer(buffer) => Memory::Buffer(buffer),
            Self::Svm(svm) => Memory::Svm(svm),
            Self::PooledBuffer(pooled) => Memory::Buffer(pooled),
            Self::PooledSvm(pooled) => Memory::Svm(pooled),
        }
    }
}

/// Memory that commands use. Ranges and offsets are in bytes.
#[derive(Clone, Copy)]
pub enum Memory<'a> {
    Buffer(&'a Buffer),
    Svm(&'a SvmAllocation),
}

impl Memory<'_> {
    pub fn cloned(self) -> Handle {
        match self {
            Self::Buffer(buffer) => Handle::Buffer(buffer.clone()),
            Self::Svm(svm) => Handle::Svm(svm.clone()),
        }
    }

    pub fn fill(
        self,
        queue: &CommandQueue,
        value: u8,
        bytes: Range<usize>,
        wait_for: &[Event],
    ) -> Result<Event> {
        match self {
            Self::Buffer(buffer) => enqueue_fill(queue.after(wait_for), buffer, &value, bytes),
            Self::Svm(svm) => enqueue_fill(queue.after(wait_for), svm, &value, bytes),
        }
    }

    /// Launches a kernel that adds `value` to each byte.
    pub fn add(
        self,
        queue: &CommandQueue,
        kernel: &mut Kernel,
        value: u8,
        bytes: Range<usize>,
        wait_for: &[Event],
    ) -> Result<Event> {
        let mut launch = kernel.launch();
        match self {
            Self::Buffer(buffer) => launch.arg(buffer),
            Self::Svm(svm) => launch.arg(svm),
        };
        launch.arg(bytes.start as u32).arg(value).global(bytes.len());
        // SAFETY: the kernel takes memory, the first byte and the number; each work item changes a
        // byte of its own, and all of the bytes are within the memory.
        unsafe { launch.enqueue(queue.after(wait_for)) }
    }

    /// Copies `len` bytes; `None` if there is no such copy.
    pub fn copy(
        self,
        queue: &CommandQueue,
        to: Self,
        offsets: (usize, usize),
        len: usize,
        wait_for: &[Event],
    ) -> Option<Result<Event>> {
        let bytes = Linear::default().src_offset(offsets.0).dst_offset(offsets.1).byte_count(len);
        match (self, to) {
            (Self::Buffer(from), Self::Buffer(to)) => {
                Some(enqueue_copy(queue.after(wait_for), to, from, bytes))
            }
            (Self::Svm(from), Self::Svm(to)) => {
                Some(enqueue_copy(queue.after(wait_for), to, from, bytes))
            }
            _ => None,
        }
    }

    pub fn read(
        self,
        queue: &CommandQueue,
        bytes: &mut [u8],
        start: usize,
        wait_for: &[Event],
    ) -> Result<Event> {
        let from = Linear::default().src_offset(start);
        match self {
            Self::Buffer(buffer) => enqueue_copy(queue.after(wait_for), bytes, buffer, from),
            Self::Svm(svm) => enqueue_copy(queue.after(wait_for), bytes, svm, from),
        }
    }

    pub fn write(
        self,
        queue: &CommandQueue,
        bytes: &[u8],
        start: usize,
        wait_for: &[Event],
    ) -> Result<Event> {
        let to = Linear::default().dst_offset(start);
        match self {
            Self::Buffer(buffer) => enqueue_copy(queue.after(wait_for), buffer, bytes, to),
            Self::Svm(svm) => enqueue_copy(queue.after(wait_for), svm, bytes, to),
        }
    }

    pub fn read_later(
        self,
        queue: &CommandQueue,
        bytes: Vec<u8>,
        start: usize,
        wait_for: &[Event],
    ) -> Result<PendingTransfer<Vec<u8>>> {
        let from = Linear::default().src_offset(start);
        Ok(match self {
            Self::Buffer(buffer) => enqueue_copy(queue.after(wait_for), bytes, buffer, from)?,
            Self::Svm(svm) => enqueue_copy(queue.after(wait_for), bytes, svm, from)?,
        })
    }

    pub fn write_later(
        self,
        queue: &CommandQueue,
        bytes: Vec<u8>,
        start: usize,
        wait_for: &[Event],
    ) -> Result<PendingTransfer<Vec<u8>>> {
        let to = Linear::default().dst_offset(start);
        Ok(match self {
            Self::Buffer(buffer) => enqueue_copy(queue.after(wait_for), buffer, bytes, to)?,
            Self::Svm(svm) => enqueue_copy(queue.after(wait_for), svm, bytes, to)?,
        })
    }

    pub fn map(
        self,
        queue: &CommandQueue,
        mode: Mode,
        bytes: Range<usize>,
        blocks: bool,
        wait_for: &[Event],
    ) -> Result<NewMap> {
        macro_rules! map {
            ($blocking:expr, $nonblocking:expr) => {
                if blocks {
                    NewMap::Ready(Box::new($blocking))
                } else {
                    NewMap::Pending(Box::new($nonblocking))
                }
            };
        }
        macro_rules! map_as {
            ($mode:expr) => {
                match self {
                    Self::Buffer(buffer) => map!(
                        buffer.map::<u8, _>(queue.after(wait_for), $mode, bytes)?,
                        buffer.map_async::<u8, _>(queue.after(wait_for), $mode, bytes)?
                    ),
                    Self::Svm(svm) => map!(
                        svm.map::<u8, _>(queue.after(wait_for), $mode, bytes)?,
                        svm.map_async::<u8, _>(queue.after(wait_for), $mode, bytes)?
                    ),
                }
            };
        }
        Ok(match mode {
            Mode::Read => map_as!(MapRead),
            Mode::ReadWrite => map_as!(MapReadWrite),
            Mode::Invalidate => map_as!(MapWriteInvalidate),
        })
    }
}

/// A map, as it begins.
pub enum NewMap {
    Pending(Box<dyn Pending>),
    Ready(Box<dyn Mapped>),
}

/// A map that may not have run.
pub trait Pending {
    fn wait(self: Box<Self>) -> Result<Box<dyn Mapped>>;
}

/// Mapped bytes.
pub trait Mapped {
    fn bytes(&self) -> &[u8];
    /// Overwrites all bytes; does nothing for a map that only reads.
    fn write(&mut self, value: u8);
    fn unmap_on(self: Box<Self>, order: Order<'_>) -> Result<Event>;
}

macro_rules! maps {
    ($($map:ident<$mode:ident> writes $writes:expr;)*) => {
        $(
            impl Pending for PendingMap<$map<u8, $mode>> {
                fn wait(self: Box<Self>) -> Result<Box<dyn Mapped>> {
                    Ok(Box::new(PendingMap::wait(*self)?))
                }
            }

            impl Mapped for $map<u8, $mode> {
                fn bytes(&self) -> &[u8] {
                    self
                }

                fn write(&mut self, value: u8) {
                    let write: fn(&mut Self, u8) = $writes;
                    write(self, value);
                }

                fn unmap_on(self: Box<Self>, order: Order<'_>) -> Result<Event> {
                    (*self).unmap_on(order)
                }
            }
        )*
    };
}

maps! {
    BufferMap<MapRead> writes |_, _| ();
    BufferMap<MapReadWrite> writes |map, value| map.fill(value);
    BufferMap<MapWriteInvalidate> writes |map, value| map.fill(value);
    SvmMap<MapRead> writes |_, _| ();
    SvmMap<MapReadWrite> writes |map, value| map.fill(value);
    SvmMap<MapWriteInvalidate> writes |map, value| map.fill(value);
}
