//! Commands on all kinds of memory, with other memory of all kinds, and a model of each.

use super::*;

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

/// The bytes of operands of `BYTES` bytes that a command uses.
fn span(command: Command) -> Span {
    match command {
        Line => Span::line([11, 5, 501]),
        HostBox | CopyBox => Span::of([7, 5, 3], [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])]),
        Kernel | Invert => Span::line([0, 0, BYTES]),
        Fill => Span::line([0, 12, 500]).fill(&bytes(0, 4)),
        Migrate => Span { flags: CL_MIGRATE_MEM_OBJECT_HOST, ..Span::line([0; 3]) },
    }
}

/// The call that is a command on two operands, and the operands of the call.
fn call<'a>(command: Command, [from, to]: [&'a Target<'a>; 2]) -> (Kind, [&'a Target<'a>; 2]) {
    let kinds = match command {
        Line => [[Kind::SvmCopy, Kind::WriteBuffer], [Kind::ReadBuffer, Kind::CopyBuffer]],
        // No box is copied between two pieces of host memory.
        HostBox | CopyBox => [[Kind::WriteRect; 2], [Kind::ReadRect, Kind::CopyRect]],
        Kernel | Invert => [[Kind::Kernel; 2]; 2],
        Fill => [[Kind::SvmFill, Kind::FillBuffer]; 2],
        Migrate => [[Kind::SvmMigrate, Kind::Migrate]; 2],
    };
    let operands = [if is_alone(command) { to } else { from }, to];
    let [row, column] = operands.map(|operand| usize::from(operand.is_buffer()));
    (kinds[row][column], operands)
}

/// Returns whether a command uses the second operand alone.
fn is_alone(command: Command) -> bool {
    matches!(command, Invert | Fill | Migrate)
}

/// Returns whether operands may have a call.
fn allows((kind, [from, to]): (Kind, [&Target<'_>; 2])) -> bool {
    match kind {
        Kind::Kernel => !from.has(CL_MEM_WRITE_ONLY) && !to.has(CL_MEM_READ_ONLY),
        // The call is one of the host.
        _ if from.is_buffer() != to.is_buffer() => !from.has(UNREADABLE) && !to.has(UNWRITABLE),
        _ => to.bench.has(kind),
    }
}

/// Does to models what a command does to its operands.
fn model(command: Command, span: Span, [from, to]: [&mut [u8]; 2]) {
    let Span { region, sides: [side, to_side], pattern: (pattern, length), .. } = span;
    let to_row = &mut to[start(to_side)..][..region[0]];
    match command {
        Line | HostBox | CopyBox => move_box(region, (from, side), (to, to_side)),
        Kernel => to_row.iter_mut().zip(from).for_each(|(to, from)| *to = !*from),
        Invert => to_row.iter_mut().for_each(|byte| *byte = !*byte),
        Fill => to_row.copy_from_slice(&pattern[..length].repeat(region[0] / length)),
        Migrate => (),
    }
}

/// Runs a command and its model, compares all bytes of both operands, and reports wrong ones.
pub fn expect(command: Command, pair: [&Target<'_>; 2], span: Span) {
    let ((kind, operands), [from, to]) = (call(command, pair), pair);
    let result = check(pair, |[model_from, model_to]| {
        model(command, span, [from.own(model_from), to.own(model_to)]);
        let (mut all, mut span) = (Target::operands(operands), span);
        for (side, operand) in span.sides.iter_mut().zip(operands) {
            side.0[0] += operand.base;
        }
        if kind == Kind::Kernel {
            all.kernel = to.bench.new_inverter();
        }
        let call = Call { span: Some(span), ..Call::on(to.bench.queue).blocking() };
        accepted(kind.code(&mut all, call, ptr::null_mut()))
    });
    let Span { region, sides, pattern: (_, length), .. } = span;
    let [at, to_at] = sides.map(|(o, pitches)| format!("origin {o:?} with pitches {pitches:?}"));
    let about = match command {
        Fill => format!("of {}, patterns of {length} bytes", to.name),
        Invert => format!("of {}", to.name),
        Migrate => format!("of {} with CL_MIGRATE_MEM_OBJECT_HOST", to.name),
        _ => format!("from {at} of {} to {}", from.name, to.name),
    };
    let (function, section) = (kind.function(), kind.section());
    let call = format_args!("{function} ({section}) {about}, {region:?} bytes at {to_at}");
    to.bench.check_result(result, call, "the bytes change as the command says, and no others");
}

/// Runs the commands with all kinds of other memory that they may have. Memory over host memory begins with its bytes.
fn expect_all(target: &Target<'_>, commands: &[Command]) {
    let (bench, mut count) = (target.bench, 0);
    if let Memory::Buffer(_, Some(_)) = target.memory {
        let call = format_args!("clCreateBuffer of {}", target.name);
        let rule = "the buffer has the bytes of the host memory at the time of the call (5.2.1)";
        bench.check_result(target.compare(&bytes(0, target.size())), call, rule);
    }
    let peer = if target.is_buffer() { PLAIN } else { SVM_COARSE };
    let others = [peer, Memory::Host(0), Memory::Host(1), Memory::Mapped(&PLAIN), SVM_FINE];
    let others = others.into_iter().filter(|memory| memory.is_on(bench));
    let others: Vec<_> = others.map(|memory| Target::whole(bench, memory, BYTES)).collect();
    for command in commands {
        let used: &[_] = match command {
            // Boxes are those of buffers.
            HostBox | CopyBox if !target.is_buffer() => &[],
            Line => &others[..],
            HostBox => &others[1..],
            _ => &others[..1],
        };
        let pairs = used.iter().flat_map(|other| [[target, other], [other, target]]);
        let pairs = pairs.skip(usize::from(is_alone(*command)));
        for pair in pairs.filter(|pair| allows(call(*command, *pair))) {
            expect(*command, pair, span(*command));
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
    expect_all(&Target::new(&bench, memory, part), &[Line, HostBox, Fill, Migrate]);
}

#[rstest]
#[case::boxes_of_buffers(&[CopyBox], Part::Whole)]
#[case::boxes_of_sub_buffers(&[CopyBox], Part::Sub)]
#[case::kernels_with_buffers(&[Kernel, Invert], Part::Whole)]
#[case::kernels_with_sub_buffers(&[Kernel, Invert], Part::Sub)]
#[clmatrix_harness::test]
fn commands_work_on_all_kinds_of_memory(bench: Bench, #[case] all: &[Command], #[case] part: Part) {
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        expect_all(&Target::new(&bench, memory, part), all);
    }
}
