//! Commands on all kinds of memory, with other memory of all kinds, and a model of each.

use super::*;
use crate::driver::command::Kind::*;

/// The bytes of operands of `BYTES` bytes that a command uses.
fn span(kind: Kind) -> Span {
    match kind {
        ReadRect | WriteRect | CopyRect => {
            Span::of([7, 5, 3], [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])])
        }
        Kernel => Span::line([0, 0, BYTES]),
        FillBuffer | SvmFill => Span::line([0, 12, 500]).fill(&bytes(0, 4)),
        Migrate | SvmMigrate => Span { flags: CL_MIGRATE_MEM_OBJECT_HOST, ..Span::line([0; 3]) },
        // One of the operands ends with the last byte: drivers round sizes up.
        ReadBuffer | CopyBuffer => Span::line([BYTES - 498, 5, 498]),
        _ => Span::line([5, BYTES - 498, 498]),
    }
}

/// Returns whether a command may have these operands: the same one twice if it uses that alone.
fn suits(kind: Kind, [from, to]: [&Target<'_>; 2]) -> bool {
    match (kind, [from, to].map(Target::is_buffer), ptr::eq(from, to)) {
        (Kernel, [a, b], _) if a == b => !from.has(CL_MEM_WRITE_ONLY) && !to.has(CL_MEM_READ_ONLY),
        (FillBuffer | Migrate, [true, true], true)
        | (SvmFill | SvmMigrate, [false, false], true)
        | (CopyBuffer | CopyRect, [true, true], false)
        | (SvmCopy, [false, false], false) => true,
        (ReadBuffer | ReadRect, [true, false], _) => !from.has(UNREADABLE),
        (WriteBuffer | WriteRect, [false, true], _) => !to.has(UNWRITABLE),
        _ => false,
    }
}

/// Runs a command, and does the same to models of the bytes of its operands.
fn run(kind: Kind, both: [&Target<'_>; 2], mut span: Span, models: [&mut [u8]; 2]) -> Checked {
    let ([_, to], [model, to_model]) = (both, models);
    let Span { region, sides, pattern: (pattern, length), .. } = span;
    let bytes = start(sides[1])..start(sides[1]) + region[0];
    match kind {
        Kernel => to_model[bytes].iter_mut().zip(model).for_each(|(to, from)| *to = !*from),
        FillBuffer | SvmFill => {
            to_model[bytes].copy_from_slice(&pattern[..length].repeat(region[0] / length));
        }
        MapBuffer => return to.touch(MAP_BOTH, slice::from_ref(&bytes), to_model),
        Migrate | SvmMigrate => (),
        _ => move_box(region, (model, sides[0]), (to_model, sides[1])),
    }
    let mut operands = Target::operands(both);
    if kind == Kernel {
        operands.kernel = to.bench.new_inverter();
    }
    span.sides.iter_mut().zip(both).for_each(|(side, operand)| side.0[0] += operand.base);
    let call = Call::on(to.bench.queue).blocking().of(span);
    accepted(kind.code(&mut operands, call, ptr::null_mut()))
}

/// Runs a command and its model, compares all bytes of its operands, and reports wrong ones.
pub fn expect(kind: Kind, operands: [&Target<'_>; 2], span: Span) {
    let [from, to] = operands;
    let is_alone = ptr::eq(from, to);
    let result = if is_alone {
        check([to], |[model]| run(kind, operands, span, [&mut model.to_vec(), model]))
    } else {
        check(operands, |models| run(kind, operands, span, models))
    };
    let Span { region, sides, pattern: (_, length), .. } = span;
    let place = |(origin, pitches): Side| match pitches {
        [0, 0] => format!("byte {}", origin[0]),
        _ => format!("origin {origin:?} with pitches {pitches:?}"),
    };
    let [at, to_at] = sides.map(place);
    let bytes = if region[1..] == [1, 1] { region[0].to_string() } else { format!("{region:?}") };
    let about = match kind {
        FillBuffer | SvmFill => format!("of {}, patterns of {length} bytes", to.name),
        Migrate | SvmMigrate => format!("of {} with CL_MIGRATE_MEM_OBJECT_HOST", to.name),
        _ if is_alone || kind == MapBuffer => format!("of {}", to.name),
        _ => format!("from {at} of {} to {}", from.name, to.name),
    };
    let (function, section) = (kind.function(), kind.section());
    let call = format_args!("{function} ({section}) {about}, {bytes} bytes at {to_at}");
    to.bench.check_result(result, call, "the bytes change as the command says, and no others");
}

/// Runs the tested kinds of commands with all kinds of other memory that they may have.
fn expect_all(target: &Target<'_>, is_tested: impl Fn(Kind) -> bool) {
    let bench = target.bench;
    let peer = if target.is_buffer() { PLAIN } else { SVM_COARSE };
    let others = [peer, SVM_FINE, Host(0), Host(1), Static, Mapped(&PLAIN), Mapped(&ALLOC)];
    let others = others.map(|it| it.is_on(bench).then(|| Target::whole(bench, it, BYTES)));
    let pairs = others.iter().flatten().flat_map(|other| [[target, other], [other, target]]);
    for pair in pairs.chain([[target; 2]]) {
        for kind in bench.kinds().filter(|kind| is_tested(*kind) && suits(*kind, pair)) {
            expect(kind, pair, span(kind));
        }
    }
}

/// Checks a new buffer over host memory.
fn check_first_bytes(target: &Target<'_>) {
    let call = format_args!("clCreateBuffer of {}", target.name);
    let rule = "the buffer has the bytes of the host memory at the time of the call (5.2.1)";
    target.bench.check_result(target.compare(&bytes(2, target.size())), call, rule);
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
    #[values(false, true)] is_part: bool,
) {
    let target = Target::new(&bench, memory, is_part);
    if let Buffer(_, Some(_)) = memory {
        check_first_bytes(&target);
    }
    // The other test has the commands that end the process of some drivers.
    expect_all(&target, |kind| ![CopyRect, Kernel].contains(&kind));
}

/// Creates buffers of each access flag over host memory.
#[clmatrix_harness::test]
fn a_buffer_begins_with_the_bytes_of_the_host(bench: Bench) {
    const FLAGS: [Named<u64>; 8] = named![CL_MEM_WRITE_ONLY | CL_MEM_COPY_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR; CL_MEM_WRITE_ONLY | CL_MEM_USE_HOST_PTR;
        CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR; CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR;
        CL_MEM_HOST_WRITE_ONLY | CL_MEM_USE_HOST_PTR; CL_MEM_HOST_READ_ONLY | CL_MEM_COPY_HOST_PTR;
        CL_MEM_WRITE_ONLY | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR];
    for flags in FLAGS {
        check_first_bytes(&Target::new(&bench, Buffer(flags, Some(&Host(0))), false));
    }
}

#[rstest]
#[case::boxes_of_buffers(CopyRect, false)]
#[case::boxes_of_sub_buffers(CopyRect, true)]
#[case::kernels_with_buffers(Kernel, false)]
#[case::kernels_with_sub_buffers(Kernel, true)]
#[clmatrix_harness::test]
fn commands_work_on_all_kinds_of_memory(bench: Bench, #[case] kind: Kind, #[case] is_part: bool) {
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        expect_all(&Target::new(&bench, memory, is_part), |other| other == kind);
    }
}
