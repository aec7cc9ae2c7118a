//! Bank conflicts: the work items that meet at a bank of local memory.

use std::collections::BTreeMap;
use std::fmt;

use cl3::error_codes::CL_INVALID_VALUE;

use super::facts::Facts;
use super::warning::{CharacterizationWarning, Characterized};
use clmatrix::{Error, Result};

const CALL: &str = "why_not_local_access_conflict_free";

/// The conflicts of work items that access an array in local memory side by side.
///
/// ```
/// use clmatrix_characterize::Facts;
/// use clmatrix::select::Version;
///
/// # fn main() -> clmatrix::Result<()> {
/// let fermi = Facts {
///     nv_compute_capability: Some(Version { major: 2, minor: 0 }),
///     ..Facts::default()
/// };
/// // A square of floats, read by rows and by columns.
/// let square = fermi.why_not_local_access_conflict_free(4, &[32, 32], None)?.value;
/// assert_eq!(square.multiplicity, 32);
/// println!("{}", square.conflict.expect("there is one"));
///
/// // One more float in each row, which no work item reads.
/// let padded = fermi.why_not_local_access_conflict_free(4, &[32, 32], Some(&[32, 33]))?.value;
/// assert_eq!((padded.multiplicity, padded.conflict), (1, None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LocalAccess {
    /// The number of work items that meet at the busiest bank; 1 without a conflict.
    pub multiplicity: usize,
    /// The conflict at the busiest bank.
    pub conflict: Option<BankConflict>,
}

/// The work items that meet at one bank.
///
/// ```
/// use clmatrix_characterize::Facts;
///
/// # fn main() -> clmatrix::Result<()> {
/// let access = Facts::default().why_not_local_access_conflict_free(4, &[2, 16], None)?.value;
/// let conflict = access.conflict.expect("rows are as long as there are banks");
/// assert_eq!(
///     conflict.to_string(),
///     "2 work items meet at bank 0, side by side along axis 1 (the fastest is 0): \
///      0 at [0, 0], 1 at [1, 0]"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BankConflict {
    /// The axis along which they are numbered; 0 is the fastest, the last of the shape.
    pub axis: usize,
    /// The bank.
    pub bank: usize,
    /// Each work item's number and the element that it accesses, its index in the order of the shape.
    pub work_items: Vec<(usize, Vec<usize>)>,
}

impl fmt::Display for BankConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} work items meet at bank {}, side by side along axis {} (the fastest is 0): ",
            self.work_items.len(),
            self.bank,
            self.axis
        )?;
        for (position, (number, index)) in self.work_items.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{number} at {index:?}")?;
        }
        Ok(())
    }
}

impl Facts {
    /// Returns the worst bank conflict of work items that access an array in local memory side by side,
    /// along any axis of the array (PyOpenCL's `why_not_local_access_conflict_free`).
    ///
    /// Items have `item_size` bytes. `shape` is the accessed part, the fastest axis last; `stored_shape` is
    /// the shape in memory, if that is larger.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for an axis of length 0, and for two shapes of different dimensions; and those
    /// of [`local_memory_bank_count`](Self::local_memory_bank_count).
    pub fn why_not_local_access_conflict_free(
        &self,
        item_size: usize,
        shape: &[usize],
        stored_shape: Option<&[usize]>,
    ) -> Result<Characterized<LocalAccess>> {
        let stored_shape = stored_shape.unwrap_or(shape);
        check_shapes(shape, stored_shape)?;
        let work_items = self.simultaneous_work_items_on_local_access();
        let banks = self.local_memory_bank_count()?;
        let granularity = self.local_memory_access_granularity();
        let mut warnings = Vec::new();
        if item_size != granularity {
            let doubt =
                CharacterizationWarning::ItemSizeIsNotGranularity { item_size, granularity };
            warnings.push(doubt);
        }
        warnings.extend(work_items.warnings);
        warnings.extend(banks.warnings);
        let layout = Layout {
            item_size,
            shape,
            stored_shape,
            granularity,
            banks: banks.value as usize,
            work_items: work_items.value as usize,
        };
        Ok(Characterized { value: layout.access(), warnings })
    }
}

fn check_shapes(shape: &[usize], stored_shape: &[usize]) -> Result<()> {
    if shape.len() != stored_shape.len() {
        let reason =
            format!("{shape:?} is stored as {stored_shape:?}, with another number of dimensions");
        return Err(Error::from_call(CALL, CL_INVALID_VALUE).with_detail(reason));
    }
    if shape.contains(&0) {
        let reason = format!("an array of shape {shape:?} has no elements");
        return Err(Error::from_call(CALL, CL_INVALID_VALUE).with_detail(reason));
    }
    Ok(())
}

/// An array in local memory, and the work items that access it.
struct Layout<'a> {
    item_size: usize,
    shape: &'a [usize],
    stored_shape: &'a [usize],
    granularity: usize,
    banks: usize,
    work_items: usize,
}

impl Layout<'_> {
    fn access(&self) -> LocalAccess {
        let conflicts = (0..self.shape.len()).flat_map(|axis| self.meetings(axis));
        let worst = conflicts.filter(|conflict| conflict.work_items.len() > 1).max_by_key(rank);
        let multiplicity = worst.as_ref().map_or(1, |conflict| conflict.work_items.len());
        LocalAccess { multiplicity, conflict: worst }
    }

    /// Returns the work items that access each bank, if work items are numbered along `axis` and slower ones.
    fn meetings(&self, axis: usize) -> impl Iterator<Item = BankConflict> {
        let mut at_banks: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for number in 0..self.work_items {
            if let Some(index) = element(self.shape, axis, number) {
                at_banks.entry(self.bank(&index)).or_default().push((number, index));
            }
        }
        at_banks.into_iter().map(move |(bank, work_items)| BankConflict { axis, bank, work_items })
    }

    /// The banks repeat, so addresses are counted modulo the size of all banks and stay small.
    fn bank(&self, index: &[usize]) -> usize {
        let all = self.granularity * self.banks;
        let (mut address, mut stride) = (0, self.item_size % all);
        for (at, stored) in index.iter().zip(self.stored_shape).rev() {
            address = (address + stride * (at % all)) % all;
            stride = stride * (stored % all) % all;
        }
        address / self.granularity
    }
}

/// Returns the element of an array that a work item accesses if they are numbered along `axis` and slower
/// ones; `None` if the array has too few elements.
pub(super) fn element(shape: &[usize], axis: usize, number: usize) -> Option<Vec<usize>> {
    let mut index = vec![0; shape.len()];
    let mut rest = number;
    let slower = shape.len() - axis;
    for (position, length) in shape[..slower].iter().enumerate().rev() {
        index[position] = rest % length;
        rest /= length;
    }
    (rest == 0).then_some(index)
}

/// Orders conflicts by number of work items; ties as PyOpenCL breaks them: string comparison of the
/// axis, then of the first work item.
fn rank(conflict: &BankConflict) -> (usize, String, String) {
    let first = conflict.work_items.first().map_or(0, |(number, _)| *number);
    (conflict.work_items.len(), conflict.axis.to_string(), first.to_string())
}
