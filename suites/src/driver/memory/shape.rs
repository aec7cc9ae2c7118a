//! Boxes of bytes, and a model of the commands that move them.

use crate::support::pattern::copy_rows;

/// Where a box lies in an operand: its origin, and the pitches of rows and slices.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub origin: [usize; 3],
    pub pitches: [usize; 2],
}

impl Side {
    /// The first byte (5.2.2).
    pub fn start(&self) -> usize {
        let ([x, y, z], [row, slice]) = (self.origin, self.pitches);
        x + y * row + z * slice
    }
}

/// A box of bytes in two operands.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub region: [usize; 3],
    pub sides: [Side; 2],
}

impl Shape {
    /// Moves the bytes of the second operand to the first one.
    pub fn move_in(&self, to: &mut [u8], from: &[u8]) {
        let [Side { pitches, .. }, other] = self.sides;
        let (start, other_start) = (self.sides[0].start(), other.start());
        copy_rows((to, start), (from, other_start), self.region, [pitches, other.pitches]);
    }

    /// Moves the bytes of the first operand to the second one.
    pub fn move_out(&self, from: &[u8], to: &mut [u8]) {
        let [own, other] = self.sides;
        Self { sides: [other, own], ..*self }.move_in(to, from);
    }
}
