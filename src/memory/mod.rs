//! Memory objects, and the commands that move data between them and the host, after OpenCL 3.0, chapter 5, and
//! PyOpenCL's "OpenCL Runtime: Memory".
//!
//! `docs/guide/memory.md` shows the common tasks. Calls that have a type of elements, such as
//! [`Buffer::slice`] and maps, count elements; sizes, offsets and all other ranges are in bytes. Origins and
//! regions of images are in pixels. A call that enqueues a command takes its place first: a queue, or
//! [`queue.after(&event)`](crate::CommandQueue::after).
//!
//! # What keeps this safe
//! - Only blocking calls use borrowed host memory. Calls that do not block own their host
//!   memory until the command has ended.
//! - Every buffer records, for itself and all its regions together, which bytes are mapped and which commands use
//!   which bytes. A command on bytes that are mapped is refused, and a map waits for the commands that change its
//!   bytes, or read bytes that it may change. So two `&mut` never overlap, whatever the handles, regions, queues or
//!   threads, and a map that is forgotten keeps its bytes closed for good.
//! - Commands do not exclude each other: the queues and the wait lists decide what an unordered read finds on the
//!   device, as in C, and any bytes are valid for the element types.
//! - A [`Launch`](crate::Launch) refuses arguments that are mapped. It is `unsafe` code all the same:
//!   the library cannot check what else a kernel does.
//! - Shared virtual memory, to which OpenCL counts no references, is freed after the commands on it
//!   that this crate has enqueued, whichever of its handles, maps and buffers is the last. If
//!   the end of a command is unknown, it is never freed.
//!
//! # Methods
//! | method | [`Buffer`] | [`BufferSlice`] | [`Image`] | [`SvmPointer`] |
//! |---|---|---|---|---|
//! | `write`, `write_async` | all of the host memory | the same, of `T` | the same | the same |
//! | `read`, `read_async` | the first bytes | the first elements | the first pixels | the first bytes |
//! | `to_vec` | elements of any type | of `T` | of the size of a pixel | of any type |
//! | `fill` | a [`Pattern`] | a `T` | a [`FillColor`] | a [`Pattern`] |
//! | `copy_to` | a buffer, an image | a slice | an image, a buffer | the same |
//! | `slice` | a range of elements | - | - | - |
//! | `map_read`, `map_write`, `map_read_write`, `map_async` | a range of elements | - | an [`ImageRegion`] | a range of elements |
//!
//! A part of an image, or of shared virtual memory, is an argument of [`enqueue_copy`] and [`enqueue_fill`].
//!
//! ```
//! # use clmatrix::memory::*;
//! # fn main() -> clmatrix::Result<()> {
//! # let context = clmatrix::create_some_context()?;
//! # let queue = clmatrix::CommandQueue::new(&context)?;
//! let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 8)?;
//! let other = Buffer::new(&context, MemFlags::READ_WRITE, 8)?;
//! let (mut bytes, bytes_again) = ([0_u8; 8], vec![0_u8; 8]);
//! buffer.write(&queue, b"abcdefgh")?;
//! buffer.write_async(&queue, b"ABCD".to_vec())?.wait()?;
//! buffer.copy_to(&queue, &other)?;
//! other.read(&queue, &mut bytes)?;
//! assert_eq!(other.read_async(&queue, bytes_again)?.wait()?, bytes);
//! buffer.fill(&queue, &7_u16)?;
//! assert_eq!(buffer.to_vec::<u16>(&queue)?, [7; 4]);
//! buffer.map_write::<u16>(&queue, 1..2)?[0] = 8;
//! buffer.map_read_write::<u16>(&queue, 1..2)?[0] += 1;
//! assert_eq!(buffer.map_read::<u16>(&queue, ..)?[..], [7, 9, 7, 7]);
//! assert_eq!(buffer.map_async::<u16, _>(&queue, MapRead, 1..2)?.wait()?[..], [9]);
//!
//! let (from, to) = (buffer.slice::<u16>(1..3), other.slice::<u16>(2..));
//! let (mut two, two_again) = ([0_u16; 2], vec![0_u16; 2]);
//! from.write(&queue, &[1_u16])?;
//! from.write_async(&queue, vec![2_u16])?.wait()?;
//! from.copy_to(&queue, to)?;
//! to.read(&queue, &mut two)?;
//! assert_eq!(to.read_async(&queue, two_again)?.wait()?, two);
//! from.fill(&queue, &3)?;
//! assert_eq!((two, from.to_vec(&queue)?), ([2, 7], vec![3; 2]));
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! # use clmatrix::memory::*;
//! # fn main() -> clmatrix::Result<()> {
//! # let context = clmatrix::create_some_context()?;
//! # let queue = clmatrix::CommandQueue::new(&context)?;
//! let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt8);
//! let image = Image::new(&context, MemFlags::READ_WRITE, format, [2, 1])?;
//! let other = Image::new(&context, MemFlags::READ_WRITE, format, [2, 1])?;
//! let (mut bytes, bytes_again) = ([0_u8; 8], vec![0_u8; 8]);
//! image.write(&queue, b"abcdefgh")?;
//! image.write_async(&queue, b"ABCDEFGH".to_vec())?.wait()?;
//! image.copy_to(&queue, &other)?;
//! other.read(&queue, &mut bytes)?;
//! assert_eq!(other.read_async(&queue, bytes_again)?.wait()?, bytes);
//! image.fill(&queue, [1_u32, 2, 3, 4])?;
//! assert_eq!(image.to_vec::<[u8; 4]>(&queue)?, [[1, 2, 3, 4]; 2]);
//! image.map_write::<u32>(&queue, ..)?.pixels_mut().fill(7);
//! image.map_read_write::<u32>(&queue, ..)?.pixels_mut()[[0, 0, 1]] += 1;
//! assert_eq!(image.map_read::<u32>(&queue, ..)?.pixels()[[0, 0, 1]], 8);
//! assert_eq!(image.map_async::<u32, _>(&queue, MapRead, ..)?.wait()?.pixels()[[0, 0, 0]], 7);
//!
//! let svm = match SvmAllocation::builder(&context).size(8).build() {
//!     Err(error) if error.class() == clmatrix::Class::Unsupported => return Ok(()),
//!     svm => svm?,
//! };
//! let other = SvmAllocation::builder(&context).size(8).build()?;
//! let (mut bytes, bytes_again) = ([0_u8; 8], vec![0_u8; 8]);
//! svm.write(&queue, b"abcdefgh")?;
//! svm.write_async(&queue, b"ABCD".to_vec())?.wait()?;
//! svm.copy_to(&queue, &other)?;
//! other.read(&queue, &mut bytes)?;
//! assert_eq!(other.read_async(&queue, bytes_again)?.wait()?, bytes);
//! svm.fill(&queue, &7_u16)?;
//! svm.map_write::<u16>(&queue, 1..2)?[0] = 8;
//! svm.map_read_write::<u16>(&queue, 1..2)?[0] += 1;
//! assert_eq!(svm.map_read::<u16>(&queue, 1..2)?[..], [9]);
//! assert_eq!(svm.map_async::<u16, _>(&queue, MapRead, 1..2)?.wait()?[..], [9]);
//! assert_eq!(svm.to_vec::<u16>(&queue)?, [7, 9, 7, 7]);
//! # Ok(())
//! # }
//! ```
//!
//! # Maps
//! | memory | part | guard |
//! |---|---|---|
//! | [`Buffer`] | a range of elements of `T` | [`BufferMap`] |
//! | [`SvmPointer`] | a range of elements of `T` | [`SvmMap`] |
//! | [`Image`] | `..` or an [`ImageRegion`]; `T` has the size of a pixel | [`ImageMap`] |
//!
//! Elements follow each other from the memory's first byte. `..` maps all of it, whose size then has to be a
//! multiple of an element's; a range with an end leaves out the bytes behind it. The driver chooses the
//! distances of an image's rows, so that the region has no pitches.
//!
//! A map comes after the commands that this crate has enqueued on the same bytes, on any queue, where the
//! command or the map writes. For an image, these are the bytes of the rows that have a pixel of the part.
//! Fine-grain shared virtual memory can be mapped, too; [`SvmPointer::access`] needs no queue.
//!
//! ```
//! # use clmatrix::memory::*;
//! # fn main() -> clmatrix::Result<()> {
//! # let context = clmatrix::create_some_context()?;
//! # let queue = clmatrix::CommandQueue::new(&context)?;
//! let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3, 4])?;
//! buffer.map_read_write::<u32>(&queue, ..2)?.iter_mut().for_each(|x| *x *= 10);
//! assert_eq!(buffer.map_read::<u32>(&queue, 1..3)?[..], [20, 3]);
//! let map = buffer.map_async::<u32, _>(&queue, MapRead, 2..)?;
//! // ... something else ...
//! assert_eq!(map.wait()?[..], [3, 4]);
//!
//! let grey = ImageFormat::new(ChannelOrder::R, ChannelType::UnsignedInt8);
//! let image = Image::builder(&context, grey).shape([4, 2]).copy_from(b"abcdefgh").build()?;
//! assert_eq!(image.map_read::<u8>(&queue, ..)?.pixels()[[0, 1, 2]], b'g');
//! # Ok(())
//! # }
//! ```
//!
//! All methods return CL_INVALID_CONTEXT; CL_INVALID_VALUE for no elements, for elements or pixels that
//! exceed the memory, for a range without an end of memory that is not a whole number of elements, and
//! for pixels of another size than `T`; CL_INVALID_OPERATION where the flags forbid the map, or where the
//! bytes are mapped and either map writes, or both begin at one byte and the driver finds maps by their
//! address; CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that the map waited for failed;
//! CL_MAP_FAILURE where the driver's pointer or pitches do not suit `T`; and the driver's errors.
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
//! map.unmap()?;
//! # Ok(*first)
//! # }
//! ```
//!
//! A command that does not block, with host memory that is only lent:
//!
//! ```compile_fail,E0308
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer, host: &mut [f32]) -> clmatrix::Result<()> {
//! let pending: PendingTransfer<&mut [f32]> = enqueue_copy(queue, host, buffer, ..)?;
//! # Ok(())
//! # }
//! ```
//!
//! The data of a map that has not been waited for:
//!
//! ```compile_fail,E0608
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<f32> {
//! let map = buffer.map_async::<f32, _>(queue, MapRead, ..)?;
//! Ok(map[0])
//! # }
//! ```
//!
//! An image in place of a buffer:
//!
//! ```compile_fail,E0599
//! # use clmatrix::memory::*;
//! # fn f(queue: &clmatrix::CommandQueue, image: &Image) -> clmatrix::Result<()> {
//! image.sub_buffer(..)?;
//! # Ok(())
//! # }
//! ```
//!
//! An object that has been released:
//!
//! ```compile_fail,E0382
//! # use clmatrix::memory::*;
//! # fn f(buffer: Buffer) -> usize {
//! drop(buffer);
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

#[macro_use]
mod numbered;
#[macro_use]
pub(crate) mod setters;

pub(crate) mod buffer;
pub(crate) mod command;
mod destructor_callback;
mod fill;
pub(crate) mod flags;
pub(crate) mod image;
mod into_memory;
mod mapping;
pub(crate) mod migrate;
pub(crate) mod object;
mod pipe;
mod range;
pub(crate) mod sampler;
pub(crate) mod svm;
pub(crate) mod track;
pub(crate) mod transfer;
mod units;

pub use crate::live::live_objects;
pub use crate::order::Order;
pub use crate::wait_list::WaitList;
pub use buffer::Buffer;
pub use buffer::copy::BufferPart;
pub use buffer::copy_rect::{HostRect, Rect};
pub use buffer::map::BufferMap;
pub use buffer::released_memory::ReleasedMemory;
pub use buffer::slice::BufferSlice;
pub use fill::{FillTarget, Pattern, enqueue_fill};
pub use flags::MemFlags;
pub use image::Image;
#[cfg(feature = "ndarray")]
pub use image::array::{ArrayMode, ImageElement, Integers};
pub use image::builder::ImageBuilder;
pub use image::copy_device::{ImageBufferRegion, ImageCopy};
pub use image::copy_host::ImageRegion;
pub use image::fill::FillColor;
pub use image::format::{ChannelKind, ChannelOrder, ChannelType, ImageFormat};
pub use image::map::ImageMap;
pub use image::shape::ImageType;
pub use into_memory::IntoMemory;
pub use mapping::mode::{
    MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, WritableMapMode,
};
pub use mapping::pending::{MapGuard, PendingMap};
pub use mapping::slice::SliceMap;
pub use migrate::{AnyMemoryObject, MigrationFlags, enqueue_migrate_mem_objects};
pub use object::{MemoryObject, ObjectType};
pub use pipe::Pipe;
pub use sampler::{AddressingMode, FilterMode, Sampler, SamplerProperty};
pub use svm::access::SvmAccess;
pub use svm::allocation::{SvmAllocation, SvmAllocationBuilder};
#[cfg(feature = "ndarray")]
pub use svm::array::{ArrayMap, SvmArray, SvmArrayAccess, SvmArrayMap};
pub use svm::flags::SvmFlags;
pub use svm::map::SvmMap;
pub use svm::migrate::enqueue_svm_migratemem;
pub use svm::pointer::SvmPointer;
pub use svm::system::SystemSvm;
pub use transfer::error::TransferError;
pub use transfer::host::Host;
pub use transfer::host::{HostSource, HostTarget};
pub use transfer::host_memory::HostMemory;
pub use transfer::linear::Linear;
pub use transfer::pending::{PendingTransfer, Transfer};
pub use transfer::{CopyTo, enqueue_copy};
pub use units::{ByteOrigin, ByteRegion, Pitches, PixelOrigin, PixelRegion};
