//! Each kind of memory with each command and each kind of host memory, against a model of all bytes: those of the
//! buffer and its parent, of the other operand and of the host (5.2, 5.3, 5.5, 5.6).

pub mod area;
pub mod commands;
mod images;
mod maps;
pub mod operand;
pub mod svm;
pub mod target;
