//! Each kind of memory with each command and each kind of host memory, against a model of all bytes: those of both
//! operands, and of the memory around a part (5.2, 5.5, 5.6).

pub mod commands;
mod maps;
pub mod model;
mod svm;
pub mod target;
