//! Operands of commands, and a comparison of all their bytes.

use crate::support::pattern;

/// Memory that commands read and write.
pub trait Operand {
    /// The number of bytes.
    fn size(&self) -> usize;

    /// Replaces all bytes.
    fn put(&self, bytes: &[u8]);

    /// Waits for all commands, and compares all bytes.
    fn compare(&self, expected: &[u8]) -> Result<(), String>;
}

/// Fills each operand with a pattern of its own, the first one with pattern 0. Runs a step, which does the same to a
/// model of the bytes, and compares all bytes of all operands.
pub fn check<const N: usize>(
    operands: [&dyn Operand; N],
    step: impl FnOnce([&mut [u8]; N]) -> Result<(), String>,
) -> Result<(), String> {
    let mut seeds = (0..3).cycle();
    let mut models =
        operands.map(|operand| pattern::bytes(seeds.next().expect("endless"), operand.size()));
    operands.iter().zip(&models).for_each(|(operand, model)| operand.put(model));
    step(models.each_mut().map(Vec::as_mut_slice))?;
    operands.iter().zip(&models).try_for_each(|(operand, model)| operand.compare(model))
}
