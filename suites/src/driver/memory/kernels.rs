//! Kernels that use buffers of all kinds of memory.

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::memory::{CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
use rstest::rstest;

use super::maps::FLAGS;
use super::operand::check;
use super::target::{Memory, Part, SIZE, Target};
use crate::driver::api::{accepted, enqueue, ok};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::object::Object;
use crate::support::pattern::bytes;

/// Inverts bytes from one offset on, and writes them from another one on.
const SOURCE: &str = "
    kernel void invert(global const uchar *from, uint from_at, global uchar *to, uint to_at) {
        size_t i = get_global_id(0);
        to[to_at + i] = ~from[from_at + i];
    }
    kernel void invert_in_place(global uchar *bytes, uint at) {
        size_t i = get_global_id(0);
        bytes[at + i] ^= 0xff;
    }";

/// The work items.
pub const N: usize = 500;

/// The first bytes in the buffer under test and in the other one.
pub const AT: [usize; 2] = [7, 50];

/// The kernels that invert bytes, and invert them in place.
pub fn kernels(bench: &Bench) -> [Object; 2] {
    let program = bench.build(SOURCE, "");
    ["invert", "invert_in_place"].map(|name| bench.new_kernel(&program, name))
}

/// Writes the inverted bytes.
pub fn invert(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = !from);
}

/// The ways in which a kernel uses a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Reads,
    /// After the host has written the buffer through a map.
    ReadsMapped,
    Writes,
    Changes,
}

impl Use {
    fn what(self) -> &'static str {
        match self {
            Self::Reads => ", of which the kernel reads",
            Self::ReadsMapped => " after a map for writing, of which the kernel reads",
            Self::Writes => ", of which the kernel writes",
            Self::Changes => ", of which the kernel reads and writes",
        }
    }

    fn is_allowed(self, target: &Target<'_>) -> bool {
        let (reads, writes) = (!target.has(CL_MEM_WRITE_ONLY), !target.has(CL_MEM_READ_ONLY));
        match self {
            Self::Reads => reads,
            Self::ReadsMapped => reads && target.host_writes(),
            Self::Writes => writes,
            Self::Changes => reads && writes,
        }
    }

    fn run(
        self,
        target: &Target<'_>,
        peer: &Target<'_>,
        kernels: &[Object; 2],
    ) -> Result<(), String> {
        check([target, peer], |[whole, other]| {
            let buffer = target.own(whole);
            if self == Self::ReadsMapped {
                buffer.copy_from_slice(&bytes(2, SIZE));
                let mut map = target.map(FLAGS[1], 0..SIZE)?;
                map.put(buffer);
                map.unmap()?;
            }
            let (own, other) = (&mut buffer[AT[0]..][..N], &mut other[AT[1]..][..N]);
            let [first, second] = [(target.raw(), AT[0]), (peer.raw(), AT[1])];
            let (kernel, arguments) = match self {
                Self::Reads | Self::ReadsMapped => {
                    invert(other, own);
                    (&kernels[0], vec![first, second])
                }
                Self::Writes => {
                    invert(own, other);
                    (&kernels[0], vec![second, first])
                }
                Self::Changes => {
                    own.iter_mut().for_each(|byte| *byte = !*byte);
                    (&kernels[1], vec![first])
                }
            };
            for (n, (buffer, at)) in arguments.iter().enumerate() {
                set_argument(kernel, 2 * n as u32, buffer);
                set_argument(kernel, 2 * n as u32 + 1, &(*at as u32));
            }
            launch(target.bench, kernel)
        })
    }
}

/// Sets an argument to a handle or a number.
pub fn set_argument<T>(kernel: &Object, index: u32, value: &T) {
    let value = ptr::from_ref(value).cast::<c_void>();
    // SAFETY: the kernels have these arguments.
    unsafe { ok!(clSetKernelArg(kernel.raw(), index, size_of::<T>(), value)) };
}

/// Enqueues a kernel with `N` work items.
pub fn launch(bench: &Bench, kernel: &Object) -> Result<(), String> {
    let (queue, kernel, global, null) = (bench.queue, kernel.raw(), [N], ptr::null());
    // SAFETY: the arguments have `N` bytes behind the offsets.
    accepted(unsafe {
        enqueue!(clEnqueueNDRangeKernel(queue, kernel, 1, null, global.as_ptr(), null))
    })
}

#[rstest]
#[case::buffers(&[Part::Whole], &Memory::ALL)]
#[case::sub_buffers(&[Part::Sub], &Memory::ALL)]
#[case::sub_buffers_with_flags(
    &[Part::ReadOnlySub, Part::WriteOnlySub, Part::NoAccessSub],
    &[Memory::Plain, Memory::Use],
)]
#[clmatrix_harness::test]
fn kernels_change_their_bytes_only(
    bench: Bench,
    #[case] parts: &[Part],
    #[case] memories: &[Memory],
) {
    let (findings, kernels, peer) =
        (Findings::default(), kernels(&bench), Target::plain(&bench, SIZE));
    for memory in memories.iter().filter(|memory| memory.is_on(&bench)) {
        for part in parts {
            let target = Target::new(&bench, *memory, *part, SIZE);
            for used in [Use::Reads, Use::ReadsMapped, Use::Writes, Use::Changes] {
                if !used.is_allowed(&target) {
                    continue;
                }
                if let Err(answer) = used.run(&target, &peer, &kernels) {
                    let rule = "a kernel has the current bytes, and only those change that it writes (5.9.2, 5.10)";
                    let call =
                        format_args!("clEnqueueNDRangeKernel{} {}", used.what(), target.name);
                    findings.add(call, rule, answer);
                }
            }
        }
    }
}
