//! A result of clmatrix that the program by itself does not have.

use std::fmt;

/// A result that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    id: String,
    clmatrix: String,
    alone: String,
}

impl Difference {
    /// The words of both for the test.
    pub fn new(id: String, clmatrix: &str, alone: &str) -> Self {
        Self { id, clmatrix: clmatrix.to_owned(), alone: alone.to_owned() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: clmatrix {}, alone {}", self.id, self.clmatrix, self.alone)
    }
}
