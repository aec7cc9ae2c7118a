//! Calls that cases change, and tables of them.

use super::prelude::*;
use crate::plain_calls::api::one_of;
use Kind::*;

/// The size in bytes of each buffer, of shared memory and of host memory.
pub const SIZE: usize = 4096;

/// The size in pixels of each image, of four bytes each. An array or a 3D image has `SHAPE[2]` layers.
pub const SHAPE: [usize; 3] = [16, 8, 3];

/// A null handle or pointer.
pub const NULL: *mut c_void = ptr::null_mut();

/// The commands on buffers or on no memory, under the names that they have in the names of tests.
#[expect(non_snake_case, reason = "the names of tests have this name, too")]
pub mod OnBuffers {
    pub use super::Kind::{Barrier, Marker};
    pub use super::Kind::{CopyBuffer as Copy, CopyRect, FillBuffer as Fill, MapBuffer as Map};
    pub use super::Kind::{Migrate, ReadBuffer as Read, ReadRect, UnmapBuffer as Unmap};
    pub use super::Kind::{WriteBuffer as Write, WriteRect};
}

/// The commands on images.
#[expect(non_snake_case, reason = "as above")]
pub mod OnImages {
    pub use super::Kind::{BufferToImage as CopyFromBuffer, ImageToBuffer as CopyToBuffer};
    pub use super::Kind::{CopyImage as Copy, FillImage as Fill, MapImage as Map};
    pub use super::Kind::{ReadImage as Read, WriteImage as Write};
}

/// The commands on shared virtual memory.
#[expect(non_snake_case, reason = "as above")]
pub mod OnSvm {
    pub use super::Kind::{SvmCopy as Copy, SvmFill as Fill, SvmMap as Map};
}

/// The direction of a command between an object and other memory.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    Read,
    Write,
}

impl Kind {
    /// This command for reads, and `write` for writes.
    pub fn or(self, write: Self, direction: Direction) -> Self {
        [self, write][direction as usize]
    }
}

/// A function or a call, and the code that it has returned.
pub type Answer = (&'static str, cl_int);

/// Checks the code of a call.
#[track_caller]
pub fn assert_code((call, code): Answer, rule: impl Display, named: &[cl_int]) {
    if let Err(broken) = one_of(code, named, call, rule) {
        panic!("{broken}");
    }
}

/// Calls a C function, and returns its answer; with a class, the function creates an object, which is released.
macro_rules! answer {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: handles and memory are valid, or the driver must refuse the call.
        (stringify!($function($($argument),*)), unsafe { cl!($function($($argument),*)) })
    };
    ($class:ident $function:ident($($argument:expr),* $(,)?)) => {{
        let mut code = UNWRITTEN;
        // SAFETY: as above; nothing else has the object.
        unsafe {
            let object = cl!($function($($argument,)* &raw mut code));
            if code == CL_SUCCESS {
                drop(Object::new(Class::$class, object));
            }
        }
        (stringify!($function), code)
    }};
}

/// Declares a test of a call, in both directions if it has them: a case for each change of the
/// valid call, with the code that OpenCL names. The test has the codes of which all cases have one.
macro_rules! cases {
    (
        $(#[$attribute:meta])*
        fn $name:ident(
            $bench:ident, $c:ident: $Call:ident
            $(of $kind:ident $(or $write:ident by $direction:ident)?)?
        ) $(=> $of_all:tt)?;
        $($case:ident($($change:tt)*) $(=> $named:ident)?;)*
    ) => {
        #[rstest::rstest]
        $(#[case::$case(
            concat!("case ", stringify!($case)),
            |$bench: &Bench, $c: &mut $Call| {
                // Not all cases use both.
                _ = ($bench, &$c);
                $($change)*
            },
            &[$($named)?]
        )])*
        $(#[$attribute])*
        fn $name(
            $bench: Bench,
            $($(#[values(Direction::Read, Direction::Write)] $direction: Direction,)?)?
            #[case] case: &str,
            #[case] change: fn(&Bench, &mut $Call),
            #[case] named: &[cl_int],
        ) {
            let mut call =
                $Call::valid(&$bench $(, Kind::$kind $(.or(Kind::$write, $direction))?)?);
            change(&$bench, &mut call);
            assert_code(call.answer(), case, &[named $(, &$of_all)?].concat());
        }
    };
}

pub(crate) use {answer, cases};

/// The bytes or pixels of a valid command.
fn span(kind: Kind) -> Span {
    // Slices of eight rows of 64 bytes, of which a buffer has eight.
    let rows = ([8, 1, 1], [64, 8 * 64]);
    let [pixels, zero, bytes] = [[1, 1, 0], [0; 3], [64, 0, 0]].map(|origin| (origin, [0; 2]));
    let (region, sides) = match kind {
        ReadRect | WriteRect | CopyRect => ([16, 4, 2], [rows; 2]),
        CopyImage => ([8, 4, 1], [zero, pixels]),
        ImageToBuffer => ([8, 4, 1], [pixels, bytes]),
        BufferToImage => ([8, 4, 1], [bytes, pixels]),
        _ if kind.needs() == Needs::Images => ([8, 4, 1], [pixels; 2]),
        _ => ([SIZE, 1, 1], [zero; 2]),
    };
    Span { region, sides, ..kind.whole().fill(&[1; 16]) }
}

impl Arguments {
    /// The arguments of a valid command, which blocks if it can. The map that an unmap ends has been made.
    pub fn valid(bench: &Bench, kind: Kind) -> Self {
        Self::of(bench, kind, span(kind))
    }

    /// The same with these bytes or pixels.
    pub fn of(bench: &Bench, kind: Kind, span: Span) -> Self {
        let mut operands = bench.operands_of(SIZE, SHAPE, &[kind]);
        kind.prepare(&mut operands, bench.queue);
        let call = Call::on(bench.queue).blocking().of(span);
        Self { count: 2, sizes: Some([SIZE, 0]), ..kind.arguments(&operands, call) }
    }

    /// Enqueues the command, and waits for it. A map stays.
    pub fn run(&mut self) -> Answer {
        let mut event = NULL;
        let code = self.call(&raw mut event);
        if code == CL_SUCCESS {
            // The code of the call counts, not the fate of the command.
            _ = wait(&[event]);
            // SAFETY: nothing else has the event.
            _ = unsafe { cl!(clReleaseEvent(event)) };
        }
        (self.kind.function(), code)
    }

    /// The command that ends the map that this one has begun.
    pub fn unmap(&self) -> Option<Self> {
        let mapped = if self.kind == SvmMap { self.memory[0] } else { self.mapped };
        Some(Self { kind: self.kind.unmap()?, mapped, waits: wait_list(&[]), ..*self })
    }

    /// Enqueues the command, waits for it, and ends the map that it has begun.
    pub fn answer(&mut self) -> Answer {
        let answer = self.run();
        if let (CL_SUCCESS, Some(mut unmap)) = (answer.1, self.unmap()) {
            unmap.run();
        }
        answer
    }

    /// Uses other bytes of the first memory.
    pub fn part(&mut self, offset: usize, size: usize) {
        self.parts(offset, self.offsets[1], size);
    }

    /// Uses other bytes of both memories.
    pub fn parts(&mut self, from: usize, to: usize, size: usize) {
        (self.offsets, self.size) = ([from, to], size);
    }

    /// Copies between parts of one memory.
    pub fn within_one(&mut self, from: usize, to: usize, size: usize) {
        self.memory[1] = self.memory[0];
        self.parts(from, to, size);
    }

    /// Copies to this origin in the source.
    pub fn within_one_to(&mut self, origin: [usize; 3]) {
        self.memory[1] = self.memory[0];
        self.origins[1] = Some(origin);
    }

    /// Fills three times the bytes of a pattern of this length.
    pub fn with_pattern_of(&mut self, bytes: usize) {
        (self.pattern.1, self.size) = (bytes, 3 * bytes);
    }
}

/// Changes a valid command, and checks the code of the call.
#[track_caller]
pub fn check(
    bench: &Bench,
    kind: Kind,
    rule: &str,
    change: impl FnOnce(&mut Arguments),
    code: cl_int,
) {
    let mut call = Arguments::valid(bench, kind);
    change(&mut call);
    assert_code(call.answer(), rule, &[code]);
}
