//! Conflicts in local memory, against a model that lets all work items access all of the array.

use clmatrix_characterize::LocalAccess;
use proptest::prelude::*;

use super::entry::LocalArray;
use super::*;
use crate::support::property::holds_for;

/// Work items with their elements.
type Accesses = Vec<(usize, Vec<usize>)>;

/// An array laid out in banks, byte by byte.
struct Model<'a> {
    array: &'a LocalArray,
    granularity: usize,
    banks: usize,
    work_items: usize,
}

impl Model<'_> {
    fn dimensions(&self) -> usize {
        self.array.shape.len()
    }

    /// Returns the accesses of each bank, if the first work items take the elements of the array one after the
    /// other, of which those axes that are faster than `axis` have one.
    fn at_banks(&self, axis: usize) -> Vec<Accesses> {
        let mut at_banks = vec![Vec::new(); self.banks];
        let mut index = vec![0; self.dimensions()];
        for work_item in 0..self.work_items {
            at_banks[self.bank(&index)].push((work_item, index.clone()));
            if !self.step(&mut index, self.dimensions() - axis) {
                break;
            }
        }
        at_banks
    }

    /// The next element, as an odometer of `digits` digits; false after the last one.
    fn step(&self, index: &mut [usize], digits: usize) -> bool {
        for digit in (0..digits).rev() {
            index[digit] += 1;
            if index[digit] < self.array.shape[digit] {
                return true;
            }
            index[digit] = 0;
        }
        false
    }

    fn bank(&self, index: &[usize]) -> usize {
        let stored = self.array.stored_shape.as_ref().unwrap_or(&self.array.shape);
        let element = index
            .iter()
            .zip(stored)
            .fold(0_u128, |element, (at, length)| element * *length as u128 + *at as u128);
        let byte = element * self.array.item_size as u128;
        (byte / self.granularity as u128 % self.banks as u128) as usize
    }

    /// True if the answer is right: as many conflicts as there are at worst, and where it says.
    fn check(&self, found: &LocalAccess) -> std::result::Result<(), String> {
        let axes: Vec<_> = (0..self.dimensions()).map(|axis| self.at_banks(axis)).collect();
        let worst = axes.iter().flatten().map(Vec::len).max().unwrap_or(1);
        if found.multiplicity != worst {
            return Err(format!("{} work items, not {worst}: {found:?}", found.multiplicity));
        }
        let right = match &found.conflict {
            None => worst == 1,
            Some(conflict) => {
                let there = &axes[conflict.axis][conflict.bank];
                worst > 1 && there.len() == worst && conflict.work_items == *there
            }
        };
        if right { Ok(()) } else { Err(format!("not so: {found:?}")) }
    }
}

/// Either the device has no banks to speak of, or its answer is what the model says.
fn check(facts: &Facts, array: &LocalArray) -> Result<std::result::Result<(), String>> {
    let stored = array.stored_shape.as_deref();
    let found = facts.why_not_local_access_conflict_free(array.item_size, &array.shape, stored);
    let banks = match facts.local_memory_bank_count() {
        Ok(banks) => banks,
        Err(no_banks) => {
            return Ok(match found {
                Err(error) if error.to_string() == no_banks.to_string() => Ok(()),
                other => Err(format!("there are no banks: {other:?}")),
            });
        }
    };
    let found = found?;
    let side_by_side = facts.simultaneous_work_items_on_local_access();
    let granularity = facts.local_memory_access_granularity();
    let doubts = usize::from(array.item_size != granularity);
    let expected = doubts + side_by_side.warnings.len() + banks.warnings.len();
    if found.warnings.len() != expected {
        return Ok(Err(format!("{expected} warnings expected: {:?}", found.warnings)));
    }
    let model = Model {
        array,
        granularity,
        banks: banks.value as usize,
        work_items: side_by_side.value as usize,
    };
    Ok(model.check(&found.value))
}

#[clmatrix_harness::test]
fn bank_conflicts_of_the_device_are_those_of_the_model(Queried(facts, _): Queried) {
    holds_for(synthetic::arrays(), |array| check(&facts, array));
}

#[clmatrix_harness::test(once)]
fn bank_conflicts_of_any_device_are_those_of_the_model() {
    let arrays = prop::collection::vec(synthetic::arrays(), 32);
    holds_for((synthetic::facts(), arrays), |(facts, arrays)| {
        for array in arrays {
            if let Err(reason) = check(facts, array)? {
                return Ok(Err(format!("{reason} for {array:?}")));
            }
        }
        Ok(Ok(()))
    });
}

/// A device of which all is known: 32 banks, 32 work items.
fn fermi() -> Facts {
    Facts { nv_compute_capability: Some(Version { major: 2, minor: 0 }), ..Facts::default() }
}

fn multiplicity(item_size: usize, shape: &[usize], stored_shape: Option<&[usize]>) -> usize {
    let answer = fermi().why_not_local_access_conflict_free(item_size, shape, stored_shape);
    answer.expect("there are banks").value.multiplicity
}

#[clmatrix_harness::test(once)]
fn padding_removes_bank_conflicts() {
    for (shape, stored, expected) in [
        ([32, 32], [32, 32], 32),
        ([32, 32], [32, 33], 1),
        ([32, 32], [32, 34], 2),
        ([16, 16], [16, 16], 8),
        ([16, 16], [16, 17], 2),
        ([1, 32], [1, 64], 1),
    ] {
        assert_eq!(multiplicity(4, &shape, Some(&stored)), expected, "{shape:?} in {stored:?}");
    }
    assert_eq!(multiplicity(4, &[], None), 1, "one element has no axes");
}

/// Sizes whose addresses fit into no integer.
#[clmatrix_harness::test(once)]
fn arrays_may_be_of_any_size() {
    assert_eq!(multiplicity(4, &[usize::MAX; 5], None), 1);
    assert_eq!(multiplicity(usize::MAX - 3, &[usize::MAX; 5], None), 1);
    assert_eq!(multiplicity(4, &[usize::MAX / 2 + 1; 5], None), 32);
}

#[clmatrix_harness::test(once)]
fn items_of_another_width_have_a_warning() {
    let answer = fermi().why_not_local_access_conflict_free(8, &[32], None);
    let answer = answer.expect("there are banks");
    let doubt = CharacterizationWarning::ItemSizeIsNotGranularity { item_size: 8, granularity: 4 };
    assert_eq!((answer.value.multiplicity, answer.warnings), (2, vec![doubt]));
}

#[clmatrix_harness::test(once)]
fn invalid_shapes_are_refused() {
    for (shape, stored, words) in [
        (&[4, 0][..], None, "no elements"),
        (&[4, 4], Some(&[16][..]), "another number of dimensions"),
        (&[], Some(&[16]), "another number of dimensions"),
    ] {
        let error = fermi().why_not_local_access_conflict_free(4, shape, stored).unwrap_err();
        assert_eq!(error.class(), Class::InvalidArgument);
        assert!(error.detail().contains(words), "{error}");
    }
}
