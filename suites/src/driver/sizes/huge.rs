//! Bytes around 2 GiB and 4 GiB of one buffer.

use std::env;

use clmatrix::cl3::device::*;
use clmatrix::cl3::memory::*;
use clmatrix_harness::skip;

use crate::driver::memory::commands::{Command, Span, expect};
use crate::driver::memory::model::{check, touch};
use crate::driver::memory::target::{Memory, Target};
use crate::driver::prelude::*;

/// The size of the buffer, and the bytes of which the test has a model: the first ones, and those about 2 GiB and
/// 4 GiB. A driver that uses 32 bits of an offset takes some of them for others.
const SIZE: usize = (1 << 32) + 8192;
const WINDOW: usize = 256;
const WINDOWS: [usize; 3] = [(1 << 31) - 128, (1 << 32) - 128, (1 << 32) + 4096];

/// The operands of a command: host memory, the first bytes of the buffer, and bytes that are far behind.
const HOST: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;

#[rstest]
#[case::write(Some(Command::Line), [HOST, HIGH])]
#[case::read(Some(Command::Line), [HIGH, HOST])]
#[case::fill(Some(Command::Fill), [LOW, HIGH])]
#[case::copy(Some(Command::Line), [LOW, HIGH])]
#[case::map(None, [LOW, HIGH])]
#[case::kernel(Some(Command::Invert), [LOW, HIGH])]
#[clmatrix_harness::test(alone, requires(global_mem = "5 GiB", max_alloc = "4097 MiB"))]
fn commands_reach_bytes_behind_4_gib(
    bench: Bench,
    #[case] command: Option<Command>,
    #[case] operands: [usize; 2],
) {
    let types: u64 = Subject::Device(bench.device).value(named!(CL_DEVICE_TYPE));
    if types != CL_DEVICE_TYPE_GPU && env::var_os("CLMATRIX_HUGE").is_none_or(|value| value != "1")
    {
        skip!("the device is no GPU; with CLMATRIX_HUGE=1, the test uses 4 GiB of its memory");
    }
    let (findings, buffer) = (Findings::default(), bench.new_buffer(CL_MEM_READ_WRITE, SIZE));
    let host = Target::whole(&bench, Memory::Host(1), WINDOW);
    let low = Target::window(&bench, buffer.raw(), 0, WINDOW);
    // The bytes before and behind a limit, and those that lie on both sides of it.
    for (base, at) in WINDOWS.into_iter().flat_map(|base| [1, 91, 130].map(|at| (base, at))) {
        let high = Target::window(&bench, buffer.raw(), base, WINDOW);
        let [from, to] = operands.map(|operand| [&host, &low, &high][operand]);
        if let Some(command) = command {
            expect(&findings, command, [from, to], Span::line([at, at, 77], 1));
            continue;
        }
        let result = check([from, to], |[_, model]| {
            let flags = named!(CL_MAP_READ | CL_MAP_WRITE);
            let map = to.map(flags, at..at + 77)?;
            touch(flags.value, map, &mut model[at..at + 77]).and(to.unmap(map))
        });
        if let Err(answer) = result {
            let call = format_args!("clEnqueueMapBuffer of bytes {at}..{} of {}", at + 77, to.name);
            findings.add(call, "these bytes are mapped, and no others change (5.2.4)", answer);
        }
    }
}
