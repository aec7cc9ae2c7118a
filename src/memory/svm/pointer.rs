//! What all that points to shared virtual memory has in common (`pyopencl.SVMPointer`).

use std::ffi::c_void;
use std::fmt;

use super::flags::SvmFlags;

/// Shared virtual memory, or a part of it (`pyopencl.SVMPointer`).
///
/// ```no_run
/// use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let memory = SvmAllocation::new(&context, 1024, 0, SvmFlags::READ_WRITE)?;
/// assert_eq!(SvmPointer::size(&memory), 1024);
/// # Ok(())
/// # }
/// ```
pub trait SvmPointer: sealed::Svm + fmt::Debug + Send + Sync {
    /// Where it is, for the host and for devices (PyOpenCL's `svm_ptr`); null for 0 bytes. Valid as
    /// long as `self` lives.
    fn svm_ptr(&self) -> *mut c_void {
        self.memory().at(self.window().start)
    }

    /// Its size in bytes.
    fn size(&self) -> usize {
        self.window().len()
    }

    /// What it was made with. The host's own memory is [`SvmFlags::FINE_GRAIN_BUFFER`], too.
    fn svm_flags(&self) -> SvmFlags {
        self.memory().flags()
    }
}

pub(crate) mod sealed {
    use std::ops::{Range, RangeBounds};
    use std::sync::Arc;

    use crate::error::Result;
    use crate::memory::command::Operand;
    use crate::memory::range::checked_range;
    use crate::memory::svm::memory::SvmMemory;
    use crate::memory::uses::Access;

    /// Where shared virtual memory is.
    pub trait Svm {
        /// What handles share.
        fn memory(&self) -> &Arc<SvmMemory>;

        /// Which bytes of it this is.
        fn window(&self) -> Range<usize> {
            0..self.memory().size()
        }
    }

    /// `range` of `svm` with its ends filled in, checked, and counted as its uses do.
    pub(crate) fn bytes(
        call: &'static str,
        svm: &(impl Svm + ?Sized),
        range: impl RangeBounds<usize>,
    ) -> Result<Range<usize>> {
        let window = svm.window();
        let range = checked_range(call, "shared allocation", window.len(), range)?;
        // Neither overflows: it lies within the window.
        Ok(window.start + range.start..window.start + range.end)
    }

    /// All of `svm` for a command.
    pub(crate) fn operand<'a>(svm: &'a (impl Svm + ?Sized), access: Access) -> Operand<'a> {
        svm.memory().operand(svm.window(), access)
    }
}
