//! Bytes around 2 GiB and 4 GiB of one buffer.

use std::env;

use clmatrix::cl3::device::*;
use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::CL_TRUE;
use clmatrix_harness::skip;

use crate::driver::api::{accepted, enqueue, enqueued};
use crate::driver::memory::commands::{launch, set_argument};
use crate::driver::memory::operand::{Operand, check, touch};
use crate::driver::prelude::*;
use crate::support::pattern::same;

/// The size of the buffer, and the bytes of which the test has a model: the first ones, and those about 2 GiB and
/// 4 GiB. A driver that uses 32 bits of an offset takes some of them for others.
const SIZE: usize = (1 << 32) + 8192;
const WINDOW: usize = 256;
const WINDOWS: [usize; 4] = [0, (1 << 31) - 128, (1 << 32) - 128, (1 << 32) + 4096];

/// The bytes that commands use, and their kernel.
const N: usize = 77;
const SOURCE: &str = "kernel void invert(global uchar *bytes, ulong at) {
    bytes[at + get_global_id(0)] ^= 0xff;
}";

/// The windows of a huge buffer.
struct Huge<'a>(&'a Bench, Object);

impl Operand for Huge<'_> {
    fn size(&self) -> usize {
        WINDOW * WINDOWS.len()
    }

    fn put(&self, bytes: &[u8]) {
        let (q, b) = (self.0.queue, self.1.raw());
        for (at, bytes) in WINDOWS.iter().zip(bytes.chunks(WINDOW)) {
            let from = bytes.as_ptr().cast_mut().cast();
            // SAFETY: the buffer has the bytes; the call blocks.
            unsafe { enqueued!(clEnqueueWriteBuffer(q, b, CL_TRUE, *at, WINDOW, from)) };
        }
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        let (q, b, mut found) = (self.0.queue, self.1.raw(), [0; WINDOW]);
        WINDOWS.iter().zip(expected.chunks(WINDOW)).try_for_each(|(at, expected)| {
            let to = found.as_mut_ptr().cast();
            // SAFETY: the buffer has the bytes; the call blocks.
            unsafe { enqueued!(clEnqueueReadBuffer(q, b, CL_TRUE, *at, WINDOW, to)) };
            same(&found, expected, format_args!("the bytes from {at:#x} on"))
        })
    }
}

#[rstest]
#[case::write("clEnqueueWriteBuffer")]
#[case::read("clEnqueueReadBuffer")]
#[case::fill("clEnqueueFillBuffer")]
#[case::copy("clEnqueueCopyBuffer from byte 128")]
#[case::map("clEnqueueMapBuffer")]
#[case::kernel("clEnqueueNDRangeKernel")]
#[clmatrix_harness::test(alone, requires(global_mem = "5 GiB", max_alloc = "4097 MiB"))]
fn commands_reach_bytes_behind_4_gib(bench: Bench, #[case] call: &str) {
    let types: u64 = Subject::Device(bench.device).value(named!(CL_DEVICE_TYPE));
    if types != CL_DEVICE_TYPE_GPU && env::var_os("CLMATRIX_HUGE").is_none_or(|value| value != "1")
    {
        skip!("the device is no GPU; with CLMATRIX_HUGE=1, the test uses 4 GiB of its memory");
    }
    let findings = Findings::default();
    let kernel = bench.new_kernel(&bench.build(SOURCE, ""), "invert");
    let huge = Huge(&bench, bench.new_buffer(CL_MEM_READ_WRITE, SIZE));
    let (q, b, k, bl, mut host) = (bench.queue, huge.1.raw(), kernel.raw(), CL_TRUE, [0xf1_u8; N]);
    // The bytes before and behind a limit, and those that lie on both sides of it.
    for (window, offset) in [(1, 1), (1, 91), (1, 130), (2, 1), (2, 91), (2, 129), (3, 7)] {
        let (at, first) = (WINDOWS[window] + offset, window * WINDOW + offset);
        let h = host.as_mut_ptr().cast();
        let result = check([&huge], |[model]| {
            let (low, own) = (model[128..128 + N].to_vec(), &mut model[first..first + N]);
            // SAFETY: the buffer has the bytes; the calls block, or the comparison waits.
            accepted(unsafe {
                match call {
                    "clEnqueueWriteBuffer" | "clEnqueueFillBuffer" => own.fill(0xf1),
                    "clEnqueueCopyBuffer from byte 128" => own.copy_from_slice(&low),
                    "clEnqueueNDRangeKernel" => own.iter_mut().for_each(|byte| *byte = !*byte),
                    _ => (),
                }
                match call {
                    "clEnqueueWriteBuffer" => enqueue!(clEnqueueWriteBuffer(q, b, bl, at, N, h)),
                    "clEnqueueFillBuffer" => enqueue!(clEnqueueFillBuffer(q, b, h, 1, at, N)),
                    "clEnqueueReadBuffer" => {
                        let code = enqueue!(clEnqueueReadBuffer(q, b, bl, at, N, h));
                        same(&host, own, "the bytes that are read").map(|()| code)?
                    }
                    "clEnqueueMapBuffer" => {
                        let (f, l, e) = (CL_MAP_READ | CL_MAP_WRITE, ptr::null(), ptr::null_mut());
                        let map = created!(clEnqueueMapBuffer(q, b, bl, f, at, N, 0, l, e));
                        let touched = touch(f, ptr::slice_from_raw_parts_mut(map.cast(), N), own);
                        let code = enqueue!(clEnqueueUnmapMemObject(q, b, map));
                        touched.map(|()| code)?
                    }
                    "clEnqueueNDRangeKernel" => {
                        set_argument(k, 0, &b);
                        set_argument(k, 1, &(at as u64));
                        launch(&bench, k, N)
                    }
                    _ => enqueue!(clEnqueueCopyBuffer(q, b, b, 128, at, N)),
                }
            })
        });
        if let Err(answer) = result {
            let call = format_args!("{call}: {N} bytes at byte {at:#x} of {SIZE:#x} bytes");
            let rule = "these bytes are used, and no others change (5.2.2, 5.2.3, 5.2.4, 5.9.2)";
            findings.add(call, rule, answer);
        }
    }
}
