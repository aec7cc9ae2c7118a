//! Writes, reads, copies and fills of few and of many bytes, at even and odd places, and boxes with gaps.

use super::*;

/// The first bytes in both operands.
const PLACES: [[usize; 2]; 5] = [[1, 4093], [0, 0], [3, 1], [4093, 64], [4096, 7]];

/// Runs a command on these bytes of new memory, which has so many more behind them.
fn expect_new(bench: &Bench, kind: Kind, memories: [Memory; 2], span: Span, behind: usize) {
    let new = |i: usize| {
        let (origin, pitches) = filled(span.region, span.sides[i]);
        let last = [0, 1, 2].map(|axis| origin[axis] + span.region[axis] - 1);
        Target::whole(bench, memories[i], start((last, pitches)) + 1 + behind)
    };
    let is_fill = matches!(kind, Kind::FillBuffer | Kind::SvmFill);
    let (source, target) = ((!is_fill).then(|| new(0)), new(1));
    expect(kind, [source.as_ref().unwrap_or(&target), &target], span);
}

#[rstest]
#[case::write(Kind::WriteBuffer, [Host(1), PLAIN])]
#[case::read(Kind::ReadBuffer, [PLAIN, Host(1)])]
#[case::copy(Kind::CopyBuffer, [PLAIN, PLAIN])]
#[case::to_svm(Kind::SvmCopy, [Host(1), SVM_COARSE])]
#[case::from_svm(Kind::SvmCopy, [SVM_COARSE, Host(1)])]
#[case::of_svm(Kind::SvmCopy, [SVM_COARSE, SVM_COARSE])]
#[clmatrix_harness::test]
fn transfers_move_all_bytes(bench: Bench, #[case] kind: Kind, #[case] memories: [Memory; 2]) {
    // Few, and about a page, 64 KiB and 2 MiB.
    let about = [4096, 65_536, 2_097_152].into_iter().flat_map(|n| [n - 1, n, n + 1]);
    for size in [1, 2, 3, 7].into_iter().chain(about) {
        for [from, to] in &PLACES[..if size > 100_000 { 1 } else { PLACES.len() }] {
            for behind in [0, 300] {
                expect_new(&bench, kind, memories, Span::line([*from, *to, size]), behind);
            }
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn fills_repeat_their_pattern(
    bench: Bench,
    #[values(PLAIN, SVM_COARSE)] memory: Memory,
    #[values(1, 2, 4, 8, 16, 32, 64, 128)] length: usize,
) {
    let kind = if memory == PLAIN { Kind::FillBuffer } else { Kind::SvmFill };
    // Drivers differ in fills of no bytes of shared memory.
    let least = if memory == PLAIN { 0 } else { 1 };
    let few = (least..=3).chain([5, 7, 37]).map(|count| (3, count));
    let many = [4096, 65_536].map(|n| [0, 1, 2].map(|more| (1, n / length - 1 + more)));
    let most = [(37, 2_097_152 / length + 1), (0, 1)];
    for (first, count) in few.chain(many.concat()).chain(most) {
        let span = Span::line([0, first * length, count * length]).fill(&bytes(0, length));
        expect_new(&bench, kind, [memory; 2], span, 300);
    }
}

/// Copies between two parts of one buffer, or between the same bytes of the whole.
#[rstest]
#[clmatrix_harness::test]
fn a_buffer_is_copied_to_itself(bench: Bench, #[values(false, true)] is_of_parts: bool) {
    let (size, base) = (200, bench.alignment().next_multiple_of(256));
    let whole = bench.new_buffer(CL_MEM_READ_WRITE, base + size);
    let [first, second] = [0, base].map(|base| {
        if !is_of_parts {
            return Target::window(&bench, whole.raw(), base, size);
        }
        let part = bench.sub_buffer(whole.raw(), CL_MEM_READ_WRITE, [base, size]);
        let mut target = Target::window(&bench, part.raw(), 0, size);
        target.name = format!("a part from byte {base:#x} on of a buffer");
        target
    });
    for operands in [[&first, &second], [&second, &first]] {
        expect(Kind::CopyBuffer, operands, Span::line([3, 17, 180]));
    }
}

/// Enqueues commands without events that each use what the one before has written.
#[rstest]
#[clmatrix_harness::test]
fn large_commands_keep_the_order(
    bench: Bench,
    #[values([Kind::Kernel, Kind::CopyBuffer], [Kind::CopyBuffer, Kind::Kernel])] between: [Kind;
        2],
    #[values(4097, 65_536, 2_097_152)] size: usize,
) {
    let size = size.min(if bench.is_simulated() { 65_536 } else { usize::MAX });
    let [from, to] = [(); 2].map(|()| Target::whole(&bench, Host(0), size));
    let (operands, host) = (bench.operands_of(size, SHAPE, &between), [from.raw(), to.raw()]);
    let (there, back) = (Operands { host, ..operands }, Operands { host, ..operands.reversed() });
    let kinds = [Kind::WriteBuffer, between[0], between[1], Kind::ReadBuffer];
    let result = check([&from, &to], |[given, found]| {
        for (kind, mut operands) in kinds.into_iter().zip([there, back, there, back]) {
            let call = Call::on(bench.queue).of(Span::line([0, 0, size]));
            kind.enqueue_without_event(&mut operands, call);
        }
        found.iter_mut().zip(given).for_each(|(to, from)| *to = !*from);
        Ok(())
    });
    let names = kinds.map(Kind::function).join(", ");
    let call = format_args!("{names} of {size} bytes each, without events");
    let rule = "each command uses the bytes of the one before on an in-order queue (5.13)";
    bench.check_result(result, call, rule);
}

/// Enqueues transfers behind a gate: from host memory to an object, and from there to other host memory, three times.
#[rstest]
#[clmatrix_harness::test]
fn transfers_in_flight_keep_their_bytes(
    bench: Bench,
    #[values([Kind::WriteBuffer, Kind::ReadBuffer], [Kind::WriteImage, Kind::ReadImage])]
    kinds: [Kind; 2],
    #[values(65_536, 2_097_152)] size: usize,
) {
    bench.requires(kinds[0]);
    let size = size.min(if bench.is_simulated() { 65_536 } else { usize::MAX });
    let (shape, queue) = ([256, size / 1024, 1], bench.new_queue(0));
    let region = if kinds[0].needs() == Needs::Images { shape } else { [size, 1, 1] };
    let pairs = [(); 3].map(|()| [(); 2].map(|()| Target::whole(&bench, Host(0), size)));
    let held = gated(&bench, Kind::Marker, queue);
    for (n, [from, to]) in pairs.iter().enumerate() {
        from.put(&bytes(n, size));
        let (operands, host) = (bench.operands_of(size, shape, &kinds), [from.raw(), to.raw()]);
        for (kind, operands) in kinds.into_iter().zip([operands, operands.reversed()]) {
            let call = Call::on(queue).of(Span { region, ..kind.whole() });
            kind.enqueue_without_event(&mut Operands { host, ..operands }, call);
        }
    }
    drop(held);
    finish(queue);
    for (n, [_, to]) in pairs.iter().enumerate() {
        let names = kinds.map(Kind::function).join(" and ");
        let call = format_args!("{names} of {size} bytes, number {n} of 3 behind a user event");
        let rule = "each one moves its own bytes when it runs (5.2.2, 5.3.3)";
        bench.check_result(to.compare(&bytes(n, size)), call, rule);
    }
}

/// Boxes in both operands.
const BOXES: [([usize; 3], [Side; 2]); 16] = [
    // Gaps on both sides, in 2D and 3D.
    ([7, 5, 1], [([3, 2, 0], [13, 0]), ([1, 1, 0], [11, 0])]),
    ([7, 5, 3], [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])]),
    ([7, 5, 3], [([2, 0, 1], [11, 66]), ([3, 1, 2], [13, 91])]),
    ([64, 9, 4], [([5, 3, 2], [100, 1300]), ([0, 1, 0], [71, 71 * 10])]),
    // Far behind the first row or slice.
    ([7, 4, 1], [([1, 5, 0], [13, 0]), ([3, 6, 0], [11, 0])]),
    ([7, 2, 2], [([1, 9, 5], [13, 143]), ([3, 12, 7], [11, 165])]),
    // Gaps on one side, or between slices only. Pitches of zero are those of the region.
    ([16, 4, 4], [([0; 3], [0, 0]), ([1, 1, 1], [19, 190])]),
    ([16, 4, 4], [([1, 1, 1], [19, 190]), ([0; 3], [0, 0])]),
    ([16, 4, 4], [([0; 3], [0, 80]), ([0; 3], [16, 64])]),
    ([7, 5, 3], [([2, 0, 1], [11, 0]), ([3, 1, 2], [13, 0])]),
    ([16, 4, 1], [([3, 0, 0], [16, 64]), ([0; 3], [0, 0])]),
    // One byte, columns of one byte and wide rows.
    ([1, 1, 1], [([2, 3, 1], [5, 25]), ([1, 2, 2], [7, 21])]),
    ([1, 5000, 1], [([1, 1, 0], [3, 0]), ([4, 2, 0], [5, 0])]),
    ([1, 1, 5000], [([1, 1, 1], [3, 6]), ([0, 0, 3], [5, 5])]),
    ([4097, 3, 1], [([7, 1, 0], [5000, 0]), ([1, 0, 0], [4099, 0])]),
    ([65_537, 2, 2], [([3, 1, 1], [65_600, 3 * 65_600]), ([0, 0, 1], [65_541, 2 * 65_541])]),
];

#[rstest]
#[case::write(Kind::WriteRect, [Host(1), PLAIN])]
#[case::read(Kind::ReadRect, [PLAIN, Host(1)])]
#[case::copy(Kind::CopyRect, [PLAIN, PLAIN])]
#[clmatrix_harness::test]
fn boxes_keep_their_gaps(bench: Bench, #[case] kind: Kind, #[case] memories: [Memory; 2]) {
    for (region, sides) in BOXES {
        expect_new(&bench, kind, memories, Span::of(region, sides), 50);
    }
}
