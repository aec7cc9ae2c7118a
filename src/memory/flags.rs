//! `cl_mem_flags` and their valid combinations.

use cl3::error_codes::{CL_INVALID_HOST_PTR, CL_INVALID_VALUE};
use cl3::memory as cl;

use crate::error::{Error, Result};

bitflags::bitflags! {
    /// The accesses of kernels and the host to a memory object, and its place (`cl_mem_flags`;
    /// `pyopencl.mem_flags`).
    ///
    /// Flags of vendors (`MemFlags::from_bits_retain`) are passed to the driver, which accepts or refuses
    /// them. They are refused together with host memory, since such a flag may change the type that the
    /// host pointer points to.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MemFlags: u64 {
        /// Kernels read and write it: the default.
        const READ_WRITE = cl::CL_MEM_READ_WRITE;
        /// Kernels only write it.
        const WRITE_ONLY = cl::CL_MEM_WRITE_ONLY;
        /// Kernels only read it.
        const READ_ONLY = cl::CL_MEM_READ_ONLY;
        /// It lives in memory of the application.
        const USE_HOST_PTR = cl::CL_MEM_USE_HOST_PTR;
        /// It lives in memory that the host can reach, such as pinned memory.
        const ALLOC_HOST_PTR = cl::CL_MEM_ALLOC_HOST_PTR;
        /// It begins as a copy of host memory.
        const COPY_HOST_PTR = cl::CL_MEM_COPY_HOST_PTR;
        /// The host only writes it (OpenCL 1.2).
        const HOST_WRITE_ONLY = cl::CL_MEM_HOST_WRITE_ONLY;
        /// The host only reads it (OpenCL 1.2).
        const HOST_READ_ONLY = cl::CL_MEM_HOST_READ_ONLY;
        /// The host neither reads nor writes it (OpenCL 1.2).
        const HOST_NO_ACCESS = cl::CL_MEM_HOST_NO_ACCESS;
        /// For `clGetSupportedImageFormats` alone: one kernel both reads and writes it.
        const KERNEL_READ_AND_WRITE = cl::CL_MEM_KERNEL_READ_AND_WRITE;
    }
}

impl MemFlags {
    /// The access of kernels; at most one.
    pub(super) const KERNEL_ACCESS: Self =
        Self::READ_WRITE.union(Self::WRITE_ONLY).union(Self::READ_ONLY);
    /// The access of the host; at most one.
    pub(super) const HOST_ACCESS: Self =
        Self::HOST_WRITE_ONLY.union(Self::HOST_READ_ONLY).union(Self::HOST_NO_ACCESS);
    /// The place of the object.
    pub(super) const HOST_MEMORY: Self =
        Self::USE_HOST_PTR.union(Self::ALLOC_HOST_PTR).union(Self::COPY_HOST_PTR);

    /// Returns the flags of a new object that begins as a copy of host data if it `has_data`.
    pub(super) fn for_copy_of_data(self, call: &'static str, has_data: bool) -> Result<Self> {
        let lacks_data = !has_data && self.contains(Self::COPY_HOST_PTR);
        let reason = "COPY_HOST_PTR is set without host data; pass it to `copy_from`";
        Error::refuse_if(lacks_data, call, CL_INVALID_HOST_PTR, || reason)?;
        let copy = if has_data { Self::COPY_HOST_PTR } else { Self::empty() };
        (self | copy).for_new_object(call)
    }

    /// Returns the flags of a new object that does not live in memory of the application: these, checked, with the
    /// default made explicit.
    pub(crate) fn for_new_object(self, call: &'static str) -> Result<Self> {
        let flags = self.checked(call)?;
        let uses_host_memory = flags.contains(Self::USE_HOST_PTR);
        Error::refuse_if(uses_host_memory, call, CL_INVALID_HOST_PTR, || {
            "USE_HOST_PTR needs host memory that outlives the object, which a borrow cannot \
             promise: copy it, or give it away to Buffer::using_host_memory"
        })?;
        Ok(flags)
    }

    /// Returns the flags of a new object that lives in host memory: these with USE_HOST_PTR, checked, with the
    /// default made explicit.
    pub(super) fn for_host_memory(self, call: &'static str) -> Result<Self> {
        (self | Self::USE_HOST_PTR).checked(call)
    }

    fn checked(self, call: &'static str) -> Result<Self> {
        self.check_consistent(call)?;
        let vendors = self.of_vendors();
        let has_data = self.intersects(Self::USE_HOST_PTR | Self::COPY_HOST_PTR);
        Error::refuse_if(!vendors.is_empty() && has_data, call, CL_INVALID_VALUE, || {
            format!(
                "the vendor's flags {:#x} may change the type of the host memory; leave them out, \
                 or create the object without host memory",
                vendors.bits()
            )
        })?;
        Ok(self.with_default_access())
    }

    /// Returns the flags of a region of an object with the flags `parent`, as OpenCL 3.0, 5.2.1 (`clCreateSubBuffer`)
    /// inherits them.
    pub(super) fn for_region_of(self, call: &'static str, parent: Self) -> Result<Self> {
        let refused = |reason: String| Err(Error::refused(call, CL_INVALID_VALUE, reason));
        self.check_consistent(call)?;
        if self.intersects(Self::HOST_MEMORY) {
            return refused(format!(
                "a sub-buffer shares the memory of its parent; leave out {}",
                self.intersection(Self::HOST_MEMORY).names()
            ));
        }
        let (kernel, host) = (Self::KERNEL_ACCESS, Self::HOST_ACCESS);
        for (group, all) in [(kernel, Self::READ_WRITE), (host, Self::empty())] {
            let (own, inherited) = (self & group, parent & group);
            // A vendor's flag may be the access of the parent: the driver decides.
            let is_unknown = group == kernel && inherited.is_empty();
            if !own.is_empty()
                && !is_unknown
                && inherited != all
                && own != inherited
                && !(group == host && own == Self::HOST_NO_ACCESS)
            {
                return refused(format!(
                    "a region cannot be {} where its parent is {}",
                    own.names(),
                    inherited.names()
                ));
            }
        }
        let or_inherited = |group: Self| {
            let own = self & group;
            if own.is_empty() { parent & group } else { own }
        };
        let inherited = or_inherited(kernel) | or_inherited(host) | (parent & Self::HOST_MEMORY);
        let flags = inherited | self.of_vendors();
        Ok(if parent.of_vendors().is_empty() { flags.with_default_access() } else { flags })
    }

    /// Returns whether the host may read the object.
    #[inline]
    pub(super) fn host_reads(self) -> bool {
        !self.intersects(Self::HOST_NO_ACCESS | Self::HOST_WRITE_ONLY)
    }

    /// Returns whether the host may write the object.
    #[inline]
    pub(super) fn host_writes(self) -> bool {
        !self.intersects(Self::HOST_NO_ACCESS | Self::HOST_READ_ONLY)
    }

    /// Returns the flags that this crate does not know.
    pub(super) fn of_vendors(self) -> Self {
        self.difference(Self::all())
    }

    /// Returns these flags, with READ_WRITE if they name no access. A vendor's flag may be another access, so the
    /// driver chooses the default then.
    fn with_default_access(self) -> Self {
        let has_access = self.intersects(Self::KERNEL_ACCESS) || !self.of_vendors().is_empty();
        if has_access { self } else { self | Self::READ_WRITE }
    }

    fn check_consistent(self, call: &'static str) -> Result<()> {
        let is_for_formats = self.contains(Self::KERNEL_READ_AND_WRITE);
        let reason = "KERNEL_READ_AND_WRITE is for Context::supported_image_formats only";
        Error::refuse_if(is_for_formats, call, CL_INVALID_VALUE, || reason)?;
        let groups = [
            Self::KERNEL_ACCESS,
            Self::HOST_ACCESS,
            Self::USE_HOST_PTR | Self::ALLOC_HOST_PTR,
            Self::USE_HOST_PTR | Self::COPY_HOST_PTR,
        ];
        for group in groups {
            let set = self & group;
            Error::refuse_if(set.bits().count_ones() > 1, call, CL_INVALID_VALUE, || {
                format!("{} exclude each other", set.names())
            })?;
        }
        Ok(())
    }

    fn names(self) -> String {
        self.iter_names().map(|(name, _)| name).collect::<Vec<_>>().join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::MemFlags as F;

    const VENDORS: F = F::from_bits_retain(1 << 29);

    #[test]
    fn flags_of_new_objects() {
        for (flags, expected) in [
            (F::empty(), Ok(F::READ_WRITE)),
            (F::READ_ONLY | F::HOST_NO_ACCESS, Ok(F::READ_ONLY | F::HOST_NO_ACCESS)),
            (
                F::ALLOC_HOST_PTR | F::COPY_HOST_PTR,
                Ok(F::READ_WRITE | F::ALLOC_HOST_PTR | F::COPY_HOST_PTR),
            ),
            (F::READ_ONLY | F::WRITE_ONLY, Err(-30)),
            (F::READ_WRITE | F::READ_ONLY, Err(-30)),
            (F::HOST_READ_ONLY | F::HOST_WRITE_ONLY, Err(-30)),
            (F::HOST_READ_ONLY | F::HOST_NO_ACCESS, Err(-30)),
            (F::USE_HOST_PTR | F::COPY_HOST_PTR, Err(-30)),
            (F::USE_HOST_PTR | F::ALLOC_HOST_PTR, Err(-30)),
            (F::USE_HOST_PTR, Err(-37)),
            (F::KERNEL_READ_AND_WRITE, Err(-30)),
            (VENDORS, Ok(VENDORS)),
            (VENDORS | F::WRITE_ONLY, Ok(VENDORS | F::WRITE_ONLY)),
            (VENDORS | F::COPY_HOST_PTR, Err(-30)),
            (VENDORS | F::READ_ONLY | F::WRITE_ONLY, Err(-30)),
        ] {
            let result = flags.for_new_object("clCreateBuffer").map_err(|error| error.code());
            assert_eq!(result, expected, "{flags:?}");
        }
    }

    #[test]
    fn flags_of_regions() {
        let none = F::empty();
        for (parent, flags, expected) in [
            (F::READ_WRITE, none, Ok(F::READ_WRITE)),
            (F::READ_WRITE, F::READ_ONLY, Ok(F::READ_ONLY)),
            (F::READ_ONLY, none, Ok(F::READ_ONLY)),
            (F::READ_ONLY, F::READ_ONLY, Ok(F::READ_ONLY)),
            (F::READ_ONLY, F::READ_WRITE, Err(-30)),
            (F::READ_ONLY, F::WRITE_ONLY, Err(-30)),
            (F::WRITE_ONLY, F::READ_ONLY, Err(-30)),
            (F::WRITE_ONLY, F::READ_WRITE, Err(-30)),
            (F::READ_WRITE, F::COPY_HOST_PTR, Err(-30)),
            (F::READ_WRITE | F::COPY_HOST_PTR, none, Ok(F::READ_WRITE | F::COPY_HOST_PTR)),
            (
                F::READ_WRITE | F::HOST_READ_ONLY,
                F::WRITE_ONLY,
                Ok(F::WRITE_ONLY | F::HOST_READ_ONLY),
            ),
            (F::READ_WRITE | F::HOST_READ_ONLY, F::HOST_WRITE_ONLY, Err(-30)),
            (F::READ_WRITE | F::HOST_WRITE_ONLY, F::HOST_READ_ONLY, Err(-30)),
            (F::READ_WRITE | F::HOST_NO_ACCESS, F::HOST_READ_ONLY, Err(-30)),
            (
                F::READ_WRITE | F::HOST_READ_ONLY,
                F::HOST_NO_ACCESS,
                Ok(F::READ_WRITE | F::HOST_NO_ACCESS),
            ),
            (F::READ_WRITE, F::HOST_READ_ONLY, Ok(F::READ_WRITE | F::HOST_READ_ONLY)),
            (F::READ_ONLY, VENDORS, Ok(F::READ_ONLY | VENDORS)),
            (F::READ_ONLY | VENDORS, none, Ok(F::READ_ONLY)),
            (VENDORS, none, Ok(none)),
            (VENDORS, F::READ_ONLY, Ok(F::READ_ONLY)),
            (VENDORS, F::READ_WRITE, Ok(F::READ_WRITE)),
        ] {
            let result =
                flags.for_region_of("clCreateSubBuffer", parent).map_err(|error| error.code());
            assert_eq!(result, expected, "{flags:?} of {parent:?}");
        }
    }
}
