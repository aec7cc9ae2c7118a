//! Bytes around 2 GiB and 4 GiB of one buffer.

use std::env;
use std::{ptr, slice};

use clmatrix::cl3::device::{CL_DEVICE_ADDRESS_BITS, CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU};
use clmatrix::cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_READ_WRITE};
use clmatrix::cl3::types::CL_TRUE;
use clmatrix_harness::skip;
use rstest::rstest;

use crate::driver::api::{UNWRITTEN, accepted, cl, enqueue, enqueued, named, ok};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::kernels::set_argument;
use crate::driver::memory::operand::{Operand, check};
use crate::driver::object::Object;
use crate::driver::query::Subject;
use crate::support::pattern::{bytes, same};

/// The size of the buffer.
const SIZE: usize = (1 << 32) + 8192;

/// The bytes of which the test has a model: the first ones, and those about 2 GiB and 4 GiB. A driver that uses
/// 32 bits of an offset takes some of them for others.
const WINDOW: usize = 256;
const WINDOWS: [usize; 4] = [0, (1 << 31) - 128, (1 << 32) - 128, (1 << 32) + 4096];

/// Inverts bytes.
const SOURCE: &str = "kernel void invert(global uchar *bytes, ulong at) {
    bytes[at + get_global_id(0)] ^= 0xff;
}";

/// The windows of a huge buffer.
struct Huge<'a> {
    bench: &'a Bench,
    buffer: Object,
}

impl Operand for Huge<'_> {
    fn size(&self) -> usize {
        WINDOW * WINDOWS.len()
    }

    fn put(&self, bytes: &[u8]) {
        for (at, bytes) in WINDOWS.iter().zip(bytes.chunks(WINDOW)) {
            let (queue, buffer, from) =
                (self.bench.queue, self.buffer.raw(), bytes.as_ptr().cast_mut().cast());
            // SAFETY: the buffer has the bytes; the call blocks.
            unsafe { enqueued!(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, *at, WINDOW, from)) };
        }
    }

    fn compare(&self, expected: &[u8]) -> Result<(), String> {
        for (at, expected) in WINDOWS.iter().zip(expected.chunks(WINDOW)) {
            let (queue, buffer, mut found) = (self.bench.queue, self.buffer.raw(), [0; WINDOW]);
            let to = found.as_mut_ptr().cast();
            // SAFETY: the buffer has the bytes; the call blocks.
            unsafe {
                ok!(clFinish(queue));
                enqueued!(clEnqueueReadBuffer(queue, buffer, CL_TRUE, *at, WINDOW, to));
            }
            same(&found, expected, format_args!("the bytes from {at:#x} on"))?;
        }
        Ok(())
    }
}

/// Commands on a huge buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Write,
    Read,
    Fill,
    CopyUp,
    CopyDown,
    Map,
    Kernel,
}

impl Command {
    /// Runs the command on 77 or 80 bytes from an offset in a window on, and compares all windows.
    fn run(
        self,
        huge: &Huge<'_>,
        kernel: &Object,
        window: usize,
        offset: usize,
    ) -> Result<(), String> {
        let (queue, buffer) = (huge.bench.queue, huge.buffer.raw());
        let (at, first) = (WINDOWS[window] + offset, window * WINDOW + offset);
        let new = bytes(2, 77);
        check([huge], |[model]| {
            let own = first..first + 77;
            // SAFETY: the buffer has the bytes; the calls block, or the comparison waits.
            accepted(unsafe {
                match self {
                    Self::Write => {
                        model[own].copy_from_slice(&new);
                        let from = new.as_ptr().cast_mut().cast();
                        enqueue!(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, at, 77, from))
                    }
                    Self::Read => {
                        let mut found = [0; 77];
                        let to = found.as_mut_ptr().cast();
                        let code =
                            enqueue!(clEnqueueReadBuffer(queue, buffer, CL_TRUE, at, 77, to));
                        same(&found, &model[own], "the bytes that are read")?;
                        code
                    }
                    Self::Fill => {
                        model[own].fill(0xf1);
                        let pattern = [0xf1_u8];
                        enqueue!(clEnqueueFillBuffer(
                            queue,
                            buffer,
                            pattern.as_ptr().cast(),
                            1,
                            at,
                            77
                        ))
                    }
                    Self::CopyUp => {
                        model.copy_within(128..205, first);
                        enqueue!(clEnqueueCopyBuffer(queue, buffer, buffer, 128, at, 77))
                    }
                    Self::CopyDown => {
                        model.copy_within(own, 128);
                        enqueue!(clEnqueueCopyBuffer(queue, buffer, buffer, at, 128, 77))
                    }
                    Self::Map => {
                        let (mut code, flags, none) =
                            (UNWRITTEN, CL_MAP_READ | CL_MAP_WRITE, ptr::null_mut());
                        let mapped = cl!(clEnqueueMapBuffer(
                            queue,
                            buffer,
                            CL_TRUE,
                            flags,
                            at,
                            77,
                            0,
                            ptr::null(),
                            none,
                            &raw mut code
                        ));
                        accepted(code)?;
                        let bytes = slice::from_raw_parts_mut(mapped.cast::<u8>(), 77);
                        let result = same(bytes, &model[own.clone()], "the mapped bytes");
                        model[own].copy_from_slice(&new);
                        bytes.copy_from_slice(&new);
                        let code = enqueue!(clEnqueueUnmapMemObject(queue, buffer, mapped));
                        result?;
                        code
                    }
                    Self::Kernel => {
                        model[own].iter_mut().for_each(|byte| *byte = !*byte);
                        set_argument(kernel, 0, &buffer);
                        set_argument(kernel, 1, &(at as u64));
                        let (kernel, global, none) = (kernel.raw(), [77], ptr::null());
                        enqueue!(clEnqueueNDRangeKernel(
                            queue,
                            kernel,
                            1,
                            none,
                            global.as_ptr(),
                            none
                        ))
                    }
                }
            })
        })
    }
}

#[rstest]
#[case::write(Command::Write, "clEnqueueWriteBuffer to")]
#[case::read(Command::Read, "clEnqueueReadBuffer from")]
#[case::fill(Command::Fill, "clEnqueueFillBuffer to")]
#[case::copy_up(Command::CopyUp, "clEnqueueCopyBuffer from byte 128 to")]
#[case::copy_down(Command::CopyDown, "clEnqueueCopyBuffer to byte 128 from")]
#[case::map(Command::Map, "clEnqueueMapBuffer of")]
#[case::kernel(Command::Kernel, "clEnqueueNDRangeKernel, which changes")]
#[clmatrix_harness::test(alone, requires(global_mem = "5 GiB", max_alloc = "4097 MiB"))]
fn commands_reach_bytes_behind_4_gib(bench: Bench, #[case] command: Command, #[case] call: &str) {
    let device = Subject::Device(bench.device);
    let types: u64 = device.value(named!(CL_DEVICE_TYPE));
    let is_asked = env::var_os("CLMATRIX_HUGE").is_some_and(|value| value == "1");
    if types != CL_DEVICE_TYPE_GPU && !is_asked {
        skip!(
            "the device is no GPU; CLMATRIX_HUGE=1 runs the test, which needs 4 GiB of its memory"
        );
    }
    let bits: u32 = device.value(named!(CL_DEVICE_ADDRESS_BITS));
    if bits < 64 {
        skip!("CL_DEVICE_ADDRESS_BITS is {bits}");
    }
    let findings = Findings::default();
    let kernel = bench.new_kernel(&bench.build(SOURCE, ""), "invert");
    let huge = Huge { bench: &bench, buffer: bench.new_buffer(CL_MEM_READ_WRITE, SIZE) };
    // The bytes before and behind a limit, and those that lie on both sides of it.
    for (window, offset) in [(1, 1), (1, 91), (1, 130), (2, 1), (2, 91), (2, 129), (3, 7)] {
        if let Err(answer) = command.run(&huge, &kernel, window, offset) {
            let at = WINDOWS[window] + offset;
            let call =
                format_args!("{call} 77 bytes from byte {at:#x} on of a buffer of {SIZE:#x} bytes");
            let rule = "these bytes are used, and no others change (5.2.2, 5.2.3, 5.2.4, 5.9.2)";
            findings.add(call, rule, answer);
        }
    }
}
