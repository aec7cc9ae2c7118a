//! Commands on buffers of all kinds of memory, with host memory of all kinds, and a model of each.

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_TRUE, cl_int, cl_mem_migration_flags};

use super::area::{Access, Area, FINE, svm_kinds};
use super::operand::*;
use super::target::*;
use crate::driver::api::{accepted, enqueue};
use crate::driver::prelude::*;
use crate::support::pattern::{bytes, word};

/// Commands on a buffer, each with its section. The other operand is host memory or a plain buffer.
pub const WRITE: &str = "clEnqueueWriteBuffer (5.2.2) to";
pub const READ: &str = "clEnqueueReadBuffer (5.2.2) of";
pub const WRITE_RECT: &str = "clEnqueueWriteBufferRect (5.2.2) to";
pub const READ_RECT: &str = "clEnqueueReadBufferRect (5.2.2) of";
const COPY_IN: &str = "clEnqueueCopyBuffer (5.2.2) from a plain buffer to";
pub const COPY_OUT: &str = "clEnqueueCopyBuffer (5.2.2) to a plain buffer from";
const COPY_OWN: &str = "clEnqueueCopyBuffer (5.2.2) within";
pub const FILL_BYTES: &str = "clEnqueueFillBuffer (5.2.3) of";
const MIGRATE: &str = "clEnqueueMigrateMemObjects(0) (5.5.4) of";
const TO_HOST: &str = "clEnqueueMigrateMemObjects(CL_MIGRATE_MEM_OBJECT_HOST) (5.5.4) of";
const UNDEFINED: &str =
    "clEnqueueMigrateMemObjects(CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED) (5.5.4), and a copy to,";
const RECT_IN: &str = "clEnqueueCopyBufferRect (5.2.2) from a plain buffer to";
pub const RECT_OUT: &str = "clEnqueueCopyBufferRect (5.2.2) to a plain buffer from";
const KERNEL_READS: &str = "clEnqueueNDRangeKernel (5.9.2, 5.10), which reads";
const KERNEL_AFTER_MAP: &str = "clEnqueueNDRangeKernel (5.9.2, 5.5.3), which reads, mapped before,";
const KERNEL_WRITES: &str = "clEnqueueNDRangeKernel (5.9.2, 5.10), which writes";
const KERNEL_CHANGES: &str = "clEnqueueNDRangeKernel (5.9.2, 5.10), which reads and writes";

const LINES: &[&str] = &[
    WRITE, READ, WRITE_RECT, READ_RECT, COPY_IN, COPY_OUT, COPY_OWN, FILL_BYTES, MIGRATE, TO_HOST,
    UNDEFINED,
];
const BOXES: &[&str] = &[RECT_IN, RECT_OUT];
const KERNELS: &[&str] = &[KERNEL_READS, KERNEL_AFTER_MAP, KERNEL_WRITES, KERNEL_CHANGES];

/// The bytes that commands use: a box in the buffer and in the other operand. A line is a box of one row.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub region: [usize; 3],
    pub sides: [Side; 2],
    /// The length of the pattern of a fill.
    pub pattern: usize,
}

impl Span {
    /// Bytes in one row: the first one in the buffer and in the other operand, and their number.
    pub const fn line([at, other, size]: [usize; 3], pattern: usize) -> Self {
        let sides = [([at, 0, 0], [0, 0]), ([other, 0, 0], [0, 0])];
        Self { region: [size, 1, 1], sides, pattern }
    }
}

/// Bytes of buffers of `BYTES` bytes.
const BOX: Span =
    Span { region: [7, 5, 3], sides: [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])], pattern: 0 };

/// Returns whether a command may have these operands.
fn allows(call: &str, target: &Target<'_>, host: &Area<'_>) -> bool {
    let is_constant = host.access == Access::Constant;
    !match call {
        WRITE | WRITE_RECT => target.has(UNWRITABLE),
        READ | READ_RECT => target.has(UNREADABLE) || is_constant,
        KERNEL_READS => target.has(CL_MEM_WRITE_ONLY),
        KERNEL_AFTER_MAP => target.has(CL_MEM_WRITE_ONLY | UNREADABLE | UNWRITABLE),
        KERNEL_WRITES => target.has(CL_MEM_READ_ONLY),
        KERNEL_CHANGES => target.has(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY),
        _ => false,
    }
}

/// Writes inverted bytes.
pub fn invert(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = !from);
}

/// Sets an argument to a handle or a number.
pub fn set_argument<T>(kernel: *mut c_void, index: u32, value: &T) {
    let value = ptr::from_ref(value).cast();
    // SAFETY: the kernel has the argument.
    unsafe { ok!(clSetKernelArg(kernel, index, size_of::<T>(), value)) };
}

/// Enqueues a kernel with its arguments, and so many work items.
pub fn launch(bench: &Bench, kernel: *mut c_void, count: usize) -> cl_int {
    let (queue, none, global) = (bench.queue, ptr::null(), &raw const count);
    // SAFETY: the kernel has its arguments, which have the bytes.
    unsafe { enqueue!(clEnqueueNDRangeKernel(queue, kernel, 1, none, global, none)) }
}

/// Runs a command and its model, and compares all bytes of all operands.
pub fn run(
    call: &str,
    [target, peer]: [&Target<'_>; 2],
    host: &Area<'_>,
    Span { region, sides: [own, other], pattern }: Span,
) -> Result<(), String> {
    let (queue, b, p, h) = (target.bench.queue, target.raw(), peer.raw(), host.pointer.cast());
    let (at, from_at, size) = (start(own), start(other), region[0]);
    let l = host.pointer.wrapping_add(from_at).cast();
    let (shape, o, t) = (region.as_ptr(), own.0.as_ptr(), other.0.as_ptr());
    let (([r, s], [r2, s2]), pattern) = ((own.1, other.1), bytes(0, pattern));
    check([host, target, peer], |[host, whole, peer]| {
        let buffer = target.own(whole);
        if call == KERNEL_AFTER_MAP {
            let map = target.map(named!(CL_MAP_READ | CL_MAP_WRITE), 0..BYTES)?;
            touch(CL_MAP_READ | CL_MAP_WRITE, map.2, buffer)?;
            map.unmap()?;
        }
        match call {
            WRITE | WRITE_RECT => move_box(region, (buffer, own), (host, other)),
            READ | READ_RECT => move_box(region, (host, other), (buffer, own)),
            COPY_IN | RECT_IN => move_box(region, (buffer, own), (peer, other)),
            COPY_OUT | RECT_OUT => move_box(region, (peer, other), (buffer, own)),
            COPY_OWN => buffer.copy_within(303..BYTES, 0),
            FILL_BYTES => {
                buffer[at..at + size].copy_from_slice(&pattern.repeat(size / pattern.len()));
            }
            UNDEFINED => buffer.copy_from_slice(peer),
            KERNEL_READS | KERNEL_AFTER_MAP => invert(&mut peer[..size], buffer),
            KERNEL_WRITES => invert(&mut buffer[..size], peer),
            KERNEL_CHANGES => buffer[..size].iter_mut().for_each(|byte| *byte = !*byte),
            _ => (),
        }
        // SAFETY: all operands are valid, and have the bytes; the host memory outlives the commands, which the
        // comparison waits for.
        accepted(unsafe {
            let migrate = |flags: cl_mem_migration_flags| {
                enqueue!(clEnqueueMigrateMemObjects(queue, 1, &raw const b, flags))
            };
            let (bl, n, m) = (CL_TRUE, pattern.len(), pattern.as_ptr().cast());
            let launch = |from, to| {
                let kernel = target.bench.new_inverter();
                set_argument(kernel, 0, &from);
                set_argument(kernel, 1, &to);
                launch(target.bench, kernel, size)
            };
            match call {
                WRITE => enqueue!(clEnqueueWriteBuffer(queue, b, bl, at, size, l)),
                READ => enqueue!(clEnqueueReadBuffer(queue, b, bl, at, size, l)),
                WRITE_RECT => {
                    enqueue!(clEnqueueWriteBufferRect(queue, b, bl, o, t, shape, r, s, r2, s2, h))
                }
                READ_RECT => {
                    enqueue!(clEnqueueReadBufferRect(queue, b, bl, o, t, shape, r, s, r2, s2, h))
                }
                COPY_IN => enqueue!(clEnqueueCopyBuffer(queue, p, b, from_at, at, size)),
                COPY_OUT => enqueue!(clEnqueueCopyBuffer(queue, b, p, at, from_at, size)),
                COPY_OWN => enqueue!(clEnqueueCopyBuffer(queue, b, b, 303, 0, BYTES - 303)),
                FILL_BYTES => enqueue!(clEnqueueFillBuffer(queue, b, m, n, at, size)),
                MIGRATE => migrate(0),
                TO_HOST => migrate(CL_MIGRATE_MEM_OBJECT_HOST),
                UNDEFINED => {
                    migrate(CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)
                        | enqueue!(clEnqueueCopyBuffer(queue, p, b, 0, 0, BYTES))
                }
                RECT_IN => {
                    enqueue!(clEnqueueCopyBufferRect(queue, p, b, t, o, shape, r2, s2, r, s))
                }
                RECT_OUT => {
                    enqueue!(clEnqueueCopyBufferRect(queue, b, p, o, t, shape, r, s, r2, s2))
                }
                KERNEL_WRITES => launch(p, b),
                KERNEL_CHANGES => launch(b, b),
                _ => launch(b, p),
            }
        })
    })
}

/// The first bytes of pattern 0.
static CONSTANT: [u8; BYTES] = {
    let (mut bytes, mut at) = ([0; BYTES], 0);
    while at < BYTES {
        bytes[at] = word((at / 4 % 19) as u32).to_le_bytes()[at % 4];
        at += 1;
    }
    bytes
};

/// Memory of the host of all kinds.
pub fn hosts(bench: &Bench) -> Vec<Area<'_>> {
    let host = |odd| Area::host(bench, BYTES, odd);
    let (pointer, access) = (CONSTANT.as_ptr().cast_mut(), Access::Constant);
    let constant = Area { name: "static data".into(), pointer, access, ..host(0) };
    let mut hosts = vec![host(0), host(1), constant, Area::mapped(bench, BYTES)];
    if svm_kinds(bench).contains(&FINE) {
        hosts.push(Area::svm(bench, BYTES, FINE));
    }
    hosts
}

/// Runs the commands with each kind of host memory that they may have, and reports the first one of each command
/// that leaves wrong bytes.
fn run_all(bench: &Bench, memory: Memory, part: Part, calls: &[&str], findings: &Findings) {
    let (target, peer) = (Target::new(bench, memory, part, BYTES), Target::plain(bench, BYTES));
    let hosts = hosts(bench);
    for call in calls {
        let has_host = [WRITE, READ, WRITE_RECT, READ_RECT].contains(call);
        let used = if has_host { &hosts[..] } else { &hosts[..1] };
        let span = match *call {
            WRITE_RECT | READ_RECT | RECT_IN | RECT_OUT => BOX,
            FILL_BYTES => Span::line([12, 0, 500], 4),
            _ => Span::line([5, 11, 501], 0),
        };
        let failed = used
            .iter()
            .filter(|host| allows(call, &target, host))
            .find_map(|host| Some((host, run(call, [&target, &peer], host, span).err()?)));
        if let Some((host, answer)) = failed {
            let host = if has_host { &host.name } else { "no host memory" };
            let rule = "the bytes change as the command says, and no others";
            findings.add(format_args!("{call} {}, with {host}", target.name), rule, answer);
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn commands_change_their_bytes_only(
    bench: Bench,
    #[values(
        PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
        WRITE_ONLY, HOST_READ, HOST_WRITE, NO_ACCESS
    )]
    memory: Memory,
    #[values(WHOLE, SUB)] part: Part,
) {
    memory.requires(&bench);
    run_all(&bench, memory, part, LINES, &Findings::default());
}

#[rstest]
#[case::boxes_of_buffers(BOXES, WHOLE, &ALL)]
#[case::boxes_of_sub_buffers(BOXES, SUB, &ALL)]
#[case::kernels_with_buffers(KERNELS, WHOLE, &ALL)]
#[case::kernels_with_sub_buffers(KERNELS, SUB, &ALL)]
#[case::read_only_sub_buffers(LINES, READ_ONLY_SUB, &[PLAIN, ALLOC, USE, COPY])]
#[case::write_only_sub_buffers(LINES, WRITE_ONLY_SUB, &[PLAIN, ALLOC, USE, COPY])]
#[case::sub_buffers_without_access(LINES, NO_ACCESS_SUB, &[PLAIN, ALLOC, USE, COPY])]
#[clmatrix_harness::test]
fn commands_work_on_all_kinds_of_memory(
    bench: Bench,
    #[case] calls: &[&str],
    #[case] part: Part,
    #[case] memories: &[Memory],
) {
    let findings = Findings::default();
    for memory in memories.iter().filter(|memory| memory.is_on(&bench)) {
        run_all(&bench, *memory, part, calls, &findings);
    }
}

#[rstest]
#[case::buffers(WHOLE)]
#[case::sub_buffers(SUB)]
#[clmatrix_harness::test]
fn a_buffer_begins_with_the_host_memory(bench: Bench, #[case] part: Part) {
    let findings = Findings::default();
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        let target = Target::new(&bench, memory, part, BYTES);
        if target.area.is_some()
            && let Err(answer) = target.compare(&bytes(0, target.size()))
        {
            let rule =
                "the buffer has the bytes of the host memory at the time of the call (5.2.1)";
            findings.add(format_args!("clCreateBuffer of {}", target.name), rule, answer);
        }
    }
}
