//! The shape of local memory.

use cl3::error_codes::CL_INVALID_OPERATION;

use super::facts::{Facts, LocalMemType};
use super::warning::{CharacterizationWarning, Characterized};
use clmatrix::select::{DeviceType, Version};
use clmatrix::{Error, Result};

/// From this version on, NVIDIA passes arguments elsewhere, and a whole warp accesses local memory at once.
const FERMI: Version = Version { major: 2, minor: 0 };
/// From this version on, the local memory is not documented.
const KEPLER: Version = Version { major: 3, minor: 0 };

impl Facts {
    /// Returns the width of a bank of local memory, in bytes: 4 (PyOpenCL's
    /// `local_memory_access_granularity`).
    pub fn local_memory_access_granularity(&self) -> usize {
        4
    }

    /// Returns the number of banks of local memory (PyOpenCL's `local_memory_bank_count`).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION, of class [`Unsupported`](clmatrix::Class::Unsupported), for a CPU whose
    /// local memory is a part of global memory: caches have no banks that matter to a kernel.
    pub fn local_memory_bank_count(&self) -> Result<Characterized<u32>> {
        let is_cpu = self.device_type & (DeviceType::CPU | DeviceType::GPU) == DeviceType::CPU;
        let is_cached = self.local_mem_type == LocalMemType::Global;
        match self.nvidia_local_width(CharacterizationWarning::GuessedBankCount) {
            Some(banks) => Ok(banks),
            None if is_cpu && is_cached => Err(cache_based()),
            None => Ok(Characterized::guessed(16, CharacterizationWarning::GuessedBankCount)),
        }
    }

    /// Returns the number of work items that access local memory at a time, and may conflict there
    /// (PyOpenCL's `simultaneous_work_items_on_local_access`).
    pub fn simultaneous_work_items_on_local_access(&self) -> Characterized<u32> {
        const GUESSED: CharacterizationWarning = CharacterizationWarning::GuessedLocalAccessSize;
        let is_cpu = self.device_type & (DeviceType::CPU | DeviceType::GPU) == DeviceType::CPU;
        match self.nvidia_local_width(GUESSED) {
            Some(width) => width,
            None if is_cpu => Characterized::known(1),
            None => Characterized::guessed(16, GUESSED),
        }
    }

    /// Returns the bytes of local memory that a kernel with `nargs` arguments of 4 bytes can use
    /// (PyOpenCL's `usable_local_mem_size`); without a number, with as many arguments as possible.
    ///
    /// NVIDIA's devices before Fermi pass arguments in local memory.
    pub fn usable_local_mem_size(&self, nargs: Option<u32>) -> u64 {
        /// The most bytes that arguments take in local memory.
        const ALL_ARGUMENTS: u64 = 256;
        let arguments = match self.nv_compute_capability {
            Some(capability) if capability < FERMI => {
                nargs.map_or(ALL_ARGUMENTS, |nargs| 4 * u64::from(nargs))
            }
            _ => 0,
        };
        self.local_mem_size.saturating_sub(arguments)
    }

    /// NVIDIA's number of banks, and of work items that access them.
    fn nvidia_local_width(&self, guessed: CharacterizationWarning) -> Option<Characterized<u32>> {
        let capability = self.nv_compute_capability?;
        Some(if capability < FERMI {
            Characterized::known(16)
        } else if capability < KEPLER {
            Characterized::known(32)
        } else {
            Characterized::guessed(32, guessed)
        })
    }
}

fn cache_based() -> Error {
    let reason = "local memory of this device is cached global memory, which has no banks; lay out \
               arrays as for global memory";
    Error::unsupported("local_memory_bank_count", CL_INVALID_OPERATION, reason)
}
