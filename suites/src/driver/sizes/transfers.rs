//! Writes, reads and copies of few and of many bytes, at even and odd places of both operands.

use std::ffi::c_void;

use Place::{Buffer, Pointer};
use clmatrix::cl3::types::CL_TRUE;
use clmatrix_harness::skip;
use rstest::rstest;

use crate::driver::api::{accepted, enqueue};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::area::{Area, COARSE};
use crate::driver::memory::operand::{Operand, check};
use crate::driver::memory::target::Target;

/// Numbers of bytes: few, and about a page, 64 KiB and 2 MiB.
const SIZES: [usize; 13] =
    [1, 2, 3, 7, 4095, 4096, 4097, 65_535, 65_536, 65_537, 2_097_151, 2_097_152, 2_097_153];

/// The first bytes in both operands.
const PLACES: [[usize; 2]; 5] = [[1, 4093], [0, 0], [3, 1], [4093, 64], [4096, 7]];

/// Kinds of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Buffer,
    Host,
    Svm,
}

/// An operand.
enum Place<'a> {
    Buffer(Target<'a>),
    Pointer(Area<'a>),
}

impl<'a> Place<'a> {
    fn new(bench: &'a Bench, kind: Kind, size: usize) -> Self {
        match kind {
            Kind::Buffer => Self::Buffer(Target::plain(bench, size)),
            Kind::Host => Self::Pointer(Area::host(bench, size, 0)),
            Kind::Svm => Self::Pointer(Area::svm(bench, size, COARSE)),
        }
    }

    fn operand(&self) -> &dyn Operand {
        match self {
            Self::Buffer(buffer) => buffer,
            Self::Pointer(area) => area,
        }
    }
}

/// Moves bytes between two places, and compares all bytes of both.
fn transfer(
    bench: &Bench,
    [to, from]: [Kind; 2],
    size: usize,
    [at, from_at]: [usize; 2],
) -> Result<(), String> {
    let (queue, [to, from]) =
        (bench.queue, [to, from].map(|kind| Place::new(bench, kind, size + 4200)));
    check([to.operand(), from.operand()], |[to_bytes, from_bytes]| {
        to_bytes[at..at + size].copy_from_slice(&from_bytes[from_at..from_at + size]);
        let place = |area: &Area<'_>, at| area.pointer.wrapping_add(at).cast::<c_void>();
        // SAFETY: both operands have the bytes.
        accepted(unsafe {
            match (&to, &from) {
                (Buffer(to), Pointer(from)) => {
                    let (to, from) = (to.raw(), place(from, from_at));
                    enqueue!(clEnqueueWriteBuffer(queue, to, CL_TRUE, at, size, from))
                }
                (Pointer(to), Buffer(from)) => {
                    let (to, from) = (place(to, at), from.raw());
                    enqueue!(clEnqueueReadBuffer(queue, from, CL_TRUE, from_at, size, to))
                }
                (Buffer(to), Buffer(from)) => {
                    let (to, from) = (to.raw(), from.raw());
                    enqueue!(clEnqueueCopyBuffer(queue, from, to, from_at, at, size))
                }
                (Pointer(to), Pointer(from)) => {
                    let (to, from) = (place(to, at), place(from, from_at).cast_const());
                    enqueue!(clEnqueueSVMMemcpy(queue, CL_TRUE, to, from, size))
                }
            }
        })
    })
}

#[rstest]
#[case::write("clEnqueueWriteBuffer", [Kind::Buffer, Kind::Host])]
#[case::read("clEnqueueReadBuffer", [Kind::Host, Kind::Buffer])]
#[case::copy("clEnqueueCopyBuffer", [Kind::Buffer, Kind::Buffer])]
#[case::svm_write("clEnqueueSVMMemcpy from host memory", [Kind::Svm, Kind::Host])]
#[case::svm_read("clEnqueueSVMMemcpy to host memory", [Kind::Host, Kind::Svm])]
#[case::svm_copy("clEnqueueSVMMemcpy", [Kind::Svm, Kind::Svm])]
#[clmatrix_harness::test]
fn transfers_move_all_bytes(bench: Bench, #[case] call: &str, #[case] kinds: [Kind; 2]) {
    let is_svm = kinds.contains(&Kind::Svm);
    if is_svm && !bench.has_svm() {
        skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
    }
    let findings = Findings::default();
    for size in SIZES {
        let places = if size > 100_000 { &PLACES[..1] } else { &PLACES[..] };
        for [at, from_at] in places {
            if let Err(answer) = transfer(&bench, kinds, size, [*at, *from_at]) {
                let call = format_args!("{call} of {size} bytes, to byte {at} from byte {from_at}");
                let section = if is_svm { "5.6.1" } else { "5.2.2" };
                let rule = format_args!("all bytes are moved, and no others change ({section})");
                findings.add(call, rule, answer);
            }
        }
    }
}
