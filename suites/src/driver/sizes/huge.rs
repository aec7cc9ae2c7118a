//! Bytes around 2 GiB and 4 GiB of one buffer.

use std::env;

use super::*;

/// The size of the buffer, and the bytes of which the test has a model: the first ones, and those about 2 GiB and
/// 4 GiB. A driver that uses 32 bits of an offset takes some of them for others.
const SIZE: usize = (1 << 32) + 8192;
const WINDOW: usize = 256;
const WINDOWS: [usize; 3] = [(1 << 31) - 128, (1 << 32) - 128, (1 << 32) + 4096];

/// The places of operands: host memory, the first bytes of the buffer, and bytes that are far behind.
const HOST: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;

/// Inverts 77 bytes from an offset on, also in a model.
type Step = fn(&Target<'_>, usize, &mut [u8]) -> Checked;

/// A command with a model of its own, or a function with its call in words.
enum Work {
    Of(Command),
    By(&'static str, Step),
}

use Work::{By, Of};

fn map(to: &Target<'_>, at: usize, model: &mut [u8]) -> Checked {
    let flags = named!(CL_MAP_READ | CL_MAP_WRITE);
    let map = to.map(flags, at..at + 77)?;
    touch(flags.value, map, &mut model[at..at + 77]).and(to.unmap(map))
}

#[rstest]
#[case::write(Of(Command::Line), [HOST, HIGH])]
#[case::read(Of(Command::Line), [HIGH, HOST])]
#[case::fill(Of(Command::Fill), [LOW, HIGH])]
#[case::copy(Of(Command::Line), [LOW, HIGH])]
#[case::map(By("clEnqueueMapBuffer (5.2.4)", map), [LOW, HIGH])]
#[case::kernel(By("a kernel (5.9.2)", |to, at, model| add_one(to, &[(at, 77)], model)), [LOW, HIGH])]
#[clmatrix_harness::test(alone, requires(global_mem = "5 GiB", max_alloc = "4097 MiB"))]
fn commands_reach_bytes_behind_4_gib(bench: Bench, #[case] work: Work, #[case] places: [usize; 2]) {
    let types: u64 = bench.value(named!(CL_DEVICE_TYPE));
    if types != CL_DEVICE_TYPE_GPU && env::var_os("CLMATRIX_HUGE").is_none_or(|value| value != "1")
    {
        skip!("the device is no GPU; with CLMATRIX_HUGE=1, the test uses 4 GiB of its memory");
    }
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    let host = Target::whole(&bench, Memory::Host(1), WINDOW);
    let low = Target::window(&bench, buffer.raw(), 0, WINDOW);
    // The bytes before and behind a limit, and those that lie on both sides of it.
    for (base, at) in WINDOWS.into_iter().flat_map(|base| [1, 91, 130].map(|at| (base, at))) {
        let high = Target::window(&bench, buffer.raw(), base, WINDOW);
        let operands = places.map(|place| [&host, &low, &high][place]);
        match work {
            Of(command) => expect(command, operands, Span::line([at, at, 77]).fill(&bytes(0, 1))),
            By(call, step) => {
                let to = operands[1];
                let call = format_args!("{call} of bytes {at}..{} of {}", at + 77, to.name);
                let result = check(operands, |[_, model]| step(to, at, model));
                bench.check_result(result, call, "it inverts these bytes, and no others");
            }
        }
    }
}
