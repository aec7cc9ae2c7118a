//! Memory objects and what moves data between them and the host, after OpenCL 3.0, chapter 5, and
//! PyOpenCL's "OpenCL Runtime: Memory".
//!
//! Offsets, sizes and ranges of buffers and shared virtual memory are in bytes; ranges of maps, which
//! have a type, are in elements of that type. Origins and regions of images are in pixels.
//!
//! # What keeps this safe
//! - A borrow of host memory is used in blocking calls only. Calls that do not block own their host
//!   memory until the command has ended.
//! - Every buffer remembers, for itself and all its regions together, which bytes are mapped and
//!   which commands are under way on which bytes. A command on bytes that are mapped is refused,
//!   and a map waits for the commands that would change its bytes or that still read what it lets
//!   change. So two `&mut` never overlap, whichever handles, regions, queues or threads they came
//!   through, and a map that is forgotten keeps its bytes closed for good.
//! - Commands do not exclude each other: what an unordered read finds on the device is for the
//!   queues and the wait lists to decide, as in C, and any bytes are valid for the element types.
//! - A [`Launch`](crate::Launch) refuses arguments that are mapped. It is `unsafe` code all the same:
//!   nobody can check what else a kernel does.
//! - Shared virtual memory, to which OpenCL counts no references, is freed after the commands on it
//!   that this crate has enqueued, whichever of its handles, maps and buffers is the last. Where
//!   nobody can tell when a command ends, it is never freed.
//!
//! # What does not compile
//! A view that outlives its map, and a map that ends under a view:
//!
//! ```compile_fail,E0597
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<f32> {
//! let view = {
//!     let map = buffer.map_read::<f32>(queue, ..)?;
//!     map.array((2, 3))?
//! };
//! # Ok(view[[0, 0]])
//! # }
//! ```
//!
//! ```compile_fail,E0505
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<f32> {
//! let map = buffer.map_read::<f32>(queue, ..)?;
//! let first = &map[0];
//! map.unmap([])?;
//! # Ok(*first)
//! # }
//! ```
//!
//! A command that does not block, with host memory that is only lent:
//!
//! ```compile_fail,E0308
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer, host: &mut [f32]) -> clmatrix::Result<()> {
//! let pending: PendingTransfer<&mut [f32]> = enqueue_copy(queue, host, buffer, .., [])?;
//! # Ok(())
//! # }
//! ```
//!
//! The data of a map that has not been waited for:
//!
//! ```compile_fail,E0608
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<f32> {
//! let map = enqueue_map_buffer_nonblocking::<f32, _>(queue, buffer, MapRead, .., [])?;
//! Ok(map[0])
//! # }
//! ```
//!
//! An image where a buffer is due:
//!
//! ```compile_fail,E0308
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, image: &Image) -> clmatrix::Result<()> {
//! enqueue_fill_buffer(queue, image, &0_u32, .., [])?;
//! # Ok(())
//! # }
//! ```
//!
//! An object that has been released:
//!
//! ```compile_fail,E0382
//! # use clmatrix::memory::*;
//! # fn f(buffer: Buffer) -> usize {
//! buffer.release();
//! buffer.size()
//! # }
//! ```
//!
//! Host memory that must stay on its thread, for a driver whose threads drop it:
//!
//! ```compile_fail,E0277
//! # use clmatrix::memory::*;
//! # fn f(context: &clmatrix::Context, memory: std::rc::Rc<[f32]>) {
//! let buffer = Buffer::using_host_memory(context, MemFlags::READ_WRITE, memory);
//! # }
//! ```

mod buffer;
pub(crate) mod command;
pub(crate) mod context;
pub(crate) mod copy;
mod fill;
mod flags;
mod host;
mod image;
mod into_memory;
mod keep;
mod live;
mod map;
pub(crate) mod migrate;
pub(crate) mod object;
mod pipe;
mod range;
mod recorded_use;
mod sampler;
pub(crate) mod svm;
pub(crate) mod track;
mod units;

pub use crate::wait_list::WaitList;
pub use buffer::{Buffer, BufferBuilder};
pub use copy::{
    BufferPart, CopyTo, HostRect, ImageBufferRegion, ImageCopy, ImageRegion, Linear,
    PendingTransfer, Rect, enqueue_copy, enqueue_copy_buffer, enqueue_copy_buffer_p2p_amd,
    enqueue_read_buffer, enqueue_write_buffer,
};
pub use fill::{FillTarget, Pattern, enqueue_fill, enqueue_fill_buffer};
pub use flags::MemFlags;
pub use host::{HostMemory, HostSource, HostTarget, TransferError};
pub use image::{
    ArrayMode, ChannelKind, ChannelOrder, ChannelType, FillColor, Image, ImageBuilder,
    ImageElement, ImageFormat, ImageType, Integers, enqueue_fill_image, image_from_array,
    supported_image_formats,
};
pub use into_memory::{Host, IntoMemory};
pub use live::live_objects;
pub use map::{
    BufferMap, BufferMapKind, ImageMap, MapGuard, MapKind, MapMode, MapRead, MapReadWrite,
    MapWrite, MapWriteInvalidate, MappedKind, PendingMap, SliceMap, SvmAccessKind, SvmMap,
    SvmMapKind, WritableMapMode, enqueue_map_buffer, enqueue_map_buffer_nonblocking,
    enqueue_map_image, enqueue_map_image_nonblocking,
};
pub use migrate::{AnyMemoryObject, MigrationFlags, enqueue_migrate_mem_objects};
pub use object::{MemoryObject, ObjectType};
pub use pipe::{Pipe, PipeProperty};
pub use recorded_use::RecordedUse;
pub use sampler::{AddressingMode, FilterMode, Sampler, SamplerProperty};
pub use svm::{
    ArrayMap, SvmAccess, SvmAllocation, SvmAllocationBuilder, SvmArray, SvmArrayAccess,
    SvmArrayBuilder, SvmArrayMap, SvmFlags, SvmPointer, SystemSvm, enqueue_svm_memfill,
    enqueue_svm_migratemem,
};
pub use units::{ByteOrigin, ByteRegion, Pitches, PixelOrigin, PixelRegion};
