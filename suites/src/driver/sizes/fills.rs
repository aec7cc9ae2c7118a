//! Fills with patterns of all lengths, at odd multiples of the length.

use clmatrix_harness::skip;
use rstest::rstest;

use crate::driver::api::{accepted, enqueue};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::area::{Area, COARSE};
use crate::driver::memory::operand::check;
use crate::driver::memory::target::Target;
use crate::support::pattern::bytes;

#[rstest]
#[case::buffer(false)]
#[case::svm(true)]
#[clmatrix_harness::test]
fn fills_repeat_their_pattern(
    bench: Bench,
    #[case] is_svm: bool,
    #[values(1, 2, 4, 8, 16, 32, 64, 128)] length: usize,
) {
    if is_svm && !bench.has_svm() {
        skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
    }
    let (findings, pattern, queue) = (Findings::default(), bytes(2, length), bench.queue);
    let about = |size: usize| [size / length - 1, size / length, size / length + 1];
    let few = [1, 2, 3, 5, 7, 37].map(|count| (count, 3));
    let many = [about(4096), about(65_536)].into_iter().flatten().map(|count| (count, 1));
    for (count, first) in few.into_iter().chain(many).chain([(2_097_152 / length + 1, 37), (1, 0)])
    {
        let (at, size) = (first * length, count * length);
        let room = at + size + 300;
        let fill = |to: &mut [u8]| to[at..at + size].copy_from_slice(&pattern.repeat(count));
        let pointer = pattern.as_ptr().cast();
        let (result, call) = if is_svm {
            let area = Area::svm(&bench, room, COARSE);
            let filled = check([&area], |[model]| {
                fill(model);
                let to = area.pointer.wrapping_add(at).cast();
                // SAFETY: the memory has the bytes.
                accepted(unsafe { enqueue!(clEnqueueSVMMemFill(queue, to, pointer, length, size)) })
            });
            (filled, "clEnqueueSVMMemFill")
        } else {
            let buffer = Target::plain(&bench, room);
            let filled = check([&buffer], |[model]| {
                fill(model);
                let to = buffer.raw();
                // SAFETY: the buffer has the bytes.
                accepted(unsafe {
                    enqueue!(clEnqueueFillBuffer(queue, to, pointer, length, at, size))
                })
            });
            (filled, "clEnqueueFillBuffer")
        };
        if let Err(answer) = result {
            let section = if is_svm { "5.6.1" } else { "5.2.3" };
            let rule =
                format_args!("the bytes repeat the pattern, and no others change ({section})");
            let call =
                format_args!("{call} of {count} patterns of {length} bytes from byte {at} on");
            findings.add(call, rule, answer);
        }
    }
}
