//! Commands that move the bytes of a buffer, and a model of each.

use Way::*;
use clmatrix::cl3::memory::{CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, CL_MIGRATE_MEM_OBJECT_HOST};
use clmatrix::cl3::types::{CL_TRUE, cl_int, cl_mem_migration_flags};

use super::area::Area;
use super::operand::check;
use super::shape::{Shape, Side};
use super::target::{SIZE, Target};
use crate::driver::api::{accepted, enqueue};

/// The bytes that commands on lines move: their number, and the first one in each operand.
const LINE: usize = 501;
const STARTS: [usize; 2] = [5, 11];

/// The bytes that commands on boxes move.
static BOX: Shape = Shape {
    region: [7, 5, 3],
    sides: [
        Side { origin: [3, 1, 1], pitches: [13, 91] },
        Side { origin: [2, 0, 1], pitches: [11, 66] },
    ],
};

/// The part of the buffer that is filled.
const FILL: std::ops::Range<usize> = 12..512;
const PATTERN: [u8; 4] = [0xf1, 0xe2, 0xd3, 0xc4];

/// The part of the buffer that is copied to its start.
const LAST: std::ops::Range<usize> = 303..SIZE;

/// Commands on a buffer. The other operand is host memory or a plain buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Write,
    Read,
    WriteRect,
    ReadRect,
    CopyIn,
    CopyOut,
    CopyWithin,
    Fill,
    Migrate,
    ToHost,
    /// The bytes are undefined, and then written.
    Undefined,
    RectIn,
    RectOut,
}

impl Way {
    /// All but the copies of boxes.
    pub const LINES: &[Self] = &[
        Write, Read, WriteRect, ReadRect, CopyIn, CopyOut, CopyWithin, Fill, Migrate, ToHost,
        Undefined,
    ];

    /// The copies of boxes.
    pub const BOXES: &[Self] = &[RectIn, RectOut];

    /// The call, and the section with its rule.
    pub fn call(self) -> [&'static str; 2] {
        match self {
            Write => ["clEnqueueWriteBuffer to", "5.2.2"],
            Read => ["clEnqueueReadBuffer of", "5.2.2"],
            WriteRect => ["clEnqueueWriteBufferRect to", "5.2.2"],
            ReadRect => ["clEnqueueReadBufferRect of", "5.2.2"],
            CopyIn => ["clEnqueueCopyBuffer from a plain buffer to", "5.2.2"],
            CopyOut => ["clEnqueueCopyBuffer to a plain buffer from", "5.2.2"],
            CopyWithin => ["clEnqueueCopyBuffer within", "5.2.2"],
            Fill => ["clEnqueueFillBuffer of", "5.2.3"],
            Migrate => ["clEnqueueMigrateMemObjects(0) of", "5.5.4"],
            ToHost => ["clEnqueueMigrateMemObjects(CL_MIGRATE_MEM_OBJECT_HOST) of", "5.5.4"],
            Undefined => [
                "clEnqueueMigrateMemObjects(CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED), then a copy to,",
                "5.5.4",
            ],
            RectIn => ["clEnqueueCopyBufferRect from a plain buffer to", "5.2.2"],
            RectOut => ["clEnqueueCopyBufferRect to a plain buffer from", "5.2.2"],
        }
    }

    /// Returns whether this command reads or writes host memory.
    pub fn has_host(self) -> bool {
        matches!(self, Write | Read | WriteRect | ReadRect)
    }

    /// Returns whether the command may have these operands.
    pub fn allows(self, target: &Target<'_>, host: &Area<'_>) -> bool {
        match self {
            Write | WriteRect => target.host_writes(),
            Read | ReadRect => target.host_reads() && !host.is_constant(),
            _ => true,
        }
    }

    /// Runs the command, and compares all bytes of all operands.
    pub fn run(
        self,
        target: &Target<'_>,
        peer: &Target<'_>,
        host: &Area<'_>,
    ) -> Result<(), String> {
        check([host, target, peer], |[host_bytes, buffer, peer_bytes]| {
            self.apply(target.own(buffer), peer_bytes, host_bytes);
            accepted(self.enqueue(target, peer, host))
        })
    }

    /// Does to the models what the command does to the operands.
    fn apply(self, buffer: &mut [u8], peer: &mut [u8], host: &mut [u8]) {
        let [line, other] = STARTS.map(|start| start..start + LINE);
        match self {
            Write => buffer[line].copy_from_slice(&host[other]),
            Read => host[other].copy_from_slice(&buffer[line]),
            WriteRect => BOX.move_in(buffer, host),
            ReadRect => BOX.move_out(buffer, host),
            CopyIn => buffer[line].copy_from_slice(&peer[other]),
            CopyOut => peer[other].copy_from_slice(&buffer[line]),
            CopyWithin => buffer.copy_within(LAST, 0),
            Fill => buffer[FILL].copy_from_slice(&PATTERN.repeat(FILL.len() / PATTERN.len())),
            Migrate | ToHost => (),
            Undefined => buffer.copy_from_slice(peer),
            RectIn => BOX.move_in(buffer, peer),
            RectOut => BOX.move_out(buffer, peer),
        }
    }

    fn enqueue(self, target: &Target<'_>, peer: &Target<'_>, host: &Area<'_>) -> cl_int {
        let (queue, b, peer) = (target.bench.queue, target.raw(), peer.raw());
        let [at, other] = STARTS;
        let (memory, line) = (host.pointer.cast(), host.pointer.wrapping_add(other).cast());
        let region = BOX.region.as_ptr();
        let [from, to] = BOX.sides.each_ref().map(|side| side.origin.as_ptr());
        let [[r, s], [r2, s2]] = BOX.sides.map(|side| side.pitches);
        // SAFETY: all operands are valid, and have the bytes; the host memory outlives the commands, which the
        // caller waits for.
        unsafe {
            let migrate = |flags: cl_mem_migration_flags| {
                enqueue!(clEnqueueMigrateMemObjects(queue, 1, &raw const b, flags))
            };
            match self {
                Write => enqueue!(clEnqueueWriteBuffer(queue, b, CL_TRUE, at, LINE, line)),
                Read => enqueue!(clEnqueueReadBuffer(queue, b, CL_TRUE, at, LINE, line)),
                WriteRect => enqueue!(clEnqueueWriteBufferRect(
                    queue, b, CL_TRUE, from, to, region, r, s, r2, s2, memory
                )),
                ReadRect => enqueue!(clEnqueueReadBufferRect(
                    queue, b, CL_TRUE, from, to, region, r, s, r2, s2, memory
                )),
                CopyIn => enqueue!(clEnqueueCopyBuffer(queue, peer, b, other, at, LINE)),
                CopyOut => enqueue!(clEnqueueCopyBuffer(queue, b, peer, at, other, LINE)),
                CopyWithin => enqueue!(clEnqueueCopyBuffer(queue, b, b, LAST.start, 0, LAST.len())),
                Fill => {
                    let (pattern, size) = (PATTERN.as_ptr().cast(), PATTERN.len());
                    enqueue!(clEnqueueFillBuffer(queue, b, pattern, size, FILL.start, FILL.len()))
                }
                Migrate => migrate(0),
                ToHost => migrate(CL_MIGRATE_MEM_OBJECT_HOST),
                Undefined => {
                    migrate(CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)
                        | enqueue!(clEnqueueCopyBuffer(queue, peer, b, 0, 0, SIZE))
                }
                RectIn => enqueue!(clEnqueueCopyBufferRect(
                    queue, peer, b, to, from, region, r2, s2, r, s
                )),
                RectOut => enqueue!(clEnqueueCopyBufferRect(
                    queue, b, peer, from, to, region, r, s, r2, s2
                )),
            }
        }
    }
}
