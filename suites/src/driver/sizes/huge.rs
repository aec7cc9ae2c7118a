//! Bytes around 2 GiB and 4 GiB of one buffer.

use std::env;

use super::*;

/// The size of the buffer, and the bytes of which the test has a model: the first ones, and those about 2 GiB and
/// 4 GiB. A driver that uses 32 bits of an offset takes some of them for others.
const SIZE: usize = (1 << 32) + 8192;
const WINDOW: usize = 256;
const WINDOWS: [usize; 3] = [(1 << 31) - 128, (1 << 32) - 128, (1 << 32) + 4096];

#[rstest]
#[case::write(Kind::WriteBuffer)]
#[case::read(Kind::ReadBuffer)]
#[case::fill(Kind::FillBuffer)]
#[case::copy(Kind::CopyBuffer)]
#[case::map(Kind::MapBuffer)]
#[case::kernel(Kind::Kernel)]
#[clmatrix_harness::test(alone, requires(global_mem = "5 GiB", max_alloc = "4097 MiB"))]
fn commands_reach_bytes_behind_4_gib(bench: Bench, #[case] kind: Kind) {
    let types: u64 = bench.value(named!(CL_DEVICE_TYPE));
    if types != CL_DEVICE_TYPE_GPU && env::var("CLMATRIX_HUGE").as_deref() != Ok("1") {
        skip!("the device is no GPU; with CLMATRIX_HUGE=1, the test uses 4 GiB of its memory");
    }
    let buffer = bench.new_buffer(CL_MEM_READ_WRITE, SIZE);
    let host = Target::whole(&bench, Host(1), WINDOW);
    let low = Target::window(&bench, buffer.raw(), 0, WINDOW);
    // The bytes before and behind a limit, and those that lie on both sides of it.
    for (base, at) in WINDOWS.into_iter().flat_map(|base| [1, 91, 130].map(|at| (base, at))) {
        let high = Target::window(&bench, buffer.raw(), base, WINDOW);
        let operands = match kind {
            Kind::WriteBuffer => [&host, &high],
            Kind::ReadBuffer => [&high, &host],
            _ => [&low, &high],
        };
        if kind == Kind::Kernel {
            let result = check(operands, |[_, model]| add_one(&high, &[(at, 77)], model, false));
            let call = format_args!("a kernel (5.9.2) on 77 bytes at {at} of {}", high.name);
            bench.check_result(result, call, "it adds one to these bytes, and changes no others");
        } else {
            expect(kind, operands, Span::line([at, at, 77]).fill(&bytes(0, 1)));
        }
    }
}
