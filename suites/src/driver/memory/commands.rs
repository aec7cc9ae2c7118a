//! Commands on all kinds of memory, with other memory of all kinds, and a model of each.

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::{CL_TRUE, cl_int};

use super::model::*;
use super::target::*;
use crate::driver::api::{accepted, enqueue};
use crate::driver::prelude::*;
use crate::support::pattern::bytes;

/// Commands on bytes of one operand, and of another one, from which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Moves bytes in one row.
    Line,
    /// Moves a box of bytes between a buffer and host memory.
    HostBox,
    /// Moves a box of bytes between buffers.
    CopyBox,
    /// A kernel that inverts bytes.
    Kernel,
    /// A kernel that inverts bytes of one operand.
    Invert,
    Fill,
    Migrate,
}

use Command::*;

/// The bytes that commands use: a box in both operands. A line is a box of one row.
#[derive(Clone, Copy)]
pub struct Span {
    pub region: [usize; 3],
    pub sides: [Side; 2],
    /// The length of the pattern of a fill.
    pub pattern: usize,
}

impl Span {
    /// Bytes in one row: the first one in both operands, and their number.
    pub const fn line([from, to, size]: [usize; 3], pattern: usize) -> Self {
        let sides = [([from, 0, 0], [0, 0]), ([to, 0, 0], [0, 0])];
        Self { region: [size, 1, 1], sides, pattern }
    }

    /// Bytes of operands of `BYTES` bytes for a command.
    fn of(command: Command) -> Self {
        match command {
            Line | Migrate => Self::line([11, 5, 501], 0),
            HostBox | CopyBox => {
                let sides = [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])];
                Self { region: [7, 5, 3], sides, pattern: 0 }
            }
            Kernel | Invert => Self::line([0, 0, BYTES], 0),
            Fill => Self::line([0, 12, 500], 4),
        }
    }
}

/// Returns whether a command may have these operands.
fn allows(command: Command, [from, to]: [&Target<'_>; 2]) -> bool {
    let is_by_host = from.is_buffer() != to.is_buffer();
    let is_on_svm = !from.is_buffer() && !to.is_buffer();
    !match command {
        Line | HostBox if is_by_host => from.has(UNREADABLE) || to.has(UNWRITABLE),
        HostBox | CopyBox => is_on_svm,
        Kernel => from.has(CL_MEM_WRITE_ONLY) || to.has(CL_MEM_READ_ONLY),
        Invert => to.has(CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY),
        Migrate => is_on_svm && !to.bench.is(2, 1),
        Line | Fill => false,
    }
}

/// Sets an argument to a handle or a number.
pub fn set_argument<T>(kernel: *mut c_void, index: u32, value: &T) {
    let value = ptr::from_ref(value).cast();
    // SAFETY: the kernel has the argument.
    unsafe { ok!(clSetKernelArg(kernel, index, size_of::<T>(), value)) };
}

/// Does to models what a command does to its operands.
fn model(command: Command, span: Span, [from, to]: [&mut [u8]; 2]) {
    let Span { region, sides: [side, to_side], pattern } = span;
    let to_row = start(to_side)..start(to_side) + region[0];
    match command {
        Line | HostBox | CopyBox => move_box(region, (from, side), (to, to_side)),
        Kernel => to.iter_mut().zip(from).for_each(|(to, from)| *to = !*from),
        Invert => to[to_row].iter_mut().for_each(|byte| *byte = !*byte),
        Fill => to[to_row].copy_from_slice(&bytes(0, pattern).repeat(region[0] / pattern)),
        Migrate => (),
    }
}

/// Enqueues a command, and returns its name and the code of the call.
fn enqueue(command: Command, operands: [&Target<'_>; 2], span: Span) -> (&'static str, cl_int) {
    let [from, to] = operands;
    let Span { region, sides: [side, to_side], pattern } = span;
    let (queue, block, size) = (to.bench.queue, CL_TRUE, region[0]);
    let (f, t, is_buffer) = (from.raw(), to.raw(), operands.map(Target::is_buffer));
    let (at, to_at) = (from.base + start(side), to.base + start(to_side));
    // The first bytes of operands that are pointers.
    let (first, to_first) = (f.wrapping_byte_add(at), t.wrapping_byte_add(to_at));
    let (([r, s], [r2, s2]), shape) = ((side.1, to_side.1), region.as_ptr());
    let (o, p) = (side.0.as_ptr(), to_side.0.as_ptr());
    let (bytes, flag) = (bytes(0, pattern), CL_MIGRATE_MEM_OBJECT_HOST);
    let (pattern, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: the operands have the bytes, and live until the queue has finished.
    unsafe {
        match (command, is_buffer) {
            (Line, [true, true]) => (
                "clEnqueueCopyBuffer (5.2.2)",
                enqueue!(clEnqueueCopyBuffer(queue, f, t, at, to_at, size)),
            ),
            (Line, [false, true]) => (
                "clEnqueueWriteBuffer (5.2.2)",
                enqueue!(clEnqueueWriteBuffer(queue, t, block, to_at, size, first)),
            ),
            (Line, [true, false]) => (
                "clEnqueueReadBuffer (5.2.2)",
                enqueue!(clEnqueueReadBuffer(queue, f, block, at, size, to_first)),
            ),
            (Line, _) => (
                "clEnqueueSVMMemcpy (5.6.1)",
                enqueue!(clEnqueueSVMMemcpy(queue, block, to_first, first, size)),
            ),
            (CopyBox, _) => (
                "clEnqueueCopyBufferRect (5.2.2)",
                enqueue!(clEnqueueCopyBufferRect(queue, f, t, o, p, shape, r, s, r2, s2)),
            ),
            (HostBox, [false, _]) => (
                "clEnqueueWriteBufferRect (5.2.2)",
                enqueue!(clEnqueueWriteBufferRect(queue, t, block, p, o, shape, r2, s2, r, s, f)),
            ),
            (HostBox, _) => (
                "clEnqueueReadBufferRect (5.2.2)",
                enqueue!(clEnqueueReadBufferRect(queue, f, block, o, p, shape, r, s, r2, s2, t)),
            ),
            (Fill, [_, true]) => (
                "clEnqueueFillBuffer (5.2.3)",
                enqueue!(clEnqueueFillBuffer(queue, t, pattern, length, to_at, size)),
            ),
            (Fill, _) => (
                "clEnqueueSVMMemFill (5.6.1)",
                enqueue!(clEnqueueSVMMemFill(queue, to_first, pattern, length, size)),
            ),
            (Migrate, [_, true]) => (
                "clEnqueueMigrateMemObjects(CL_MIGRATE_MEM_OBJECT_HOST) (5.5.4)",
                enqueue!(clEnqueueMigrateMemObjects(queue, 1, &raw const t, flag)),
            ),
            (Migrate, _) => {
                let (place, all) = (t.cast_const(), ptr::null());
                (
                    "clEnqueueSVMMigrateMem(CL_MIGRATE_MEM_OBJECT_HOST) (5.6.1)",
                    enqueue!(clEnqueueSVMMigrateMem(queue, 1, &raw const place, all, flag)),
                )
            }
            (Kernel | Invert, _) => (
                "clEnqueueNDRangeKernel (5.9.2, 5.10)",
                launch([if command == Kernel { from } else { to }, to], [to_at, size]),
            ),
        }
    }
}

/// Enqueues a kernel that inverts bytes of one operand to the same bytes of another.
fn launch(operands: [&Target<'_>; 2], [first, count]: [usize; 2]) -> cl_int {
    let bench = operands[0].bench;
    let (queue, kernel) = (bench.queue, bench.new_inverter());
    for (index, operand) in (0..).zip(operands) {
        if operand.is_buffer() {
            set_argument(kernel, index, &operand.raw());
        } else {
            // SAFETY: the kernel has the argument.
            unsafe { ok!(clSetKernelArgSVMPointer(kernel, index, operand.raw())) };
        }
    }
    let (first, count, null) = (&raw const first, &raw const count, ptr::null());
    // SAFETY: the kernel has its arguments, which have the bytes.
    unsafe { enqueue!(clEnqueueNDRangeKernel(queue, kernel, 1, first, count, null)) }
}

/// Runs a command and its model, compares all bytes of both operands, and reports wrong ones.
pub fn expect(findings: &Findings, command: Command, [from, to]: [&Target<'_>; 2], span: Span) {
    let mut function = "";
    let result = check([from, to], |[model_from, model_to]| {
        model(command, span, [from.own(model_from), to.own(model_to)]);
        let (name, code) = enqueue(command, [from, to], span);
        function = name;
        accepted(code)
    });
    if let Err(answer) = result {
        let Span { region, sides, pattern } = span;
        let (from, to) = (&from.name, &to.name);
        let [at, to_at] =
            sides.map(|(o, pitches)| format!("origin {o:?} with pitches {pitches:?}"));
        let call = match command {
            Fill => format!("{function} of {to}, patterns of {pattern} bytes"),
            Invert | Migrate => format!("{function} of {to}"),
            _ => format!("{function} from {at} of {from} to {to}"),
        };
        let call = format_args!("{call}, {region:?} bytes at {to_at}");
        findings.add(call, "the bytes change as the command says, and no others", answer);
    }
}

/// Runs the commands with all kinds of other memory that they may have. Memory over host memory begins with its bytes.
fn expect_all(findings: &Findings, target: &Target<'_>, commands: &[Command]) {
    let (bench, mut count) = (target.bench, 0);
    if let Memory::Buffer(_, Some(_)) = target.memory
        && let Err(answer) = target.compare(&bytes(0, target.size()))
    {
        let rule = "the buffer has the bytes of the host memory at the time of the call (5.2.1)";
        findings.add(format_args!("clCreateBuffer of {}", target.name), rule, answer);
    }
    let peer = if target.is_buffer() { PLAIN } else { SVM_COARSE };
    let hosts = [Memory::Host(0), Memory::Host(1), Memory::Mapped, SVM_FINE];
    let hosts = hosts.into_iter().filter(|memory| memory.is_on(bench));
    let others = [peer].into_iter().chain(hosts);
    let others: Vec<_> = others.map(|memory| Target::whole(bench, memory, BYTES)).collect();
    for command in commands {
        let used = match command {
            Line => &others,
            HostBox => &others[1..],
            _ => &others[..1],
        };
        let pairs = used.iter().flat_map(|other| [[target, other], [other, target]]);
        let is_alone = matches!(command, Invert | Fill | Migrate);
        for pair in pairs.skip(usize::from(is_alone)).filter(|pair| allows(*command, *pair)) {
            expect(findings, *command, pair, Span::of(*command));
            count += 1;
        }
    }
    println!("{}: {count} commands with other memory", target.name);
}

#[rstest]
#[clmatrix_harness::test]
fn commands_change_their_bytes_only(
    bench: Bench,
    #[values(
        PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
        WRITE_ONLY, HOST_READ, HOST_WRITE, NO_ACCESS, SVM_COARSE, SVM_FINE
    )]
    memory: Memory,
    #[values(Part::Whole, Part::Sub)] part: Part,
) {
    memory.requires(&bench);
    let target = Target::new(&bench, memory, part, BYTES);
    expect_all(&Findings::default(), &target, &[Line, HostBox, Fill, Migrate]);
}

#[rstest]
#[case::boxes_of_buffers(&[CopyBox], Part::Whole)]
#[case::boxes_of_sub_buffers(&[CopyBox], Part::Sub)]
#[case::kernels_with_buffers(&[Kernel, Invert], Part::Whole)]
#[case::kernels_with_sub_buffers(&[Kernel, Invert], Part::Sub)]
#[clmatrix_harness::test]
fn commands_work_on_all_kinds_of_memory(
    bench: Bench,
    #[case] commands: &[Command],
    #[case] part: Part,
) {
    let findings = Findings::default();
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        expect_all(&findings, &Target::new(&bench, memory, part, BYTES), commands);
    }
}
