//! Commands on 2D images of all kinds of memory.

use rstest::rstest;

use super::image::{Image, Pixels, Way};
use super::maps::FLAGS;
use super::operand::Operand;
use super::target::Memory;
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::support::pattern::bytes;

#[rstest]
#[case::plain(Memory::Plain)]
#[case::alloc_host_ptr(Memory::Alloc)]
#[case::use_host_ptr(Memory::Use)]
#[case::copy_host_ptr(Memory::Copy)]
#[case::alloc_and_copy_host_ptr(Memory::AllocCopy)]
#[clmatrix_harness::test(requires(images))]
fn commands_change_their_pixels_only(bench: Bench, #[case] memory: Memory) {
    let findings = Findings::default();
    let image = Image::new(&bench, memory, [13, 7, 1]);
    if image.area.is_some()
        && let Err(answer) = image.compare(&bytes(0, image.size()))
    {
        let rule = "the image has the pixels of the host memory at the time of the call (5.3.1)";
        findings.add(format_args!("clCreateImage of {}", image.name), rule, answer);
    }
    let pixels = Pixels { origin: [3, 2, 0], other: [1, 3, 0], region: [6, 4, 1] };
    image.check(&Way::TRANSFERS, pixels, &findings);
    image.check(&FLAGS.map(Way::Map), pixels, &findings);
}
