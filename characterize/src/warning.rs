//! Answers that are guesses, with their reasons.

use std::fmt;

/// The reason why an answer may be wrong (PyOpenCL's `CLCharacterizationWarning`).
///
/// ```
/// use clmatrix_characterize::{CharacterizationWarning, Facts};
///
/// let banks = Facts::default().local_memory_bank_count().unwrap();
/// assert_eq!(banks.warnings, [CharacterizationWarning::GuessedBankCount]);
/// println!("{} banks: {}", banks.value, banks.warnings[0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum CharacterizationWarning {
    /// The number of work items that access local memory at a time is unknown.
    GuessedLocalAccessSize,
    /// The banks of local memory are unknown.
    GuessedBankCount,
    /// Conflicts are counted as if every item had the width of one bank.
    ItemSizeIsNotGranularity {
        /// The size of an item, in bytes.
        item_size: usize,
        /// The width of a bank, in bytes.
        granularity: usize,
    },
    /// PoCL's CL_PLATFORM_VERSION does not have PoCL's form.
    UnknownPoclVersion {
        /// The version.
        platform_version: String,
    },
}

impl fmt::Display for CharacterizationWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GuessedLocalAccessSize => f.write_str(
                "the number of work items that access local memory at a time is a guess for this device",
            ),
            Self::GuessedBankCount => {
                f.write_str("the number of banks of local memory is a guess for this device")
            }
            Self::ItemSizeIsNotGranularity { item_size, granularity } => write!(
                f,
                "items of {item_size} bytes are not of a bank's width, {granularity} bytes: they \
                 may conflict otherwise"
            ),
            Self::UnknownPoclVersion { platform_version } => {
                write!(f, "{platform_version:?} is not a version string of PoCL")
            }
        }
    }
}

/// An answer, and the reasons why it may be wrong.
///
/// ```
/// use clmatrix_characterize::Facts;
/// use clmatrix::select::Version;
///
/// let facts = Facts {
///     nv_compute_capability: Some(Version { major: 2, minor: 1 }),
///     ..Facts::default()
/// };
/// let side_by_side = facts.simultaneous_work_items_on_local_access();
/// assert!(side_by_side.is_known());
/// assert_eq!(side_by_side.value, 32);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Characterized<T> {
    /// The answer.
    pub value: T,
    /// The reasons why it may be wrong.
    pub warnings: Vec<CharacterizationWarning>,
}

impl<T> Characterized<T> {
    /// Returns an answer without warnings.
    pub(super) fn known(value: T) -> Self {
        Self { value, warnings: Vec::new() }
    }

    /// Returns an answer that may be wrong.
    pub(super) fn guessed(value: T, warning: CharacterizationWarning) -> Self {
        Self { value, warnings: vec![warning] }
    }

    /// Returns whether there are no warnings.
    pub fn is_known(&self) -> bool {
        self.warnings.is_empty()
    }

    /// Returns another answer that rests on this one.
    pub(super) fn map<U>(self, make: impl FnOnce(T) -> U) -> Characterized<U> {
        Characterized { value: make(self.value), warnings: self.warnings }
    }
}
