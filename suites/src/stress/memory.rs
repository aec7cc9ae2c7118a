//! Buffers and shared virtual memory behind one interface.

use clmatrix::memory::{BufferMap, SvmMap};

use super::*;

/// A handle that keeps memory.
pub enum Handle {
    Buffer(Buffer),
    Svm(SvmAllocation),
    PooledBuffer(PooledBuffer),
    PooledSvm(PooledSvm),
}

impl Handle {
    pub fn is_svm(&self) -> bool {
        matches!(self, Self::Svm(_) | Self::PooledSvm(_))
    }

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

/// Evaluates an expression for memory of either kind.
macro_rules! either {
    ($memory:expr, $it:ident => $used:expr) => {
        match $memory {
            $crate::stress::memory::Memory::Buffer($it) => $used,
            $crate::stress::memory::Memory::Svm($it) => $used,
        }
    };
}

pub(super) use either;

impl Memory<'_> {
    pub fn cloned(self) -> Handle {
        match self {
            Self::Buffer(buffer) => Handle::Buffer(buffer.clone()),
            Self::Svm(svm) => Handle::Svm(svm.clone()),
        }
    }

    /// Launches a kernel that adds `value` to each byte.
    pub fn add(
        self,
        order: Order<'_>,
        kernel: &mut Kernel,
        value: u8,
        bytes: Range<usize>,
    ) -> Result<Event> {
        let mut launch = kernel.launch();
        either!(self, it => launch.arg(it));
        launch.arg(bytes.start as u32).arg(value).global(bytes.len());
        // SAFETY: the kernel takes memory, the first byte and the number; each work item changes a
        // byte of its own, and all of the bytes are within the memory.
        unsafe { launch.enqueue(order) }
    }

    pub fn map(
        self,
        order: Order<'_>,
        mode: Mode,
        bytes: Range<usize>,
        blocks: bool,
    ) -> Result<NewMap> {
        macro_rules! map {
            ($memory:ident, $mode:expr) => {
                if blocks {
                    NewMap::Ready(Box::new($memory.map::<u8, _>(order, $mode, bytes)?))
                } else {
                    let map = $memory.map_async::<u8, _>(order, $mode, bytes)?;
                    let wait = move || -> Result<Box<dyn Mapped>> { Ok(Box::new(map.wait()?)) };
                    NewMap::Pending(Box::new(wait))
                }
            };
        }
        Ok(either!(self, it => match mode {
            Mode::Read => map!(it, MapRead),
            Mode::ReadWrite => map!(it, MapReadWrite),
            Mode::Invalidate => map!(it, MapWriteInvalidate),
        }))
    }
}

/// A map that may not have run; the call waits for it.
pub type Pending = Box<dyn FnOnce() -> Result<Box<dyn Mapped>>>;

/// A map, as it begins.
pub enum NewMap {
    Pending(Pending),
    Ready(Box<dyn Mapped>),
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
